package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/rules"
)

// rulesFile is where the rules of all SLO files go: one file is replaced as one.
const rulesFile = "agentslo.rules.yaml"

func newGenerateRulesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rules",
		Short: "Make Prometheus recording and alerting rules",
		Long: `Make Prometheus recording and alerting rules: counts, error ratios, burn rates,
evidence and budgets as recorded series, and the alerts over them. They load in
Prometheus from 2.42 on, Mimir, Thanos and VictoriaMetrics.

With -o they go to ` + rulesFile + ` in that folder.`,
		Example: `  sloctl generate rules -f slo.yaml -o rules/
  sloctl generate rules -f slo.yaml | promtool check rules
  sloctl generate rules -f slo.yaml --format operator | kubectl apply -f -`,
		Args: cobra.NoArgs,
	}
	paths, to := fileFlag(c), destinationFlags(c)
	kind := kindFlag(c, rules.Formats, false, "`prometheus` rule file, or PrometheusRule of the Prometheus operator")
	c.RunE = func(c *cobra.Command, _ []string) error {
		as, err := kind()
		if err != nil {
			return err
		}
		set, err := load(*paths)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := rules.Write(&out, set, as); err != nil {
			return err
		}
		return to.write(c, made{rulesFile, out.Bytes()})
	}
	return c
}
