package processor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// clock is a process clock that tests move.
type clock struct{ at time.Time }

func newClock() *clock                { return &clock{time.Unix(1_800_000_000, 0)} }
func (c *clock) now() time.Time       { return c.at }
func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

func parseFiles(t testing.TB, text string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &slo.Set{Files: files}
}

const everyKind = `
service: support
runs: {quiet_period: 5s, idle_timeout: 60s, max_age: 10m}
tools: {expect: always}
slos:
  completion: {objective: 99%}
  correctness: {objective: 95%, evaluations: [{name: correctness, min_score: 0.7}], wait: 30s}
  latency: {objective: 95%, threshold: 5s}
  cost: {objective: 99%, max_usd: 0.01}
  tool_free: {objective: 98%}
  no_progress: {objective: 99%}
  tool_calls: {sli: completion, scope: tool, objective: 98%}
  sub_agents: {sli: completion, scope: agent, objective: 98%}
`

// script is one run as its spans tell it.
type script struct {
	trace  byte
	start  time.Time
	root   bool
	answer bool
	calls  []toolCall
	model  string
	flags  uint32
	desk   bool // a sub-agent works on it
}

type toolCall struct {
	name, args, result, fail string
}

func (s script) spanID(n int) pcommon.SpanID {
	return pcommon.SpanID{s.trace, 1, byte(n >> 8), byte(n)}
}
func (s script) traceID() pcommon.TraceID { return pcommon.TraceID{s.trace, 0xa} }

