package main

import (
	"context"
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
  RUNS OUT IN  time until the failures still allowed are used up at the present rate`,
		Example: `  sloctl budget -f slo.yaml --prometheus http://localhost:9090
  sloctl budget -f slo.yaml completion latency
  sloctl budget -f slo.yaml --by agent
  sloctl budget -f slo.yaml -o json | jq '.[] | select(.status != "ok")'`,
	}
	q, output := questionFlags(c), outputFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return q.ask(c.Context(), args, func(_ context.Context, _ gate.Prometheus, _ *slo.Set, budgets []gate.Budget) error {
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
			value = b.Split.Value
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
