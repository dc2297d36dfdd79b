package backtest

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// Test is a backtest of one SLO.
type Test struct {
	Set       *slo.Set
	File      *slo.File
	Objective *slo.Objective
	Traffic   Traffic
	Start     time.Time // the first evaluation
	End       time.Time // the last
	Step      time.Duration
	Workbook  bool // run the workbook's rules beside
	// Truth is the share of bad runs in the long run at a time, where it is known;
	// nil where it is not.
	Truth func(time.Time) float64
	// Incidents are when the error ratio is known to have been above the budget.
	Incidents []Incident
	Progress  func(time.Time)
}

// Incident is a stretch of time in which the objective was not met.
type Incident struct{ Start, End time.Time }

// Report is what a backtest found.
type Report struct {
	Service     string `json:"service"`
	Environment string `json:"environment,omitempty"`
	SLO         string `json:"slo"`
	Objective   string `json:"objective"`
	Window      string `json:"window"`

	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Good float64   `json:"good"`
	Bad  float64   `json:"bad"`
	// BudgetSpent at the end; 1 is all of it.
	BudgetSpent *float64  `json:"budget_spent"`
	Rules       []Outcome `json:"rules"`

	replay *Replay
	test   Test
}

// Outcome is what one set of rules did.
type Outcome struct {
	Rules   string  `json:"rules"` // agentslo or workbook
	Alerts  []Alert `json:"alerts"`
	Summary Summary `json:"summary"`
}

// Alert is one alert from its first firing evaluation on.
type Alert struct {
	Alert    string     `json:"alert"`
	Severity string     `json:"severity"`
	Tier     string     `json:"tier,omitempty"`
	Agent    string     `json:"agent,omitempty"`
	Start    time.Time  `json:"start"`
	End      *time.Time `json:"end"` // null: still firing
	// BudgetSpent of the window when it began and when it ended; 1 is all of it.
	BudgetSpent      *float64 `json:"budget_spent"`
	BudgetSpentAtEnd *float64 `json:"budget_spent_at_end"`
	// False: the error ratio was within the budget for as long as the alert looks
	// back. Null where the truth is not known.
	False *bool `json:"false"`
}

// Summary counts alerts. Times are seconds; null where there is nothing to say.
type Summary struct {
	Pages        int  `json:"pages"` // overlapping tiers are one
	Tickets      int  `json:"tickets"`
	FalsePages   *int `json:"false_pages"`
	FalseTickets *int `json:"false_tickets"`
	// The first incident's: from its start to the first page or ticket, from its
	// end to the end of the last page that began in it.
	PageAfter         *float64 `json:"page_after_seconds"`
	TicketAfter       *float64 `json:"ticket_after_seconds"`
	ResetAfter        *float64 `json:"reset_after_seconds"`
	BudgetSpentAtPage *float64 `json:"budget_spent_at_page"`
}

// Groups are the rules that the backtest of one SLO evaluates: those of its
// file with that SLO alone, as sloctl generate rules writes them.
func Groups(set *slo.Set, f *slo.File, o *slo.Objective) []rules.Group {
	alone := *f
	alone.SLOs = []slo.Objective{*o}
	// Other files matter to what a file selects, not to what is evaluated here.
	files := slices.Clone(set.Files)
	if at := slices.Index(files, f); at >= 0 {
		files[at] = &alone
		if groups := rules.Groups(&slo.Set{Files: files}); len(groups) == len(files) {
			return groups[at : at+1]
		}
	}
	return rules.Groups(&slo.Set{Files: []*slo.File{&alone}})
}

// Run replays the rules. Its error is that of [Replay.Run].
func (t Test) Run(ctx context.Context) (*Report, error) {
	groups := Groups(t.Set, t.File, t.Objective)
	if t.Workbook {
		groups = append(groups, Workbook(t.File, t.Objective)...)
	}
	r := &Replay{Groups: groups, Traffic: t.Traffic, Start: t.Start, End: t.End, Step: t.Step, Progress: t.Progress,
		Wanted: []string{rules.BudgetRemaining(t.File, t.Objective), eventsMetric}}
	for _, w := range longWindows(t.File, t.Objective) {
		r.Wanted = append(r.Wanted, rules.ErrorRatio(t.File, t.Objective, w))
	}
	fired, err := r.Run(ctx)
	if err != nil {
		return nil, err
	}
	report := &Report{
		Service: t.File.Service, Environment: t.File.Environment, SLO: t.Objective.Name, Objective: t.Objective.Target.String(), Window: t.File.Window.Name,
		From: t.Start, To: t.End, Good: r.Counted(slo.Good), Bad: r.Counted(slo.Bad), replay: r, test: t,
	}
	left, err := r.Query(ctx, rules.BudgetRemaining(t.File, t.Objective), t.Step)
	if err != nil {
		return nil, err
	}
	report.BudgetSpent = spentAt(left, labels.EmptyLabels(), t.End)
	names := []string{agentsloRules}
	if t.Workbook {
		names = append(names, workbookRules)
	}
	for _, name := range names {
		report.Rules = append(report.Rules, t.outcome(name, fired, left))
	}
	return report, nil
}

func longWindows(f *slo.File, o *slo.Objective) (all []time.Duration) {
	for _, tier := range rules.Tiers(f, o) {
		if !slices.Contains(all, tier.Long) {
			all = append(all, tier.Long)
		}
	}
	return all
}

