package backtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// Cell is an objective at a volume of traffic.
type Cell struct {
	Objective decimal.Decimal // above 0 and below 1
	PerHour   float64         // counted runs an hour
}

func (c Cell) String() string {
	return c.Objective.Shift(2).String() + "%, " + strconv.FormatFloat(c.PerHour, 'f', -1, 64) + "/h"
}

func (c Cell) budget() float64 { b, _ := decimal.NewFromInt(1).Sub(c.Objective).Float64(); return b }

// Cells are the seven that are measured by default, AllCells the whole grid.
var (
	Cells    = cells("99% 4", "99% 10", "99% 60", "95% 1", "95% 10", "90% 10", "99.9% 60")
	AllCells = grid([]string{"90%", "95%", "99%", "99.9%"}, []string{"1", "4", "10", "60", "1000", "10000"})
)

func grid(objectives, perHour []string) (all []Cell) {
	for _, o := range objectives {
		for _, n := range perHour {
			all = append(all, cells(o+" "+n)...)
		}
	}
	return all
}

func cells(texts ...string) (all []Cell) {
	for _, text := range texts {
		var percent string
		var c Cell
		if _, err := fmt.Sscan(text, &percent, &c.PerHour); err != nil {
			panic(err)
		}
		c.Objective = decimal.RequireFromString(percent[:len(percent)-1]).Shift(-2)
		all = append(all, c)
	}
	return all
}

// The bar: pages in 30 days while the objective is met, and the time to page
// as a multiple of what is possible at the false alarms given up for it.
const (
	MostFalsePages       = 0.3 // at exactly the budget
	MostFalsePagesAtHalf = 0.1 // at half of it
	mostTimesTheory      = 1.3
	theoryFalsePages     = 0.1
	// A page is not asked for before 2% of a 30-day budget is spent, or half an
	// hour of total outage, whichever comes first.
	leastShare  = 0.02
	leastOutage = 30 * time.Minute
)

const month = 30 * 24 * time.Hour

// Theory is how fast a perfect rule could page when the error ratio becomes
// failing: the larger of the time to spend what a page is not asked for
// before, and of Lorden's bound at 0.1 false pages in 30 days, see
// [slo.EventsToDetect].
func (c Cell) Theory(failing float64) time.Duration {
	events := slo.EventsToDetect(theoryFalsePages/(c.PerHour*month.Hours()), failing, c.budget())
	spent := min(leastShare*month.Hours()*c.budget(), leastOutage.Hours()) / failing
	return time.Duration(max(events/c.PerHour, spent) * float64(time.Hour))
}

// Bar is the longest median time to page that is good: 1.3 times [Cell.Theory],
// a scrape, an evaluation, and the mean time between runs.
func (c Cell) Bar(failing float64) time.Duration {
	return time.Duration(mostTimesTheory*float64(c.Theory(failing))) + qualityScrape + rules.Interval + time.Duration(float64(time.Hour)/c.PerHour)
}

const qualityScrape = 30 * time.Second

// Quality is what one set of rules does in a cell.
type Quality struct {
	Cell             Cell
	Rules            string // agentslo or workbook
	AtBudget, AtHalf FalsePages
	All, Half        Detection // at 100% and at 50% failing
}

// FalsePages counts pages, over all tiers, while the objective is met.
type FalsePages struct {
	Pages     int
	Months    float64 // of 30 days that were simulated
	Low, High float64 // per month, 95% confidence
}

// PerMonth is the estimate, NaN if nothing was simulated.
func (f FalsePages) PerMonth() float64 { return float64(f.Pages) / f.Months }

// Detection is the time from an incident's beginning to the first page, over
// repetitions.
type Detection struct {
	Failing           float64
	Median, Low, High time.Duration // 95% confidence; Never where too many saw no page
	Repetitions       int
	Missed            int // repetitions without a page
	// Pages begun in an incident, on average: more than one is flapping.
	Pages float64
}

// Never stands for no page within the simulated incident.
const Never = time.Duration(math.MaxInt64)

// Meets says whether the estimates meet the bar.
func (q Quality) Meets() bool {
	return q.AtBudget.PerMonth() <= MostFalsePages && q.AtHalf.PerMonth() <= MostFalsePagesAtHalf &&
		q.All.Median <= q.Cell.Bar(1) && q.Half.Median <= q.Cell.Bar(0.5)
}

