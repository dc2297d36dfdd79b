package processor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/exporter"
	"github.com/agentslo/agentslo/internal/agenttrace"
	"github.com/agentslo/agentslo/processor/recording"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

// What the bytes of one input are.
const (
	spansAreJSON = 1 << iota
	recordsAreJSON
	joined // runs are joined by an attribute, and a trace without an agent is one
	recordsFirst
)

// FuzzConsume takes raw OTLP bytes all the way: unmarshalled as a receiver does,
// into runs and verdicts of every SLI kind, as summary spans into the exporter's
// counters, and these collected as at a scrape. The bytes come twice while runs
// are open, with a checkpoint between, and once more when they are done. Nothing
// may panic, each run comes first once, its summary can be read and counts once,
// each SLO about runs has a verdict on each run, and nothing stays held.
func FuzzConsume(f *testing.F) {
	text := everyKindOfSLI(f)
	apart := parseFiles(f, text)
	keyed := parseFiles(f, strings.Replace(text, "runs: {", "runs: {root: trace, key: [session.id], ", 1))
	seedFuzz(f)
	f.Fuzz(func(t *testing.T, spans, records []byte, form uint8) {
		td, ld, ok := received(spans, records, form)
		if !ok {
			return
		}
		td.MarkReadOnly()
		ld.MarkReadOnly()
		files := apart
		if form&joined != 0 {
			files = keyed
		}
		counters := newCounters(t)
		first := map[[16]byte]int{}
		matched := 0
		take := func(j Judged, _ int) {
			if j.First {
				first[j.Run.ID]++
				if j.File != nil {
					matched++
				}
			}
			j.Report()
			out := ptrace.NewTraces()
			summary.Append(out, j.Summary())
			if _, err := summary.Parse(out.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)); err != nil {
				t.Fatalf("own summary cannot be read: %v", err)
			}
			for range 2 { // a sender may send it again
				if err := counters.ConsumeTraces(t.Context(), out); err != nil {
					t.Fatal(err)
				}
			}
		}
		c := newClock()
		e := NewEngine(files, EngineOptions{Now: c.now, Shards: 2}, take)
		consume := func() {
			if form&recordsFirst != 0 {
				e.ConsumeLogs(ld)
			}
			e.Consume(td, 0)
			if form&recordsFirst == 0 {
				e.ConsumeLogs(ld)
			}
		}
		consume()
		c.pass(time.Second)
		e.Tick()
		data, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		e = NewEngine(files, EngineOptions{Now: c.now, Shards: 1}, take)
		if err := e.Restore(data); err != nil {
			t.Fatal(err)
		}
		consume()
		for range 4 {
			c.pass(40 * time.Second)
			e.Tick()
		}
		consume()
		e.Finish(run.Shutdown)
		for id, n := range first {
			if n != 1 {
				t.Fatalf("run %x was handed out %d times", id, n)
			}
		}
		if n := e.Stats().OpenRuns.Load(); n != 0 {
			t.Fatalf("%d traces still open", n)
		}
		counted := counters.verdicts(t)
		for i := range files.Files[0].SLOs {
			if o := &files.Files[0].SLOs[i]; !o.OfSteps() && counted[o.Name] != matched {
				t.Fatalf("%s has %d verdicts on %d runs", o.Name, counted[o.Name], matched)
			}
		}
	})
}

// everyKindOfSLI is an SLO file that leaves no kind out.
func everyKindOfSLI(f *testing.F) string {
	text, err := os.ReadFile("testdata/every_kind.yaml")
	if err != nil {
		f.Fatal(err)
	}
	set := parseFiles(f, string(text))
	for _, kind := range slo.Kinds {
		if kind != slo.KindRatio && !slices.ContainsFunc(set.Files[0].SLOs, func(o slo.Objective) bool { return o.SLI == kind }) {
			f.Fatalf("testdata/every_kind.yaml has no SLO of the kind %s", kind)
		}
	}
	return string(text)
}

// counters is a running exporter.
type counters struct {
	component.Component
	ConsumeTraces func(context.Context, ptrace.Traces) error
	registry      *prometheus.Registry
}

