package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/terminal"
	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

func newGateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "gate [SLO…]",
		Short: "Decide whether a release may go ahead: pass, block or insufficient evidence",
		Long: `Decide whether a release may go ahead, by the error budgets of its SLOs.

  pass          every budget has something left, over enough runs to believe it
  block         a budget is below policy.freeze_below, or nothing is left of it
  insufficient  too few runs, or too many unknown or excluded ones (max_excluded), to say

A budget that fell below freeze_below stays frozen until it is at resume_above.
That needs no state: Prometheus is asked which of the two it crossed last.

The sample must be large enough that an agent which misses its objective would
have shown it: 59 runs at 95%, 299 at 99%. A smaller one can only block, when
its failures are beyond chance at 95% confidence.

Exit code 0: pass. 1: block. 3: insufficient. 2: the question could not be
answered (no such file, Prometheus away, …), which never passes.`,
		Example: `  sloctl gate -f slo.yaml --prometheus http://localhost:9090
  sloctl gate -f slo.yaml completion tool_free
  sloctl gate -f slo.yaml --on-insufficient pass
  sloctl gate -f slo.yaml --override "hotfix for INC-142"`,
	}
	q, output := questionFlags(c), outputFlag(c)
	onInsufficient := c.Flags().String("on-insufficient", "", "what insufficient evidence means: `pass|block` (default: exit code 3)")
	override := c.Flags().String("override", "", "pass whatever the budgets say, for this `reason`, which the output records")
	choices := []string{string(gate.Pass), string(gate.Block)}
	_ = c.RegisterFlagCompletionFunc("on-insufficient", cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	c.RunE = func(c *cobra.Command, args []string) error {
		terms := gate.Terms{OnInsufficient: gate.Decision(*onInsufficient), Override: strings.TrimSpace(*override)}
		if c.Flags().Changed("on-insufficient") && !slices.Contains(choices, *onInsufficient) {
			return fmt.Errorf("--on-insufficient %q: must be pass or block", *onInsufficient)
		}
		if c.Flags().Changed("override") && terms.Override == "" {
			return errors.New("--override needs a reason")
		}
		return q.ask(c.Context(), args, func(ctx context.Context, api gate.Prometheus, set *slo.Set, budgets []gate.Budget) error {
			report, err := gate.Decide(ctx, api, set, budgets, terms)
			if err != nil {
				return err
			}
			if *output == table {
				err = writeReport(c.OutOrStdout(), report)
			} else {
				err = encode(c.OutOrStdout(), *output, report)
			}
			if err != nil {
				return err
			}
			return exit{code: exitCodes[report.Decision]}.orNil()
		})
	}
	return c
}

var exitCodes = map[gate.Decision]int{gate.Pass: exitOK, gate.Block: exitFailed, gate.InsufficientEvidence: exitInsufficient}

var decisionColours = map[gate.Decision]terminal.Colour{
	gate.Pass: terminal.Green, gate.Block: terminal.Red, gate.InsufficientEvidence: terminal.Yellow,
}

// writeReport writes a line a budget and the decision last, where CI logs end.
func writeReport(w io.Writer, r gate.Report) error {
	colours := terminal.Colours(w)
	for i, group := range verdictsByService(r.SLOs) {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, terminal.Paint(title(group[0].Budget), terminal.Bold, colours))
		t := terminal.Table{Header: []string{"SLO", "OBJECTIVE", "GOOD", "BAD", "LEFT", "DECISION", "WHY"}, Right: map[int]bool{1: true, 2: true, 3: true, 4: true}}
		for _, v := range group {
			name := v.SLO
			if v.Split != nil {
				name += " (" + v.Split.Value + ")"
			}
			t.Rows = append(t.Rows, []terminal.Cell{
				{Text: name}, {Text: terminal.ExactPercent(v.Objective.Decimal)}, {Text: terminal.Integer(v.Good)}, {Text: terminal.Integer(v.Bad)},
				{Text: terminal.Percent(v.Remaining.Decimal)}, {Text: string(v.Decision), Colour: decisionColours[v.Decision]}, {Text: v.Why},
			})
		}
		if err := t.Write(w, colours); err != nil {
			return err
		}
	}
	if len(r.SLOs) > 0 {
		fmt.Fprintln(w)
	}
	line := terminal.Paint(string(r.Decision), decisionColours[r.Decision], colours)
	if r.Policy.Override != "" {
		line += ", overridden: " + r.Policy.Override
	}
	_, err := fmt.Fprintln(w, "decision: "+line)
	return err
}

func verdictsByService(all []gate.Verdict) (groups [][]gate.Verdict) {
	for i, v := range all {
		if i > 0 && title(all[i-1].Budget) == title(v.Budget) {
			groups[len(groups)-1] = append(groups[len(groups)-1], v)
			continue
		}
		groups = append(groups, []gate.Verdict{v})
	}
	return groups
}