// QualityOptions says how much is simulated.
type QualityOptions struct {
	Cells []Cell
	Seeds int // repetitions without an incident
	Days  int // of each of them; default 30
	// Incidents are repetitions with one: short, and so cheap. Default 100.
	Incidents int
	First     uint64
	// Workers cells are measured at a time; default the number of CPUs.
	Workers int
	// Done, if set, is told of each cell when its two rule sets are measured.
	Done func(agentslo, workbook Quality)
}

// MeasureQuality simulates the page tiers of the generated rules, and of the
// workbook's, cell by cell: independent runs that end at random, exporters
// scraped every 30 seconds, rules evaluated every minute. Repetitions are
// agents of one SLO with a budget per agent, so that one evaluation serves all.
// The order of the result is that of the cells, agentslo before workbook.
func MeasureQuality(ctx context.Context, o QualityOptions) ([]Quality, error) {
	o.Days = cmp.Or(o.Days, 30)
	o.Incidents = cmp.Or(o.Incidents, 100)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := make([]Quality, 2*len(o.Cells))
	next := make(chan int)
	var wait sync.WaitGroup
	var told sync.Mutex
	for range min(o.Workers, len(o.Cells)) {
		wait.Go(func() {
			for i := range next {
				for j, name := range []string{agentsloRules, workbookRules} {
					q, err := o.measure(ctx, o.Cells[i], name)
					if err != nil {
						cancel(fmt.Errorf("%s: %w", o.Cells[i], err))
						return
					}
					out[2*i+j] = q
				}
				if o.Done != nil {
					told.Lock()
					o.Done(out[2*i], out[2*i+1])
					told.Unlock()
				}
			}
		})
	}
	for i := range o.Cells {
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	wait.Wait()
	return out, context.Cause(ctx)
}

const (
	agentsloRules = "agentslo"
	workbookRules = "workbook"
)

// qualityEpoch is when simulated time begins: a Monday.
var qualityEpoch = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

func (o QualityOptions) measure(ctx context.Context, c Cell, name string) (Quality, error) {
	q := Quality{Cell: c, Rules: name}
	var err error
	if q.AtBudget, err = o.falsePages(ctx, c, name, c.budget()); err != nil {
		return q, err
	}
	if name == agentsloRules { // the bar is not the workbook's
		if q.AtHalf, err = o.falsePages(ctx, c, name, c.budget()/2); err != nil {
			return q, err
		}
	}
	if q.All, err = o.detection(ctx, c, name, 1); err != nil {
		return q, err
	}
	q.Half, err = o.detection(ctx, c, name, 0.5)
	return q, err
}

// pages are the page tiers of the rules that are measured.
func pages(f *slo.File, name string) []rules.Group {
	groups := Workbook(f, &f.SLOs[0])
	if name == agentsloRules {
		groups = rules.Groups(&slo.Set{Files: []*slo.File{f}})
	}
	for i := range groups {
		groups[i].Rules = slices.DeleteFunc(slices.Clone(groups[i].Rules), func(r rules.Rule) bool {
			return r.Alert != "" && r.Labels["severity"] != rules.SeverityPage
		})
	}
	return groups
}

func qualityFile(c Cell) (*slo.File, error) {
	files, err := slo.Parse("quality", fmt.Appendf(nil, "{apiVersion: agentslo/v1, kind: AgentSLO, service: quality, by: [agent], slos: {completion: {objective: %s%%}}}", c.Objective.Shift(2)))
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// crowd is one repetition for each agent.
type crowd []*generator

// Scrape implements [Traffic].
func (c crowd) Scrape(ctx context.Context, from, to time.Time, into *Storage) error {
	for _, g := range c {
		if err := g.Scrape(ctx, from, to, into); err != nil {
			return err
		}
	}
	return nil
}

func agentName(i int) string { return fmt.Sprintf("agent-%04d", i) }

// simulate returns the pages of each repetition, overlapping tiers as one.
func (o QualityOptions) simulate(ctx context.Context, c Cell, name string, repetitions int, length time.Duration, scenario func(i int) Scenario, until func(map[string][]Firing) bool) (map[string][]Firing, error) {
	f, err := qualityFile(c)
	if err != nil {
		return nil, err
	}
	var traffic crowd
	for i := range repetitions {
		traffic = append(traffic, scenario(i).traffic(f, &f.SLOs[0], agentName(i)))
	}
	r := &Replay{Groups: pages(f, name), Traffic: traffic, Start: qualityEpoch.Add(65 * time.Second), End: qualityEpoch.Add(length), Step: rules.Interval}
	if until != nil {
		r.stretch = 2 * time.Hour
		r.Until = func(fired []Firing) bool { return until(episodes(fired)) }
	}
	fired, err := r.Run(ctx)
	if err != nil {
		return nil, err
	}
	return episodes(fired), nil
}

// episodes merges what overlaps, agent by agent: a person is paged once.
func episodes(fired []Firing) map[string][]Firing {
	byAgent := map[string][]Firing{}
	for _, x := range fired {
		a := x.Labels.Get(rules.LabelAgent)
		byAgent[a] = append(byAgent[a], x)
	}
	for a, all := range byAgent {
		slices.SortFunc(all, func(a, b Firing) int { return a.Start.Compare(b.Start) })
		merged := all[:1]
		for _, x := range all[1:] {
			last := &merged[len(merged)-1]
			if last.End.IsZero() || !x.Start.After(last.End) {
				if x.End.IsZero() || x.End.After(last.End) && !last.End.IsZero() {
					last.End = x.End
				}
				continue
			}
			merged = append(merged, x)
		}
		byAgent[a] = merged
	}
	return byAgent
}

func (o QualityOptions) seed(i int, c Cell) uint64 {
	return (o.First+uint64(i))*1_000_003 + uint64(c.PerHour*1000) + uint64(c.budget()*1e6)
}

func (o QualityOptions) falsePages(ctx context.Context, c Cell, name string, ratio float64) (FalsePages, error) {
	found, err := o.simulate(ctx, c, name, o.Seeds, time.Duration(o.Days)*24*time.Hour, func(i int) Scenario {
		return Scenario{PerHour: c.PerHour, ErrorRatio: ratio, Seed: o.seed(i, c), Start: qualityEpoch, Scrape: qualityScrape}
	}, nil)
	f := FalsePages{Months: float64(o.Seeds*o.Days) / 30}
	for all := range maps.Values(found) {
		f.Pages += len(all)
	}
	low, high := slo.PoissonInterval(float64(f.Pages), 0.95)
	f.Low, f.High = low/f.Months, high/f.Months
	return f, err
}

// calmBefore is how long nothing fails before an incident: longer than any page
// tier looks back, so that its windows are full of good runs.
func calmBefore(f *slo.File) time.Duration {
	longest := 6 * time.Hour
	for _, t := range rules.Tiers(f, &f.SLOs[0]) {
		if t.Severity == rules.SeverityPage {
			longest = max(longest, t.Long)
		}
	}
	return longest + 2*time.Hour
}

// detection has no failures at all before the incident: windows full of good
// runs are the slowest to cross a threshold.
func (o QualityOptions) detection(ctx context.Context, c Cell, name string, failing float64) (Detection, error) {
	f, err := qualityFile(c)
	if err != nil {
		return Detection{}, err
	}
	calm, length := calmBefore(f), max(5*c.Bar(failing), 12*time.Hour)
	// Beginnings spread over the phases of scrapes and evaluations.
	begin := func(i int) time.Time {
		return qualityEpoch.Add(calm + time.Duration(i*37%60)*time.Second)
	}
	first := func(found map[string][]Firing, i int) (time.Duration, bool) {
		for _, x := range found[agentName(i)] {
			if x.Start.After(begin(i)) {
				return x.Start.Sub(begin(i)), true
			}
		}
		return 0, false
	}
	found, err := o.simulate(ctx, c, name, o.Incidents, calm+length, func(i int) Scenario {
		return Scenario{PerHour: c.PerHour, Seed: o.seed(i, c) + 1, Start: qualityEpoch, Scrape: qualityScrape,
			Incident: begin(i), IncidentFor: length, IncidentRatio: failing, Shapes: []string{ShapeStep}}
	}, func(found map[string][]Firing) bool {
		for i := range o.Incidents {
			if _, ok := first(found, i); !ok {
				return false
			}
		}
		return true
	})
	if err != nil {
		return Detection{}, err
	}
	d := Detection{Failing: failing, Repetitions: o.Incidents}
	var times []time.Duration
	for i := range o.Incidents {
		t, ok := first(found, i)
		if !ok {
			t = Never
			d.Missed++
		}
		times = append(times, t)
		d.Pages += float64(len(found[agentName(i)])) / float64(o.Incidents)
	}
	slices.Sort(times)
	low, high, _ := slo.QuantileRanks(len(times), 0.5, 0.95)
	d.Median, d.Low, d.High = times[(len(times)-1)/2], times[low-1], times[high-1]
	if len(times)%2 == 0 && times[len(times)/2] != Never {
		d.Median = (d.Median + times[len(times)/2]) / 2
	}
	return d, nil
}
