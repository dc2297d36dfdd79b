package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/explain"
	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

func newExplainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain [SLO…]",
		Short: "Say what pages when, and what each SLO tolerates and costs",
		Long: `Say what pages when, and what each SLO tolerates and costs.

An alert fires while its long window is above the threshold and evidence
enough, and its short window is still failing. For each the page shows how many
runs that takes, and the time to detect that every run fails and to reset after
it is good again, at an even number of runs an hour.`,
		Example: `  sloctl explain -f slo.yaml
  sloctl explain -f slo.yaml completion
  sloctl explain -f slo.yaml -o json | jq '.[].tiers[] | {tier, failures_in_a_row}'`,
	}
	paths, output := fileFlag(c), outputFlag(c)
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return sloNames(*paths), cobra.ShellCompDirectiveNoFileComp
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		set, err := load(*paths)
		if err != nil {
			return err
		}
		explanations, err := explanationsOf(set, args)
		if err != nil {
			return err
		}
		if *output != table {
			return encode(c.OutOrStdout(), *output, explanations)
		}
		for i, e := range explanations {
			if i > 0 {
				fmt.Fprintln(c.OutOrStdout())
			}
			if err := writeExplanation(c.OutOrStdout(), e); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func explanationsOf(set *slo.Set, names []string) ([]explain.Explanation, error) {
	if err := (gate.Options{SLOs: names}).Check(set); err != nil {
		return nil, err
	}
	var out []explain.Explanation
	for _, f := range set.Files {
		for i := range f.SLOs {
			if o := &f.SLOs[i]; len(names) == 0 || slices.Contains(names, o.Name) {
				out = append(out, explain.SLO(f, o))
			}
		}
	}
	return out, nil
}

func writeExplanation(w io.Writer, e explain.Explanation) error {
	colours := terminal.Colours(w)
	name := e.Service + "/" + e.SLO
	if e.Environment != "" {
		name += " in " + e.Environment
	}
	fmt.Fprintf(w, "%s: %s.\n", terminal.Paint(name, terminal.Bold, colours), e.Promise)
	fmt.Fprintf(w, "Over %s, %s of the %ss may be bad: %s.\n", period(e.Window), terminal.ExactPercent(one.Sub(exact(e.Objective))), e.Event, tolerated(e))
	fmt.Fprintf(w, "The gate needs %s to say that it is met.\n", events(e.SmallestSample, e.Event))
	if judged := exact(e.JudgedBudget); !judged.Equal(one.Sub(exact(e.Objective))) {
		fmt.Fprintf(w, "To its judge, which errs, that looks like %s: ratios and budgets are corrected for it.\n", terminal.ExactPercent(judged))
	}
	fmt.Fprintf(w, "It costs %d exporter series an agent and Collector, %d recorded series and %d alert rules.\n", e.Series.Exporter, e.Series.Recorded, e.Series.Alerts)
	if len(e.Tiers) == 0 {
		_, err := fmt.Fprintln(w, "It does not alert.")
		return err
	}
	fmt.Fprintln(w)
	t := terminal.Table{
		Header: []string{"ALERT", "SEVERITY", "WINDOWS", "ERRORS ABOVE", "BURN", "SPENDS", "FAILURES IN A ROW", strings.ToUpper(e.Event) + "S AT THRESHOLD"},
		Right:  map[int]bool{3: true, 4: true, 5: true, 6: true, 7: true},
	}
	for _, n := range explain.RunsPerHour {
		t.Right[len(t.Header)] = true
		t.Header = append(t.Header, "AT "+terminal.Integer(int64(n))+"/H")
	}
	for _, x := range e.Tiers {
		row := []terminal.Cell{
			{Text: x.Name}, {Text: x.Severity, Colour: severityColours[x.Severity]}, {Text: x.Long + " and " + x.Short},
			{Text: terminal.ExactPercent(exact(x.Threshold))}, {Text: terminal.Decimal(exact(x.Burn)) + "×"}, {Text: terminal.ExactPercent(exact(x.BudgetShare))},
			{Text: known(x.FailuresInARow)}, {Text: known(x.RunsAtThreshold)},
		}
		for _, at := range x.Traffic {
			row = append(row, terminal.Cell{Text: detection(at)})
		}
		t.Rows = append(t.Rows, row)
	}
	if err := t.Write(w, colours); err != nil {
		return err
	}
	var silent []string
	for _, x := range e.Tiers {
		if !slices.ContainsFunc(x.Traffic, func(t explain.Traffic) bool { return t.Detect != nil }) {
			silent = append(silent, x.Name)
		}
	}
	if len(silent) > 0 {
		fmt.Fprintf(w, "At none of these volumes can %s ever fire.\n", strings.Join(silent, " and "))
	}
	legend := fmt.Sprintf(`FAILURES IN A ROW and %[1]sS AT THRESHOLD: as few %[2]ss, all bad or with just that share bad, are evidence enough.
AT n/H: time to detect that every %[2]s fails / to reset once they are good, at so many an hour; scrape and evaluation come on top.`, strings.ToUpper(e.Event), e.Event)
	_, err := fmt.Fprintln(w, terminal.Paint(legend, terminal.Dim, colours))
	return err
}

// period is a budget's window in a sentence: 30d, a month.
func period(window string) string {
	if strings.Trim(window, "0123456789") == window {
		return "a " + window
	}
	return window
}

var severityColours = map[string]terminal.Colour{"page": terminal.Red, "ticket": terminal.Yellow}

func detection(t explain.Traffic) string {
	if t.Detect == nil {
		return "never"
	}
	return terminal.Seconds(*t.Detect) + " / " + terminal.Seconds(*t.Reset)
}

func known(n *int64) string {
	if n == nil {
		return "–"
	}
	return terminal.Integer(*n)
}

// tolerated is how many failures the budget is worth, where it is worth some.
func tolerated(e explain.Explanation) string {
	var parts []string
	for _, t := range e.Tolerated {
		parts = append(parts, fmt.Sprintf("%s at %s/h", terminal.Decimal(exact(t.Bad)), events(int64(t.RunsPerHour), e.Event)))
	}
	return strings.Join(parts, ", ")
}

var one = decimal.NewFromInt(1)

func exact(n json.Number) decimal.Decimal { return decimal.RequireFromString(string(n)) }

func events(n int64, name string) string {
	if n != 1 {
		name += "s"
	}
	return terminal.Integer(n) + " " + name
}
