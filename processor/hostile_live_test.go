package processor

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

const liveFile = `
service: support
runs: {quiet_period: 5s, idle_timeout: 60s, max_age: 10m%s}
slos:
  completion: {objective: 99%%}
  correctness: {objective: 95%%, evaluations: [{name: correctness, min_score: 0.7}], wait: 30s}
`

type live struct {
	t   *testing.T
	c   *clock
	e   *Engine
	got []string
	log []Judged
}

func newLive(t *testing.T, extra string, maxBytes int64) *live {
	files, err := slo.Parse("slo.yaml", []byte(fmt.Sprintf(liveFile, extra)))
	if err != nil {
		t.Fatal(err)
	}
	l := &live{t: t, c: newClock()}
	l.e = NewEngine(&slo.Set{Files: files}, EngineOptions{Now: l.c.now, MaxBytes: maxBytes, Shards: 1}, l.take)
	return l
}

func (l *live) take(j Judged, _ int) {
	l.log = append(l.log, j)
	if j.First {
		l.got = append(l.got, fmt.Sprintf("%s/%s/%s", j.Run.Agent, j.Run.Outcome, j.Run.Completion))
	}
	for _, r := range j.Results {
		if r.SLO == "correctness" {
			l.got = append(l.got, fmt.Sprintf("q:%s/%s", r.Verdict, r.Reason))
		}
	}
}

func (l *live) spans(lines ...string) {
	td := ptrace.NewTraces()
	scopes := map[string]ptrace.ScopeSpans{}
	for _, x := range lines {
		hostileSpan(td, scopes, tokens(x))
	}
	l.e.Consume(td, 0)
}

func (l *live) logs(lines ...string) {
	ld := plog.NewLogs()
	for _, x := range lines {
		hostileLog(ld, tokens(x)[1:])
	}
	l.e.ConsumeLogs(ld)
}

func (l *live) pass(d time.Duration) {
	for ; d > 0; d -= time.Second {
		l.c.pass(min(d, time.Second))
		l.e.Tick()
	}
}

func (l *live) want(step string, want ...string) {
	l.t.Helper()
	if fmt.Sprint(l.got) != fmt.Sprint(want) {
		l.t.Errorf("%s: got %v want %v (late %d dup %d unattached %d orphans %d evlate %d open %d)", step, l.got, want, l.e.Stats().Late.Load(), l.e.Stats().Duplicates.Load(), l.e.Stats().Unattached.Load(), l.e.Stats().EvaluationsOrphaned.Load(), l.e.Stats().EvaluationsLate.Load(), l.e.Stats().OpenRuns.Load())
	}
	l.got = nil
}

const chatOK = ` ~usage.input_tokens=5 ~usage.output_tokens=5 ~response.finish_reasons=["stop"]`

// Runs of one trace that overlap, so that the trace is never idle.

func TestLiveLostThenRoot(t *testing.T) {
	l := newLive(t, "", 0)
	l.spans(`2 1 1 9 chat:gpt-5 ~agent.name=bot` + chatOK)
	l.pass(61 * time.Second)
	l.want("lost", "bot/lost/idle_timeout", "q:bad/lost")
	l.spans(`1 - 0 100 ia:bot`, `3 1 90 99 chat:gpt-5`+chatOK)
	l.pass(70 * time.Second)
	l.want("the root comes after all")
}

func TestLiveMaxSpans(t *testing.T) {
	l := newLive(t, ", max_spans: 100", 0)
	for i := range 150 {
		l.spans(fmt.Sprintf(`%d 1 %d %d tool:s ~agent.name=bot`, i+2, i, i+1))
	}
	l.spans(`1 - 0 200 ia:bot`)
	l.pass(200 * time.Second)
	l.want("max_spans", "bot/unknown/max_spans", "q:unknown/outcome_unknown")
}

func TestLiveMaxAge(t *testing.T) {
	l := newLive(t, "", 0)
	for i := range 30 {
		l.spans(fmt.Sprintf(`%d 1 %d %d tool:s ~agent.name=bot`, i+2, i*30, i*30+1))
		l.pass(30 * time.Second)
	}
	l.spans(`1 - 0 900 ia:bot`)
	l.pass(200 * time.Second)
	l.want("max_age", "bot/lost/max_age", "q:bad/lost")
}

