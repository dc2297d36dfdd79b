package page

import (
	"context"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/standalone/engine"
)

// view is everything the template shows, as strings and geometry.
type view struct {
	Now, Uptime    string
	RefreshSeconds int
	Summary        []badge // how many SLOs stand how
	Firing         []alert
	Services       []service
	History        []episode
	Notes          []string // what the reader must know before any number
	NoRuns         bool
	Error          string // why there are no budgets

	BaseURL, OTLPGRPC, OTLPHTTP string
}

type badge struct{ Class, Text string }

type alert struct {
	Class, Severity, Title, Summary, Since, Runbook string
	Pending                                         bool
}

type episode struct{ Class, Severity, Title, When, Lasted string }

type service struct {
	Name, Environment, Window string
	Outcomes                  []tally
	Cards                     []card
	Worst                     []worst
}

type tally struct{ Class, Text, Count string }

type card struct {
	ID, Name, Kind, Split string
	Sentence              string
	Status                badge
	Left                  string // budget left, in percent
	Range                 string // its 95% interval
	Bar                   bar
	Why                   string
	Tallies               []tally
	Events                []segment
	NoEvents              bool // neither good nor bad
	Silent                bool // no run at all
	Urgent                bool // an alert is firing
	Burn                  []burn
	Exhausted             string
	Predicted             []string // what steps make of completion
	Notes                 []string
	Line                  line
	Alerts                []alert
	Reasons               []reason
	BadRuns               []badRun
}

type burn struct{ Class, Window, Rate string }

type reason struct {
	Name, Count string
	Width       int // of 100
}

type badRun struct{ ID, Short, URL, When string }

func (s *Sources) view(ctx context.Context, now time.Time) *view {
	v := &view{
		Now: now.Format("15:04:05 MST"), Uptime: span(now.Sub(s.Started)), RefreshSeconds: int(s.Refresh.Seconds()),
		BaseURL: s.BaseURL, OTLPGRPC: s.OTLPGRPC, OTLPHTTP: s.OTLPHTTP, NoRuns: true,
	}
	families := s.families()
	if n := total(families["agentslo_unmatched_runs_total"]); n > 0 {
		v.Notes = append(v.Notes, plural(n, "run")+" matched no SLO file and count nowhere: see agents, environment and match in the file.")
	}
	v.NoRuns = total(families["agentslo_runs_total"]) == 0 && total(families["agentslo_events_total"]) == 0
	active := s.activeAlerts(now)
	for _, a := range active {
		// An SLO's tiers fire together: the loudest speaks for all, as with
		// Alertmanager's inhibition.
		same := func(b alert) bool { return b.Title == a.Title }
		if !a.Pending && !slices.ContainsFunc(v.Firing, same) {
			v.Firing = append(v.Firing, a.alert)
		}
	}
	v.History = s.history(ctx, now)

	verdicts, err := s.verdicts(ctx, now)
	if err != nil && !v.NoRuns {
		v.Error = err.Error() // without any run there is nothing to read, and the page says so
	}
	standing := map[gate.Status]int{}
	for _, file := range s.Set.Files {
		shown := service{Name: file.Service, Environment: file.Environment, Window: file.Window.Name, Outcomes: outcomes(families["agentslo_runs_total"], file)}
		reasons, lines := s.reasons(ctx, file, now), s.lines(ctx, file, now)
		for i := range verdicts {
			b := &verdicts[i]
			objective := objectiveOf(file, &b.Budget)
			if objective == nil {
				continue
			}
			standing[b.Status]++
			c := newCard(b, file, objective)
			key := keyOf(file.Service, b.Environment, b.SLO, splitValue(b))
			for _, a := range active {
				if a.about(file.Service, b) {
					c.Alerts = append(c.Alerts, a.alert)
				}
			}
			c.Alerts = loudest(c.Alerts)
			c.Urgent = len(c.Alerts) > 0 && !c.Alerts[0].Pending
			c.Reasons = reasons[b.SLO]
			c.Line = lines[key]
			c.BadRuns = s.badRuns(ctx, file, b, now)
			shown.Cards = append(shown.Cards, c)
		}
		if err != nil && v.NoRuns {
			for i := range file.SLOs {
				shown.Cards = append(shown.Cards, silentCard(file, &file.SLOs[i]))
			}
		}
		shown.Worst = s.worst(ctx, file, now)
		v.Services = append(v.Services, shown)
	}
	for _, one := range standings {
		if n := standing[one.status]; n > 0 {
			v.Summary = append(v.Summary, badge{one.class, count(int64(n)) + " " + one.text})
		}
	}
	return v
}

