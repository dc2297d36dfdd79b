package series

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clock is a time that tests move by hand.
type clock struct{ now time.Time }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// newBook has no birth hold unless the options say so.
func newBook(options ...func(*Options)) (*Book, *clock) {
	c := &clock{start}
	o := Options{Limit: 10_000, Seen: 100_000, Now: func() time.Time { return c.now }}
	for _, f := range options {
		f(&o)
	}
	return NewBook(o), c
}

func holding(d time.Duration) func(*Options) { return func(o *Options) { o.BirthHold = d } }
func limited(n int) func(*Options)           { return func(o *Options) { o.Limit = n } }
func keeping(n int) func(*Options) {
	return func(o *Options) { o.Keep = func(string, string, string) int { return n } }
}

var nextRun uint64

// verdict is a first summary with one SLO, of a run of its own.
func verdict(objective string, v slo.Verdict, reason string, options ...func(*summary.Summary)) *summary.Summary {
	nextRun++
	s := &summary.Summary{TraceID: pcommon.TraceID{15: byte(nextRun)}, First: true, Matched: true,
		Service: "support", Environment: "prod", Agent: "triage", Outcome: "answered",
		Start: uint64(start.Add(-3 * time.Second).UnixNano()), End: uint64(start.UnixNano()),
		Results: []sli.Result{{SLO: objective, Verdict: v, Reason: reason}}}
	for i := range 8 {
		s.Run[i] = byte(nextRun >> (8 * i))
	}
	for _, f := range options {
		f(s)
	}
	s.SpanID = summary.SpanID(s.Run, s.Results)
	return s
}

func of(agent string) func(*summary.Summary) { return func(s *summary.Summary) { s.Agent = agent } }

func with(dimension, value string) func(*summary.Summary) {
	return func(s *summary.Summary) {
		if s.Dimensions == nil {
			s.Dimensions = map[string]string{}
		}
		s.Dimensions[dimension] = value
	}
}

// gather scrapes the book through a pedantic registry.
func gather(t testing.TB, b *Book) map[string]*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(b)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	return byName
}

// values are a family's counters by their label values, in the order of names.
func values(f *dto.MetricFamily) map[string]float64 {
	m := map[string]float64{}
	for _, x := range f.GetMetric() {
		var labels []string
		for _, l := range x.Label {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		v := x.GetCounter().GetValue() + x.GetGauge().GetValue()
		m[strings.Join(labels, " ")] = v
	}
	return m
}

func wantValues(t *testing.T, f *dto.MetricFamily, want map[string]float64) {
	t.Helper()
	got := values(f)
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s{%s} is %v (there: %v), should be %v", f.GetName(), k, g, ok, v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s has %d series, should have %d: %v", f.GetName(), len(got), len(want), got)
	}
}

func TestAllVerdictsOfAnSLOAreBornTogether(t *testing.T) {
	b, _ := newBook()
	b.Count(verdict("latency", slo.Bad, "too_slow"))
	f := gather(t, b)
	wantValues(t, f["agentslo_events_total"], map[string]float64{
		"agent=triage environment=prod slo=latency slo_service=support verdict=good":     0,
		"agent=triage environment=prod slo=latency slo_service=support verdict=bad":      1,
		"agent=triage environment=prod slo=latency slo_service=support verdict=unknown":  0,
		"agent=triage environment=prod slo=latency slo_service=support verdict=excluded": 0,
	})
	wantValues(t, f["agentslo_reasons_total"], map[string]float64{
		"agent=triage environment=prod reason=too_slow slo=latency slo_service=support verdict=bad": 1,
	})
	for _, m := range f["agentslo_events_total"].Metric {
		if at := m.Counter.CreatedTimestamp.AsTime(); !at.Equal(start) {
			t.Errorf("born at %v, not when it was first counted", at)
		}
	}
}