func TestLiveResendOfAGreatRun(t *testing.T) {
	l := newLive(t, "", 0)
	td := ptrace.NewTraces()
	scopes := map[string]ptrace.ScopeSpans{}
	add := func(x string) { hostileSpan(td, scopes, tokens(x)) }
	add(`1 - 0 10000 ia:bot`)
	for i := range 5000 {
		add(fmt.Sprintf(`%d 1 %d %d.5 tool:s`, i+2, i, i))
	}
	add(`6000 1 5001 5100 tool:ask`)
	add(`6001 6000 5002 5099 ia:sub`)
	add(`6002 6001 5003 5098 chat:gpt-5` + chatOK)
	add(`6003 1 9000 9999.9 chat:gpt-5` + chatOK)
	l.e.Consume(td, 0)
	l.pass(6 * time.Second)
	l.want("first", "bot/answered/root_ended")
	l.e.Consume(td, 0)
	l.pass(200 * time.Second)
	l.want("again", "q:unknown/no_evaluation")
	_ = pcommon.TraceID{}
	_ = run.Idle
}

func TestLiveTiming(t *testing.T) {
	if testing.Short() {
		t.Skip()
	}
	for name, make := range map[string]func(i int) string{
		"tools with chat ids": func(i int) string {
			if i%2 == 0 {
				return fmt.Sprintf(`%d 1 %d %d chat:gpt-5 ~response.id=r%d ~usage.input_tokens=5 ~usage.output_tokens=5 ~response.finish_reasons=["tool_calls"]`, i+2, i, i+1, i)
			}
			return fmt.Sprintf(`%d 1 %d %d tool:s ~tool.call.id=c%d ~tool.call.arguments={"q":%d} ~tool.call.result=x`, i+2, i, i+1, i, i)
		},
		"calls by message": func(i int) string {
			return fmt.Sprintf(`%d 1 %d %d raw:c scope=langfuse-sdk langfuse.observation.type=generation langfuse.observation.input:={"messages":[{"role":"assistant","tool_calls":[{"id":"c%d"}]},{"role":"tool","tool_call_id":"c%d","content":"x"}]} langfuse.observation.output:={"role":"assistant","tool_calls":[{"id":"c%d","function":{"name":"s","arguments":"{}"}}]}`, i+2, i, i+1, i-1, i-1, i)
		},
		"agents that ask once each": func(i int) string {
			if i%2 == 0 {
				return fmt.Sprintf(`%d 1 %d %d ia:a`, i+2, i, i+2)
			}
			return fmt.Sprintf(`%d %d %d %d chat:gpt-5 ~response.finish_reasons=["tool_calls"]`, i+2, i+1, i, i+1)
		},
		"chain":             func(i int) string { return fmt.Sprintf(`%d %d %d 100000 tool:s`, i+2, i+1, i) },
		"reverse chain":     func(i int) string { return fmt.Sprintf(`%d %d %d 100000 tool:s`, i+2, i+3, i) },
		"cycle":             func(i int) string { return fmt.Sprintf(`%d %d %d 100000 tool:s`, i+2, (i+1)%20000+2, i) },
		"agents in a chain": func(i int) string { return fmt.Sprintf(`%d %d %d 100000 ia:a`, i+2, i+1, i) },
		"agents broken":     func(i int) string { return fmt.Sprintf(`%d %d %d %d ia:a`, i+2, i+1000000, i, i+2) },
		"chains":            func(i int) string { return fmt.Sprintf(`%d %d %d %d oi.CHAIN:a`, i+2, i+1, i, i+2) },
		"orphans":           func(i int) string { return fmt.Sprintf(`%d %d %d %d tool:a`, i+2, i+1000000, i, i+2) },
		"sibling agents":    func(i int) string { return fmt.Sprintf(`%d 1 %d %d ia:a`, i+2, i, i+2) },
		"top agents":        func(i int) string { return fmt.Sprintf(`%d - %d %d ia:a`, i+2, i, i+2) },
		"run ids":           func(i int) string { return fmt.Sprintf(`%d - %d %d ia:a ~agent.call.id=R%d`, i+2, i, i+2, i) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLive(t, "", 0)
			td := ptrace.NewTraces()
			scopes := map[string]ptrace.ScopeSpans{}
			if name != "top agents" && name != "run ids" && name != "agents broken" {
				hostileSpan(td, scopes, tokens(`1 - 0 100001 ia:bot`))
			}
			for i := range 20000 {
				hostileSpan(td, scopes, tokens(make(i)))
			}
			at := time.Now()
			l.e.Consume(td, 0)
			in := time.Since(at)
			at = time.Now()
			l.e.Finish(run.EndOfInput)
			// Quadratic code took up to 20 s for 50,000; a slow machine must not fail.
			if out := time.Since(at); in+out > 15*time.Second {
				t.Errorf("20,000 spans took %v to read and %v to resolve into %d runs", in, out, len(l.log))
			}
		})
	}
}

