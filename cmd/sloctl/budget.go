package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

func newBudgetCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "budget [SLO…]",
		Short: "Show what is left of each error budget",
		Long: `Show what is left of each error budget, read from the exporter's own counters in
Prometheus. No rules need to be loaded, and counts are whole numbers, never
extrapolated.

  LEFT         share of the budget that is not spent: 1 − bad ÷ (tolerated share × (good + bad))
  95% RANGE    what is left if the true error ratio is anywhere in its 95% interval
  BURN         error ratio of the last hour, 6 hours, … ÷ the tolerated one; at 1 the budget lasts its window
  RUNS OUT IN  time until the failures still allowed are used up at the present rate

With --by there is a line for each value, the worst first: not by the ratio
itself, which one bad run of one makes 100%, but by the error ratio that is
proven, the lower end of its 95% interval over all values that are compared.

Where the file has SLOs of steps (scope: tool or agent), the runs' completion is
held against what the steps alone would make of it: the product of
(1 − error ratio) ^ (calls a run) over all tools, or sub-agents. It takes steps
to fail independently, and each failure to fail the run.`,
		Example: `  sloctl budget -f slo.yaml --prometheus http://localhost:9090
  sloctl budget -f slo.yaml completion latency
  sloctl budget -f slo.yaml --by agent
  sloctl budget -f slo.yaml --by tenant --worst 5
  sloctl budget -f slo.yaml -o json | jq '.[] | select(.status != "ok")'`,
	}
	q, output := questionFlags(c), outputFlag(c)
	worst := c.Flags().Int("worst", 0, "with --by: only the `N` worst values of each SLO")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case *worst < 0 || *worst == 0 && c.Flags().Changed("worst"):
			return fmt.Errorf("--worst %d: it must be at least 1", *worst)
		case *worst > 0 && q.by == "":
			return errors.New("--worst needs --by, such as --by agent or a dimension of the file")
		}
		return q.ask(c.Context(), args, func(_ context.Context, _ gate.Prometheus, _ *slo.Set, budgets []gate.Budget) error {
			if q.by != "" {
				budgets = gate.WorstFirst(budgets, *worst)
			}
			if *output != table {
				return encode(c.OutOrStdout(), *output, budgets)
			}
			return writeBudgets(c.OutOrStdout(), budgets)
		})
	}
	return c
}

// writeBudgets writes one table a service, with its notes below.
func writeBudgets(w io.Writer, budgets []gate.Budget) error {
	colours := terminal.Colours(w)
	for i, of := range byService(budgets) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, terminal.Paint(title(of[0]), terminal.Bold, colours))
		if err := budgetTable(of).Write(w, colours); err != nil {
			return err
		}
		for _, line := range predictions(of) {
			fmt.Fprintln(w, line)
		}
		for _, note := range notes(of) {
			fmt.Fprintln(w, terminal.Paint("note: "+note, terminal.Yellow, colours))
		}
	}
	return nil
}

// byService groups budgets that follow each other.
func byService(budgets []gate.Budget) (groups [][]gate.Budget) {
	for i, b := range budgets {
		if i > 0 && title(budgets[i-1]) == title(b) {
			groups[len(groups)-1] = append(groups[len(groups)-1], b)
			continue
		}
		groups = append(groups, []gate.Budget{b})
	}
	return groups
}

func title(b gate.Budget) string {
	name := b.Service
	if b.Environment != "" {
		name += " in " + b.Environment
	}
	return name + ", window " + b.Window
}

// notes lists each note once.
func notes(budgets []gate.Budget) (all []string) {
	seen := map[string]bool{}
	for _, b := range budgets {
		for _, n := range b.Notes {
			if !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	return all
}

// predictions holds completion against its steps, a line each.
func predictions(budgets []gate.Budget) (lines []string) {
	for _, b := range budgets {
		if b.ErrorRatio == nil {
			continue
		}
		measured := terminal.Percent(one.Sub(b.ErrorRatio.Decimal))
		for _, p := range b.Predicted {
			weakest := p.Steps[0]
			line := fmt.Sprintf("%s: %s measured, %s predicted from its %s", b.SLO, measured, terminal.Percent(p.Success.Decimal), stepWords[p.Scope])
			if weakest.Bad > 0 {
				line += fmt.Sprintf("; the weakest, %s, fails %s of %s calls a run", weakest.Name, terminal.Percent(weakest.ErrorRatio.Decimal), terminal.Decimal(weakest.PerRun.Decimal))
			}
			lines = append(lines, line)
		}
	}
	return lines
}

var stepWords = map[slo.Scope]string{slo.ScopeTool: "tool calls", slo.ScopeAgent: "sub-agents"}

var statusColours = map[gate.Status]terminal.Colour{
	gate.OK: terminal.Green, gate.AtRisk: terminal.Yellow, gate.Exhausted: terminal.Red, gate.Insufficient: terminal.Dim,
}

func budgetTable(budgets []gate.Budget) terminal.Table {
	split := ""
	for _, b := range budgets {
		if b.Split != nil {
			split = b.Split.By
		}
	}
	var t terminal.Table
	column := func(name string, right bool) {
		if right {
			if t.Right == nil {
				t.Right = map[int]bool{}
			}
			t.Right[len(t.Header)] = true
		}
		t.Header = append(t.Header, name)
	}
	column("SLO", false)
	if split != "" {
		column(strings.ToUpper(split), false)
	}
	for _, name := range []string{"OBJECTIVE", "GOOD", "BAD", "UNKNOWN", "EXCLUDED", "ERRORS", "LEFT", "95% RANGE"} {
		column(name, true)
	}
	for i, r := range budgets[0].BurnRate {
		name := r.Window
		if i == 0 {
			name = "BURN " + name
		}
		column(name, true)
	}
	column("RUNS OUT IN", true)
	column("STATUS", false)
	for _, b := range budgets {
		t.Rows = append(t.Rows, budgetRow(b, split))
	}
	return t
}

func budgetRow(b gate.Budget, split string) []terminal.Cell {
	row := []terminal.Cell{{Text: b.SLO}}
	add := func(text string, colour terminal.Colour) {
		row = append(row, terminal.Cell{Text: text, Colour: colour})
	}
	if split != "" {
		value := "–"
		if b.Split != nil {
			if value = b.Split.Value; value == "" {
				value = "(none)"
			}
		}
		add(value, terminal.Plain)
	}
	colour := statusColours[b.Status]
	add(terminal.ExactPercent(b.Objective.Decimal), terminal.Plain)
	for _, n := range []int64{b.Good, b.Bad, b.Unknown, b.Excluded} {
		add(terminal.Integer(n), terminal.Plain)
	}
	if b.ErrorRatio == nil {
		add("–", terminal.Plain)
	} else {
		add(terminal.Percent(b.ErrorRatio.Decimal), terminal.Plain)
	}
	add(terminal.Percent(b.Remaining.Decimal), colour)
	if b.Good+b.Bad == 0 {
		add("–", terminal.Plain)
	} else {
		add(terminal.Percent(b.Interval[0].Decimal)+" to "+terminal.Percent(b.Interval[1].Decimal), terminal.Plain)
	}
	for _, r := range b.BurnRate {
		add(terminal.Decimal(r.Rate.Decimal), terminal.Plain)
	}
	switch {
	case b.ExhaustedIn == nil:
		add("–", terminal.Plain)
	case *b.ExhaustedIn == 0:
		add("now", terminal.Plain)
	default:
		add(terminal.Seconds(*b.ExhaustedIn), terminal.Plain)
	}
	add(string(b.Status), colour)
	return row
}
