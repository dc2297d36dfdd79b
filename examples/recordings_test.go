package examples_test

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/examples"
)

// Each recording holds exactly the run that the index tells of: the trace it
// names, one root, and as many executed tools as the tools themselves counted.
func TestRecordingsHoldTheRunTheyTellOf(t *testing.T) {
	recordings, err := examples.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	if len(recordings) < 25 {
		t.Errorf("%d recordings, want at least 25", len(recordings))
	}
	names := map[string]bool{}
	for _, r := range recordings {
		if names[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		names[r.Name] = true
		requests, err := r.Traces()
		if err != nil {
			t.Error(err)
			continue
		}
		roots, tools := 0, 0
		for span := range spans(requests) {
			if got := span.TraceID().String(); got != r.Truth.TraceID {
				t.Errorf("%s: span %q of trace %s, want %s", r.Name, span.Name(), got, r.Truth.TraceID)
			}
			if span.ParentSpanID().IsEmpty() {
				roots++
			}
			if toolCall(span.Attributes()) {
				tools++
			}
		}
		if roots != 1 {
			t.Errorf("%s: %d roots, want 1", r.Name, roots)
		}
		want := r.Truth.ToolCalls.OK
		for _, n := range r.Truth.ToolCalls.Failed {
			want += n
		}
		if tools != want {
			t.Errorf("%s: %d tool spans, but the tools were called %d times", r.Name, tools, want)
		}
	}
	for _, name := range []string{"support-agent-go/ok", "support-agent-go/tool_failed", "support-agent-go/loop", "vercel-ai/ok", "vercel-ai/streaming", "vercel-ai/cancelled"} {
		if !names[name] {
			t.Errorf("no recording %s", name)
		}
	}
}

// toolCall says whether the span is an executed call of an ordinary tool.
func toolCall(attributes pcommon.Map) bool {
	is := func(name, value string) bool {
		v, ok := attributes.Get(name)
		return ok && v.Str() == value
	}
	return is("gen_ai.operation.name", "execute_tool") && !is("gen_ai.tool.name", "ask_orders_agent") || is("ai.operationId", "ai.toolCall")
}

func spans(requests []ptrace.Traces) func(yield func(ptrace.Span) bool) {
	return func(yield func(ptrace.Span) bool) {
		for _, traces := range requests {
			for _, resource := range traces.ResourceSpans().All() {
				for _, scope := range resource.ScopeSpans().All() {
					for _, span := range scope.Spans().All() {
						if !yield(span) {
							return
						}
					}
				}
			}
		}
	}
}
