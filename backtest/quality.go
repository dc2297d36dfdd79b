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
	Rules            string    // agentslo or workbook
	AtBudget, AtHalf False     // pages
	All, Half        Detection // at 100% and at 50% failing

	// The following are of the generated rules only.
	TicketsAtBudget, TicketsAtHalf False
	Slow                           Detection // of a ticket, at [SlowBurn] times the budget
	Recovery                       Recovery
}

// False counts alerts of one severity, over all its tiers, while the objective
// is met.
type False struct {
	Alerts    int
	Months    float64 // of 30 days that were simulated
	Low, High float64 // per month, 95% confidence
}

// PerMonth is the estimate, NaN if nothing was simulated.
func (f False) PerMonth() float64 { return float64(f.Alerts) / f.Months }

// Recovery is what a person sees of one outage, from the page on: everything
// fails for a while, and then half as much as tolerated.
type Recovery struct {
	Outage time.Duration
	// Pages begun by one outage and the time after it, on average.
	Pages float64
	// Reset is the median time from the outage's end until nothing pages.
	Reset time.Duration
}

// SlowBurn is how many times the budget the error ratio is for tickets: a fall
// from 95% to 88% good. It spends a month's budget in 12.5 days.
const SlowBurn = 2.4

// Detection is the time from an incident's beginning to the first page, over
// repetitions.
type Detection struct {
	Failing           float64
	Median, Low, High time.Duration // 95% confidence; Never where too many saw no page
	Repetitions       int
	Missed            int // repetitions without an alert
}

// Never stands for no alert within the simulated incident.
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
	Workers        int
	alerting, keys string // of the SLO file, and of its SLO

	// Done, if set, is told of each cell when its two rule sets are measured.
	Done func(agentslo, workbook Quality)
}

