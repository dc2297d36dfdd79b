package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
)

// The interval: 3 bad of 20 is [3.207%, 37.893%] at 95% in Clopper and
// Pearson's tables, and 1 − 0.37893/0.01 = −36.89, 1 − 0.03207/0.01 = −2.21.
func TestJSON(t *testing.T) {
	p := serve(t, 90*24*time.Hour, counts{good: 17, bad: 3, excluded: 1}.of("completion", nil)...)
	got, err := json.Marshal(read(t, p, parse(t, support), gate.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var budgets []struct {
		Interval [2]float64 `json:"budget_interval"`
	}
	if err := json.Unmarshal(got, &budgets); err != nil {
		t.Fatal(err)
	}
	if i := budgets[0].Interval; abs(i[0]+36.893) > 0.01 || abs(i[1]+2.207) > 0.01 {
		t.Errorf("interval %v", i)
	}
	text := string(got)
	from, to := strings.Index(text, `"budget_interval":`), strings.Index(text, `"burn_rate":`)
	text = text[:from] + text[to:]
	want := `[{"service":"support","environment":"prod","slo":"completion","objective":0.99,"window":"30d",` +
		`"good":17,"bad":3,"unknown":0,"excluded":1,"error_ratio":0.15,"budget_remaining":-14,` +
		`"burn_rate":{"1h":0,"6h":0,"1d":15,"3d":15},"exhausted_in_seconds":0,"status":"exhausted"}]`
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestNothingCountedIsNotANumber(t *testing.T) {
	got, err := json.Marshal(read(t, serve(t, 90*24*time.Hour, counts{}.of("completion", nil)...), parse(t, support), gate.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"error_ratio":null`, `"budget_remaining":1`, `"budget_interval":[-99,1]`, `"exhausted_in_seconds":null`, `"status":"insufficient"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

func TestExactDecimals(t *testing.T) {
	set := parse(t, strings.Replace(support, "99%", "99.9%", 1))
	b := read(t, serve(t, 90*24*time.Hour, counts{good: 9999, bad: 1}.of("completion", nil)...), set, gate.Options{})[0]
	if b.Objective.String() != "0.999" || b.ErrorRatio.String() != "0.0001" || b.Remaining.String() != "0.9" {
		t.Errorf("objective %s, error ratio %s, remaining %s", b.Objective, b.ErrorRatio, b.Remaining)
	}
}

// 1000 runs came in the last hour, 5 of them bad: 10 may be, so 5 more at 5 an
// hour last an hour.
func TestExhaustedIn(t *testing.T) {
	recent := func(c counts) []stream {
		streams := c.of("completion", nil)
		for i := range streams {
			streams[i].samples[1].at = end.Add(-30 * time.Minute)
		}
		return streams
	}
	b := read(t, serve(t, 90*24*time.Hour, recent(counts{good: 995, bad: 5})...), parse(t, support), gate.Options{})[0]
	if b.ExhaustedIn != nil {
		t.Errorf("a burn rate of 0.5 never exhausts the budget: %d", *b.ExhaustedIn)
	}
	streams := append(recent(counts{good: 95, bad: 5}), counts{good: 900}.of("completion", map[string]string{"instance": "b"})...)
	b = read(t, serve(t, 90*24*time.Hour, streams...), parse(t, support), gate.Options{})[0]
	if b.ExhaustedIn == nil || *b.ExhaustedIn != 3600 {
		t.Errorf("exhausted in %v", b.ExhaustedIn)
	}
	if b.Status != gate.AtRisk {
		t.Errorf("an hour before exhaustion the status is %s", b.Status)
	}
}

func TestByAgentAndDimension(t *testing.T) {
	set := parse(t, support+"dimensions: {version: {attribute: service.version, keep: 20}}\n")
	var streams []stream
	for agent, c := range map[string]counts{"triage": {good: 10}, "writer": {good: 20, bad: 2}} {
		streams = append(streams, c.of("completion", map[string]string{"agent": agent})...)
	}
	for version, c := range map[string]counts{"1.9": {good: 25}, "2.0": {good: 5, bad: 2}} {
		for _, s := range c.of("completion", map[string]string{"version": version}) {
			s.metric = "agentslo_events_by_version_total"
			streams = append(streams, s)
		}
	}
	p := serve(t, 90*24*time.Hour, streams...)
	show := func(o gate.Options) string {
		var lines []string
		for _, b := range read(t, p, set, o) {
			split := ""
			if b.Split != nil {
				split = b.Split.By + "=" + b.Split.Value + " "
			}
			lines = append(lines, fmt.Sprintf("%s%d/%d", split, b.Good, b.Bad))
		}
		return strings.Join(lines, ", ")
	}
	for by, want := range map[string]string{
		"":        "30/2",
		"agent":   "agent=triage 10/0, agent=writer 20/2",
		"version": "version=1.9 25/0, version=2.0 5/2",
	} {
		if got := show(gate.Options{By: by}); got != want {
			t.Errorf("by %q: %s, want %s", by, got, want)
		}
	}
	set.Files[0].By = []string{"agent"}
	if got, want := show(gate.Options{}), "agent=triage 10/0, agent=writer 20/2"; got != want {
		t.Errorf("by: [agent] in the file: %s, want %s", got, want)
	}
	for _, o := range []gate.Options{{By: "tenant"}, {SLOs: []string{"complete"}}} {
		if _, err := gate.Read(context.Background(), p, set, o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// Two files of one service: the one without an environment has all the
// environments that the other does not claim.
func TestEnvironments(t *testing.T) {
	both := parse(t, support+"---\n"+strings.Replace(support, "environment: prod\n", "", 1))
	var streams []stream
	for environment, c := range map[string]counts{"prod": {good: 1}, "dev": {good: 10}, "test": {good: 100}} {
		streams = append(streams, c.of("completion", map[string]string{"environment": environment})...)
	}
	p := serve(t, 90*24*time.Hour, streams...)
	got := map[string]int64{}
	for _, b := range read(t, p, both, gate.Options{}) {
		got[b.Environment] = b.Good
	}
	if got["prod"] != 1 || got[""] != 110 {
		t.Errorf("%v", got)
	}
}

// A name from a file stays within its matcher.
func TestNamesAreQuoted(t *testing.T) {
	name := `x"} or agentslo_events_total{slo_service!="\`
	set := parse(t, support)
	set.Files[0].Service = name
	own := counts{good: 7}.of("completion", map[string]string{"slo_service": name})
	p := serve(t, 90*24*time.Hour, append(own, counts{good: 1000}.of("completion", nil)...)...)
	if b := read(t, p, set, gate.Options{})[0]; b.Good != 7 {
		t.Errorf("%d runs", b.Good)
	}
}

// The month of the end began 30.5 days before it: on 1 March, the runs of
// February do not count, and burn rates look over its beginning.
func TestCalendarWindow(t *testing.T) {
	set := parse(t, support+"window: {calendar: month, timezone: Europe/Berlin}\n")
	start := time.Date(2026, 2, 28, 23, 0, 0, 0, time.UTC) // midnight in Berlin
	at := start.Add(90 * time.Minute)
	var streams []stream
	for verdict, values := range map[string][3]float64{"good": {50, 90, 100}, "bad": {0, 10, 11}} {
		streams = append(streams, stream{
			labels: map[string]string{"slo_service": "support", "environment": "prod", "agent": "main", "slo": "completion", "verdict": verdict},
			samples: []sample{
				{start.Add(-30 * time.Hour), 0}, {start.Add(-10 * time.Hour), values[0]}, {start.Add(-time.Minute), values[1]},
				{start.Add(time.Minute), values[2]}, {at.Add(-time.Minute), values[2]},
			},
		})
	}
	b := read(t, serve(t, 90*24*time.Hour, streams...), set, gate.Options{At: at})[0]
	if b.Good != 10 || b.Bad != 1 {
		t.Errorf("%d good and %d bad in March", b.Good, b.Bad)
	}
	if len(b.Notes) > 0 {
		t.Errorf("notes on a month that is counted from its start on: %q", b.Notes)
	}
	// In the last six hours: 50 good and 11 bad.
	if got, want := b.BurnRate[1].Rate.InexactFloat64(), 11.0/61/0.01; b.BurnRate[1].Window != "6h" || abs(got-want) > 1e-5 {
		t.Errorf("burn over %s: %v, want %v", b.BurnRate[1].Window, got, want)
	}
	if b.BurnRate[0].Rate.Sign() != 0 {
		t.Errorf("burn over the last hour: %s", b.BurnRate[0].Rate)
	}
}

// A month in which the exporter was set up counts from then on, and says so.
func TestPartialCalendarWindow(t *testing.T) {
	set := parse(t, support+"window: {calendar: month}\n")
	at := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	born := at.Add(-100 * time.Hour) // 16 March, 08:00
	counter := stream{labels: map[string]string{"slo_service": "support", "environment": "prod", "agent": "main", "slo": "completion", "verdict": "good"}}
	for i := range 300 {
		counter.samples = append(counter.samples, sample{born.Add(time.Duration(i) * 20 * time.Minute), float64(i)})
	}
	b := read(t, serve(t, 90*24*time.Hour, counter), set, gate.Options{At: at})[0]
	if b.Good != 299 {
		t.Errorf("%d good", b.Good)
	}
	if len(b.Notes) != 1 || !regexp.MustCompile(`^partial: of this month only what came after 2026-03-1[56] \d\d:\d\d UTC is counted, when the counters began$`).MatchString(b.Notes[0]) {
		t.Errorf("%q", b.Notes)
	}
}

// A judge that errs: 149 of 2000 judged bad are what 5% truly bad look like to
// it, which is just the budget; see the rules' TestJudgedRatios.
func TestJudgedBudget(t *testing.T) {
	set := parse(t, "service: support\nenvironment: prod\nslos: {completion: {sli: correctness, objective: 95%, evaluations: [{name: e, min_score: 1}], judge: {sensitivity: 92%, specificity: 97%}}}\n")
	at := time.Now()
	var streams []stream
	for verdict, n := range map[string]float64{"good": 1851, "bad": 149} {
		streams = append(streams, stream{
			labels:  map[string]string{"slo_service": "support", "environment": "prod", "agent": "main", "slo": "completion", "verdict": verdict},
			samples: []sample{{at.Add(-10 * time.Hour), 0}, {at.Add(-9 * time.Hour), n}, {at.Add(-time.Second), n}},
		})
	}
	b := read(t, serve(t, 90*24*time.Hour, streams...), set, gate.Options{At: at})[0]
	near := func(what string, got slo.Decimal, want float64) {
		t.Helper()
		if abs(got.InexactFloat64()-want) > 1e-4 {
			t.Errorf("%s: %s, want %g", what, got, want)
		}
	}
	if b.Good != 1851 || b.Bad != 149 {
		t.Errorf("%d good and %d bad: counts are as judged", b.Good, b.Bad)
	}
	if b.ExhaustedIn == nil || *b.ExhaustedIn != 0 {
		t.Errorf("exhausted in %v: 149 are just what is tolerated", b.ExhaustedIn)
	}
	near("error ratio", b.ErrorRatio.Decimal, 0.05)
	near("remaining", b.Remaining.Decimal, 0)
	low, high := slo.ClopperPearson(149, 2000, 0.95) // about 6.33% and 8.69%
	near("interval, low", b.Interval[0].Decimal, 1-(high-0.03)/0.89/0.05)
	near("interval, high", b.Interval[1].Decimal, 1-(low-0.03)/0.89/0.05)
}

// How long the budget lasts where the judge errs. 99%, 10000 runs of which 330
// were judged bad: 0.03 + 0.01·0.89 is 3.89%, 389 may be,
// so 59 are left as judged, 59/0.89 truly. In the last hour 50 of 500 were judged
// bad, truly (0.1−0.03)/0.89 of them, 39.3: 66.3/39.3 hours. Taken as judged it
// would be 59/50.
func TestJudgedBudgetLasts(t *testing.T) {
	set := parse(t, "service: support\nenvironment: prod\nslos: {completion: {sli: correctness, objective: 99%, evaluations: [{name: e, min_score: 1}], judge: {sensitivity: 92%, specificity: 97%}}}\n")
	at := time.Now()
	var streams []stream
	for verdict, n := range map[string][2]float64{"good": {9220, 9670}, "bad": {280, 330}} {
		streams = append(streams, stream{
			labels:  map[string]string{"slo_service": "support", "environment": "prod", "agent": "main", "slo": "completion", "verdict": verdict},
			samples: []sample{{at.Add(-50 * time.Hour), 0}, {at.Add(-40 * time.Hour), n[0]}, {at.Add(-61 * time.Minute), n[0]}, {at.Add(-30 * time.Minute), n[1]}, {at.Add(-time.Second), n[1]}},
		})
	}
	b := read(t, serve(t, 90*24*time.Hour, streams...), set, gate.Options{At: at})[0]
	if want := 59 / 0.89 / (50 - 0.03*500) * 0.89 * 3600; b.ExhaustedIn == nil || abs(float64(*b.ExhaustedIn)-want) > 2 {
		t.Errorf("exhausted in %v s, want %g", b.ExhaustedIn, want)
	}
}

// A server that keeps 5 days cannot say what a counter was 30 days ago: its
// oldest value is the start, not a birth with 1000 runs.
func TestShortRetention(t *testing.T) {
	now := time.Now()
	counter := func(verdict string, first, last float64) stream {
		s := stream{labels: map[string]string{"slo_service": "support", "environment": "prod", "agent": "main", "slo": "completion", "verdict": verdict}}
		for at := now.Add(-5*24*time.Hour - 20*time.Minute); at.Before(now); at = at.Add(5 * time.Minute) {
			s.samples = append(s.samples, sample{at, first})
		}
		s.samples = append(s.samples, sample{now.Add(-time.Second), last})
		return s
	}
	p := serve(t, 5*24*time.Hour, counter("good", 1000, 1040), counter("bad", 200, 201))
	b := read(t, p, parse(t, support), gate.Options{At: now})[0]
	if b.Good != 40 || b.Bad != 1 {
		t.Errorf("%d good, %d bad", b.Good, b.Bad)
	}
	if len(b.Notes) != 1 || !strings.Contains(b.Notes[0], "keeps samples for 5 days, less than the window") {
		t.Errorf("notes: %q", b.Notes)
	}
}

func TestSLOWithoutSeries(t *testing.T) {
	set := parse(t, support)
	exporter := stream{metric: "agentslo_unmatched_runs_total", labels: map[string]string{"instance": "a"}, samples: []sample{{end.Add(-time.Minute), 0}}}
	b := read(t, serve(t, 90*24*time.Hour, exporter), set, gate.Options{})
	if len(b) != 1 || b[0].Good != 0 || b[0].Status != gate.Insufficient || b[0].Environment != "prod" {
		t.Errorf("%+v", b)
	}
	// Without even the exporter there, "no runs" would be a guess.
	_, err := gate.Read(context.Background(), serve(t, 90*24*time.Hour), set, gate.Options{At: end})
	if err == nil || !strings.Contains(err.Error(), "no series of the exporter") {
		t.Errorf("error: %v", err)
	}
}