// A worker's own span stays open for hours; a run every 30 s below it.
func TestLiveLongLocalParent(t *testing.T) {
	l := newLive(t, "", 0)
	at := map[int]int{}
	n := 0
	for i := range 40 {
		l.spans(fmt.Sprintf(`%d %d %d %d chat:gpt-5 flags=0x100%s`, 10*i+2, 10*i+1, i*30+1, i*30+9, chatOK), fmt.Sprintf(`%d 99999 %d %d ia:bot flags=0x100`, 10*i+1, i*30, i*30+10))
		l.pass(15 * time.Second)
		// a run that is under way: its chat has come, its agent is still open
		l.spans(fmt.Sprintf(`%d %d %d %d chat:gpt-5 flags=0x100%s`, 10*i+12, 10*i+11, i*30+31, i*30+39, chatOK))
		l.pass(15 * time.Second)
		k := 0
		for _, j := range l.log {
			if j.First {
				k++
			}
		}
		if k != n {
			at[i*30+30] = k
			n = k
		}
	}
	t.Log("runs counted by time:", at)
	kinds := map[string]int{}
	for _, j := range l.log {
		if j.First {
			kinds[j.Run.Outcome.String()+"/"+string(j.Run.Completion)]++
		}
	}
	t.Log(kinds)
	l.e.Finish("shutdown")
	runs := 0
	for _, j := range l.log {
		if j.First {
			runs++
		}
	}
	t.Log("in all", runs)
}

// No flags (older SDKs): a run every 20 s in one trace, overlapping so that a chat of the next is always there.
func TestLiveOverlapNoFlags(t *testing.T) {
	l := newLive(t, "", 0)
	for i := range 60 {
		l.spans(fmt.Sprintf(`%d 99999 %d %d ia:bot`, 10*i+1, i*30, i*30+31), fmt.Sprintf(`%d %d %d %d chat:gpt-5%s`, 10*i+12, 10*i+11, i*30+31, i*30+39, chatOK))
		l.pass(20 * time.Second)
	}
	kinds := map[string]int{}
	for _, j := range l.log {
		if j.First {
			kinds[j.Run.Outcome.String()+"/"+string(j.Run.Completion)]++
		}
	}
	t.Log(kinds, "late", l.e.Stats().Late.Load(), "open", l.e.Stats().OpenRuns.Load())
}

func TestLiveEvalOnHTTPSpanLater(t *testing.T) {
	l := newLive(t, "", 0)
	l.spans(`1 9 0 10 ia:bot flags=0x300`, `2 1 1 9 chat:gpt-5`+chatOK)
	l.pass(6 * time.Second)
	l.want("done", "bot/answered/root_ended")
	l.spans(`9 - 0 11 raw:POST kind=SERVER http.request.method=POST`)
	l.logs(`log 12 2 ev:correctness score=0.9`)
	l.want("on the chat though the server's span is pending", "q:good/")
	l.spans(`b/1 9 0 10 ia:bot flags=0x300`, `b/2 1 1 9 chat:gpt-5`+chatOK)
	l.pass(6 * time.Second)
	l.want("done", "bot/answered/root_ended")
	l.spans(`b/9 - 0 11 raw:POST kind=SERVER http.request.method=POST`)
	l.logs(`log 12 b/9 ev:correctness score=0.9`)
	l.pass(20 * time.Second)
	l.want("on the server's span", "q:good/")
}

func TestLiveEvalOrphanRunID(t *testing.T) {
	l := newLive(t, "", 0)
	l.logs(`log 9 - ev:correctness score=0.9 ~agent.call.id=RR`)
	l.spans(`c/1 - 0 10 ia:bot ~agent.call.id=RR`, `c/2 1 1 9 chat:gpt-5`+chatOK)
	l.pass(6 * time.Second)
	l.want("by run id before the run", "bot/answered/root_ended", "q:good/")
}

func TestLiveOrphanLate(t *testing.T) {
	l := newLive(t, "", 0)
	l.spans(`c/1 - 0 10 ia:bot`, `c/2 1 1 9 chat:gpt-5`+chatOK)
	l.pass(6 * time.Second)
	l.want("c", "bot/answered/root_ended")
	// a deep late sub-agent whose own parent is lost
	l.spans(`c/31 30 3 6 ia:sub flags=0x100`, `c/32 31 4 5 chat:gpt-5 flags=0x100`+chatOK)
	l.pass(200 * time.Second)
	l.want("late sub-agent with a lost parent inside the run's interval", "q:unknown/no_evaluation")
	l.spans(`d/1 - 0 10 ia:bot`, `d/2 1 1 9 chat:gpt-5`+chatOK)
	l.pass(40 * time.Second)
	l.want("d", "bot/answered/root_ended", "q:unknown/no_evaluation")
	// child first: a late grandchild before its late parent
	l.spans(`d/42 41 4 5 ia:sub`, `d/43 42 4 5 chat:gpt-5`+chatOK)
	l.pass(2 * time.Second)
	l.spans(`d/41 1 3 6 tool:ask`)
	l.pass(200 * time.Second)
	l.want("late sub-agent before its late parent")
}
