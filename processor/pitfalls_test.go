package processor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// pitfalls are what the field knows to go wrong in agents' telemetry, by the
// names that testdata/pitfalls.txt and the tests below use.
var pitfalls = []string{
	"tokens repeated on two levels", "tokens repeated on three levels", "agent usage is not the sum of its chats",
	"cache inside or outside of input",
	"root without attributes or with a missing parent", "root last, late or never",
	"one run over several traces", "several runs in one trace",
	"nested agents", "agents as siblings of their caller",
	"a run split over batches, out of order",
	"replays re-emit spans with new ids", "a resumed run is counted once", "a very long run",
	"status that lies", "a limit reported as success", "spans lost on cancel or interrupt",
	"content not on attributes", "content captured, not captured, truncated, redacted",
	"numbers as strings", "JSON inside strings",
	"evaluation late or elsewhere", "two evaluators disagree",
	"streaming", "duplicate spans of one fact", "logs joined to the wrong span",
}

// deliveries hand a case's spans to the engine in other orders and batches: what
// is read must not depend on them.
var deliveries = map[string]func(e *Engine, td ptrace.Traces, ld plog.Logs){
	"as they stand": func(e *Engine, td ptrace.Traces, ld plog.Logs) {
		e.Consume(td, 0)
		e.ConsumeLogs(ld)
	},
	"evaluations first": func(e *Engine, td ptrace.Traces, ld plog.Logs) {
		e.ConsumeLogs(ld)
		e.Consume(td, 0)
	},
	"a span a batch, the last first": func(e *Engine, td ptrace.Traces, ld plog.Logs) {
		for _, one := range slices.Backward(singly(td)) {
			e.Consume(one, 0)
		}
		e.ConsumeLogs(ld)
	},
	"everything twice": func(e *Engine, td ptrace.Traces, ld plog.Logs) {
		for _, one := range singly(td) {
			e.Consume(one, 0)
			e.Consume(td, 0)
		}
		e.ConsumeLogs(ld)
		e.ConsumeLogs(ld)
	},
}

// singly cuts traces into batches of one span.
func singly(td ptrace.Traces) (out []ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				one := ptrace.NewTraces()
				to := one.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(to.Resource())
				list := to.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(list.Scope())
				s.CopyTo(list.Spans().AppendEmpty())
				out = append(out, one)
			}
		}
	}
	return out
}

func TestPitfalls(t *testing.T) {
	text, err := os.ReadFile("testdata/pitfalls.txt")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, c := range parseHostile(string(text)) {
		pitfall, _, _ := strings.Cut(c.name, ": ")
		if !slices.Contains(pitfalls, pitfall) {
			t.Errorf("%q shows no pitfall of the list", c.name)
		}
		shown[pitfall] = true
		t.Run(c.name, c.testAll)
	}
	for name, test := range timedPitfalls {
		shown[name] = true
		t.Run(name, test)
	}
	for _, name := range pitfalls {
		if !shown[name] {
			t.Errorf("no telemetry shows: %s", name)
		}
	}
}

// timedPitfalls show what depends on when spans come.
var timedPitfalls = map[string]func(t *testing.T){
	"root last, late or never": func(t *testing.T) {
		s := newStream(t, twoKinds)
		s.spans(`2 1 1 9 chat:gpt-5 flags=0x100` + answers)
		s.pass(30)
		s.want("children are exported first")
		s.spans(`1 - 0 10 ia:bot`)
		s.pass(6)
		s.want("the root comes last", "bot answered root_ended")
		s.pass(30)
		s.want("nobody judged it", "correctness unknown")

		s.spans(`b/2 1 1 9 chat:gpt-5 ~agent.name=bot` + answers)
		s.pass(61)
		s.want("the root never comes", "bot lost idle_timeout", "correctness bad")
		s.spans(`b/1 - 0 10 ia:bot`)
		s.pass(200)
		s.want("it comes late: counted already")
	},
	"a run split over batches, out of order": func(t *testing.T) {
		s := newStream(t, twoKinds)
		s.spans(`1 - 0 30 ia:bot`) // the root is exported first
		s.pass(3)
		s.spans(`3 1 20 29 chat:gpt-5` + answers)
		s.pass(3)
		s.spans(`2 1 1 9 chat:gpt-5` + answers)
		s.pass(4)
		s.want("each batch starts the quiet period anew")
		s.pass(2)
		s.want("then it is over", "bot answered root_ended")
		s.spans(`4 1 10 11 tool:late`)
		s.pass(29)
		s.want("a late span counts nothing", "correctness unknown")
	},
	"evaluation late or elsewhere": func(t *testing.T) {
		s := newStream(t, twoKinds)
		s.spans(`1 - 0 10 ia:bot`, `2 1 1 9 chat:gpt-5`+answers)
		s.pass(6)
		s.want("the run does not wait", "bot answered root_ended")
		s.pass(20)
		s.log(`600 2 ev:correctness score=0.1`)
		s.want("late, within the wait", "correctness bad")

		s.spans(`b/1 - 0 10 ia:bot`, `b/2 1 1 9 chat:gpt-5`+answers)
		s.pass(40)
		s.want("nobody judged it in time", "bot answered root_ended", "correctness unknown")
		s.log(`600 b/2 ev:correctness score=0.1`)
		s.pass(100)
		s.want("later than the wait: counted already")
	},
	"a very long run": func(t *testing.T) {
		s := newStream(t, twoKinds)
		for i := range 30 { // a span every 30 s: never idle
			s.spans(fmt.Sprintf(`%d 1 %d %d tool:s ~agent.name=bot`, i+2, i*30, i*30+1))
			s.pass(30)
		}
		s.want("released at max_age, once", "bot lost max_age", "correctness bad")
		s.spans(`1 - 0 900 ia:bot`)
		s.pass(200)
		s.want("what comes after counts nothing")
	},
}

func (c *hostileCase) testAs(t *testing.T, deliver func(*Engine, ptrace.Traces, plog.Logs)) {
	files, err := slo.Parse("slo.yaml", []byte(c.file))
	if err != nil {
		t.Fatalf("%v\n%s", err, c.file)
	}
	if len(c.expect) == 0 {
		t.Fatal("expects nothing")
	}
	judged, stats := Derive(&slo.Set{Files: files}, func(e *Engine) { deliver(e, c.td, c.ld) })
	c.compare(t, judged, stats)
}

// testRestarted delivers a span at a time to a process that is restarted in between.
func (c *hostileCase) testRestarted(t *testing.T) {
	files, err := slo.Parse("slo.yaml", []byte(c.file))
	if err != nil {
		t.Fatal(err)
	}
	set := &slo.Set{Files: files}
	var all gathered
	e := NewEngine(set, EngineOptions{Shards: 1}, all.take)
	restart := func() {
		data, err := e.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		e = NewEngine(set, EngineOptions{Shards: 2}, all.take)
		if err := e.Restore(data); err != nil {
			t.Fatal(err)
		}
	}
	e.ConsumeLogs(c.ld)
	for _, one := range singly(c.td) {
		restart()
		e.Consume(one, 0)
	}
	restart()
	e.Finish(run.EndOfInput)
	c.compare(t, all.runs(), e.Stats())
}

// testAll is [hostileCase.testAs] in every way.
func (c *hostileCase) testAll(t *testing.T) {
	for name, deliver := range deliveries {
		t.Run(name, func(t *testing.T) { c.testAs(t, deliver) })
	}
	t.Run("restarted after every span", c.testRestarted)
}
