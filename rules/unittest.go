package rules

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/agentslo/agentslo/slo"
)

// Tests writes unit tests of the rules of the set for `promtool test rules`.
// ruleFiles are the files that [Write] wrote in [FormatPrometheus], relative to
// the test file. For each SLO they hold the rules to what plain arithmetic over
// the same runs says: an outage fires its tiers and a recovery ends the pages,
// one failure at four runs an hour does not, an idle agent keeps its budget,
// a restart of the exporter counts nothing twice, and only an exporter that is
// gone is missed.
func Tests(w io.Writer, set *slo.Set, ruleFiles ...string) error {
	document := testFile{RuleFiles: ruleFiles, EvaluationInterval: model.Duration(time.Minute)}
	for _, f := range set.Files {
		for _, s := range scenarios {
			document.Tests = append(document.Tests, s.test(newScope(set, f)))
		}
	}
	return encode(w, document)
}

type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []test         `yaml:"tests"`
}

type test struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Input    []testSeries   `yaml:"input_series"`
	Queries  []testQuery    `yaml:"promql_expr_test"`
}

type testSeries struct {
	Series string `yaml:"series"`
	Values string `yaml:"values"`
}

type testQuery struct {
	Expr     string         `yaml:"expr"`
	EvalTime model.Duration `yaml:"eval_time"`
	Samples  []testSample   `yaml:"exp_samples"`
}

type testSample struct {
	Labels string  `yaml:"labels"`
	Value  float64 `yaml:"value"`
}

// scenario is one story that every SLO of a file goes through.
type scenario struct {
	name   string
	phases []phase
	checks []int // minutes at which alerts, budgets and counts are compared
}

// phase is a stretch of time in which one run ends every so many minutes.
type phase struct {
	minutes, every int
	verdict        slo.Verdict
	restart        bool // the exporter's counters begin again, at 0
	gone           bool // the exporter cannot be scraped
}

// scenarios are the stories; each begins with counters at 0.
var scenarios = []scenario{
	{
		name:   "an outage fires and its end resets the pages",
		phases: []phase{{minutes: 60, every: 1, verdict: slo.Good}, {minutes: 60, every: 1, verdict: slo.Bad}, {minutes: 60, every: 1, verdict: slo.Good}},
		checks: []int{59, 90, 119, 179},
	},
	{
		name:   "one failure at 4 runs an hour fires nothing",
		phases: []phase{{minutes: 90, every: 15, verdict: slo.Good}, {minutes: 15, every: 15, verdict: slo.Bad}, {minutes: 60, every: 15, verdict: slo.Good}},
		checks: []int{89, 106, 120, 160},
	},
	{
		name:   "the first failure ever is counted, an idle agent has its whole budget",
		phases: []phase{{minutes: 30}, {minutes: 1, every: 1, verdict: slo.Bad}, {minutes: 15}},
		checks: []int{29, 32},
	},
	{
		name: "a restart of the exporter counts nothing twice",
		phases: []phase{{minutes: 20, every: 2, verdict: slo.Good}, {minutes: 2, restart: true}, {minutes: 20, every: 2, verdict: slo.Good},
			{minutes: 3, gone: true}, {minutes: 10, every: 2, verdict: slo.Good}},
		checks: []int{25, 54},
	},
	{
		name:   "runs without a verdict lower the coverage",
		phases: []phase{{minutes: 40, every: 1, verdict: slo.Unknown}},
		checks: []int{39},
	},
	{
		name:   "an exporter that is gone is missed",
		phases: []phase{{minutes: 20, every: 1, verdict: slo.Good}, {minutes: 40, gone: true}},
		checks: []int{19, 29, 59},
	},
}

// history is what a scenario makes of one SLO: counters as the exporter shows
// them, and the true counts, minute by minute.
type history struct {
	shown  map[slo.Verdict][]float64 // NaN: not scraped
	totals map[slo.Verdict][]float64
	up     []bool
}

