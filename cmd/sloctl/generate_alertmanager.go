package main

import (
	"bytes"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/rules"
)

const alertmanagerFile = "alertmanager.yaml"

func newGenerateAlertmanagerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "alertmanager",
		Short: "Make an Alertmanager configuration: routes by severity, and what silences what",
		Long: `Make an Alertmanager configuration for the alerts of the generated rules.

Alerts are grouped by service and environment and go by severity to the receivers
` + rules.ReceiverPage + ` and ` + rules.ReceiverTicket + `, which are yours to fill in. A page silences the
ticket of its SLO, a fast tier the slower ones, and completion the SLOs that a run
fails whenever it fails completion. That evidence is missing is always told.

With -o it goes to ` + alertmanagerFile + ` in that folder. One that is there and differs is kept,
unless --force replaces it: your receivers are in it.`,
		Example: `  sloctl generate alertmanager -f slo.yaml -o alertmanager/
  amtool check-config alertmanager/` + alertmanagerFile + `
  amtool config routes show --config.file alertmanager/` + alertmanagerFile + `

  # only what silences what, for a configuration that has routes already
  sloctl generate alertmanager -f slo.yaml | sed -n '/^inhibit_rules/,$p'`,
		Args: cobra.NoArgs,
	}
	paths, to := fileFlag(c), destinationFlags(c)
	to.toFill = true
	c.RunE = func(c *cobra.Command, _ []string) error {
		set, err := load(*paths)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := rules.WriteAlertmanager(&out, set); err != nil {
			return err
		}
		return to.write(c, made{alertmanagerFile, out.Bytes()})
	}
	return c
}