func TestEverySeriesOfARun(t *testing.T) {
	b, c := newBook()
	duration, cost := 42.0, 0.03
	c.advance(7 * time.Second)
	b.Count(verdict("cost", slo.Good, "", with("version", "1.2"), func(s *summary.Summary) {
		s.ToolCalls = []summary.ToolCount{{Tool: "search", Result: "ok", Count: 3}, {Tool: "search", Result: "transient", Count: 1}}
		s.Tokens = []summary.TokenCount{{Model: "gpt-5", Type: "input", Count: 900}, {Model: "gpt-5", Type: "output", Count: 100}}
		s.Faults = []summary.FaultCount{{Model: "gpt-5", Fault: "rate_limit", Count: 2}}
		s.Failovers = 1
		s.Signals = []summary.SignalCount{{Signal: "guardrail_blocked", Count: 2}}
		s.Waste = []sli.Waste{{Cause: "repeated_call", Calls: []sli.ToolCalls{{Tool: "search", Count: 2}}, Tokens: 300, USD: 0.0012, Seconds: 0.3}, {Cause: "caller_gone", Seconds: 0.1}}
		s.DurationSeconds, s.CostUSD = &duration, &cost
	}))
	b.Count(&summary.Summary{SpanID: pcommon.SpanID{1}, Service: "other"})
	f := gather(t, b)
	const run = "agent=triage environment=prod "
	wantValues(t, f["agentslo_runs_total"], map[string]float64{run + "outcome=answered slo_service=support": 1})
	wantValues(t, f["agentslo_tool_calls_total"], map[string]float64{
		run + "result=ok slo_service=support tool=search":        3,
		run + "result=transient slo_service=support tool=search": 1,
	})
	wantValues(t, f["agentslo_tokens_total"], map[string]float64{
		run + "model=gpt-5 slo_service=support type=input":  900,
		run + "model=gpt-5 slo_service=support type=output": 100,
	})
	wantValues(t, f["agentslo_events_by_version_total"], map[string]float64{
		run + "slo=cost slo_service=support verdict=good version=1.2":     1,
		run + "slo=cost slo_service=support verdict=bad version=1.2":      0,
		run + "slo=cost slo_service=support verdict=unknown version=1.2":  0,
		run + "slo=cost slo_service=support verdict=excluded version=1.2": 0,
	})
	wantValues(t, f["agentslo_provider_faults_total"], map[string]float64{run + "fault=rate_limit model=gpt-5 slo_service=support": 2})
	wantValues(t, f["agentslo_failovers_total"], map[string]float64{"agent=triage environment=prod slo_service=support": 1})
	wantValues(t, f["agentslo_signals_total"], map[string]float64{run + "signal=guardrail_blocked slo_service=support": 2})
	wantValues(t, f["agentslo_wasted_calls_total"], map[string]float64{run[:13] + "cause=repeated_call environment=prod slo_service=support tool=search": 2})
	wantValues(t, f["agentslo_wasted_tokens_total"], map[string]float64{run[:13] + "cause=repeated_call environment=prod slo_service=support": 300, run[:13] + "cause=caller_gone environment=prod slo_service=support": 0})
	wantValues(t, f["agentslo_wasted_usd_total"], map[string]float64{run[:13] + "cause=repeated_call environment=prod slo_service=support": 0.0012, run[:13] + "cause=caller_gone environment=prod slo_service=support": 0})
	wantValues(t, f["agentslo_wasted_seconds_total"], map[string]float64{run[:13] + "cause=repeated_call environment=prod slo_service=support": 0.3, run[:13] + "cause=caller_gone environment=prod slo_service=support": 0.1})
	wantValues(t, f["agentslo_unmatched_runs_total"], map[string]float64{"": 1})
	for name, sum := range map[string]float64{
		"agentslo_run_duration_seconds": 42, "agentslo_run_cost_usd": 0.03, "agentslo_run_tool_calls": 4, "agentslo_count_lag_seconds": 7,
	} {
		h := f[name].GetMetric()[0].GetHistogram()
		if h.GetSampleCount() != 1 || h.GetSampleSum() != sum {
			t.Errorf("%s has %d observations that sum to %v, should be one of %v", name, h.GetSampleCount(), h.GetSampleSum(), sum)
		}
	}
}

// Amounts add up exactly, however small: a tenth of a cent ten thousand times is
// ten dollars. One that no run can have is not counted.
func TestAmountsAddUpExactly(t *testing.T) {
	b, _ := newBook()
	for i := range 10_000 {
		b.Count(verdict("x", slo.Good, "", func(s *summary.Summary) {
			s.Waste = []sli.Waste{{Cause: "caller_gone", USD: 0.001, Seconds: []float64{0.1, math.Inf(1)}[i%2]}}
		}))
	}
	f := gather(t, b)
	const of = "agent=triage cause=caller_gone environment=prod slo_service=support"
	wantValues(t, f["agentslo_wasted_usd_total"], map[string]float64{of: 10})
	wantValues(t, f["agentslo_wasted_seconds_total"], map[string]float64{of: 500})
}