func (s scenario) history() history {
	h := history{shown: map[slo.Verdict][]float64{}, totals: map[slo.Verdict][]float64{}}
	shown, total := map[slo.Verdict]float64{}, map[slo.Verdict]float64{}
	minute := func(p phase) {
		for _, v := range slo.Verdicts {
			value := shown[v]
			if p.gone {
				value = math.NaN()
			}
			h.shown[v] = append(h.shown[v], value)
			h.totals[v] = append(h.totals[v], total[v])
		}
		h.up = append(h.up, !p.gone)
	}
	minute(phase{}) // born at 0
	for _, p := range s.phases {
		if p.restart {
			clear(shown)
		}
		for m := range p.minutes {
			if p.every > 0 && m%p.every == 0 {
				shown[p.verdict]++
				total[p.verdict]++
			}
			minute(p)
		}
	}
	return h
}

// within is the number of events in the window that ends at the minute.
func (h history) within(v slo.Verdict, minute int, window time.Duration) float64 {
	begin := minute - int(window/time.Minute)
	if begin < 0 {
		return h.totals[v][minute]
	}
	return h.totals[v][minute] - h.totals[v][begin]
}

func (s scenario) test(sc scope) test {
	f, h := sc.file, s.history()
	t := test{Name: sc.name(nil) + ": " + s.name, Interval: model.Duration(time.Minute)}
	for i := range f.SLOs {
		if !f.SLOs[i].CountsRuns() {
			t.Input = append(t.Input, ratioInput(&f.SLOs[i], h)...)
			continue
		}
		for _, v := range slo.Verdicts {
			series := raw("agentslo_events_total", f, &f.SLOs[i]).equal(LabelAgent, sampleAgent(f)).equal(LabelVerdict, v.String())
			t.Input = append(t.Input, testSeries{series.with(exporterLabels).String(), values(h.shown[v])})
		}
	}
	alive := make([]float64, len(h.up))
	for m, up := range h.up {
		if !up {
			alive[m] = math.NaN()
		}
	}
	t.Input = append(t.Input, testSeries{selector{metric: "agentslo_unmatched_runs_total"}.with(exporterLabels).String(), values(alive)})

	for _, minute := range s.checks {
		at := model.Duration(time.Duration(minute) * time.Minute)
		for i := range f.SLOs {
			o := &f.SLOs[i]
			if !tested(o) {
				continue
			}
			t.Queries = append(t.Queries, sc.firing(o, h, minute, at))
			good, bad := h.within(slo.Good, minute, budgetLength(f, minute)), h.within(slo.Bad, minute, budgetLength(f, minute))
			key := sc.sampleKey(f.SLOs[i].Name)
			t.Queries = append(t.Queries,
				testQuery{fmt.Sprintf("sum by (%s) (%s)", sc.key(), Events(f, o, slo.Bad, budgetWindow(f))), at, []testSample{{key, bad}}},
				testQuery{fmt.Sprintf("sum by (%s) (%s)", sc.key(), Events(f, o, slo.Good, budgetWindow(f))), at, []testSample{{key, good}}},
				// The share of the budget that is spent; rounded, for it is no whole number.
				testQuery{fmt.Sprintf("round(sum by (%s) (%s), 0.001)", sc.key(), BudgetRemaining(f, o)), at,
					[]testSample{{key, rounded(budgetRemaining(o, good, bad))}}})
		}
		missing := []testSample{}
		if sc.noData() != nil && h.goneFor(minute) > 15 {
			missing = append(missing, testSample{"{}", 1})
		}
		t.Queries = append(t.Queries, testQuery{"count(" + identity("ALERTS", f, nil).equal("alertname", AlertNoData).equal(LabelSLO, "").equal("tier", "").with(`alertstate="firing"`).String() + ")", at, missing})
	}
	return t
}

// tested says whether an SLO can be: of a ratio, series must be found that its
// selectors tell apart.
func tested(o *slo.Objective) bool {
	if o.CountsRuns() {
		return true
	}
	_, ok := sampleSeries(o)
	return ok
}

// exporterLabels are what a scrape adds.
const exporterLabels = `job="agentslo",instance="exporter:9464"`

// goneFor is for how many minutes the exporter has been away.
func (h history) goneFor(minute int) int {
	n := 0
	for m := minute; m >= 0 && !h.up[m]; m-- {
		n++
	}
	return n
}

