package examples_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentslo/agentslo/examples"
	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/slo"
)

// bad has the SLOs of the support agent's file that each scenario breaks,
// worked out from what happens in it: the judge of the Go agent's answers
// gives below 0.7 and 0.8 where the answer is invented (tool_free,
// tool_failed), beside the question (wrong) or against its source
// (ungrounded); a run without an answer is not correct; 370 000 input tokens of
// gpt-5 cost more than 0.25 dollars; a length limit is no progress.
var bad = map[string]string{
	"ok": "", "rag": "", "refund": "", "parallel": "", "recovered": "", "polling": "", "subagent": "", "streaming": "",
	"tool_free": "correctness grounding tool_free", "tool_failed": "correctness grounding tool_free",
	"wrong": "correctness", "ungrounded": "correctness grounding",
	"loop": "completion correctness no_progress", "truncated": "completion correctness no_progress",
	"error": "completion correctness", "error_after_tool": "completion correctness",
	"escalated": "", "cancelled": "", "expensive": "cost",
}

func TestRecordingsAreJudgedAsTheyHappened(t *testing.T) {
	set, err := slo.Load("support-agent/slo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	recordings, err := examples.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recordings {
		t.Run(r.Name, func(t *testing.T) {
			requests, err := r.Traces()
			if err != nil {
				t.Fatal(err)
			}
			judged, _ := processor.Derive(set, func(e *processor.Engine) {
				for _, request := range requests {
					e.Consume(request, 0)
				}
			})
			if len(judged) != 1 {
				t.Fatalf("%d runs, want 1", len(judged))
			}
			got := judged[0].Report()
			if got.TraceID != r.Truth.TraceID || got.Agent != r.Truth.Agent || got.Outcome != r.Truth.Outcome {
				t.Errorf("run %s of %s: %s, want %s of %s: %s", got.TraceID, got.Agent, got.Outcome, r.Truth.TraceID, r.Truth.Agent, r.Truth.Outcome)
			}
			if got.ToolCalls.OK == nil || *got.ToolCalls.OK != r.Truth.ToolCalls.OK || !maps.Equal(got.ToolCalls.Failed, r.Truth.ToolCalls.Failed) {
				t.Errorf("tool calls %+v, want %+v", got.ToolCalls, r.Truth.ToolCalls)
			}
			compareTokens(t, got, r.Truth)
			if got, want := badOnes(got), expected(r); got != want {
				t.Errorf("bad are %q, want %q", got, want)
			}
		})
	}
}

// compareTokens passes over runs whose spans cannot carry the server's counts:
// a call that the caller left, and calls that the server refused.
func compareTokens(t *testing.T, got processor.Report, truth examples.Truth) {
	if truth.Outcome == "cancelled" || truth.Tokens == (examples.Tokens{}) {
		return
	}
	if got.ModelCalls == nil || *got.ModelCalls != truth.ModelCalls {
		t.Errorf("model calls %v, want %d", got.ModelCalls, truth.ModelCalls)
	}
	for name, pair := range map[string]struct {
		got  *int64
		want int64
	}{
		"input": {got.Tokens.Input, truth.Tokens.Input}, "cached input": {got.Tokens.CachedInput, truth.Tokens.CachedInput},
		"output": {got.Tokens.Output, truth.Tokens.Output}, "reasoning": {got.Tokens.Reasoning, truth.Tokens.Reasoning},
	} {
		if pair.got == nil || *pair.got != pair.want {
			t.Errorf("%s tokens %v, want %d", name, pair.got, pair.want)
		}
	}
}

func badOnes(r processor.Report) string {
	var names []string
	for name, one := range r.SLOs {
		if one.Verdict == slo.Bad.String() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// expected are the SLOs that the run breaks. The Vercel agent has no judge: of
// its answers, correctness and grounding are unknown.
func expected(r examples.Recording) string {
	want := strings.Fields(bad[r.Scenario])
	if r.Truth.Scores == nil && r.Truth.Outcome == "answered" {
		want = slices.DeleteFunc(want, func(name string) bool { return name == "correctness" || name == "grounding" })
	}
	return strings.Join(want, " ")
}