// Bounds are inclusive, as le says.
func TestHistogramBuckets(t *testing.T) {
	b, _ := newBook()
	for _, seconds := range []float64{0.5, 0.51, 30, 1e9} {
		b.Count(verdict("x", slo.Good, "", func(s *summary.Summary) { s.DurationSeconds = &seconds }))
	}
	want := map[float64]uint64{0.5: 1, 1: 2, 20: 2, 30: 3, 14400: 3, math.Inf(1): 4}
	h := gather(t, b)["agentslo_run_duration_seconds"].GetMetric()[0].GetHistogram()
	for _, bucket := range h.Bucket {
		if n, ok := want[bucket.GetUpperBound()]; ok && bucket.GetCumulativeCount() != n {
			t.Errorf("le=%v holds %d, should hold %d", bucket.GetUpperBound(), bucket.GetCumulativeCount(), n)
		}
	}
	if h.GetSampleCount() != 4 {
		t.Errorf("%d observations", h.GetSampleCount())
	}
}

func TestASummaryIsCountedOnce(t *testing.T) {
	b, _ := newBook()
	s := verdict("latency", slo.Good, "")
	if b.Count(s) != New || b.Count(s) != Duplicate || b.Count(s) != Duplicate {
		t.Error("a resend was not recognised")
	}
	if n := values(gather(t, b)["agentslo_runs_total"]); n["agent=triage environment=prod outcome=answered slo_service=support"] != 1 {
		t.Errorf("counted %v", n)
	}
}

// The facts of the run come with its first summary only.
func TestLaterSummariesBringVerdictsOnly(t *testing.T) {
	b, _ := newBook()
	b.Count(verdict("latency", slo.Good, ""))
	b.Count(verdict("correctness", slo.Bad, "judged_bad", func(s *summary.Summary) { s.First = false }))
	f := gather(t, b)
	if n := len(f["agentslo_events_total"].Metric); n != 8 {
		t.Errorf("%d event series, should be 8", n)
	}
	wantValues(t, f["agentslo_runs_total"], map[string]float64{"agent=triage environment=prod outcome=answered slo_service=support": 1})
	if n := f["agentslo_run_tool_calls"].Metric[0].Histogram.GetSampleCount(); n != 1 {
		t.Errorf("%d runs observed", n)
	}
}

const badLatency = "agent=triage environment=prod slo=latency slo_service=support verdict=bad"

// The value appears only after a collection at 0 and the hold, whichever is
// later.
func TestBirthHold(t *testing.T) {
	at := func(t *testing.T, b *Book, want float64) {
		t.Helper()
		if v := values(gather(t, b)["agentslo_events_total"])[badLatency]; v != want {
			t.Errorf("shows %v, should show %v", v, want)
		}
	}
	t.Run("scraped in time", func(t *testing.T) {
		b, c := newBook(holding(time.Minute))
		b.Count(verdict("latency", slo.Bad, "too_slow"))
		at(t, b, 0)
		c.advance(59 * time.Second)
		at(t, b, 0) // another scraper's first look
		c.advance(time.Second)
		at(t, b, 1)
		b.Count(verdict("latency", slo.Bad, "too_slow"))
		at(t, b, 2) // no second birth
	})
	t.Run("scraped late", func(t *testing.T) {
		b, c := newBook(holding(time.Minute))
		b.Count(verdict("latency", slo.Bad, "too_slow"))
		c.advance(10 * time.Minute)
		at(t, b, 0) // not collected yet
		at(t, b, 1)
	})
	t.Run("expected before its first run", func(t *testing.T) {
		b, c := newBook(holding(time.Minute))
		b.Expect("support", "prod", "triage", "latency")
		at(t, b, 0)
		c.advance(time.Hour)
		b.Count(verdict("latency", slo.Bad, "too_slow"))
		at(t, b, 1)
	})
	t.Run("shutdown shows what is held", func(t *testing.T) {
		b, _ := newBook(holding(time.Minute))
		b.Count(verdict("latency", slo.Bad, "too_slow"))
		b.Release()
		at(t, b, 1)
	})
	t.Run("no hold", func(t *testing.T) {
		b, _ := newBook()
		b.Count(verdict("latency", slo.Bad, "too_slow"))
		at(t, b, 1)
	})
}

