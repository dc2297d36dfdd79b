package gate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

const support = `
apiVersion: agentslo/v1
kind: AgentSLO
service: support
environment: prod
slos: {completion: {objective: 99%}}
`

// counts are the runs of one SLO by verdict, all of them half a day ago.
type counts struct{ good, bad, unknown, excluded float64 }

// of gives the four counters of an SLO, born at 0 two days ago and scraped up
// to the end. Labels are added to those of a plain exporter.
func (c counts) of(name string, extra map[string]string) (streams []stream) {
	for verdict, n := range map[slo.Verdict]float64{slo.Good: c.good, slo.Bad: c.bad, slo.Unknown: c.unknown, slo.Excluded: c.excluded} {
		l := map[string]string{"slo_service": "support", "environment": "prod", "agent": "main", "slo": name, "verdict": verdict.String(), "instance": "a"}
		for k, v := range extra {
			l[k] = v
		}
		streams = append(streams, stream{labels: l, samples: []sample{
			{end.Add(-48 * time.Hour), 0}, {end.Add(-12 * time.Hour), n}, {end.Add(-time.Minute), n},
		}})
	}
	return streams
}

func decide(t *testing.T, p gate.Prometheus, set *slo.Set, o gate.Options, terms gate.Terms) gate.Report {
	t.Helper()
	report, err := gate.Decide(context.Background(), p, set, read(t, p, set, o), terms)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// The numbers of runs: 0.99^298 = 5.003% is above the 5% that a chance result
// may have, 0.99^299 = 4.95% is not. One bad run of 20 has a lower bound of
// 1 − 0.95^(1/20) = 0.26%, below the tolerated 1%; three of 20 have 4.2%.
func TestDecision(t *testing.T) {
	for _, c := range []struct {
		name     string
		counts   counts
		decision gate.Decision
		status   gate.Status
		why      string
	}{
		{"no runs", counts{}, gate.InsufficientEvidence, gate.Insufficient, "no runs in the window; it takes 299 to show 99%"},
		{"three good runs show nothing", counts{good: 3}, gate.InsufficientEvidence, gate.Insufficient, "3 runs without a failure cannot show 99%; it takes 299"},
		{"one run short of enough", counts{good: 298}, gate.InsufficientEvidence, gate.Insufficient, "it takes 299"},
		{"just enough", counts{good: 299}, gate.Pass, gate.OK, "100% of the budget is left: 0 bad runs of 299, where 99% tolerates 2.99"},
		{"one of 20 may be chance", counts{good: 19, bad: 1}, gate.InsufficientEvidence, gate.Insufficient, "1 bad run of 20 may be chance: too few runs to tell whether 99% is met; it takes 299"},
		{"three of 20 are not", counts{good: 17, bad: 3}, gate.Block, gate.Exhausted, "overspent: 3 bad runs of 20, where 99% tolerates 0.2"},
		{"half spent", counts{good: 995, bad: 5}, gate.Pass, gate.OK, "50% of the budget is left: 5 bad runs of 1,000, where 99% tolerates 10"},
		{"all spent", counts{good: 990, bad: 10}, gate.Block, gate.Exhausted, "the budget is used up: 10 bad runs of 1,000"},
		{"overspent by little, over many runs", counts{good: 9890, bad: 110}, gate.Block, gate.Exhausted, "overspent: 110 bad runs of 10,000"},
		{"a fifth excluded is allowed", counts{good: 800, excluded: 200}, gate.Pass, gate.OK, "100%"},
		{"more than a fifth is not", counts{good: 800, excluded: 150, unknown: 51}, gate.InsufficientEvidence, gate.Insufficient, "20.1% of the runs have no verdict (51 unknown, 150 excluded), more than the 20%"},
		{"hidden failures do not hide the seen ones", counts{good: 900, bad: 100, unknown: 1000}, gate.Block, gate.Exhausted, "overspent"},
		{"unless the unknown could outweigh them", counts{good: 988, bad: 12, unknown: 1000}, gate.InsufficientEvidence, gate.Insufficient, "50% of the runs have no verdict"},
		{"nothing but unknown", counts{unknown: 40}, gate.InsufficientEvidence, gate.Insufficient, "100% of the runs have no verdict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := decide(t, serve(t, 90*24*time.Hour, c.counts.of("completion", nil)...), parse(t, support), gate.Options{}, gate.Terms{})
			if len(report.SLOs) != 1 {
				t.Fatalf("%d SLOs", len(report.SLOs))
			}
			v := report.SLOs[0]
			if v.Decision != c.decision || report.Decision != c.decision || v.Status != c.status || !strings.Contains(v.Why, c.why) {
				t.Errorf("%s (%s), %s: %s\nwant %s, %s: …%s…", v.Decision, report.Decision, v.Status, v.Why, c.decision, c.status, c.why)
			}
		})
	}
}

// That most runs are not handed over hides nothing; that tickets cannot be read does.
func TestRunsThatARareThingIsNotAbout(t *testing.T) {
	set := parse(t, strings.Replace(support, "completion: {objective: 99%}", "handoff: {objective: 99%}", 1))
	for _, c := range []struct {
		counts counts
		want   gate.Decision
		why    string
	}{
		{counts{good: 400, excluded: 9600}, gate.Pass, "100% of the budget is left"},
		{counts{good: 400, excluded: 9600, unknown: 100}, gate.Pass, "100% of the budget is left"},
		{counts{good: 400, excluded: 9600, unknown: 101}, gate.InsufficientEvidence, "20.2% of the runs that it is about have no verdict (101 unknown)"},
	} {
		report := decide(t, serve(t, 90*24*time.Hour, c.counts.of("handoff", nil)...), set, gate.Options{}, gate.Terms{})
		if v := report.SLOs[0]; v.Decision != c.want || !strings.Contains(v.Why, c.why) {
			t.Errorf("%+v: %s: %s; want %s: …%s…", c.counts, v.Decision, v.Why, c.want, c.why)
		}
	}
}