// verdicts reads the budgets and what the gate would say of each.
func (s *Sources) verdicts(ctx context.Context, now time.Time) ([]gate.Verdict, error) {
	budgets, err := gate.Read(ctx, s.API, s.Set, gate.Options{At: now})
	if err != nil {
		return nil, err
	}
	report, err := gate.Decide(ctx, s.API, s.Set, budgets, gate.Terms{})
	if err != nil {
		return nil, err
	}
	return report.SLOs, nil
}

var standings = []struct {
	status      gate.Status
	class, text string
}{
	{gate.Exhausted, "bad", "used up"},
	{gate.AtRisk, "warn", "at risk"},
	{gate.OK, "good", "on track"},
	{gate.Insufficient, "dim", "insufficient evidence"},
}

func statusBadge(s gate.Status) badge {
	for _, one := range standings {
		if one.status == s {
			return badge{one.class, one.text}
		}
	}
	return badge{"dim", string(s)}
}

// objectiveOf is the file's objective that the budget is about, or nil.
func objectiveOf(file *slo.File, b *gate.Budget) *slo.Objective {
	if b.Service != file.Service || file.Environment != "" && b.Environment != file.Environment {
		return nil
	}
	return file.Objective(b.SLO)
}

func splitValue(b *gate.Verdict) string {
	if b.Split == nil {
		return ""
	}
	return b.Split.Value
}

// keyOf identifies a card.
func keyOf(parts ...string) string { return strings.Join(parts, "\x00") }

func (s *Sources) families() map[string]*dto.MetricFamily {
	gathered, _ := s.Counters.Gather() // what there is
	families := make(map[string]*dto.MetricFamily, len(gathered))
	for _, f := range gathered {
		families[f.GetName()] = f
	}
	return families
}

func total(f *dto.MetricFamily) int64 {
	var n float64
	for _, m := range f.GetMetric() {
		n += m.GetCounter().GetValue()
	}
	return int64(n)
}

func label(m *dto.Metric, name string) string {
	for _, p := range m.GetLabel() {
		if p.GetName() == name {
			return p.GetValue()
		}
	}
	return ""
}

// outcomes counts how the service's runs ended, since counting began.
func outcomes(f *dto.MetricFamily, file *slo.File) []tally {
	counts := map[string]int64{}
	for _, m := range f.GetMetric() {
		if label(m, "slo_service") == file.Service && (file.Environment == "" || label(m, "environment") == file.Environment) {
			counts[label(m, "outcome")] += int64(m.GetCounter().GetValue())
		}
	}
	var list []tally
	for _, o := range slo.Outcomes {
		if n := counts[o.String()]; n > 0 {
			class := "bad"
			switch o {
			case slo.Answered, slo.Abstained, slo.Escalated:
				class = "good"
			case slo.Cancelled:
				class = "dim"
			case slo.OutcomeUnknown:
				class = "warn"
			}
			list = append(list, tally{class, words(o.String()), count(n)})
		}
	}
	return list
}

// activeAlert is a pending or firing alert with the labels that tie it to an SLO.
type activeAlert struct {
	alert
	labels labels.Labels
}