func TestTheLastBadRunIsTheExample(t *testing.T) {
	b, c := newBook()
	b.Count(verdict("latency", slo.Bad, "too_slow", func(s *summary.Summary) { s.TraceID = pcommon.TraceID{1} }))
	c.advance(time.Minute)
	b.Count(verdict("latency", slo.Bad, "too_slow", func(s *summary.Summary) { s.TraceID = pcommon.TraceID{2} }))
	b.Count(verdict("latency", slo.Good, "", func(s *summary.Summary) { s.TraceID = pcommon.TraceID{3} }))
	for _, m := range gather(t, b)["agentslo_events_total"].Metric {
		isBad := slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetValue() == "bad" })
		e := m.GetCounter().GetExemplar()
		if isBad != (e != nil) {
			t.Errorf("%v has exemplar %v", m.Label, e)
		}
		if isBad && (e.Label[0].GetName() != "trace_id" || e.Label[0].GetValue() != "02000000000000000000000000000000" ||
			!e.Timestamp.AsTime().Equal(start.Add(time.Minute))) {
			t.Errorf("exemplar %v", e)
		}
	}
}

// At N label sets nothing is folded, at N+1 the last one is, and every event
// is in some series.
func TestLabelSetsAboveTheLimitFold(t *testing.T) {
	const limit = 20
	for _, agents := range []int{limit, limit + 1, 10 * limit} {
		b, _ := newBook(limited(limit))
		for i := range agents {
			b.Count(verdict("latency", slo.Bad, "too_slow", of(fmt.Sprint("agent-", i))))
			b.Count(verdict("latency", slo.Good, "", of(fmt.Sprint("agent-", i))))
		}
		f := gather(t, b)
		var bad, good, folded float64
		for labels, v := range values(f["agentslo_events_total"]) {
			switch {
			case strings.HasSuffix(labels, "verdict=bad"):
				bad += v
			case strings.HasSuffix(labels, "verdict=good"):
				good += v
			}
			if strings.Contains(labels, "agent=__overflow__") {
				folded += v
			}
		}
		if int(bad) != agents || int(good) != agents {
			t.Errorf("%d agents: %v bad and %v good events are shown", agents, bad, good)
		}
		if want := 2 * (agents - min(agents, limit)); int(folded) != want {
			t.Errorf("%d agents: %v events are folded, should be %d", agents, folded, want)
		}
		if wanted := values(f["agentslo_label_sets_wanted"])["family=agentslo_events_total"]; int(wanted) != agents {
			t.Errorf("%v label sets are said to be wanted, should be %d", wanted, agents)
		}
		if n := values(f["agentslo_label_sets_limit"])["family=agentslo_events_total"]; n != limit {
			t.Errorf("the limit is said to be %v", n)
		}
	}
}

// A stranger who invents every label cannot grow a family without bound, and
// still every event is counted.
func TestInventedLabelsAreBounded(t *testing.T) {
	const limit, n = 100, 5000
	b, _ := newBook(limited(limit))
	for i := range n {
		x := fmt.Sprint(i)
		b.Count(verdict("slo-"+x, slo.Good, "reason-"+x, of("agent-"+x), with("version", x), func(s *summary.Summary) {
			s.Service, s.Environment, s.Outcome = "service-"+x, "env-"+x, "outcome-"+x
			s.ToolCalls = []summary.ToolCount{{Tool: x, Result: x, Count: 1}}
			s.Tokens = []summary.TokenCount{{Model: x, Type: x, Count: 1}}
			s.Faults, s.Failovers = []summary.FaultCount{{Model: x, Fault: x, Count: 1}}, 1
			s.Signals = []summary.SignalCount{{Signal: x, Count: 1}}
			s.Waste = []sli.Waste{{Cause: x, Calls: []sli.ToolCalls{{Tool: x, Count: 1}}, Tokens: 1, USD: 1, Seconds: 1}}
		}))
	}
	f := gather(t, b)
	for _, name := range []string{"agentslo_events_total", "agentslo_reasons_total", "agentslo_runs_total", "agentslo_tool_calls_total",
		"agentslo_provider_faults_total", "agentslo_failovers_total", "agentslo_signals_total", "agentslo_wasted_calls_total", "agentslo_wasted_tokens_total",
		"agentslo_wasted_usd_total", "agentslo_wasted_seconds_total", "agentslo_tokens_total", "agentslo_events_by_version_total", "agentslo_run_tool_calls"} {
		series, sum := len(f[name].Metric), 0.0
		for _, v := range values(f[name]) {
			sum += v
		}
		if name == "agentslo_run_tool_calls" {
			sum = 0
			for _, m := range f[name].Metric {
				sum += float64(m.Histogram.GetSampleCount())
			}
		}
		verdicts := 1
		if strings.HasPrefix(name, "agentslo_events") {
			verdicts = 4
		}
		if series > verdicts*(limit+limit/10+1) {
			t.Errorf("%s has %d series", name, series)
		}
		if sum != n {
			t.Errorf("%s adds up to %v of %d", name, sum, n)
		}
	}
}

