package series

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

// stepping replaces the summary's result by steps.
func stepping(steps ...sli.Step) func(*summary.Summary) {
	return func(s *summary.Summary) { s.Results[0].Steps = append([]sli.Step{}, steps...) }
}

// Each step is an event, the run's own verdict is none, and its agent and tool
// are those of the step.
func TestStepsAreTheEvents(t *testing.T) {
	b, _ := newBook()
	s := verdict("tool_calls", slo.Bad, "transient", with("tenant", "acme"), stepping(
		sli.Step{Agent: "triage", Tool: "search", Verdict: slo.Good, Count: 3},
		sli.Step{Agent: "orders", Tool: "status", Verdict: slo.Bad, Reason: "transient", Count: 2},
		sli.Step{Agent: "orders", Tool: "status", Verdict: slo.Bad, Reason: "auth", Count: 1},
		sli.Step{Agent: "triage", Verdict: slo.Unknown, Reason: "calls_not_seen", Count: 1}))
	s.Results = append(s.Results, sli.Result{SLO: "completion", Verdict: slo.Good})
	s.SpanID = summary.SpanID(s.Run, s.Results)
	b.Count(s)
	if b.Count(s) != Duplicate {
		t.Error("a resend is counted again")
	}
	b.Count(verdict("tool_calls", slo.Excluded, "no_steps", stepping())) // a run without steps
	f := gather(t, b)
	events := func(agent, slo string, good, bad, unknown, excluded float64) map[string]float64 {
		m := map[string]float64{}
		for v, n := range map[string]float64{"good": good, "bad": bad, "unknown": unknown, "excluded": excluded} {
			m["agent="+agent+" environment=prod slo="+slo+" slo_service=support verdict="+v] = n
		}
		return m
	}
	merge := func(all ...map[string]float64) map[string]float64 {
		m := map[string]float64{}
		for _, one := range all {
			for k, v := range one {
				m[k] = v
			}
		}
		return m
	}
	wantValues(t, f["agentslo_events_total"], merge(
		events("triage", "tool_calls", 3, 0, 1, 0), events("orders", "tool_calls", 0, 3, 0, 0), events("triage", "completion", 1, 0, 0, 0)))
	const of = " environment=prod reason=%s slo=tool_calls slo_service=support verdict=%s"
	wantValues(t, f["agentslo_reasons_total"], map[string]float64{
		"agent=orders" + fmt.Sprintf(of, "transient", "bad"):          2,
		"agent=orders" + fmt.Sprintf(of, "auth", "bad"):               1,
		"agent=triage" + fmt.Sprintf(of, "calls_not_seen", "unknown"): 1,
	})
	byTool := values(f["agentslo_events_by_tool_total"])
	const tool = " environment=prod slo=tool_calls slo_service=support tool="
	if byTool["agent=triage"+tool+"search verdict=good"] != 3 || byTool["agent=orders"+tool+"status verdict=bad"] != 3 || len(byTool) != 8 {
		t.Errorf("by tool: %v", byTool)
	}
	sum := map[string]float64{}
	for labels, n := range values(f["agentslo_events_by_tenant_total"]) {
		if !strings.Contains(labels, "tenant=acme") {
			t.Errorf("%s has no tenant", labels)
		}
		sum[labels[strings.LastIndex(labels, "=")+1:]] += n
	}
	if sum["good"] != 4 || sum["bad"] != 3 || sum["unknown"] != 1 { // one of the good is the run
		t.Errorf("by tenant: %v", sum)
	}
	if n := values(f["agentslo_runs_total"])["agent=triage environment=prod outcome=answered slo_service=support"]; n != 2 {
		t.Errorf("%v runs, want 2: the steps of a run do not make it more", n)
	}
}

// The first failure of a step is an increase for every scraper, too.
func TestStepsAreBornAtZero(t *testing.T) {
	b, c := newBook(holding(time.Minute))
	b.Count(verdict("tool_calls", slo.Bad, "", stepping(sli.Step{Agent: "triage", Tool: "search", Verdict: slo.Bad, Reason: "auth", Count: 5})))
	for _, want := range []float64{0, 5} {
		for _, family := range []string{"agentslo_events_total", "agentslo_events_by_tool_total"} {
			var bad float64
			for labels, n := range values(gather(t, b)[family]) {
				if strings.HasSuffix(labels, "verdict=bad") {
					bad += n
				}
			}
			if bad != want {
				t.Errorf("%s shows %v, want %v", family, bad, want)
			}
		}
		c.advance(time.Minute)
	}
}

// Models make tool names up. The newest of them are kept, and none is lost.
func TestInventedToolsAreBounded(t *testing.T) {
	b, _ := newBook()
	const tools = 3 * slo.ToolsKept
	for i := range tools {
		b.Count(verdict("tool_calls", slo.Bad, "", stepping(sli.Step{Agent: "triage", Tool: fmt.Sprint("tool", i), Verdict: slo.Bad, Count: 1})))
	}
	got, sum := values(gather(t, b)["agentslo_events_by_tool_total"]), 0.0
	for _, n := range got {
		sum += n
	}
	if len(got) != 4*(slo.ToolsKept+1) || sum != tools {
		t.Errorf("%d series with %v events", len(got), sum)
	}
}

// A restart with storage between any two events: whoever adds up differences
// still sees each event once, folded or not.
func TestFoldingShowsEachEventOnceAcrossRestarts(t *testing.T) {
	for _, hold := range []time.Duration{0, time.Minute} {
		for seed := range uint64(30) {
			r := rand.New(rand.NewPCG(seed, 2))
			b, c := newBook(keeping(3), holding(hold))
			last, seen, events := map[string]float64{}, 0.0, 0
			scrape := func() {
				now, families := map[string]float64{}, gather(t, b)
				for _, family := range []string{"agentslo_events_by_tenant_total", "agentslo_events_by_tool_total"} {
					for k, v := range values(families[family]) {
						now[family+k] = v
					}
				}
				for k, v := range now {
					if v < last[k] {
						t.Fatalf("%s fell from %v to %v", k, last[k], v)
					}
					seen += v - last[k]
				}
				last = now
			}
			for i := range 150 {
				n := int64(1 + r.IntN(3))
				tool := fmt.Sprint(r.IntN(1 + i/10))
				b.Count(verdict("calls", slo.Good, "", with("tenant", fmt.Sprint(r.IntN(1+i/10))),
					stepping(sli.Step{Agent: fmt.Sprint(r.IntN(2)), Tool: tool, Verdict: slo.Verdicts[r.IntN(4)], Count: n})))
				events += int(2 * n) // in either family
				c.advance(time.Duration(r.IntN(20)) * time.Second)
				if r.IntN(5) == 0 {
					scrape()
				}
				if r.IntN(20) == 0 {
					now := c.now
					snapshot := b.Snapshot()
					b, c = newBook(keeping(3), holding(hold))
					c.now = now
					if err := b.Restore(snapshot); err != nil {
						t.Fatal(err)
					}
				}
			}
			b.Release()
			scrape()
			if int(seen) != events {
				t.Fatalf("hold %v, seed %d: scrapes show %v of %d events", hold, seed, seen, events)
			}
		}
	}
}
