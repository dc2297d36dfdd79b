package truth_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/agentslo/agentslo/examples"
	"github.com/agentslo/agentslo/truth"
)

// The example agents' recorded spans, which the demo replays, say what their
// model server and tools saw, their judge's scores included.
func TestExamples(t *testing.T) {
	recordings, err := examples.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	prices := map[string][3]float64{"support-agent-go": {1.25, 0.125, 10}, "vercel-ai": {0.15, 0.075, 0.60}} // gpt-5, gpt-4o-mini
	var report truth.Report
	for i := range recordings {
		r := &recordings[i]
		told := truth.Told{
			Name: r.Name, Agent: r.Truth.Agent, Outcome: r.Truth.Outcome, ModelCalls: r.Truth.ModelCalls,
			OK: r.Truth.ToolCalls.OK, Failed: r.Truth.ToolCalls.Failed,
			Input: r.Truth.Tokens.Input, Cached: r.Truth.Tokens.CachedInput, Output: r.Truth.Tokens.Output, Reasoning: r.Truth.Tokens.Reasoning,
			Price: prices[r.Emitter], Scores: r.Truth.Scores, Repeated: r.Scenario == "loop",
		}
		x := told.Expect()
		x.Framework = "examples/" + r.Emitter
		if r.Emitter == "vercel-ai" && r.Scenario == "cancelled" {
			lessThanServed(x)
		}
		report.Add(x, derive(t, map[string]io.Reader{r.Name: bytes.NewReader(r.Data)}))
	}
	judge(t, &report)
}

// lessThanServed: the SDK never ends the span of a call that is cut short.
func lessThanServed(x *truth.Expected) {
	const why = "the interrupted doStream span is never exported"
	for name, value := range map[string]string{"model_calls": "1"} {
		f := x.Runs[0].Fact(name)
		f.Accept = append(f.Accept, truth.Accept{Value: value, Why: why})
	}
	for _, name := range []string{"tokens.input", "tokens.cached_input", "tokens.output", "tokens.reasoning", "cost_usd"} {
		f := x.Runs[0].Fact(name)
		f.Accept = append(f.Accept, truth.Accept{Within: &truth.Interval{Low: 0, High: 1e6}, Why: why})
	}
}