const goodOf = "agent=triage environment=prod slo=latency slo_service=support verdict=good version="

func TestNewestValuesOfADimensionAreKept(t *testing.T) {
	b, _ := newBook(keeping(3))
	good := func(version string) { b.Count(verdict("latency", slo.Good, "", with("version", version))) }
	for i := range 3 {
		good(fmt.Sprint("v", i))
	}
	f := gather(t, b)["agentslo_events_by_version_total"]
	if got := values(f); got[goodOf+"v0"] != 1 || len(got) != 12 {
		t.Errorf("three values of three to keep: %v", got)
	}
	good("v3") // the fourth: v0 gives way
	good("v0") // and does not come back
	good("v1")
	got := values(gather(t, b)["agentslo_events_by_version_total"])
	if _, there := got[goodOf+"v0"]; there || got[goodOf+"v1"] != 2 || got[goodOf+"v3"] != 1 || len(got) != 16 {
		t.Errorf("the newest three of four: %v", got)
	}
	if got[goodOf+"__overflow__"] != 1 { // v0's first event was seen by a scrape, its second is new
		t.Errorf("overflow is %v, should be 1", got[goodOf+"__overflow__"])
	}
	capacity := gather(t, b)
	const scope = "dimension=version environment=prod slo_service=support"
	if w, l := values(capacity["agentslo_dimension_values_wanted"])[scope], values(capacity["agentslo_dimension_values_limit"])[scope]; w != 4 || l != 3 {
		t.Errorf("%v values wanted of %v, should be 4 of 3", w, l)
	}
}

