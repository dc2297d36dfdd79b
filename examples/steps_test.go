package examples_test

import (
	"maps"
	"testing"

	"github.com/agentslo/agentslo/examples"
	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/slo"
)

// An SLO of tool calls counts each call that a tool itself counted, good or bad
// by its class; the one sub-agent of the recordings did its work.
func TestStepsAreTheCallsThatToolsCounted(t *testing.T) {
	files, err := slo.Parse("slo.yaml", []byte(`
service: support
slos:
  tool_calls: {sli: completion, scope: tool, objective: 95%}
  sub_agents: {sli: completion, scope: agent, objective: 95%}
`))
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := examples.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	var all int64
	for _, r := range recordings {
		requests, err := r.Traces()
		if err != nil {
			t.Fatal(err)
		}
		judged, _ := processor.Derive(&slo.Set{Files: files}, func(e *processor.Engine) {
			for _, td := range requests {
				e.Consume(td, 0)
			}
		})
		if len(judged) != 1 {
			t.Fatalf("%s: %d runs", r.Name, len(judged))
		}
		got, want := map[string]int64{}, map[string]int64{}
		for _, s := range judged[0].Results[0].Steps {
			if s.Verdict != slo.Excluded { // of a cancelled run the tool may have ended, and its caller not know
				got[s.Verdict.String()+" "+s.Reason] += s.Count
				all += s.Count
			}
		}
		if n := r.Truth.ToolCalls.OK; n > 0 {
			want["good "] = int64(n)
		}
		for class, n := range r.Truth.ToolCalls.Failed {
			want["bad "+class] = int64(n)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: steps %v, the tools counted %v", r.Name, got, want)
		}
		subs := judged[0].Results[1].Steps
		if r.Truth.Scenario == "subagent" {
			if len(subs) != 1 || subs[0].Verdict != slo.Good || subs[0].Count != 1 {
				t.Errorf("%s: sub-agents %+v", r.Name, subs)
			}
		} else if len(subs) != 0 {
			t.Errorf("%s: sub-agents %+v, and there was none", r.Name, subs)
		}
	}
	if all < 40 {
		t.Errorf("only %d calls", all)
	}
}