// spans writes the run in OTel GenAI: a root, and for each tool call a chat
// that asks for it; then a chat that answers.
func (s script) spans() []ptrace.Span {
	var out []ptrace.Span
	at := s.start
	add := func(n, parent int, name, op string, d time.Duration) ptrace.Span {
		sp := ptrace.NewSpan()
		sp.SetTraceID(s.traceID())
		sp.SetSpanID(s.spanID(n))
		if parent >= 0 {
			sp.SetParentSpanID(s.spanID(parent))
			sp.SetFlags(0x100 | s.flags)
		}
		sp.SetName(name)
		sp.SetStartTimestamp(pcommon.NewTimestampFromTime(at))
		sp.SetEndTimestamp(pcommon.NewTimestampFromTime(at.Add(d)))
		sp.Attributes().PutStr("gen_ai.operation.name", op)
		out = append(out, sp)
		return sp
	}
	chat := func(n int, finish string) {
		sp := add(n, 0, "chat m", "chat", 100*time.Millisecond)
		model := s.model
		if model == "" {
			model = "gpt-4o-mini"
		}
		sp.Attributes().PutStr("gen_ai.request.model", model)
		sp.Attributes().PutInt("gen_ai.usage.input_tokens", 200)
		sp.Attributes().PutInt("gen_ai.usage.output_tokens", 20)
		sp.Attributes().PutEmptySlice("gen_ai.response.finish_reasons").AppendEmpty().SetStr(finish)
		at = at.Add(100 * time.Millisecond)
	}
	at = at.Add(time.Millisecond)
	n := 1
	for _, c := range s.calls {
		chat(n, "tool_calls")
		sp := add(n+1, 0, "execute_tool "+c.name, "execute_tool", 50*time.Millisecond)
		sp.Attributes().PutStr("gen_ai.tool.name", c.name)
		sp.Attributes().PutStr("gen_ai.tool.call.id", fmt.Sprintf("call_%d_%d", s.trace, n))
		sp.Attributes().PutStr("gen_ai.tool.call.arguments", c.args)
		if c.fail != "" {
			sp.Status().SetCode(ptrace.StatusCodeError)
			sp.Attributes().PutStr("error.type", c.fail)
		} else {
			sp.Attributes().PutStr("gen_ai.tool.call.result", c.result)
		}
		at = at.Add(50 * time.Millisecond)
		n += 2
	}
	if s.desk {
		add(1000, 0, "invoke_agent desk", "invoke_agent", 50*time.Millisecond).Attributes().PutStr("gen_ai.agent.name", "desk")
		out[len(out)-1].Attributes().PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"hi"}]}]`)
	}
	if s.answer {
		chat(n, "stop")
	}
	if s.root {
		end := at
		at = s.start
		sp := add(0, -1, "invoke_agent helper", "invoke_agent", end.Sub(s.start)+time.Millisecond)
		sp.Attributes().PutStr("gen_ai.agent.name", "helper")
	}
	return out
}

func traces(spans ...ptrace.Span) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "support")
	list := rs.ScopeSpans().AppendEmpty().Spans()
	for _, s := range spans {
		s.CopyTo(list.AppendEmpty())
	}
	return td
}

// ledger counts what an exporter would count.
type ledger map[string]int

func (l ledger) take(j Judged, _ int) {
	s := j.Summary()
	if s.First {
		l["run "+s.Agent+" "+s.Outcome]++
		for _, c := range s.ToolCalls {
			l["tool "+c.Tool+" "+c.Result] += int(c.Count)
		}
		for _, c := range s.Tokens {
			l["tokens "+c.Model+" "+c.Type] += int(c.Count)
		}
	}
	for _, r := range s.Results {
		for _, step := range r.Steps {
			l["step "+r.SLO+" "+step.Agent+" "+step.Tool+" "+step.Verdict.String()+" "+step.Reason] += int(step.Count)
		}
		if r.Steps != nil {
			continue
		}
		l["event "+r.SLO+" "+r.Verdict.String()+" "+r.Reason]++
	}
}

func (l ledger) String() string {
	var lines []string
	for k, n := range l {
		lines = append(lines, fmt.Sprintf("%s: %d", k, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// traffic is a mix of runs that end in different ways.
func traffic(start time.Time) []script {
	ok := toolCall{"get_order", `{"id":1}`, `{"status":"shipped"}`, ""}
	bad := toolCall{"get_order", `{"id":2}`, "", "timeout"}
	return []script{
		{trace: 1, start: start, root: true, answer: true, calls: []toolCall{ok}, desk: true},
		{trace: 2, start: start, root: true, answer: true},                                     // tool-free
		{trace: 3, start: start, root: true, answer: false, calls: []toolCall{ok, ok, ok, ok}}, // a loop, to the limit
		{trace: 4, start: start, root: true, answer: true, calls: []toolCall{bad, bad}},        // all calls failed
		{trace: 5, start: start, root: true, answer: true, calls: []toolCall{bad, ok}},         // recovered
		{trace: 6, start: start, root: false, answer: true, calls: []toolCall{ok}},             // its root never ends, nothing names it
		{trace: 7, start: start, root: true, answer: true, calls: []toolCall{ok}, model: "nobodys-model"},
	}
}

// What traffic must come to, counted by hand from its comments: trace 6 has
// bare model and tool spans only, so it is no run.
const trafficLedger = `event completion bad limit_reached: 1
event completion good : 5
event correctness bad limit_reached: 1
event correctness unknown no_evaluation: 5
event cost good : 5
event cost unknown cost_unknown: 1
event latency excluded limit_reached: 1
event latency good : 5
event no_progress bad repeated_call: 1
event no_progress good : 5
event tool_free bad all_calls_failed: 1
event tool_free bad no_call: 1
event tool_free excluded limit_reached: 1
event tool_free good : 3
run helper answered: 5
run helper limit_reached: 1
step sub_agents desk  good : 1
step tool_calls helper get_order bad transient: 3
step tool_calls helper get_order good : 7
tokens gpt-4o-mini input: 2600
tokens gpt-4o-mini output: 260
tokens nobodys-model input: 400
tokens nobodys-model output: 40
tool get_order ok: 7
tool get_order transient: 3`

// The same spans in any order, cut into any batches and delivered twice, at
// any time while their runs are open and after, give the same counters.
func TestCountersDoNotDependOnDelivery(t *testing.T) {
	files := parseFiles(t, everyKind)
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := newClock()
		got := ledger{}
		e := NewEngine(files, EngineOptions{Now: c.now, Shards: 4}, got.take)
		var all []ptrace.Span
		for _, s := range traffic(c.now()) {
			all = append(all, s.spans()...)
		}
		deliver := func(spans []ptrace.Span) {
			rng.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
			for len(spans) > 0 {
				n := 1 + rng.IntN(min(7, len(spans)))
				e.Consume(traces(spans[:n]...), 0)
				spans = spans[n:]
				if rng.IntN(4) == 0 {
					e.Tick()
				}
			}
		}
		deliver(append(slices.Clone(all), all...))
		for range 20 {
			c.pass(5 * time.Second)
			e.Tick()
		}
		deliver(slices.Clone(all)) // after every run was counted
		for range 20 {
			c.pass(5 * time.Second)
			e.Tick()
		}
		e.Finish(run.Shutdown)
		if got.String() != trafficLedger {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, got, trafficLedger)
		}
	}
}

// A restart between any two batches changes nothing either.
func TestCountersSurviveRestart(t *testing.T) {
	files := parseFiles(t, everyKind)
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 2))
		c := newClock()
		got := ledger{}
		e := NewEngine(files, EngineOptions{Now: c.now, Shards: 4}, got.take)
		var all []ptrace.Span
		for _, s := range traffic(c.now()) {
			all = append(all, s.spans()...)
		}
		all = append(all, all...)
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for i, s := range all {
			e.Consume(traces(s), 0)
			if rng.IntN(10) == 0 || i == len(all)/2 {
				data, err := e.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				e = NewEngine(files, EngineOptions{Now: c.now, Shards: 8}, got.take)
				if err := e.Restore(data); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range 20 {
			c.pass(5 * time.Second)
			e.Tick()
			if i == 2 { // correctness waits for evaluations now
				data, err := e.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				e = NewEngine(files, EngineOptions{Now: c.now, Shards: 2}, got.take)
				if err := e.Restore(data); err != nil {
					t.Fatal(err)
				}
			}
		}
		e.Finish(run.Shutdown)
		if got.String() != trafficLedger {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, got, trafficLedger)
		}
	}
}

func evaluation(trace pcommon.TraceID, span pcommon.SpanID, name string, score float64) plog.Logs {
	ld := plog.NewLogs()
	r := ld.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetEventName("gen_ai.evaluation.result")
	r.SetTraceID(trace)
	r.SetSpanID(span)
	r.Attributes().PutStr("gen_ai.evaluation.name", name)
	r.Attributes().PutDouble("gen_ai.evaluation.score.value", score)
	return ld
}

// An evaluation counts whether it comes before the run, with it, or within
// the wait; after it, the run is unknown and stays so.
func TestEvaluationsMeetTheirRun(t *testing.T) {
	files := parseFiles(t, everyKind)
	s := traffic(newClock().now())[0]
	for _, x := range []struct {
		name string
		at   time.Duration // from the run's spans
		want string
	}{
		{"before the run", -20 * time.Second, "event correctness good : 1"},
		{"with it", 0, "event correctness good : 1"},
		{"within the wait", 20 * time.Second, "event correctness good : 1"},
		{"after the wait", 50 * time.Second, "event correctness unknown no_evaluation: 1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newClock()
			got := ledger{}
			e := NewEngine(files, EngineOptions{Now: c.now}, got.take)
			judge := func() { e.ConsumeLogs(evaluation(s.traceID(), s.spanID(0), "correctness", 0.9)) }
			if x.at < 0 {
				judge()
				c.pass(-x.at)
			}
			e.Consume(traces(s.spans()...), 0)
			for d := time.Duration(0); d <= 2*time.Minute; d += time.Second {
				if d == x.at {
					judge()
				}
				e.Tick()
				c.pass(time.Second)
			}
			if !strings.Contains(got.String(), x.want) || strings.Count(got.String(), "event correctness") != 1 {
				t.Errorf("got\n%s\nwant %s", got, x.want)
			}
		})
	}
}

// Runs of a uniform sampler are counted one each, with the probability beside
// them; what was sampled unevenly is marked.
func TestSampledRuns(t *testing.T) {
	files := parseFiles(t, everyKind)
	for _, x := range []struct {
		name        string
		states      []string // by span, repeated
		tail        bool
		probability float64
		biased      bool
	}{
		{"not sampled", []string{""}, false, 0, false},
		{"uniform", []string{"ot=th:c"}, false, 0.25, false},
		{"beside another vendor", []string{"x=1,ot=rv:abcdefabcdefab;th:8"}, false, 0.5, false},
		{"two probabilities in a run", []string{"ot=th:c", "ot=th:8"}, false, 0.5, true},
		{"a tail sampler", []string{""}, true, 0, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			var got []Judged
			e := NewEngine(files, EngineOptions{}, func(j Judged, _ int) {
				if j.First {
					got = append(got, j)
				}
			})
			spans := traffic(time.Now())[0].spans()
			for i, s := range spans {
				s.TraceState().FromRaw(x.states[i%len(x.states)])
			}
			td := traces(spans...)
			if x.tail {
				td.ResourceSpans().At(0).ScopeSpans().At(0).Scope().Attributes().PutStr("tailsampling.policy", "errors")
			}
			e.Consume(td, 0)
			e.Finish(run.EndOfInput)
			if len(got) != 1 || got[0].Run.Biased != x.biased {
				t.Fatalf("%d runs, biased %v; want 1, %v", len(got), got[0].Run.Biased, x.biased)
			}
			if p := got[0].Summary().SamplingProbability; p != x.probability && !x.biased {
				t.Errorf("probability %v, want %v", p, x.probability)
			}
		})
	}
}
