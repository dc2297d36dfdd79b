package gate_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/gate"
)

const steps = `
service: support
environment: prod
slos:
  completion: {objective: 99%}
  tool_calls: {sli: completion, scope: tool, objective: 98%}
  search:     {sli: completion, scope: tool, tools: [search], objective: 98%}
  slow_calls: {sli: latency, scope: tool, threshold: 2s, objective: 98%}
  sub_agents: {sli: completion, scope: agent, objective: 98%}
`

// 100 runs called search 200 times, of which 5% failed, and refund 20 times, of
// which 10% did: 0.95² × 0.9^0.2 = 0.88368. Research was called by every second
// run and failed in 10%: 0.9^0.5 = 0.94868. What search's own SLO counts is
// counted already, and being slow is no failure.
func TestCompletionIsHeldAgainstItsSteps(t *testing.T) {
	streams := counts{good: 96, bad: 4, excluded: 10}.of("completion", nil)
	streams = append(streams, by("tool", "tool_calls", map[string]counts{"search": {good: 190, bad: 10, excluded: 7}, "refund": {good: 18, bad: 2}, "never": {unknown: 3}})...)
	streams = append(streams, by("tool", "search", map[string]counts{"search": {good: 190, bad: 10}})...)
	streams = append(streams, by("tool", "slow_calls", map[string]counts{"search": {bad: 200}})...)
	streams = append(streams, counts{good: 45, bad: 5}.of("sub_agents", map[string]string{"agent": "research"})...)
	p := serve(t, 90*24*time.Hour, streams...)
	set := parse(t, steps)
	budgets := read(t, p, set, gate.Options{})
	if len(budgets[0].Predicted) != 2 {
		t.Fatalf("%+v", budgets[0].Predicted)
	}
	for i, want := range []struct {
		scope   string
		success float64
		steps   string
	}{{"tool", 0.8836812, "search refund"}, {"agent", 0.9486833, "research"}} {
		got := budgets[0].Predicted[i]
		var names []string
		for _, s := range got.Steps {
			names = append(names, s.Name)
		}
		if string(got.Scope) != want.scope || abs(got.Success.InexactFloat64()-want.success) > 1e-6 || strings.Join(names, " ") != want.steps {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	data, err := json.Marshal(budgets[0])
	if err != nil || !strings.Contains(string(data), `{"name":"search","calls":200,"bad":10,"error_ratio":0.05,"calls_per_run":2,"success":0.9025}`) {
		t.Errorf("%s %v", data, err)
	}
	for _, b := range budgets[1:] {
		if len(b.Predicted) > 0 {
			t.Errorf("%s is predicted", b.SLO)
		}
	}
	// Split, nothing says which part's runs the calls belong to.
	for _, split := range []string{"agent", "tool"} {
		for _, b := range read(t, p, set, gate.Options{By: split}) {
			if len(b.Predicted) > 0 {
				t.Errorf("by %s: %s is predicted", split, b.SLO)
			}
		}
	}
}

func TestByTool(t *testing.T) {
	p := serve(t, 90*24*time.Hour, by("tool", "tool_calls", map[string]counts{"search": {good: 190, bad: 10}, "refund": {good: 18, bad: 12}})...)
	budgets := gate.WorstFirst(read(t, p, parse(t, steps), gate.Options{By: "tool", SLOs: []string{"tool_calls", "completion"}}), 0)
	if len(budgets) != 2 || budgets[0].Split.Value != "refund" || budgets[0].Bad != 12 {
		t.Errorf("%+v", budgets)
	}
}
