package agenttrace

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func marshal(t *testing.T, traces ptrace.Traces) []byte {
	t.Helper()
	data, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(traces)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Numbers measured on the runs can be compared over time only while they stay the same.
func TestRunsAreTheSameEveryTime(t *testing.T) {
	if !bytes.Equal(marshal(t, Run(7)), marshal(t, Run(7))) {
		t.Error("run 7 differs from itself")
	}
	if bytes.Equal(marshal(t, Run(7)), marshal(t, Run(8))) {
		t.Error("runs 7 and 8 are the same")
	}
}

func TestRunHas20SpansRootLast(t *testing.T) {
	spans := Run(3).ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	if spans.Len() != SpansPerRun {
		t.Fatalf("%d spans", spans.Len())
	}
	for i := range spans.Len() {
		span := spans.At(i)
		if root := span.ParentSpanID().IsEmpty(); root != (i == spans.Len()-1) {
			t.Errorf("span %d %s: root %v", i, span.Name(), root)
		}
		if i > 0 && span.EndTimestamp() < spans.At(i-1).EndTimestamp() {
			t.Errorf("span %d ends before the one that was sent before it", i)
		}
	}
}

// Real model calls carry kilobytes of messages; a fixture of bare spans would
// make the readers of attributes look too good and the keepers of spans too.
func TestSpansAreOfRealSize(t *testing.T) {
	size := len(marshal(t, Run(1))) / SpansPerRun
	if size < 1000 || size > 4000 {
		t.Errorf("%d bytes a span", size)
	}
}

func TestRequestsHoldEverySpanOnce(t *testing.T) {
	const runs = 21
	seen := map[[8]byte]int{}
	for _, request := range Requests(0, runs, 64) {
		if n := request.SpanCount(); n > 64 {
			t.Errorf("%d spans in a request", n)
		}
		for _, rs := range request.ResourceSpans().All() {
			for _, span := range rs.ScopeSpans().At(0).Spans().All() {
				seen[span.SpanID()]++
			}
		}
	}
	if len(seen) != runs*SpansPerRun {
		t.Errorf("%d distinct spans, want %d", len(seen), runs*SpansPerRun)
	}
}
