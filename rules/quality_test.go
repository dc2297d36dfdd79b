package rules_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// qualitySLOs keeps a budget per agent: each agent is one independent
// repetition, and all of them are evaluated at once.
const qualitySLOs = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
by: [agent]
alerting: {false_pages: 1.2} # 0.3 for each of the four
slos:
  o90:  {sli: latency, threshold: 30s, objective: 90%}
  o95:  {sli: latency, threshold: 30s, objective: 95%}
  o99:  {sli: latency, threshold: 30s, objective: 99%}
  o999: {sli: latency, threshold: 30s, objective: 99.9%}
`

// cell is an objective and a volume of traffic.
type cell struct {
	slo     string
	budget  float64
	perHour float64
}

func (c cell) String() string {
	return fmt.Sprintf("%g%%, %g/h", 100-100*c.budget, c.perHour)
}

var cells = []cell{
	{"o99", 0.01, 4}, {"o99", 0.01, 10}, {"o99", 0.01, 60}, {"o95", 0.05, 1}, {"o95", 0.05, 10}, {"o90", 0.1, 10}, {"o999", 0.001, 60},
}

// grid has every objective at every volume.
func grid() []cell {
	var all []cell
	for _, o := range []cell{{slo: "o90", budget: 0.1}, {slo: "o95", budget: 0.05}, {slo: "o99", budget: 0.01}, {slo: "o999", budget: 0.001}} {
		for _, perHour := range []float64{1, 4, 10, 60, 1000, 10000} {
			all = append(all, cell{o.slo, o.budget, perHour})
		}
	}
	return all
}

// repetition is one agent with one SLO: runs end at random, independently.
type repetition struct {
	cell
	errors    func(at time.Duration) float64 // share of bad runs
	good, bad []float64                      // what the exporter shows, at each evaluation
}

// play lets runs end for a while. The first minutes are for the counters' zero.
func (r *repetition) play(rng *rand.Rand, d time.Duration) {
	good, bad := 0.0, 0.0
	for at := time.Duration(0); at < d; at += rules.Interval {
		if at > 2*time.Minute {
			mean, errors := r.perHour*rules.Interval.Hours(), r.errors(at)
			good += float64(poisson(rng, mean*(1-errors)))
			bad += float64(poisson(rng, mean*errors))
		}
		r.good, r.bad = append(r.good, good), append(r.bad, bad)
	}
}

// reckon says by plain arithmetic when pages begin.
func (r *repetition) reckon(o *slo.Objective, tiers []rules.Tier) []time.Duration {
	within := func(counter []float64, i int, w time.Duration) float64 {
		if j := i - int(w/rules.Interval); j >= 0 {
			return counter[i] - counter[j]
		}
		return counter[i]
	}
	fires := func(t rules.Tier, i int) bool {
		return t.Burns(o, func(w time.Duration) (good, bad float64) { return within(r.good, i, w), within(r.bad, i, w) })
	}
	var pages []time.Duration
	paging := false
	until := map[string]int{}
	for i := range r.good {
		now := false
		for _, t := range tiers {
			if t.Severity == rules.SeverityPage && fires(t, i) {
				until[t.Name] = i + int(t.KeepFiring/rules.Interval) + 1
			}
			now = now || i < until[t.Name]
		}
		if now && !paging {
			pages = append(pages, time.Duration(i)*rules.Interval)
		}
		paging = now
	}
	return pages
}

// onEngine says when pages begin by evaluating the generated rules that pages
// depend on, on the engine.
func onEngine(t *testing.T, all []*repetition) [][]time.Duration {
	w := newWorld(t, qualitySLOs)
	w.keepPages()
	series := make([]map[slo.Verdict]labels.Labels, len(all))
	index := map[string]int{}
	for i, r := range all {
		agent := fmt.Sprint("agent-", i)
		index[r.slo+agent] = i
		series[i] = map[slo.Verdict]labels.Labels{}
		for _, v := range slo.Verdicts {
			series[i][v] = labels.FromStrings("__name__", "agentslo_events_total", "slo_service", "bot", "environment", "prod",
				"slo", r.slo, "agent", agent, "verdict", v.String(), "job", "agentslo", "instance", "a:9464")
		}
	}
	pages := make([][]time.Duration, len(all))
	paging := map[int]bool{}
	for n := range all[0].good {
		at := time.Duration(n) * rules.Interval
		app := w.db.AppenderV2(context.Background())
		for i, r := range all {
			for v, ls := range series[i] {
				value := 0.0
				switch v {
				case slo.Good:
					value = r.good[n]
				case slo.Bad:
					value = r.bad[n]
				}
				_, err := app.Append(0, ls, 0, start.Add(at).UnixMilli(), value, nil, nil, storage.AOptions{})
				require.NoError(t, err)
			}
		}
		require.NoError(t, app.Commit())
		w.now = start.Add(at + 10*time.Second)
		w.evaluate()
		now := map[int]bool{}
		for _, g := range w.groups {
			for _, rule := range g.Rules() {
				if alert, ok := rule.(*promrules.AlertingRule); ok {
					for _, a := range alert.ActiveAlerts() {
						if a.State == promrules.StateFiring && a.Labels.Get("severity") == rules.SeverityPage {
							now[index[a.Labels.Get("slo")+a.Labels.Get("agent")]] = true
						}
					}
				}
			}
		}
		for i := range now {
			if !paging[i] {
				pages[i] = append(pages[i], at)
			}
		}
		paging = now
	}
	return pages
}

func poisson(rng *rand.Rand, mean float64) int {
	n := 0
	for p := rng.Float64(); p > math.Exp(-mean); p *= rng.Float64() {
		n++
	}
	return n
}

// TestAlertQuality measures false pages and times to page. The arithmetic of
// the tiers is repeated often, the generated rules on the engine a few times,
// on the same runs, and both must page at the same minutes.
//
// It takes minutes to hours: AGENTSLO_ALERT_QUALITY is the number of
// repetitions per cell, AGENTSLO_ALERT_QUALITY_ENGINE how many of them are also
// played on the engine. AGENTSLO_ALERT_QUALITY_GRID=1 takes every objective at
// every volume instead of the cells that matter most.
func TestAlertQuality(t *testing.T) {
	const days = 30
	n, err := strconv.Atoi(os.Getenv("AGENTSLO_ALERT_QUALITY"))
	if err != nil {
		t.Skip("set AGENTSLO_ALERT_QUALITY to the number of repetitions per cell")
	}
	if os.Getenv("AGENTSLO_ALERT_QUALITY_GRID") != "" {
		cells = grid()
	}
	engine, _ := strconv.Atoi(os.Getenv("AGENTSLO_ALERT_QUALITY_ENGINE"))
	rng := rand.New(rand.NewPCG(1, 2))
	f := set(t, qualitySLOs).Files[0]
	// play gives the times of pages in n repetitions of each cell.
	play := func(d time.Duration, errors func(cell, int) func(time.Duration) float64) map[cell][][]time.Duration {
		pages := map[cell][][]time.Duration{}
		var check []*repetition
		var expected [][]time.Duration
		for _, c := range cells {
			for i := range n {
				r := &repetition{cell: c, errors: errors(c, i)}
				r.play(rng, d)
				pages[c] = append(pages[c], r.reckon(f.Objective(c.slo), rules.Tiers(f, f.Objective(c.slo))))
				if i < engine {
					check, expected = append(check, r), append(expected, pages[c][i])
				}
			}
		}
		if len(check) > 0 {
			for i, got := range onEngine(t, check) {
				require.Equal(t, expected[i], got, "%s", check[i].cell)
			}
		}
		return pages
	}
	incident := func(share float64) func(cell, int) func(time.Duration) float64 {
		return func(_ cell, i int) func(time.Duration) float64 {
			return func(at time.Duration) float64 {
				if at < incidentAt(i) {
					return 0
				}
				return share
			}
		}
	}
	calm := play(time.Duration(days)*24*time.Hour, func(c cell, _ int) func(time.Duration) float64 {
		return func(time.Duration) float64 { return c.budget }
	})
	outage := play(36*time.Hour, incident(1))
	half := play(60*time.Hour, incident(0.5))

	var text strings.Builder
	table := tabwriter.NewWriter(&text, 2, 8, 2, ' ', 0)
	fmt.Fprintf(table, "objective, runs\tfalse pages in 30 d\t(95%%)\tpage at 100%%: min\tbar\tpages\tpage at 50%%: min\tbar\tpages\tnever\n")
	for _, c := range cells {
		pages := 0
		for _, times := range calm[c] {
			pages += len(times)
		}
		months := float64(n*days) / 30
		low, high := poissonInterval(pages)
		at100, each100, never100 := timeToPage(outage[c])
		at50, each50, never50 := timeToPage(half[c])
		fmt.Fprintf(table, "%s\t%.2f\t%.2f–%.2f\t%.0f\t%.0f\t%.1f\t%.0f\t%.0f\t%.1f\t%d, %d\n", c, float64(pages)/months, low/months, high/months,
			at100.Minutes(), bar(c, 1).Minutes(), each100, at50.Minutes(), bar(c, 0.5).Minutes(), each50, never100, never50)
	}
	require.NoError(t, table.Flush())
	t.Logf("%d repetitions of %d days, %d of them on the engine\n%s", n, days, engine, text.String())
}

// TestPagesAreReckoned holds the engine's pages to the arithmetic that
// [TestAlertQuality] repeats, over four hours with an incident.
func TestPagesAreReckoned(t *testing.T) {
	t.Parallel()
	f := set(t, qualitySLOs).Files[0]
	rng := rand.New(rand.NewPCG(3, 5))
	var all []*repetition
	pages := 0
	for _, c := range cells {
		r := &repetition{cell: c, errors: func(at time.Duration) float64 {
			if at < 100*time.Minute || at > 160*time.Minute {
				return c.budget
			}
			return 0.7
		}}
		r.play(rng, 4*time.Hour)
		all = append(all, r)
	}
	for i, got := range onEngine(t, all) {
		require.Equal(t, all[i].reckon(f.Objective(all[i].slo), rules.Tiers(f, f.Objective(all[i].slo))), got, "%s", all[i].cell)
		pages += len(got)
	}
	require.GreaterOrEqual(t, pages, 5)
}

// incidentAt spreads incidents over the hour.
func incidentAt(i int) time.Duration { return 24*time.Hour + time.Duration(i*37%60)*time.Minute }

// timeToPage is the median time from the incident to the first page, how many
// pages one incident gives on average, and how often there was none.
func timeToPage(pages [][]time.Duration) (median time.Duration, each float64, never int) {
	var times []time.Duration
	for i, all := range pages {
		at := slices.IndexFunc(all, func(at time.Duration) bool { return at >= incidentAt(i) })
		if at < 0 {
			never++
			times = append(times, 1000*time.Hour)
			continue
		}
		each += float64(len(all)-at) / float64(len(pages))
		times = append(times, all[at]-incidentAt(i))
	}
	slices.Sort(times)
	return times[len(times)/2], each, never
}

// bar is the time to page that a perfect rule could be a third faster than: the
// larger of Lorden's bound, ln(1/a)/KL events at a false alarm rate a of 0.1
// in 30 days, and the smaller of 2% of a 30-day budget and 30 minutes of outage,
// at that error ratio; plus scrape, evaluation and the mean time between runs.
func bar(c cell, errors float64) time.Duration {
	perEvent := 0.1 / (c.perHour * 720)
	kl := errors * math.Log(errors/c.budget)
	if errors < 1 {
		kl += (1 - errors) * math.Log((1-errors)/(1-c.budget))
	}
	lorden := math.Log(1/perEvent) / kl / c.perHour
	spent := min(0.02*720*c.budget, 0.5) / errors
	theoretical := time.Duration(max(lorden, spent) * float64(time.Hour))
	return time.Duration(1.3*float64(theoretical)) + 30*time.Second + rules.Interval + time.Duration(float64(time.Hour)/c.perHour)
}

// poissonInterval holds the mean of a count with 95%, by Garwood's bounds in
// the Wilson-Hilferty approximation.
func poissonInterval(n int) (low, high float64) {
	const z = 1.96
	k := float64(n)
	if n > 0 {
		low = k * math.Pow(1-1/(9*k)-z/(3*math.Sqrt(k)), 3)
	}
	high = (k + 1) * math.Pow(1-1/(9*(k+1))+z/(3*math.Sqrt(k+1)), 3)
	return low, high
}

// TestEvidenceNeeded shows how many false pages there are at exactly the budget
// by the evidence asked for: where [rules.EvidenceNeeded] comes from, and why it
// is the same at every volume. AGENTSLO_ALERT_QUALITY_EVIDENCE is the number of
// months a cell.
func TestEvidenceNeeded(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("AGENTSLO_ALERT_QUALITY_EVIDENCE"))
	if err != nil {
		t.Skip("set AGENTSLO_ALERT_QUALITY_EVIDENCE to the number of months per cell")
	}
	f := set(t, qualitySLOs).Files[0]
	needed := []float64{5, 6, 7, 7.5, 8, 8.5, 9}
	rng := rand.New(rand.NewPCG(5, 6))
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 2, 8, 2, ' ', 0)
	fmt.Fprintf(table, "nats\t%v\n", needed)
	for _, c := range grid() {
		o := f.Objective(c.slo)
		pages := make([]int, len(needed))
		for range n {
			r := &repetition{cell: c, errors: func(time.Duration) float64 { return c.budget }}
			r.play(rng, 30*24*time.Hour)
			for i, h := range needed {
				tiers := rules.Tiers(f, o)
				for k := range tiers {
					tiers[k].Evidence = decimal.NewFromFloat(h)
				}
				found := len(r.reckon(o, tiers))
				if pages[i] += found; found == 0 {
					break // nor with more
				}
			}
		}
		fmt.Fprint(table, c)
		for _, k := range pages {
			fmt.Fprintf(table, "\t%.2f", float64(k)/float64(n))
		}
		fmt.Fprintln(table)
	}
	require.NoError(t, table.Flush())
	t.Logf("false pages in 30 days, %d months a cell\n%s", n, text.String())
}
