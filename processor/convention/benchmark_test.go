package convention

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// benchmarkSpans are the spans of a whole recorded run.
func benchmarkSpans(b *testing.B, path string) (ptrace.Traces, []byte) {
	b.Helper()
	td := ptrace.NewTraces()
	for _, one := range recorded(b, path) {
		one.ResourceSpans().MoveAndAppendTo(td.ResourceSpans())
	}
	data, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
	if err != nil {
		b.Fatal(err)
	}
	return td, data
}

var benchmarkRuns = []struct{ name, path string }{
	{"otel_genai_no_content", "testdata/vercel-ai-v7/nocontent-ok-tool.jsonl"},
	{"otel_genai", "testdata/vercel-ai-v7/tool-error-recovered.jsonl"},
	{"vercel", "testdata/vercel-ai-v6/ok-tool.jsonl"},
	{"traceloop", "testdata/openllmetry-js/ok-tool.jsonl"},
	{"google_adk", "testdata/google-adk-js/tool-error-recovered.jsonl"},
	{"strands", "testdata/strands-ts/tool-error-recovered.jsonl"},
	{"openinference_langchain", "testdata/openinference-langchain/ok-tool.jsonl"},
	{"langfuse", "testdata/langfuse-js/tool-error-recovered.jsonl"},
	{"mastra", "testdata/mastra/ok-tool.jsonl"},
	{"genkit", "testdata/genkit-js/ok-tool.jsonl"},
}

func walk(td ptrace.Traces, visit func(ptrace.ScopeSpans, ptrace.Span)) {
	for i := range td.ResourceSpans().Len() {
		scopes := td.ResourceSpans().At(i).ScopeSpans()
		for j := range scopes.Len() {
			spans := scopes.At(j).Spans()
			for k := range spans.Len() {
				visit(scopes.At(j), spans.At(k))
			}
		}
	}
}

// BenchmarkSpan is the cost of reading one span. Its peer is
// BenchmarkUnmarshal over the same spans: the whole processor is to cost at
// most an eighth of that.
func BenchmarkSpan(b *testing.B) {
	for _, run := range benchmarkRuns {
		b.Run(run.name, func(b *testing.B) {
			td, _ := benchmarkSpans(b, run.path)
			x := New("service.version", "app.tenant")
			var f Facts
			walk(td, func(ss ptrace.ScopeSpans, s ptrace.Span) { x.Span(&f, ss.Scope(), s) })
			b.ReportAllocs()
			b.ResetTimer()
			n := 0
			for n < b.N {
				walk(td, func(ss ptrace.ScopeSpans, s ptrace.Span) {
					x.Span(&f, ss.Scope(), s)
					n++
				})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/span")
		})
	}
}

// BenchmarkUnmarshal is the cost of decoding the same spans from protobuf.
func BenchmarkUnmarshal(b *testing.B) {
	for _, run := range benchmarkRuns {
		b.Run(run.name, func(b *testing.B) {
			td, data := benchmarkSpans(b, run.path)
			spans := td.SpanCount()
			b.ReportAllocs()
			n := 0
			for n < b.N {
				if _, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data); err != nil {
					b.Fatal(err)
				}
				n += spans
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/span")
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	const args = `{"order_id":"A-1001","reason":"customer request","limit":10}`
	b.ReportAllocs()
	for b.Loop() {
		if c := canonicalText(args); c.empty {
			b.Fatal("empty")
		}
	}
}
