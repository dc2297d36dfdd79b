package run

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// tracer writes telemetry for tests: one line a span,
//
//	id parent kind start-end [key=value …]
//
// in milliseconds, kinds as OpenInference has them; http is no AI span.
// parent - is none; ~x is the span x of a process elsewhere.
func spans(t *testing.T, trace byte, text string) ptrace.Traces {
	t.Helper()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "svc")
	list := rs.ScopeSpans().AppendEmpty().Spans()
	id := func(name string) (s pcommon.SpanID) { copy(s[:], name); return s }
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		s := list.AppendEmpty()
		s.SetTraceID(pcommon.TraceID{trace})
		s.SetSpanID(id(f[0]))
		s.SetName(f[0])
		if f[1] != "-" {
			remote := strings.HasPrefix(f[1], "~")
			s.SetParentSpanID(id(strings.TrimPrefix(f[1], "~")))
			s.SetFlags(0x100)
			if remote {
				s.SetFlags(0x300)
			}
		}
		var start, end int64
		if _, err := fmt.Sscanf(f[3], "%d-%d", &start, &end); err != nil {
			t.Fatal(line, err)
		}
		s.SetStartTimestamp(pcommon.Timestamp(1e18 + start*1e6))
		s.SetEndTimestamp(pcommon.Timestamp(1e18 + end*1e6))
		if f[2] != "http" {
			s.Attributes().PutStr("openinference.span.kind", f[2])
		}
		for _, kv := range f[4:] {
			k, v, _ := strings.Cut(kv, "=")
			if k == "error" {
				s.Status().SetCode(ptrace.StatusCodeError)
				s.Status().SetMessage(strings.ReplaceAll(v, "_", " "))
				continue
			}
			var n int64
			if _, err := fmt.Sscanf(v, "%d", &n); err == nil && fmt.Sprint(n) == v {
				s.Attributes().PutInt(k, n)
			} else {
				s.Attributes().PutStr(k, v)
			}
		}
	}
	return td
}

type fixture struct {
	*Assembler
	at   time.Time
	mu   sync.Mutex
	runs []*Run
}

func newFixture(t *testing.T, settings slo.Runs) *fixture {
	t.Helper()
	x := &fixture{at: time.Unix(1_800_000_000, 0)}
	if settings.QuietPeriod == 0 {
		settings.QuietPeriod = 10 * time.Second
	}
	if settings.IdleTimeout == 0 {
		settings.IdleTimeout = time.Hour
	}
	if settings.MaxAge == 0 {
		settings.MaxAge = 24 * time.Hour
	}
	names := slices.Clone(settings.Key)
	x.Assembler = New(Settings{Runs: settings, Shards: 2}, &slo.Set{}, convention.New(names...), Handler{
		Complete: func(r *Run, _ *slo.File, _ int) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.runs = append(x.runs, r)
		},
		Evaluated: func([16]byte, convention.Evaluation) {},
	}, func() time.Time { return x.at })
	return x
}

func (x *fixture) pass(d time.Duration) {
	for until := x.at.Add(d); x.at.Before(until); {
		x.at = x.at.Add(min(time.Second, until.Sub(x.at)))
		x.Tick()
	}
}

