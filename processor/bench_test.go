package processor

import (
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/internal/agenttrace"
	"github.com/agentslo/agentslo/processor/summary"
)

// BenchmarkRun is the whole way of a run of 20 spans: read, assemble,
// complete, judge, summarise. One operation is one span.
func BenchmarkRun(b *testing.B) {
	files := parseFiles(b, everyKind)
	c := newClock()
	e := NewEngine(files, EngineOptions{Now: c.now, Shards: 4}, func(j Judged, _ int) {
		td := ptrace.NewTraces()
		summary.Append(td, j.Summary())
	})
	const runs = 500
	requests := agenttrace.Requests(0, runs, 8)
	spans := 0
	for _, td := range requests {
		spans += td.SpanCount()
	}
	b.ReportAllocs()
	for n := 0; n < b.N; n += spans {
		// Another thousand runs: the clock moves on, and what was finished is forgotten.
		b.StopTimer()
		e = NewEngine(files, EngineOptions{Now: c.now, Shards: 4}, e.judged)
		b.StartTimer()
		for _, td := range requests {
			e.Consume(td, 0)
		}
		c.pass(time.Minute)
		e.Tick()
	}
	b.StopTimer()
	if open := e.Stats().OpenRuns.Load(); open != 0 {
		b.Fatalf("%d runs still open", open)
	}
}

// BenchmarkUnmarshal is what receiving the same spans costs before us.
func BenchmarkUnmarshal(b *testing.B) {
	var bodies [][]byte
	spans := 0
	for _, td := range agenttrace.Requests(0, 500, 8) {
		body, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			b.Fatal(err)
		}
		bodies = append(bodies, body)
		spans += td.SpanCount()
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += spans {
		for _, body := range bodies {
			if _, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body); err != nil {
				b.Fatal(err)
			}
		}
	}
}
