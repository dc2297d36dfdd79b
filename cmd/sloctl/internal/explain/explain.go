// Package explain says in words and numbers what an SLO file will do: what is
// good, how much may fail, what pages when, and what it costs. It computes;
// it asks no server.
package explain

import (
	"encoding/json"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// RunsPerHour are the traffic volumes that are looked at.
var RunsPerHour = []int{1, 10, 100, 1000}

// Explanation is one SLO.
type Explanation struct {
	Service     string      `json:"service"`
	Environment string      `json:"environment"`
	SLO         string      `json:"slo"`
	SLI         string      `json:"sli"`
	Event       string      `json:"event"` // what it counts: run, tool call, …
	Objective   json.Number `json:"objective"`
	Window      string      `json:"window"`
	Promise     string      `json:"promise"` // in words
	Tolerated   []Tolerated `json:"tolerated"`
	// SmallestSample is the number of runs that the gate needs: so many without
	// a failure show the objective with 95% confidence.
	SmallestSample int64 `json:"smallest_sample"`
	// JudgedBudget is the share that an SLO's judge calls bad where the budget is
	// just used; the budget itself without a judge.
	JudgedBudget json.Number `json:"judged_budget"`
	Tiers        []Tier      `json:"tiers"`
	Series       Series      `json:"series"`
}

// Tolerated is how many runs of a window may be bad.
type Tolerated struct {
	RunsPerHour int         `json:"runs_per_hour"`
	Runs        json.Number `json:"runs"`
	Bad         json.Number `json:"bad"`
}

// Tier is one burn alert.
type Tier struct {
	Name      string      `json:"tier"`
	Severity  string      `json:"severity"`
	Long      string      `json:"long_window"`
	Short     string      `json:"short_window"`
	Threshold json.Number `json:"threshold"` // error ratio above which it fires
	Burn      json.Number `json:"burn_rate"` // the same as a burn rate
	// BudgetShare of the window's budget is spent by Long at that burn rate.
	BudgetShare json.Number `json:"budget_share"`
	Evidence    json.Number `json:"evidence"` // in nats
	// FailuresInARow is the least number of runs, all bad, that are evidence enough.
	FailuresInARow *int64 `json:"failures_in_a_row"`
	// RunsAtThreshold is the same for runs of which just the threshold's share is
	// bad; nil where that share is the tolerated one, and so no evidence.
	RunsAtThreshold *int64    `json:"runs_at_threshold"`
	Traffic         []Traffic `json:"traffic"`
}

// Series is the number of time series that the SLO costs.
type Series struct {
	// Exporter is for each agent and Collector: one a verdict, one for what came
	// too late to page, and those that
	// split them by dimension at their caps. Reasons come on top, one for each
	// that occurs.
	Exporter int `json:"exporter_per_agent"`
	// Recorded is for each SLO, or each agent of it with `by: [agent]`. The
	// recording rule's memory, one for each exporter series, is left out.
	Recorded int `json:"recorded"`
	Alerts   int `json:"alert_rules"`
}

// SLO explains one SLO of a file.
func SLO(f *slo.File, o *slo.Objective) Explanation {
	e := Explanation{
		Service: f.Service, Environment: f.Environment, SLO: o.Name, SLI: o.SLI, Event: o.EventName(),
		Objective: number(o.Target), Window: f.Window.Name, Promise: rules.Sentence(o),
		SmallestSample: o.SmallestSample(0.95),
		JudgedBudget:   number(o.JudgedBudget()),
		Tiers:          []Tier{},
		Series:         series(f, o),
	}
	windows := rules.Windows(f)
	hours := decimal.NewFromFloat(windows[len(windows)-1].Hours())
	for _, n := range RunsPerHour {
		runs := hours.Mul(decimal.NewFromInt(int64(n)))
		e.Tolerated = append(e.Tolerated, Tolerated{n, number(runs), number(runs.Mul(o.Budget()))})
	}
	budget := o.JudgedBudget().InexactFloat64()
	for _, t := range rules.Tiers(f, o) {
		evidence := t.Evidence.InexactFloat64()
		x := Tier{
			Name: t.Name, Severity: t.Severity, Long: rules.Duration(t.Long), Short: rules.Duration(t.Short),
			Threshold: number(t.Threshold), Burn: number(t.BurnThreshold), BudgetShare: number(t.BudgetShare), Evidence: number(t.Evidence),
			FailuresInARow:  events(evidence, 1, budget),
			RunsAtThreshold: events(evidence, o.Judge.Judged(t.Threshold).InexactFloat64(), budget),
		}
		for _, n := range RunsPerHour {
			x.Traffic = append(x.Traffic, traffic(t, o, n))
		}
		e.Tiers = append(e.Tiers, x)
	}
	return e
}

// events is the number of runs that bring the evidence; nil: none does.
func events(evidence, ratio, budget float64) *int64 {
	n := slo.EventsForEvidence(evidence, ratio, budget)
	if n > 1<<53 { // and infinity
		return nil
	}
	whole := int64(n)
	return &whole
}

func number(d decimal.Decimal) json.Number { return json.Number(d.String()) }

func series(f *slo.File, o *slo.Objective) Series {
	verdicts := len(slo.Verdicts)
	var s Series
	if o.CountsRuns() {
		s.Exporter = verdicts + 1 // those that were counted late
		for _, d := range f.Dimensions {
			s.Exporter += verdicts * (d.Keep + 1) // and the overflow
		}
		if o.Scope == slo.ScopeTool {
			s.Exporter += verdicts * (slo.ToolsKept + 1)
		}
	}
	// For each window the increase of each verdict, error ratio, burn rate and
	// evidence; for the SLO its totals, objective, budget and what is left of it.
	s.Recorded = len(rules.Windows(f))*(verdicts+3) + verdicts + 3
	for _, d := range f.Dimensions {
		if d.Alert == slo.AlertTicket && o.CountsRuns() {
			s.Recorded += (d.Keep + 1) * verdicts * 3 // totals and two windows
		}
	}
	if f.Window.Calendar != "" {
		s.Recorded += verdicts + 1 // the counts at the window's start, and when it is
	}
	if o.Alert != slo.AlertNone {
		s.Alerts = len(rules.Tiers(f, o)) + 1 // coverage
		for _, d := range f.Dimensions {
			if d.Alert == slo.AlertTicket && o.CountsRuns() {
				s.Alerts++
			}
		}
	}
	return s
}