// names are the completed runs' root span names, in order of start.
func (x *fixture) names() string {
	var out []string
	for _, r := range x.runs {
		name := strings.TrimRight(string(r.RootSpanID[:]), "\x00")
		if !r.HasRoot {
			name = "(" + r.Outcome.String() + ")"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestRoots(t *testing.T) {
	for _, x := range []struct {
		name, spans, want string
	}{
		{"the topmost agent", `
			a - AGENT 0-100
			b a AGENT 10-90
			m b LLM 20-30`, "a"},
		{"below an HTTP request", `
			h - http 0-100
			a h AGENT 10-90
			m a LLM 20-30`, "a"},
		{"two agents under one request are two runs", `
			h - http 0-100
			a h AGENT 10-40
			b h AGENT 50-90`, "a b"},
		{"a chain that routes by an agent is the run", `
			g - CHAIN 0-100
			a g AGENT 10-20
			m g LLM 30-40`, "g"},
		{"a chain round agents is no run", `
			g - CHAIN 0-100
			a g AGENT 10-20
			m a LLM 11-19
			b g AGENT 30-40
			n b LLM 31-39`, "a b"},
		{"a chain with a model call, no agent anywhere", `
			g - CHAIN 0-100
			c g CHAIN 5-95
			m c LLM 10-20`, "g"},
		{"a chain with nothing below", `
			g - CHAIN 0-100`, ""},
		{"bare model spans are no run", `
			m - LLM 0-10
			n - LLM 20-30`, ""},
		{"a span that is its own parent", `
			a a AGENT 0-10`, "a"},
		{"a ring of parents", `
			a b AGENT 0-10
			b a AGENT 1-9`, "a"},
		{"an evaluator's agent is no run", `
			e - EVALUATOR 0-10
			a e AGENT 1-9
			m a LLM 2-3`, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := newFixture(t, slo.Runs{})
			f.Consume(spans(t, 1, x.spans), 0)
			f.Finish(EndOfInput)
			if got := f.names(); got != x.want {
				t.Errorf("runs %q, want %q", got, x.want)
			}
		})
	}
}

// A sub-agent is exported before its parent: until then it looks topmost.
func TestSubAgentWaitsForItsParent(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	f.Consume(spans(t, 1, `
		m b LLM 20-30
		b t AGENT 10-90`), 0)
	f.pass(time.Minute)
	if len(f.runs) != 0 {
		t.Fatalf("completed %q while its local parent was still to come", f.names())
	}
	f.Consume(spans(t, 1, `
		t a TOOL 5-95 tool.name=ask
		a - AGENT 0-200`), 0)
	f.pass(time.Minute)
	if got := f.names(); got != "a" {
		t.Errorf("runs %q, want a", got)
	}
	if r := f.runs[0]; len(r.Tools) != 1 || r.Tools[0].Role != Delegation || r.Spans != 4 {
		t.Errorf("got %+v, want one delegation in a run of 4 spans", r)
	}
}

func TestParentElsewhereNeverComes(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	f.Consume(spans(t, 1, `
		m a LLM 20-30 llm.finish_reason=stop
		a ~x AGENT 0-100`), 0)
	f.pass(11 * time.Second)
	if got := f.names(); got != "a" {
		t.Errorf("runs %q, want a after the quiet period: its parent is remote", got)
	}
}

func TestParentNeverComesAfterIdle(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	f.Consume(spans(t, 1, `a x AGENT 0-100`), 0)
	f.pass(30 * time.Minute)
	if len(f.runs) != 0 {
		t.Fatal("completed before the idle timeout")
	}
	f.pass(31 * time.Minute)
	if got := f.names(); got != "a" {
		t.Errorf("runs %q, want a", got)
	}
}

// Two runs of one trace, hours apart: the first does not wait for the second.
func TestRunsOfOneTraceCompleteApart(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	f.Consume(spans(t, 1, `a - AGENT 0-100`), 0)
	for range 60 {
		f.pass(time.Second)
		f.Consume(spans(t, 1, fmt.Sprintf(`m%d b LLM %d-%d`, f.at.Unix()%1000, f.at.Unix()%1000*1000, f.at.Unix()%1000*1000+5)), 0)
	}
	if got := f.names(); got != "a" {
		t.Fatalf("runs %q, want a while b goes on", got)
	}
	f.Consume(spans(t, 1, `b - AGENT 0-1000000`), 0)
	f.pass(11 * time.Second)
	if got := f.names(); got != "a b" || f.runs[1].Spans != 61 {
		t.Errorf("runs %q, %d spans in the second; want a b and 61", got, f.runs[1].Spans)
	}
}

func TestLateAndDuplicateSpansChangeNothing(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	run := `
		a - AGENT 0-100
		b a AGENT 10-90
		m b LLM 20-30`
	f.Consume(spans(t, 1, run), 0)
	f.Consume(spans(t, 1, run), 0)
	f.pass(11 * time.Second)
	f.Consume(spans(t, 1, run), 0)
	f.Consume(spans(t, 1, `
		u t TOOL 41-42 tool.name=x
		t b TOOL 40-50 tool.name=x`), 0) // the child before its late parent
	f.Consume(spans(t, 1, `v u LLM 41-42`), 0)
	f.pass(2 * time.Hour)
	if len(f.runs) != 1 || f.runs[0].Spans != 3 {
		t.Fatalf("%d runs, want 1 of 3 spans", len(f.runs))
	}
	if d, l := f.Stats.Duplicates.Load(), f.Stats.Late.Load(); d != 6 || l != 3 {
		t.Errorf("%d duplicates, %d late; want 6, 3", d, l)
	}
	if n := f.Stats.OpenRuns.Load(); n != 0 {
		t.Errorf("%d traces still open", n)
	}
}

func TestOrphansJoinTheRunRoundThem(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	f.Consume(spans(t, 1, `
		a - AGENT 0-100
		m gone LLM 20-30
		b - AGENT 200-300
		n gone LLM 150-160`), 0)
	f.Finish(EndOfInput)
	if got := f.names(); got != "a b" {
		t.Fatal(got)
	}
	for _, r := range f.runs {
		want := 1
		if r.RootSpanID[0] == 'a' {
			want = 2
		}
		if r.Spans != want {
			t.Errorf("run %c has %d spans, want %d", r.RootSpanID[0], r.Spans, want)
		}
	}
	if n := f.Stats.Unattached.Load(); n != 1 {
		t.Errorf("%d unattached, want 1: n is in no run's interval", n)
	}
}

func TestLostRun(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	f.Consume(spans(t, 1, `
		m a LLM 20-30 agent.name=helper
		t a TOOL 31-40 tool.name=x`), 0)
	f.pass(61 * time.Minute)
	if got := f.names(); got != "(lost)" {
		t.Fatalf("runs %q, want one lost run", got)
	}
	if r := f.runs[0]; r.Completion != Idle || r.Agent != "helper" || r.Seconds != nil || r.SoFar != 0.02 {
		t.Errorf("got %+v", r)
	}
}

func TestRunIDJoinsTraces(t *testing.T) {
	for order := range 6 {
		f := newFixture(t, slo.Runs{Key: []string{"job.id"}})
		parts := []ptrace.Traces{
			spans(t, 1, `a - AGENT 0-100 job.id=j1
				m a LLM 20-30`),
			spans(t, 2, `b - AGENT 200-300 job.id=j1
				n b LLM 220-230`),
			spans(t, 3, `c - AGENT 0-100 job.id=j2`),
		}
		for i := range parts {
			parts[(i+order)%3], parts[(i*2+order/3)%3] = parts[(i*2+order/3)%3], parts[(i+order)%3]
		}
		for _, td := range parts {
			f.Consume(td, 0)
		}
		f.pass(11 * time.Second)
		if got := f.names(); got != "a c" {
			t.Fatalf("runs %q, want a (with b) and c", got)
		}
		for _, r := range f.runs {
			if r.RunID == "j1" && (r.Spans != 4 || *r.Seconds != 0.2) {
				t.Errorf("joined run has %d spans and took %v s; want 4 and 0.2", r.Spans, *r.Seconds)
			}
		}
		f.Consume(spans(t, 4, `d - AGENT 400-500 job.id=j1`), 0)
		f.pass(11 * time.Second)
		if len(f.runs) != 2 || f.Stats.Late.Load() != 1 {
			t.Errorf("%d runs, %d late; want 2, 1: j1 was counted", len(f.runs), f.Stats.Late.Load())
		}
	}
}

func TestTraceAsRun(t *testing.T) {
	f := newFixture(t, slo.Runs{Root: slo.RootTrace})
	f.Consume(spans(t, 1, `
		h - http 0-100
		m h LLM 20-30 llm.finish_reason=stop`), 0)
	f.Consume(spans(t, 2, `h - http 0-100`), 0)
	f.pass(time.Minute)
	if len(f.runs) != 1 || f.runs[0].Outcome != slo.Answered || *f.runs[0].Seconds != 0.1 {
		t.Errorf("got %+v", f.runs)
	}
}

func TestBounds(t *testing.T) {
	t.Run("max_spans", func(t *testing.T) {
		f := newFixture(t, slo.Runs{MaxSpans: 50})
		for i := range 120 {
			f.Consume(spans(t, 1, fmt.Sprintf(`m%d a LLM %d-%d agent.name=x`, i, i, i+1)), 0)
		}
		if len(f.runs) == 0 || f.runs[0].Completion != MaxSpans || f.runs[0].Outcome != slo.OutcomeUnknown {
			t.Fatalf("got %+v", f.runs)
		}
	})
	t.Run("max_age", func(t *testing.T) {
		f := newFixture(t, slo.Runs{MaxAge: time.Minute, IdleTimeout: 30 * time.Second})
		for i := range 70 {
			f.Consume(spans(t, 1, fmt.Sprintf(`m%d a LLM %d-%d agent.name=x`, i, i, i+1)), 0)
			f.pass(time.Second)
		}
		if len(f.runs) != 1 || f.runs[0].Completion != MaxAge || f.runs[0].Outcome != slo.Lost {
			t.Fatalf("got %+v", f.runs)
		}
	})
	t.Run("memory", func(t *testing.T) {
		f := newFixture(t, slo.Runs{})
		f.settings.MaxBytes = 100_000
		for _, sh := range f.shards {
			sh.finished.maxBytes = 10_000
		}
		for i := range 2000 {
			f.Consume(spans(t, byte(i), ``), 0)
			td := spans(t, 0, `m a LLM 0-1 agent.name=x`)
			s := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
			s.SetTraceID(pcommon.TraceID{byte(i), byte(i >> 8), 9})
			f.Consume(td, 0)
			if n := f.Stats.Bytes.Load(); n > 110_000 {
				t.Fatalf("holds %d bytes", n)
			}
		}
		f.Finish(Shutdown)
		if len(f.runs) != 2000 || f.Stats.Completed()[Evicted] == 0 {
			t.Errorf("%d runs, %v; want every one released", len(f.runs), f.Stats.Completed())
		}
		if n := f.Stats.Bytes.Load(); n > 25_000 || n < 0 {
			t.Errorf("%d bytes held after the end", n)
		}
	})
}

// An ordinary trace leaves nothing behind.
func TestOtherTracesAreForgotten(t *testing.T) {
	f := newFixture(t, slo.Runs{})
	f.Consume(spans(t, 1, `
		h - http 0-100
		g h http 20-30`), 0)
	f.pass(21 * time.Second)
	if n := f.Stats.OpenRuns.Load(); n != 0 || f.Stats.Bytes.Load() != 0 {
		t.Errorf("%d traces open, %d bytes held", n, f.Stats.Bytes.Load())
	}
}