func newCounters(t *testing.T) *counters {
	c := &counters{registry: prometheus.NewPedanticRegistry()}
	factory := exporter.NewFactory(exporter.WithCollector(func(book prometheus.Collector) {
		if err := c.registry.Register(book); err != nil {
			t.Fatal(err)
		}
	}))
	config := factory.CreateDefaultConfig().(*exporter.Config)
	config.ServerConfig.NetAddr.Endpoint = "" // nobody scrapes over the network
	config.BirthHold = 0
	made, err := factory.CreateTraces(t.Context(), exportertest.NewNopSettings(factory.Type()), config)
	if err == nil {
		err = made.Start(t.Context(), componenttest.NewNopHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Component, c.ConsumeTraces = made, made.ConsumeTraces
	return c
}

// verdicts scrapes the counters and stops: the number of verdicts by SLO.
func (c *counters) verdicts(t *testing.T) map[string]int {
	families, err := c.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	counted := map[string]int{}
	for _, family := range families {
		if family.GetName() != "agentslo_events_total" {
			continue
		}
		for _, m := range family.Metric {
			for _, l := range m.Label {
				if l.GetName() == "slo" {
					counted[l.GetValue()] += int(m.Counter.GetValue())
				}
			}
		}
	}
	return counted
}

// received reads the bytes as a receiver does. ok is false without any span or
// log record.
func received(spans, records []byte, form uint8) (td ptrace.Traces, ld plog.Logs, ok bool) {
	var traces ptrace.Unmarshaler = &ptrace.ProtoUnmarshaler{}
	if form&spansAreJSON != 0 {
		traces = &ptrace.JSONUnmarshaler{}
	}
	var logs plog.Unmarshaler = &plog.ProtoUnmarshaler{}
	if form&recordsAreJSON != 0 {
		logs = &plog.JSONUnmarshaler{}
	}
	td, err := traces.UnmarshalTraces(spans)
	if err != nil {
		td = ptrace.NewTraces()
	}
	if ld, err = logs.UnmarshalLogs(records); err != nil {
		ld = plog.NewLogs()
	}
	return td, ld, td.SpanCount()+ld.LogRecordCount() > 0
}

// seedFuzz begins with what real frameworks emitted, and with the emitters and
// pitfalls that are written down, in each form that OTLP has.
func seedFuzz(f *testing.F) {
	add := func(td ptrace.Traces, ld plog.Logs) {
		spans, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
		if err != nil {
			f.Fatal(err)
		}
		records, err := (&plog.ProtoMarshaler{}).MarshalLogs(ld)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(spans, records, uint8(recordsFirst))
		f.Add(spans, records, uint8(joined))
		spans, err = (&ptrace.JSONMarshaler{}).MarshalTraces(td)
		if err != nil {
			f.Fatal(err)
		}
		records, err = (&plog.JSONMarshaler{}).MarshalLogs(ld)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(spans, records, uint8(spansAreJSON|recordsAreJSON))
	}
	for _, s := range traffic(time.Unix(1_800_000_000, 0)) {
		add(traces(s.spans()...), plog.NewLogs())
	}
	add(agenttrace.Run(1), plog.NewLogs())
	for _, name := range []string{"emitters.txt", "pitfalls.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range parseHostile(string(text)) {
			add(c.td, c.ld)
		}
	}
	for _, scenario := range []string{"tool-all-failed-answer", "late-evaluation", "aborted"} {
		names, err := filepath.Glob("../e2e/frameworks/testdata/*/" + scenario + ".json")
		if err != nil || len(names) == 0 {
			f.Fatal(names, err)
		}
		for _, name := range names {
			td, ld := ptrace.NewTraces(), plog.NewLogs()
			sink := recording.Sink{Traces: func(in ptrace.Traces) { in.ResourceSpans().MoveAndAppendTo(td.ResourceSpans()) },
				Logs: func(in plog.Logs) { in.ResourceLogs().MoveAndAppendTo(ld.ResourceLogs()) }}
			for _, name := range []string{name, strings.TrimSuffix(name, ".json") + ".logs.json"} {
				file, err := os.Open(name)
				if os.IsNotExist(err) {
					continue
				}
				if err == nil {
					err = recording.Read(name, file, sink)
					file.Close()
				}
				if err != nil {
					f.Fatal(err)
				}
			}
			add(td, ld)
		}
	}
}

// hostileKeys and hostileValues are what a fuzzed span is made of: keys that
// readers look for, with values of every type and sense.
var hostileKeys = []string{
	"gen_ai.operation.name", "openinference.span.kind", "ai.operationId", "traceloop.span.kind", "langfuse.observation.type", "mastra.span.type",
	"gen_ai.agent.name", "gen_ai.agent.call.id", "gcp.vertex.agent.invocation_id", "gen_ai.request.model", "gen_ai.response.id",
	"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt", "ai.usage.inputTokens",
	"gen_ai.response.finish_reasons", "ai.response.finishReason", "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
	"tool.name", "input.value", "output.value", "error.type", "gen_ai.output.messages", "operation.cost", "llm.cost.total", "session.id", "app.tenant", "app.synthetic",
	"evaluations.0.evaluation.name", "evaluations.0.evaluation.score", "app.deadline", "http.response.status_code", "rpc.grpc.status_code",
	"genkit:metadata:subtype", "genkit:output", "gcp.vertex.agent.llm_response", "exception.message",
}

var hostileStrings = []string{
	"invoke_agent", "chat", "execute_tool", "retrieval", "AGENT", "CHAIN", "LLM", "TOOL", "EVALUATOR", "ai.generateText", "ai.generateText.doGenerate", "ai.toolCall",
	"workflow", "tool", "agent_run", "stop", "length", "tool_calls", "cancelled", `["stop"]`, "12", "-1", "NaN", "1e308", "", "{}", "null", "__REDACTED__",
	`{"a":[1,2,{"b":null}]}`, `{"a":`, "[[[[[[[[", "escalate", "final_answer", "ask_user", "true", "gpt-4o-mini", "\xff\xfe", "a\x00b",
	"open_ticket", "send_reply", "get_order_status", "bash", "tool.v2", `{"order_id":"A-1001"}`, `{"command":"rm -rf /"}`, "timed out", "429", "401 Unauthorized",
	`{"partial":true}`, "2027-01-15T08:00:01Z", "499",
}

// FuzzSpans builds spans from the fuzzer's bytes, so that it reaches the
// readers and the resolver instead of the unmarshaller.
func FuzzSpans(f *testing.F) {
	files := parseFiles(f, everyKindOfSLI(f))
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
