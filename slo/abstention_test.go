package slo_test

import (
	"errors"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

// An abstention SLO with correct is two budgets: who was answered, and how many
// of the answers are right.
func TestAbstentionBringsCorrectnessAlong(t *testing.T) {
	f := parse(t, `service: a
slos:
  safe: {sli: abstention, objective: 71%, correct: 95%, wait: 5m, combine: any, alert: ticket, agents: [triage],
    when: 'run.tool_calls > 0', provider_faults: exclude, evaluations: [{name: correctness, min_score: 0.7}]}
  completion: {objective: 99%}
`).Files[0]
	if len(f.SLOs) != 3 || f.SLOs[0].Name != "safe" || f.SLOs[2].Name != "completion" {
		t.Fatalf("the SLOs are %+v", f.SLOs)
	}
	answered, c := f.SLOs[0], f.Objective("safe_correctness")
	if answered.Target.String() != "0.71" || answered.SLI != "abstention" {
		t.Errorf("the first is %+v", answered)
	}
	if c == nil {
		t.Fatal("there is no safe_correctness")
	}
	if c.SLI != "correctness" || c.Target.String() != "0.95" || c.Wait != answered.Wait || c.Combine != slo.CombineAny ||
		c.Alert != slo.AlertTicket || len(c.Evaluations) != 1 || len(c.Agents) != 1 || c.ProviderFaults != slo.ProviderFaultsBlame {
		t.Errorf("it is %+v", c)
	}
	for _, run := range []struct {
		outcome string
		calls   int64
		applies bool
	}{{"answered", 1, true}, {"abstained", 1, false}, {"error", 1, false}, {"answered", 0, false}} {
		applies, err := c.When.Eval(map[string]any{"run.outcome": run.outcome, "run.tool_calls": run.calls})
		if err != nil || applies != run.applies {
			t.Errorf("%+v: applies is %v, %v", run, applies, err)
		}
	}
	if _, err := c.When.Eval(map[string]any{"run.tool_calls": int64(1)}); !errors.Is(err, slo.ErrUnknown) {
		t.Errorf("of an unknown outcome: %v", err)
	}
}

func TestDeadlineAttributeIsKept(t *testing.T) {
	set := parse(t, "service: a\nslos: {abandoned_spend: {objective: 99%, deadline: {attribute: app.deadline}}}\n")
	if names := set.AttributeNames(); len(names) != 1 || names[0] != "app.deadline" {
		t.Errorf("attributes are %v", names)
	}
}