func (t Test) outcome(name string, fired []Firing, left []Line) Outcome {
	out := Outcome{Rules: name, Alerts: []Alert{}}
	var pages, tickets, truePages, trueTickets []Firing
	known := t.Truth != nil || len(t.Incidents) > 0
	for _, x := range fired {
		if (x.Labels.Get(labels.AlertName) == AlertWorkbook) != (name == workbookRules) {
			continue
		}
		a := Alert{
			Alert: x.Labels.Get(labels.AlertName), Severity: x.Labels.Get("severity"), Tier: x.Labels.Get("tier"), Agent: x.Labels.Get(rules.LabelAgent),
			Start: x.Start, BudgetSpent: spentAt(left, x.Labels, x.Start), BudgetSpentAtEnd: spentAt(left, x.Labels, t.End),
		}
		if !x.End.IsZero() {
			a.End, a.BudgetSpentAtEnd = &x.End, spentAt(left, x.Labels, x.End)
		}
		burn := a.Tier != ""
		if known && burn {
			within := t.within(x.Start.Add(-t.looksBack(name, a.Tier)), x.Start)
			a.False = &within
		}
		out.Alerts = append(out.Alerts, a)
		switch a.Severity {
		case rules.SeverityPage:
			pages = append(pages, x)
			if a.False != nil && !*a.False {
				truePages = append(truePages, x)
			}
		default:
			tickets = append(tickets, x)
			if a.False == nil || !*a.False {
				trueTickets = append(trueTickets, x)
			}
		}
	}
	slices.SortStableFunc(out.Alerts, func(a, b Alert) int { return a.Start.Compare(b.Start) })
	s := &out.Summary
	s.Pages, s.Tickets = count(pages), count(tickets)
	if known {
		falsePages, falseTickets := s.Pages-count(truePages), s.Tickets-count(trueTickets)
		s.FalsePages, s.FalseTickets = &falsePages, &falseTickets
	}
	if len(t.Incidents) > 0 {
		t.incident(s, left, pages, tickets)
	}
	return out
}

// incident says how the first incident was noticed.
func (t Test) incident(s *Summary, left []Line, pages, tickets []Firing) {
	i := t.Incidents[0]
	in := func(all []Firing) (first *Firing, end time.Time, open bool) {
		for j := range all {
			x := &all[j]
			if x.Start.Before(i.Start) || x.Start.After(i.End) {
				continue
			}
			if first == nil || x.Start.Before(first.Start) {
				first = x
			}
			open = open || x.End.IsZero()
			if x.End.After(end) {
				end = x.End
			}
		}
		return first, end, open
	}
	seconds := func(d time.Duration) *float64 { n := d.Seconds(); return &n }
	if first, end, open := in(pages); first != nil {
		s.PageAfter = seconds(first.Start.Sub(i.Start))
		s.BudgetSpentAtPage = spentAt(left, first.Labels, first.Start)
		if !open {
			s.ResetAfter = seconds(max(end.Sub(i.End), 0))
		}
	}
	if first, _, _ := in(tickets); first != nil {
		s.TicketAfter = seconds(first.Start.Sub(i.Start))
	}
}

// count merges what overlaps.
func count(fired []Firing) (n int) {
	for _, all := range episodes(slices.Clone(fired)) {
		n += len(all)
	}
	return n
}

// within says that the error ratio met the objective all the time.
func (t Test) within(from, to time.Time) bool {
	for _, i := range t.Incidents {
		if i.Start.Before(to) && i.End.After(from) {
			return false
		}
	}
	if t.Truth == nil {
		return true
	}
	budget, _ := t.Objective.Budget().Float64()
	for at := from; !at.After(to); at = at.Add(time.Minute) {
		if t.Truth(at) > budget*(1+1e-9) {
			return false
		}
	}
	return true
}

func (t Test) looksBack(name, tier string) time.Duration {
	if name == workbookRules {
		for _, w := range workbookTiers {
			if w.name == tier {
				return w.long
			}
		}
	}
	for _, own := range rules.Tiers(t.File, t.Objective) {
		if own.Name == tier {
			return own.Long
		}
	}
	return 0
}

// spentAt is the share of the budget that is spent, of the alert's agent where
// budgets are kept per agent.
func spentAt(left []Line, of labels.Labels, at time.Time) *float64 {
	for _, line := range left {
		if agent := line.Labels.Get(rules.LabelAgent); agent != "" && of.Get(rules.LabelAgent) != "" && agent != of.Get(rules.LabelAgent) {
			continue
		}
		i, _ := slices.BinarySearchFunc(line.Points, at, func(p Point, at time.Time) int { return p.Time.Compare(at) })
		if i == len(line.Points) {
			i--
		}
		if i >= 0 {
			// Six digits: what a person reads, without the noise of binary fractions.
			spent := math.Round((1-line.Points[i].Value)*1e6) / 1e6
			return &spent
		}
	}
	return nil
}

// Describe says in words what a scenario is.
func (s Scenario) Describe() string {
	shapes := s.Shapes
	if len(shapes) == 0 {
		shapes = []string{ShapePoisson}
	}
	return strings.Join(shapes, ", ")
}
