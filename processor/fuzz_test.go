package processor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/internal/agenttrace"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/summary"
)

// FuzzConsume feeds raw OTLP bytes, as a receiver would, twice and in between
// ticks, a checkpoint and the end. Nothing may panic; each run comes first
// once; its summary can be read back; nothing stays held.
func FuzzConsume(f *testing.F) {
	files := parseFiles(f, everyKind+`
dimensions: {tenant: {attribute: app.tenant, keep: 2}}
exclude: [{name: synthetic, when: 'attributes["app.synthetic"] == "true"'}]
`)
	keyed := parseFiles(f, strings.Replace(everyKind, "runs: {", "runs: {root: trace, key: [session.id], ", 1))
	seed := func(td ptrace.Traces) {
		b, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, false)
		f.Add(b, true)
	}
	for _, s := range traffic(time.Unix(1_800_000_000, 0)) {
		seed(traces(s.spans()...))
	}
	seed(agenttrace.Run(1))
	for _, name := range []string{"emitters.txt", "pitfalls.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range parseHostile(string(text)) {
			seed(c.td)
			if b, err := (&plog.ProtoMarshaler{}).MarshalLogs(c.ld); err == nil && len(b) > 0 {
				f.Add(b, false)
			}
		}
	}
	f.Fuzz(func(t *testing.T, in []byte, useKey bool) {
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(in)
		if err != nil {
			if ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(in); err == nil {
				e := NewEngine(files, EngineOptions{Shards: 1}, func(Judged, int) {})
				e.ConsumeLogs(ld)
				e.ConsumeLogs(ld)
				e.Finish(run.EndOfInput)
			}
			return
		}
		td.MarkReadOnly()
		set := files
		if useKey {
			set = keyed
		}
		first := map[[16]byte]int{}
		take := func(j Judged, _ int) {
			if j.First {
				first[j.Run.ID]++
			}
			j.Report()
			out := ptrace.NewTraces()
			summary.Append(out, j.Summary())
			if _, err := summary.Parse(out.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)); err != nil {
				t.Fatalf("own summary cannot be read: %v", err)
			}
		}
		c := newClock()
		e := NewEngine(set, EngineOptions{Now: c.now, Shards: 2}, take)
		e.Consume(td, 0)
		c.pass(time.Second)
		e.Tick()
		data, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		e = NewEngine(set, EngineOptions{Now: c.now, Shards: 1}, take)
		if err := e.Restore(data); err != nil {
			t.Fatal(err)
		}
		e.Consume(td, 0)
		for range 4 {
			c.pass(40 * time.Second)
			e.Tick()
		}
		e.Consume(td, 0)
		e.Finish(run.Shutdown)
		for id, n := range first {
			if n != 1 {
				t.Fatalf("run %x was handed out %d times", id, n)
			}
		}
		if n := e.Stats().OpenRuns.Load(); n != 0 {
			t.Fatalf("%d traces still open", n)
		}
	})
}

// hostileKeys and hostileValues are what a fuzzed span is made of: keys that
// readers look for, with values of every type and sense.
var hostileKeys = []string{
	"gen_ai.operation.name", "openinference.span.kind", "ai.operationId", "traceloop.span.kind", "langfuse.observation.type", "mastra.span.type",
	"gen_ai.agent.name", "gen_ai.agent.call.id", "gcp.vertex.agent.invocation_id", "gen_ai.request.model", "gen_ai.response.id",
	"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
	"gen_ai.response.finish_reasons", "ai.response.finishReason", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
	"tool.name", "input.value", "output.value", "error.type", "gen_ai.output.messages", "operation.cost", "llm.cost.total", "session.id", "app.tenant", "app.synthetic",
	"evaluations.0.evaluation.name", "evaluations.0.evaluation.score",
}

var hostileStrings = []string{
	"invoke_agent", "chat", "execute_tool", "retrieval", "AGENT", "CHAIN", "LLM", "TOOL", "EVALUATOR", "ai.generateText", "ai.generateText.doGenerate", "ai.toolCall",
	"workflow", "tool", "agent_run", "stop", "length", "tool_calls", "cancelled", `["stop"]`, "12", "-1", "NaN", "1e308", "", "{}", "null", "__REDACTED__",
	`{"a":[1,2,{"b":null}]}`, `{"a":`, "[[[[[[[[", "escalate", "final_answer", "ask_user", "true", "gpt-4o-mini", "\xff\xfe", "a\x00b",
}

// FuzzSpans builds spans from the fuzzer's bytes, so that it reaches the
// readers and the resolver instead of the unmarshaller.
func FuzzSpans(f *testing.F) {
	files := parseFiles(f, everyKind+"dimensions: {tenant: {attribute: app.tenant}}\n")
	f.Add([]byte("\x00\x00\x00\x00\x01\x00\x01\x01\x00\x02\x02\x00"))
	for _, s := range []string{"aAbBcCdDeEfFgGhHiIjJ", "0123456789012345678901234567890123456789", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"} {
		f.Add([]byte(strings.Repeat(s, 3)))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		next := func() int {
			if len(in) == 0 {
				return 0
			}
			b := in[0]
			in = in[1:]
			return int(b)
		}
		var spans []ptrace.Span
		for len(in) > 0 && len(spans) < 60 {
			s := ptrace.NewSpan()
			s.SetTraceID([16]byte{byte(1 + next()%3)})
			s.SetSpanID([8]byte{byte(1 + next()%24)})
			if p := next(); p%4 > 0 {
				s.SetParentSpanID([8]byte{byte(1 + p%24)})
				s.SetFlags(uint32(next()) << 8)
			}
			s.SetStartTimestamp(pcommon.Timestamp(next()) * 1e8)
			s.SetEndTimestamp(pcommon.Timestamp(next()) * 1e8)
			s.SetName(hostileStrings[next()%len(hostileStrings)])
			s.Status().SetCode(ptrace.StatusCode(next() % 3))
			for range next() % 8 {
				key := hostileKeys[next()%len(hostileKeys)]
				switch v := next(); v % 6 {
				case 0:
					s.Attributes().PutInt(key, int64(next())-100)
				case 1:
					s.Attributes().PutDouble(key, float64(next())/0.5)
				case 2:
					s.Attributes().PutBool(key, v > 100)
				case 3:
					s.Attributes().PutEmptySlice(key).AppendEmpty().SetStr(hostileStrings[next()%len(hostileStrings)])
				default:
					s.Attributes().PutStr(key, hostileStrings[next()%len(hostileStrings)])
				}
			}
			spans = append(spans, s)
		}
		// In order, and backwards one by one: the same verdicts.
		report := func(consume func(*Engine)) string {
			got := ledger{}
			e := NewEngine(files, EngineOptions{Shards: 1, Now: newClock().now}, got.take)
			consume(e)
			e.Finish(run.EndOfInput)
			if n := e.Stats().OpenRuns.Load(); n != 0 {
				t.Fatalf("%d traces still open", n)
			}
			return got.String()
		}
		whole := report(func(e *Engine) { e.Consume(traces(spans...), 0) })
		// Where two spans share an id the first to come counts, so only then may the order matter.
		ids := map[string]bool{}
		for _, s := range spans {
			id := s.TraceID().String() + s.SpanID().String()
			if ids[id] {
				return
			}
			ids[id] = true
		}
		backwards := report(func(e *Engine) {
			for i := len(spans) - 1; i >= 0; i-- {
				e.Consume(traces(spans[i]), 0)
			}
		})
		if whole != backwards {
			t.Fatalf("in order:\n%s\nbackwards:\n%s", whole, backwards)
		}
	})
}