// MeasureQuality simulates the page tiers of the generated rules, and of the
// workbook's, cell by cell: independent runs that end at random, exporters
// scraped every 30 seconds, rules evaluated every minute. Repetitions are
// agents of one SLO with a budget per agent, so that one evaluation serves all.
// The order of the result is that of the cells, agentslo before workbook.
func MeasureQuality(ctx context.Context, o QualityOptions) ([]Quality, error) {
	o = o.defaults()
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

func (o QualityOptions) defaults() QualityOptions {
	o.Days = cmp.Or(o.Days, 30)
	o.Incidents = cmp.Or(o.Incidents, 100)
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	return o
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
	own := name == agentsloRules // the rest of the bar is not the workbook's
	if q.AtBudget, q.TicketsAtBudget, err = o.alarms(ctx, c, name, Scenario{ErrorRatio: c.budget()}, own); err != nil {
		return q, err
	}
	if own {
		if q.AtHalf, q.TicketsAtHalf, err = o.alarms(ctx, c, name, Scenario{ErrorRatio: c.budget() / 2}, own); err != nil {
			return q, err
		}
		if q.Slow, err = o.detection(ctx, c, name, rules.SeverityTicket, SlowBurn*c.budget()); err != nil {
			return q, err
		}
		if q.Recovery, err = o.recovery(ctx, c); err != nil {
			return q, err
		}
	}
	if q.All, err = o.detection(ctx, c, name, rules.SeverityPage, 1); err != nil {
		return q, err
	}
	q.Half, err = o.detection(ctx, c, name, rules.SeverityPage, 0.5)
	return q, err
}

// burnAlerts are the rules that are measured, with the tiers of these severities.
func burnAlerts(f *slo.File, name string, severities ...string) []rules.Group {
	groups := Workbook(f, &f.SLOs[0])
	if name == agentsloRules {
		groups = rules.Groups(&slo.Set{Files: []*slo.File{f}})
	}
	for i := range groups {
		groups[i].Rules = slices.DeleteFunc(slices.Clone(groups[i].Rules), func(r rules.Rule) bool {
			return r.Alert != "" && (r.Alert == rules.AlertCoverageLow || r.Alert == rules.AlertNoData || !slices.Contains(severities, r.Labels["severity"]))
		})
	}
	return groups
}

func (o QualityOptions) file(c Cell) (*slo.File, error) {
	files, err := slo.Parse("quality", fmt.Appendf(nil, "{apiVersion: agentslo/v1, kind: AgentSLO, service: quality, by: [agent], alerting: {%s}, slos: {completion: {objective: %s%%%s}}}",
		o.alerting, c.Objective.Shift(2), o.keys))
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

// simulate returns what fired in all repetitions, a scenario each.
func (o QualityOptions) simulate(ctx context.Context, c Cell, name string, severities []string, length time.Duration, scenarios []Scenario, until func([]Firing) bool) ([]Firing, error) {
	f, err := o.file(c)
	if err != nil {
		return nil, err
	}
	var traffic crowd
	for i, s := range scenarios {
		s.PerHour, s.Start, s.Scrape = c.PerHour, qualityEpoch, qualityScrape
		traffic = append(traffic, s.traffic(f, &f.SLOs[0], agentName(i)))
	}
	r := &Replay{Groups: burnAlerts(f, name, severities...), Traffic: traffic, Start: qualityEpoch.Add(65 * time.Second), End: qualityEpoch.Add(length), Step: rules.Interval}
	if until != nil {
		r.stretch = 2 * time.Hour
		r.Until = until
	}
	return r.Run(ctx)
}

// ofSeverity are the alerts of one severity, in a slice of their own.
func ofSeverity(fired []Firing, severity string) []Firing {
	return slices.DeleteFunc(slices.Clone(fired), func(x Firing) bool { return x.Labels.Get("severity") != severity })
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

// alarms counts pages and, if asked for, tickets while the traffic of a
// scenario goes on. What it says beyond shapes and error ratio is the cell's.
func (o QualityOptions) alarms(ctx context.Context, c Cell, name string, s Scenario, withTickets bool) (pages, tickets False, err error) {
	scenarios := make([]Scenario, o.Seeds)
	for i := range scenarios {
		scenarios[i] = s
		scenarios[i].Seed = o.seed(i, c)
	}
	severities := []string{rules.SeverityPage}
	if withTickets {
		severities = append(severities, rules.SeverityTicket)
	}
	fired, err := o.simulate(ctx, c, name, severities, time.Duration(o.Days)*24*time.Hour, scenarios, nil)
	count := func(severity string) (f False) {
		f.Months = float64(o.Seeds*o.Days) / 30
		for all := range maps.Values(episodes(ofSeverity(fired, severity))) {
			f.Alerts += len(all)
		}
		low, high := slo.PoissonInterval(float64(f.Alerts), 0.95)
		f.Low, f.High = low/f.Months, high/f.Months
		return f
	}
	return count(rules.SeverityPage), count(rules.SeverityTicket), err
}

// calmBefore is how long nothing fails before an incident: longer than any tier
// of the severity looks back, so that its windows are full of good runs.
func calmBefore(f *slo.File, severity string) time.Duration {
	longest := 6 * time.Hour
	for _, t := range rules.Tiers(f, &f.SLOs[0]) {
		if t.Severity == severity {
			longest = max(longest, t.Long)
		}
	}
	return longest + 2*time.Hour
}

// slowFor is how long a slow burn goes on: it has then spent the month's budget.
const slowFor = time.Duration(float64(month) / SlowBurn)

// detection has no failures at all before the incident: windows full of good
// runs are the slowest to cross a threshold.
func (o QualityOptions) detection(ctx context.Context, c Cell, name, severity string, failing float64) (Detection, error) {
	f, err := o.file(c)
	if err != nil {
		return Detection{}, err
	}
	incidents, length := o.Incidents, max(5*c.Bar(failing), 12*time.Hour)
	if severity == rules.SeverityTicket {
		incidents, length = o.Seeds, slowFor
	}
	calm := calmBefore(f, severity)
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
	scenarios := make([]Scenario, incidents)
	for i := range scenarios {
		scenarios[i] = Scenario{Seed: o.seed(i, c) + 1, Incident: begin(i), IncidentFor: length, IncidentRatio: failing, Shapes: []string{ShapeStep}}
	}
	fired, err := o.simulate(ctx, c, name, []string{severity}, calm+length, scenarios, func(fired []Firing) bool {
		found := episodes(ofSeverity(fired, severity))
		for i := range scenarios {
			if _, ok := first(found, i); !ok {
				return false
			}
		}
		return true
	})
	if err != nil {
		return Detection{}, err
	}
	d := Detection{Failing: failing, Repetitions: incidents}
	found := episodes(ofSeverity(fired, severity))
	var times []time.Duration
	for i := range scenarios {
		t, ok := first(found, i)
		if !ok {
			t = Never
			d.Missed++
		}
		times = append(times, t)
	}
	slices.Sort(times)
	low, high, _ := slo.QuantileRanks(len(times), 0.5, 0.95)
	d.Median, d.Low, d.High = median(times), times[low-1], times[high-1]
	return d, nil
}

// median is of sorted times.
func median(times []time.Duration) time.Duration {
	n := len(times)
	m := times[(n-1)/2]
	if n%2 == 0 && times[n/2] != Never {
		m = (m + times[n/2]) / 2
	}
	return m
}

// recovery lets everything fail for three hours, or twice as long as a page may
// take, and looks on for half a day.
func (o QualityOptions) recovery(ctx context.Context, c Cell) (Recovery, error) {
	f, err := o.file(c)
	if err != nil {
		return Recovery{}, err
	}
	const after = 12 * time.Hour
	r := Recovery{Outage: max(3*time.Hour, 2*c.Bar(1))}
	begin := qualityEpoch.Add(calmBefore(f, rules.SeverityPage))
	end := begin.Add(r.Outage)
	scenarios := make([]Scenario, o.Seeds)
	for i := range scenarios {
		scenarios[i] = Scenario{ErrorRatio: c.budget() / 2, Seed: o.seed(i, c) + 2, Incident: begin, IncidentFor: r.Outage, IncidentRatio: 1, Shapes: []string{ShapeStep}}
	}
	fired, err := o.simulate(ctx, c, agentsloRules, []string{rules.SeverityPage}, end.Add(after).Sub(qualityEpoch), scenarios, nil)
	if err != nil {
		return Recovery{}, err
	}
	found := episodes(ofSeverity(fired, rules.SeverityPage))
	var resets []time.Duration
	for i := range scenarios {
		pages := slices.DeleteFunc(slices.Clone(found[agentName(i)]), func(x Firing) bool { return x.Start.Before(begin) })
		r.Pages += float64(len(pages)) / float64(len(scenarios))
		if len(pages) == 0 {
			continue
		}
		switch last := pages[len(pages)-1].End; {
		case last.IsZero():
			resets = append(resets, Never)
		default:
			resets = append(resets, max(last.Sub(end), 0))
		}
	}
	if len(resets) > 0 {
		slices.Sort(resets)
		r.Reset = median(resets)
	}
	return r, nil
}