func TestWorstDecisionCounts(t *testing.T) {
	set := parse(t, strings.Replace(support, "completion: {objective: 99%}", "completion: {objective: 99%}, tool_free: {objective: 99%}, no_progress: {objective: 99%}", 1))
	good, few, bad := counts{good: 1000}, counts{good: 5}, counts{good: 900, bad: 100}
	all := append(append(good.of("completion", nil), few.of("tool_free", nil)...), bad.of("no_progress", nil)...)
	p := serve(t, 90*24*time.Hour, all...)
	for _, c := range []struct {
		slos  []string
		terms gate.Terms
		want  gate.Decision
	}{
		{nil, gate.Terms{}, gate.Block},
		{[]string{"completion"}, gate.Terms{}, gate.Pass},
		{[]string{"completion", "tool_free"}, gate.Terms{}, gate.InsufficientEvidence},
		{[]string{"completion", "tool_free"}, gate.Terms{OnInsufficient: gate.Pass}, gate.Pass},
		{[]string{"completion", "tool_free"}, gate.Terms{OnInsufficient: gate.Block}, gate.Block},
		{nil, gate.Terms{OnInsufficient: gate.Pass}, gate.Block},
		{nil, gate.Terms{Override: "INC-142"}, gate.Pass},
	} {
		report := decide(t, p, set, gate.Options{SLOs: c.slos}, c.terms)
		if report.Decision != c.want {
			t.Errorf("%v %+v: %s, want %s", c.slos, c.terms, report.Decision, c.want)
		}
		if report.Policy.Override != c.terms.Override {
			t.Errorf("the override is not recorded: %+v", report.Policy)
		}
		for _, v := range report.SLOs {
			if v.SLO == "no_progress" && v.Decision != gate.Block {
				t.Errorf("an override must not change what is said of an SLO: %s", v.Decision)
			}
		}
	}
}

// Both histories end with 96 bad of 10,000 runs in 30 days: 4% of the budget is
// left, between freeze_below 0% and resume_above 10%. One had 100 more failures
// five days before that left the window two days ago, so that it was overspent.
func TestFrozenBudgetResumesHigher(t *testing.T) {
	set := parse(t, support)
	day := func(n float64) time.Time { return end.Add(-time.Duration(n * 24 * float64(time.Hour))) }
	history := func(verdict string, samples ...sample) stream {
		return stream{labels: map[string]string{"slo_service": "support", "environment": "prod", "agent": "main", "slo": "completion", "verdict": verdict}, samples: samples}
	}
	last := day(0).Add(-time.Minute)
	good := history("good", sample{day(40), 0}, sample{day(29), 9904}, sample{day(1), 9904}, sample{last, 9904})
	fromBelow := history("bad", sample{day(40), 0}, sample{day(32), 100}, sample{day(29), 196}, sample{last, 196})
	fromAbove := history("bad", sample{day(40), 0}, sample{day(32), 0}, sample{day(20), 50}, sample{day(1), 96}, sample{last, 96})

	report := decide(t, serve(t, 90*24*time.Hour, good, fromBelow), set, gate.Options{}, gate.Terms{})
	v := report.SLOs[0]
	if v.Good != 9904 || v.Bad != 96 || v.Remaining.String() != "0.04" {
		t.Fatalf("%d good, %d bad, %s left", v.Good, v.Bad, v.Remaining)
	}
	if report.Decision != gate.Block || v.Status != gate.AtRisk || !strings.Contains(v.Why, "releases resume at resume_above 10%") {
		t.Errorf("after an overspent budget: %s, %s: %s", report.Decision, v.Status, v.Why)
	}
	report = decide(t, serve(t, 90*24*time.Hour, good, fromAbove), set, gate.Options{}, gate.Terms{})
	v = report.SLOs[0]
	if v.Bad != 96 || report.Decision != gate.Pass || v.Status != gate.AtRisk {
		t.Errorf("never overspent: %d bad, %s, %s: %s", v.Bad, report.Decision, v.Status, v.Why)
	}
}

func TestSilentExporterDoesNotPass(t *testing.T) {
	set := parse(t, support)
	silent := func(c counts) gate.Prometheus {
		streams := c.of("completion", nil)
		for i := range streams {
			streams[i].samples = streams[i].samples[:2] // the newest is 12 hours old
		}
		return serve(t, 90*24*time.Hour, streams...)
	}
	v := decide(t, silent(counts{good: 1000}), set, gate.Options{}, gate.Terms{}).SLOs[0]
	if v.Decision != gate.InsufficientEvidence || v.Good != 1000 || len(v.Notes) != 1 {
		t.Errorf("%s with %d good: %s", v.Decision, v.Good, v.Why)
	}
	v = decide(t, silent(counts{good: 900, bad: 100}), set, gate.Options{}, gate.Terms{}).SLOs[0]
	if v.Decision != gate.Block {
		t.Errorf("an overspent budget stays overspent: %s: %s", v.Decision, v.Why)
	}
	// One replica of two gone is no silence, and what it counted counts.
	gone, there := counts{good: 600}.of("completion", map[string]string{"instance": "gone"}), counts{good: 400}.of("completion", nil)
	for i := range gone {
		gone[i].samples = gone[i].samples[:2]
	}
	v = decide(t, serve(t, 90*24*time.Hour, append(gone, there...)...), set, gate.Options{}, gate.Terms{}).SLOs[0]
	if v.Decision != gate.Pass || v.Good != 1000 {
		t.Errorf("%s with %d good: %s", v.Decision, v.Good, v.Why)
	}
}