// A busy value is new for as long as it is busy, whatever came after it, and
// after a restart as well.
func TestBusyValuesAreKept(t *testing.T) {
	b, _ := newBook(keeping(3))
	good := func(tenant string) { b.Count(verdict("latency", slo.Good, "", with("tenant", tenant))) }
	for i := range 10 {
		good("busy")
		good(fmt.Sprint("once", i))
		if i == 5 {
			snapshot := b.Snapshot()
			b, _ = newBook(keeping(3))
			if err := b.Restore(snapshot); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := values(gather(t, b)["agentslo_events_by_tenant_total"])
	of := func(tenant string) float64 {
		return got["agent=triage environment=prod slo=latency slo_service=support tenant="+tenant+" verdict=good"]
	}
	if of("busy") != 10 || of("once8") != 1 || of("once9") != 1 || of("__overflow__") != 8 {
		t.Errorf("%v", got)
	}
}

// Runs without a value do not crowd out those with one.
func TestRunsWithoutAValueHaveTheirOwnSeries(t *testing.T) {
	b, _ := newBook(keeping(1))
	for _, v := range []string{"v1", "", "v1", ""} {
		b.Count(verdict("latency", slo.Good, "", with("version", v)))
	}
	got := values(gather(t, b)["agentslo_events_by_version_total"])
	if got[goodOf+"v1"] != 2 || got[goodOf] != 2 || len(got) != 8 {
		t.Errorf("%v", got)
	}
}

// Whoever adds up the differences between scrapes, as every rule does, sees
// each event exactly once, however values come and are folded.
func TestFoldingShowsEachEventOnce(t *testing.T) {
	for _, hold := range []time.Duration{0, time.Minute} {
		for seed := range uint64(50) {
			r := rand.New(rand.NewPCG(seed, 1))
			b, c := newBook(keeping(3), holding(hold))
			last, seen, events := map[string]float64{}, 0.0, 0
			scrape := func() {
				now := values(gather(t, b)["agentslo_events_by_version_total"])
				for k, v := range now {
					if v < last[k] {
						t.Fatalf("%s fell from %v to %v", k, last[k], v)
					}
					seen += v - last[k]
				}
				last = now
			}
			for i := range 200 {
				b.Count(verdict("latency", slo.Verdicts[r.IntN(4)], "", of(fmt.Sprint(r.IntN(2))), with("version", fmt.Sprint(r.IntN(1+i/10)))))
				events++
				c.advance(time.Duration(r.IntN(20)) * time.Second)
				if r.IntN(5) == 0 {
					scrape()
				}
			}
			b.Release()
			scrape()
			if int(seen) != events {
				t.Fatalf("hold %v: scrapes show %v of %d events", hold, seen, events)
			}
		}
	}
}

func TestForgedDimensionNames(t *testing.T) {
	b, _ := newBook()
	for _, name := range []string{"", "agent", "slo", "verdict", "tool", "__name__", "1st", "a-b", "a b", "ü"} {
		b.Count(verdict("latency", slo.Good, "", with(name, "x")))
	}
	for i := range 100 {
		b.Count(verdict("latency", slo.Good, "", with(fmt.Sprint("d", i), "x")))
	}
	n := 0
	for name := range gather(t, b) {
		if strings.HasPrefix(name, "agentslo_events_by_") {
			n++
		}
	}
	if n != 32 {
		t.Errorf("%d dimension families", n)
	}
}

func TestLongLabelsAreCut(t *testing.T) {
	b, _ := newBook()
	b.Count(verdict("latency", slo.Good, "", of(strings.Repeat("ü", 1000))))
	for labels := range values(gather(t, b)["agentslo_runs_total"]) {
		if !strings.HasPrefix(labels, "agent="+strings.Repeat("ü", 128)+" ") {
			t.Errorf("labels %q", labels)
		}
	}
}

// The book after a restart goes on where it was: values, births, examples,
// what was counted, what was folded.
func TestSnapshotRestore(t *testing.T) {
	b, _ := newBook(holding(time.Minute), keeping(2))
	duration := 2.0
	var sent []*summary.Summary
	for i := range 5 {
		s := verdict("latency", slo.Bad, "too_slow", with("version", fmt.Sprint("v", i)), func(s *summary.Summary) {
			s.DurationSeconds = &duration
			s.ToolCalls = []summary.ToolCount{{Tool: "search", Result: "ok", Count: 2}}
		})
		sent = append(sent, s)
		b.Count(s)
		gather(t, b)
	}
	b.Release()
	before := gather(t, b)

	again, c := newBook(holding(time.Minute), keeping(2))
	c.advance(time.Hour)
	if err := again.Restore(b.Snapshot()); err != nil {
		t.Fatal(err)
	}
	after := gather(t, again)
	for name, f := range before {
		if strings.HasPrefix(name, "agentslo_label_sets") {
			continue
		}
		if f.String() != after[name].String() {
			t.Errorf("%s was\n%s\nis\n%s", name, f, after[name])
		}
	}
	for _, s := range sent {
		if again.Count(s) != Duplicate {
			t.Error("a resend is counted again after the restart")
		}
	}
	again.Count(verdict("latency", slo.Bad, "too_slow", with("version", "v0")))
	got := values(gather(t, again)["agentslo_events_by_version_total"])
	if _, there := got[strings.Replace(goodOf, "good", "bad", 1)+"v0"]; there {
		t.Error("a folded value came back after the restart")
	}
}

// A label set that no scraper has seen yet is held after the restart too.
func TestRestoreOfWhatNobodySaw(t *testing.T) {
	b, _ := newBook(holding(time.Minute))
	b.Count(verdict("latency", slo.Bad, "too_slow"))
	b.Release()
	again, c := newBook(holding(time.Minute))
	if err := again.Restore(b.Snapshot()); err != nil {
		t.Fatal(err)
	}
	c.advance(time.Minute)
	for _, want := range []float64{0, 1} {
		if v := values(gather(t, again)["agentslo_events_total"])[badLatency]; v != want {
			t.Errorf("shows %v, should show %v", v, want)
		}
	}
}

func TestRestoreRefusesWhatDoesNotFit(t *testing.T) {
	for name, s := range map[string]*Snapshot{
		"too few labels": {Counters: map[string][]CounterState{"agentslo_runs_total": {{Labels: []string{"x"}, Counts: []uint64{1}}}}},
		"one count":      {Counters: map[string][]CounterState{"agentslo_events_total": {{Labels: make([]string, 4), Counts: []uint64{1}}}}},
		"no trace":       {Counters: map[string][]CounterState{"agentslo_runs_total": {{Labels: make([]string, 4), Counts: []uint64{1}, BadTrace: "zz"}}}},
		"a bad name":     {Dimensions: map[string][]ScopeState{"agent": nil}},
		"cut ids":        {Seen: make([]byte, 3)},
	} {
		b, _ := newBook()
		if err := b.Restore(s); err == nil {
			t.Errorf("%s was restored", name)
		}
	}
}

// No reader may see half of a summary: good and bad of an SLO add up to what
// was counted before the scrape, and two SLOs of one run agree.
func TestScrapesAreNeverTorn(t *testing.T) {
	b, _ := newBook()
	const writers, each = 4, 2000
	var wg sync.WaitGroup
	summaries := make([][]*summary.Summary, writers)
	for w := range writers {
		for i := range each {
			v := slo.Good
			if i%3 == 0 {
				v = slo.Bad
			}
			summaries[w] = append(summaries[w], verdict("latency", v, "", func(s *summary.Summary) {
				s.Results = append(s.Results, sli.Result{SLO: "cost", Verdict: slo.Good})
			}))
		}
		wg.Go(func() {
			for _, s := range summaries[w] {
				b.Count(s)
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	last, scrapes := 0.0, 0
	for over := false; !over || last != writers*each; scrapes++ {
		select {
		case <-done:
			over = true
		default:
		}
		f := gather(t, b)
		sums := map[string]float64{}
		for labels, v := range values(f["agentslo_events_total"]) {
			_, rest, _ := strings.Cut(labels, "slo=")
			objective, _, _ := strings.Cut(rest, " ")
			sums[objective] += v
		}
		runs := 0.0
		for _, v := range values(f["agentslo_runs_total"]) {
			runs += v
		}
		if sums["latency"] != sums["cost"] || sums["latency"] != runs || runs < last {
			t.Fatalf("latency %v, cost %v, runs %v, before %v", sums["latency"], sums["cost"], runs, last)
		}
		if over && runs != writers*each {
			t.Fatalf("%v of %d runs", runs, writers*each)
		}
		last = runs
	}
	t.Logf("%d scrapes", scrapes)
}

// Names, types, help and labels of every series are what dashboards and rules
// rely on. Change the file only when they are meant to change.
func TestGoldenSeries(t *testing.T) {
	b, _ := newBook()
	duration, cost := 1.0, 0.01
	b.Count(verdict("latency", slo.Bad, "too_slow", with("version", "1.2.3"), func(s *summary.Summary) {
		s.TraceID = pcommon.TraceID{0xab}
		s.ToolCalls = []summary.ToolCount{{Tool: "search", Result: "ok", Count: 1}}
		s.Tokens = []summary.TokenCount{{Model: "gpt-5", Type: "input", Count: 12}}
		s.Faults, s.Failovers = []summary.FaultCount{{Model: "gpt-5", Fault: "rate_limit", Count: 2}}, 1
		s.Signals = []summary.SignalCount{{Signal: "judge", Count: 3}}
		s.Waste = []sli.Waste{{Cause: "repeated_call", Calls: []sli.ToolCalls{{Tool: "search", Count: 2}}, Tokens: 300, USD: 0.0012, Seconds: 0.3}}
		s.DurationSeconds, s.CostUSD, s.SamplingProbability = &duration, &cost, 0.5
	}))
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(b)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToOpenMetrics(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	const file = "testdata/series.openmetrics"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("series changed:\n%s", out.String())
	}
}

// Bad verdicts that come long after their run's end are counted apart as well;
// good ones, and runs whose end is not known, are not.
func TestLateBadVerdicts(t *testing.T) {
	b, c := newBook(func(o *Options) {
		o.LateAfter = func(_, _, objective string) time.Duration {
			return map[string]time.Duration{"latency": 2 * time.Hour, "correctness": 5 * time.Hour}[objective]
		}
	})
	endless := func(s *summary.Summary) { s.End = 0 }
	b.Count(verdict("latency", slo.Bad, ""))
	c.now = start.Add(2*time.Hour + time.Second)
	b.Count(verdict("latency", slo.Bad, ""))
	b.Count(verdict("latency", slo.Good, ""))
	b.Count(verdict("latency", slo.Bad, "", endless))
	b.Count(verdict("correctness", slo.Bad, ""))
	got := gather(t, b)
	late := values(got["agentslo_late_bad_events_total"])
	if n := late["agent=triage environment=prod slo=latency slo_service=support"]; n != 1 {
		t.Errorf("%v late, want 1: %v", n, late)
	}
	if n, ok := late["agent=triage environment=prod slo=correctness slo_service=support"]; n != 0 || !ok {
		t.Errorf("born at 0 with its events: %v", late)
	}
	if n := values(got["agentslo_events_total"])[badLatency]; n != 3 {
		t.Errorf("%v bad events, want 3: late ones are among them", n)
	}
}

func TestMixedSamplingShows(t *testing.T) {
	b, _ := newBook()
	for _, p := range []float64{0, 0.5, 0.25, 0, 0.5} { // 0: not said
		b.Count(verdict("latency", slo.Good, "", func(s *summary.Summary) { s.SamplingProbability = p }))
	}
	wantValues(t, gather(t, b)["agentslo_sampling_probability"], map[string]float64{
		"bound=lowest environment=prod slo_service=support":  0.25,
		"bound=highest environment=prod slo_service=support": 0.5,
	})
}

// Two lists of labels have one key only if they are the same list.
func FuzzKeyIsInjective(f *testing.F) {
	f.Add("a", "b", "ab", "")
	f.Add("a\x00", "b", "a", "\x00b")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		if same := a == c && b == d; same != (key([]string{a, b}) == key([]string{c, d})) {
			t.Errorf("%q, %q and %q, %q", a, b, c, d)
		}
		if key([]string{a, b}) == key([]string{a + b}) {
			t.Errorf("%q, %q and their join", a, b)
		}
	})
}

func TestSketchEstimates(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{0, 1, 20, 1024, 1025, 5000, 100_000} {
		var s sketch
		for range n {
			h := r.Uint64()
			s.add(h)
			s.add(h)
		}
		got, allowed := s.count(), 0.0
		if n > sketchExact {
			allowed = 0.1 // three standard errors
		}
		if math.Abs(got-float64(n)) > allowed*float64(n) {
			t.Errorf("%d are estimated as %v", n, got)
		}
	}
}

func TestBadPosition(t *testing.T) {
	if verdictPosition[slo.Bad] != badPosition {
		t.Errorf("bad is at %d", verdictPosition[slo.Bad])
	}
}

// A summary of seven SLOs and one dimension.
func BenchmarkCount(b *testing.B) {
	book, _ := newBook(func(o *Options) { o.Seen = 1_000_000 })
	s := verdict("completion", slo.Good, "", with("version", "1.2"))
	for _, name := range []string{"correctness", "latency", "grounding", "cost", "tool_free", "no_progress"} {
		s.Results = append(s.Results, sli.Result{SLO: name, Verdict: slo.Good})
	}
	s.Results[2].Verdict, s.Results[2].Reason = slo.Bad, "too_slow"
	s.ToolCalls = []summary.ToolCount{{Tool: "search", Result: "ok", Count: 1}}
	s.Tokens = []summary.TokenCount{{Model: "gpt-5", Type: "input", Count: 12}, {Model: "gpt-5", Type: "output", Count: 12}}
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		for k := range 8 {
			s.SpanID[k] = byte(i >> (8 * k))
		}
		book.Count(s)
	}
}

// 1000 agents with seven SLOs.
func BenchmarkCollect(b *testing.B) {
	book, _ := newBook()
	for i := range 1000 {
		for _, name := range slo.Kinds[:7] {
			book.Count(verdict(name, slo.Bad, "x", of(fmt.Sprint(i))))
		}
	}
	ch := make(chan prometheus.Metric, 1000)
	go func() {
		for range ch {
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		book.Collect(ch)
	}
}
