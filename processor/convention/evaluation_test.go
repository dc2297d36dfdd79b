package convention

import (
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestEvaluations(t *testing.T) {
	linked := pcommon.SpanID{7, 7}
	end := uint64(madeStart.Add(10 * time.Second).UnixNano())
	at := uint64(madeStart.Add(time.Second).UnixNano())
	nan := math.NaN()
	result := func(more a) []madeEvent {
		return []madeEvent{{name: "gen_ai.evaluation.result", after: time.Second, attributes: more}}
	}
	for _, c := range []struct {
		why  string
		made made
		want []Evaluation
	}{
		{"span event of the judged span", made{attributes: a{"gen_ai.operation.name": "chat"},
			events: result(a{"gen_ai.evaluation.name": "c", "gen_ai.evaluation.score.value": 0.5, "gen_ai.evaluation.score.label": "ok"})},
			[]Evaluation{{Name: "c", Label: "ok", Score: 0.5, Time: at, TargetTrace: madeTrace, TargetSpan: madeSpan}}},
		{"carrier with a link: never the parent", made{parent: true, link: &linked, attributes: a{"openinference.span.kind": "EVALUATOR"},
			events: result(a{"gen_ai.evaluation.name": "c", "gen_ai.evaluation.score.value": 1})},
			[]Evaluation{{Name: "c", Score: 1, Time: at, TargetTrace: pcommon.TraceID{9}, TargetSpan: linked}}},
		{"carrier without a link judges nothing", made{parent: true, attributes: a{"openinference.span.kind": "EVALUATOR",
			"evaluations.0.evaluation.name": "c", "evaluations.0.evaluation.score": 1.0}},
			[]Evaluation{{Name: "c", Score: 1, Time: end}}},
		{"carrier with attributes", made{link: &linked, attributes: a{"openinference.span.kind": "EVALUATOR",
			"annotations.0.annotation.name": "c", "annotations.0.annotation.label": "bad"}},
			[]Evaluation{{Name: "c", Label: "bad", Score: nan, Time: end, TargetTrace: pcommon.TraceID{9}, TargetSpan: linked}}},
		{"numbered on the judged span", made{attributes: a{"openinference.span.kind": "LLM",
			"evaluations.0.evaluation.name": "c", "evaluations.0.evaluation.score": "0.5",
			"evaluations.1.evaluation.name": "d", "evaluations.1.evaluation.label": "pass"}},
			[]Evaluation{{Name: "c", Score: 0.5, Time: end, TargetTrace: madeTrace, TargetSpan: madeSpan},
				{Name: "d", Label: "pass", Score: nan, Time: end, TargetTrace: madeTrace, TargetSpan: madeSpan}}},
		{"of the whole trace", made{attributes: a{"openinference.span.kind": "AGENT",
			"trace.evaluations.0.evaluation.name": "c", "trace.evaluations.0.evaluation.score": true}},
			[]Evaluation{{Name: "c", Label: "pass", Score: 1, Time: end, TargetTrace: madeTrace}}},
		{"of a session, which is no run", made{attributes: a{"openinference.span.kind": "AGENT",
			"session.annotations.0.annotation.name": "c", "session.annotations.0.annotation.score": 0}},
			[]Evaluation{{Name: "c", Score: 0, Time: end}}},
		{"the evaluator failed", made{attributes: a{"gen_ai.operation.name": "chat"}, events: result(a{"gen_ai.evaluation.name": "c", "error.type": "timeout"})},
			[]Evaluation{{Name: "c", Score: nan, Failed: true, Time: at, TargetTrace: madeTrace, TargetSpan: madeSpan}}},
		{"boolean", made{attributes: a{"gen_ai.operation.name": "chat"}, events: result(a{"gen_ai.evaluation.name": "c", "gen_ai.evaluation.score.value": false})},
			[]Evaluation{{Name: "c", Label: "fail", Score: 0, Time: at, TargetTrace: madeTrace, TargetSpan: madeSpan}}},
		{"a word for a score", made{attributes: a{"gen_ai.operation.name": "chat"}, events: result(a{"gen_ai.evaluation.name": "c", "gen_ai.evaluation.score.value": "good"})},
			[]Evaluation{{Name: "c", Label: "good", Score: nan, Time: at, TargetTrace: madeTrace, TargetSpan: madeSpan}}},
		{"by response id, on a span that is no work", made{events: result(a{"gen_ai.evaluation.name": "c", "gen_ai.evaluation.score.value": 1, "gen_ai.response.id": "r"})},
			[]Evaluation{{Name: "c", Score: 1, Time: at, TargetResponse: identity("r")}}},
		{"Logfire's feedback judges its parent", made{name: "feedback: up", scope: "logfire.feedback", parent: true, attributes: a{
			"logfire.feedback.name": "user_feedback", "user_feedback": "up", "logfire.span_type": "annotation"}},
			[]Evaluation{{Name: "user_feedback", Label: "up", Score: nan, Time: uint64(madeStart.UnixNano()), TargetTrace: madeTrace, TargetSpan: madeParent}}},
		{"LangWatch", made{attributes: a{"gen_ai.operation.name": "chat"}, events: []madeEvent{{name: "langwatch.evaluation.custom", after: time.Second,
			attributes: a{"json_encoded_event": `{"name":"c","score":0.5,"passed":false,"label":null}`}}}},
			[]Evaluation{{Name: "c", Label: "fail", Score: 0.5, Time: at, TargetTrace: madeTrace, TargetSpan: madeSpan}}},
		{"Genkit's test case in Go: a list, whose scores have ids where there are several", made{name: "TestCase 1", scope: "genkit-tracer", attributes: a{
			"genkit:type": "evaluator", "genkit:metadata:subtype": "evaluator", "genkit:path": "/{judge,t:action,s:evaluator}/{TestCase 1,t:evaluator,s:evaluator}",
			"genkit:input":  `{"testCaseId":"1","input":"?","traceIds":["` + madeTrace.String() + `"]}`,
			"genkit:output": `{"testCaseId":"1","evaluation":[{"score":0.9},{"id":"tone","score":0.4}]}`}},
			[]Evaluation{{Name: "judge", Score: 0.9, Time: end, TargetTrace: madeTrace}, {Name: "tone", Score: 0.4, Time: end, TargetTrace: madeTrace}}},
		{"Langfuse's evaluator, of its trace", made{name: "relevance", attributes: a{"langfuse.observation.type": "evaluator",
			"langfuse.observation.output": `{"score":0.92,"passed":true,"comment":"x"}`}},
			[]Evaluation{{Name: "relevance", Label: "pass", Score: 0.92, Time: end, TargetTrace: madeTrace}}},
	} {
		f := c.made.facts(t)
		if len(f.Evaluations) != len(c.want) {
			t.Errorf("%s: %v", c.why, f.Evaluations)
			continue
		}
		for i, got := range f.Evaluations {
			want := c.want[i]
			if math.IsNaN(got.Score) == math.IsNaN(want.Score) && math.IsNaN(got.Score) {
				got.Score, want.Score = 0, 0
			}
			if got != want {
				t.Errorf("%s: got %+v, want %+v", c.why, got, want)
			}
		}
	}
}

// Mastra's scorer runs in a trace of its own and names the judged span;
// Genkit's test case names a trace only if the application gave one.
func TestRecordedEvaluations(t *testing.T) {
	var all []Evaluation
	read := func(path string) {
		var f Facts
		x := New()
		for _, td := range recorded(t, path) {
			walk(td, func(ss ptrace.ScopeSpans, s ptrace.Span) {
				x.Span(&f, ss.Scope(), s)
				for _, e := range f.Evaluations {
					e.Time = 0
					all = append(all, e)
				}
			})
		}
	}
	read("testdata/mastra/scorer.jsonl")
	read("testdata/genkit-js/eval.jsonl")
	read("testdata/langfuse-js/scores.jsonl")
	want := []Evaluation{
		{Name: "mentions-order-id", Score: 1, TargetTrace: traceID("76060d1a54a06c814750914685535e36"), TargetSpan: spanID("af540147b5f045ad")},
		{Name: "shop/relevance", Score: 0.92},
		{Name: "answer-relevance", Label: "pass", Score: 0.92, TargetTrace: traceID("62c0ca324f9c810c2ccb84031ec736fb")},
	}
	if len(all) != len(want) {
		t.Fatalf("got %+v", all)
	}
	for i := range want {
		equal(t, want[i].Name, all[i], want[i])
	}
}