// firing compares the alerts of an SLO with what arithmetic says.
func (s scope) firing(o *slo.Objective, h history, minute int, at model.Duration) testQuery {
	q := testQuery{
		Expr: fmt.Sprintf("sum by (alertname, tier) (%s)", identity("ALERTS", s.file, o).with(`alertstate="firing"`)), EvalTime: at, Samples: []testSample{},
	}
	for _, t := range Tiers(s.file, o) {
		for m := max(0, minute-int(t.KeepFiring/time.Minute)); m <= minute; m++ {
			if h.burns(o, t, m) {
				q.Samples = append(q.Samples, testSample{fmt.Sprintf("{alertname=%q, tier=%q}", AlertBudgetBurn, t.Name), 1})
				break
			}
		}
	}
	if !o.CountsRuns() {
		if o.Alert != slo.AlertNone && h.goneFor(minute) > 15 {
			q.Samples = append(q.Samples, testSample{fmt.Sprintf("{alertname=%q}", AlertNoData), 1})
		}
		return q
	}
	window := coverageWindow(s.file)
	counted := h.within(slo.Good, minute, window) + h.within(slo.Bad, minute, window)
	not := h.within(slo.Unknown, minute, window)
	if !o.Conditional() {
		not += h.within(slo.Excluded, minute, window)
	}
	if o.Alert != slo.AlertNone && slo.Evidence(counted, not, maxUncounted(s.file, o).InexactFloat64()) > EvidenceNeeded.InexactFloat64() {
		q.Samples = append(q.Samples, testSample{fmt.Sprintf("{alertname=%q}", AlertCoverageLow), 1})
	}
	return q
}

// burns says by arithmetic whether a tier's condition holds.
func (h history) burns(o *slo.Objective, t Tier, minute int) bool {
	return t.Burns(o, func(w time.Duration) (good, bad float64) {
		return h.within(slo.Good, minute, w), h.within(slo.Bad, minute, w)
	})
}

// budgetLength is how far the budget's window reaches back at a minute of a
// test. Tests begin at the Unix epoch, a Thursday: west of Greenwich a month
// begins some hours later, and counts from the last evaluation before that.
func budgetLength(f *slo.File, minute int) time.Duration {
	if c := f.Window.Calendar; c == "month" || c == "quarter" {
		if offset, _ := clock(f.Window); offset < 0 && minute >= int(-offset/60) {
			return time.Duration(minute-int(-offset/60)+1) * time.Minute
		}
	}
	return budgetWindow(f)
}

func budgetRemaining(o *slo.Objective, good, bad float64) float64 {
	if good+bad == 0 {
		return 1
	}
	return 1 - o.ErrorRatio(good, bad)/o.Budget().InexactFloat64()
}

func (s scope) sampleKey(name string) string {
	if s.byAgent() {
		return fmt.Sprintf("{%s=%q, %s=%q}", LabelAgent, sampleAgent(s.file), LabelSLO, name)
	}
	return fmt.Sprintf("{%s=%q}", LabelSLO, name)
}

// sampleAgent is an agent that the file could mean.
func sampleAgent(f *slo.File) string {
	for _, glob := range f.Agents {
		if !strings.ContainsAny(glob, `*?[]{}\`) {
			return glob
		}
	}
	return "agent"
}

// rounded is to three decimals, as PromQL's round does: halves go up.
func rounded(x float64) float64 {
	y := x * 1000
	floor := float64(int64(y))
	if y < floor {
		floor--
	}
	if y-floor >= 0.5 {
		floor++
	}
	return floor / 1000
}

// values writes samples one minute apart as promtool reads them: a+bxn is a
// and n more, each b higher.
func values(samples []float64) string {
	var parts []string
	for len(samples) > 0 {
		if math.IsNaN(samples[0]) {
			n := slices.IndexFunc(samples, func(v float64) bool { return !math.IsNaN(v) })
			if n < 0 {
				n = len(samples)
			}
			parts = append(parts, fmt.Sprintf("_x%d", n))
			samples = samples[n:]
			continue
		}
		n := 1
		for n < len(samples) && samples[n]-samples[n-1] == samples[1]-samples[0] {
			n++
		}
		part := fmt.Sprint(samples[0])
		if n > 1 {
			part = fmt.Sprintf("%g%+gx%d", samples[0], samples[1]-samples[0], n-1)
		}
		parts = append(parts, part)
		samples = samples[n:]
	}
	return strings.Join(parts, " ")
}