func (a *activeAlert) about(service string, b *gate.Verdict) bool {
	get := a.labels.Get
	if get("slo_service") != service || get("slo") != b.SLO {
		return false
	}
	if e := get("environment"); e != "" && e != b.Environment {
		return false
	}
	return b.Split == nil || get(b.Split.By) == "" || get(b.Split.By) == b.Split.Value
}

func (s *Sources) activeAlerts(now time.Time) []activeAlert {
	var list []activeAlert
	for _, rule := range s.Engine.AlertingRules() {
		for _, a := range rule.ActiveAlerts() {
			if a.State == rules.StateInactive {
				continue
			}
			severity := a.Labels.Get("severity")
			list = append(list, activeAlert{labels: a.Labels, alert: alert{
				Class: severityClass(severity), Severity: severity, Title: alertTitle(a.Labels),
				Summary: a.Annotations.Get("summary"), Runbook: a.Annotations.Get("runbook_url"),
				Since: span(max(now.Sub(a.ActiveAt), time.Second)), Pending: a.State == rules.StatePending,
			}})
		}
	}
	slices.SortStableFunc(list, func(a, b activeAlert) int { return strings.Compare(a.Severity, b.Severity) })
	return list
}

// loudest keeps one of an SLO's alerts: a firing one before a pending one, a
// page before a ticket. They come ordered by severity.
func loudest(alerts []alert) []alert {
	if i := slices.IndexFunc(alerts, func(a alert) bool { return !a.Pending }); i >= 0 {
		return alerts[i : i+1]
	}
	return alerts[:min(len(alerts), 1)]
}

func severityClass(severity string) string {
	if severity == "page" {
		return "bad"
	}
	return "warn"
}

func alertTitle(l labels.Labels) string {
	name := map[string]string{
		"AgentSLOBudgetBurn":  "error budget is burning",
		"AgentSLOCoverageLow": "too many runs without a verdict",
		"AgentSLONoData":      "no runs are being counted",
		"AgentSLOSegmentBurn": "error budget is burning for this " + l.Get("dimension"),
	}[l.Get("alertname")]
	if name == "" {
		name = l.Get("alertname")
	}
	var subject []string
	for _, part := range []string{"slo_service", "environment", "slo", "agent", l.Get("dimension")} {
		if v := l.Get(part); v != "" {
			subject = append(subject, v)
		}
	}
	return strings.Join(append([]string{strings.Join(subject, " / ")}, name), ": ")
}

const historyLength = 24 * time.Hour

// history lists the alerts that fired within the last day, newest first. What
// fired together for one SLO with one severity is one episode.
func (s *Sources) history(ctx context.Context, now time.Time) []episode {
	intervals, err := s.Engine.Intervals(ctx, now.Add(-historyLength), now,
		labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, "ALERTS"),
		labels.MustNewMatcher(labels.MatchEqual, "alertstate", "firing"))
	if err != nil {
		return nil
	}
	slices.SortFunc(intervals, func(a, b engine.Interval) int { return a.Start.Compare(b.Start) })
	type key struct{ title, severity string }
	last := map[key]*engine.Interval{}
	var merged []*engine.Interval
	for i := range intervals {
		one := &intervals[i]
		k := key{alertTitle(one.Labels), one.Labels.Get("severity")}
		if before := last[k]; before != nil && !one.Start.After(before.End.Add(time.Minute)) {
			before.Open = before.Open || one.Open
			if one.End.After(before.End) {
				before.End = one.End
			}
			continue
		}
		last[k] = one
		merged = append(merged, one)
	}
	slices.Reverse(merged)
	var list []episode
	for _, i := range merged[:min(len(merged), 20)] {
		lasted := "for " + span(max(i.End.Sub(i.Start), time.Second))
		if i.Open {
			lasted = "firing for " + span(max(now.Sub(i.Start), time.Second))
		}
		severity := i.Labels.Get("severity")
		list = append(list, episode{
			Class: severityClass(severity), Severity: severity, Title: alertTitle(i.Labels),
			When: i.Start.Format("15:04:05"), Lasted: lasted,
		})
	}
	return list
}
