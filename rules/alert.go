package rules

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

const lateMetric = "agentslo_late_bad_events_total"

// noDataFor is how long the exporter may be away before it is missed: longer
// than a rollout takes.
const noDataFor = 10 * time.Minute

// alerts are those of one SLO; an SLO with `alert: none` has none.
func (s scope) alerts(o *slo.Objective) []Rule {
	if o.Alert == slo.AlertNone {
		return nil
	}
	var rules []Rule
	for _, t := range Tiers(s.file, o) {
		rules = append(rules, s.burn(o, t))
	}
	if !o.CountsRuns() {
		return append(rules, s.ratioNoData(o))
	}
	return append(rules, s.coverage(o))
}

func (s scope) burn(o *slo.Objective, t Tier) Rule {
	ratio := s.one(identity(recordErrorRatio(s.file, t.Long), s.file, o))
	evidence := s.one(identity(recordEvidence(s.file, t.Long), s.file, o))
	expr := fmt.Sprintf("%s > %s\nand\n%s > %s\nand\n(\n  %s\n) > %s",
		ratio, t.Threshold, evidence, t.Evidence,
		strings.Join(s.newest(o, t), "\n  or\n  "), t.ShortEvidence)

	if t.Severity == SeverityPage && o.CountsRuns() {
		expr += fmt.Sprintf("\nunless\n%s > 0.5 * %s", s.late(o, t.Long),
			s.one(identity(recordIncrease(s.file, t.Long), s.file, o).equal(LabelVerdict, slo.Bad.String())))
	}
	labels := alertLabels(s.file, o, t.Severity)
	labels["tier"] = t.Name
	events := s.told(recordIncrease(s.file, t.Long), o)
	bad := events.equal(LabelVerdict, slo.Bad.String()).String()
	counted := "sum(" + events.with(LabelVerdict+`=~"good|bad"`).String() + ")"
	window := budgetWindow(s.file)
	left := s.told("agentslo:budget_remaining:ratio", o).String()
	length, budget := strconv.Itoa(int(window/time.Second)), "The error budget of "+Duration(window)
	if s.calendar() {
		length, budget = "scalar(time() - "+identity(WindowStart, s.file, o).String()+")", "This "+s.file.Window.Calendar+"'s error budget"
	}
	lasts := fmt.Sprintf("clamp_min(%s, 0) * %s / %s", left, length, s.told(recordBurnRate(s.file, t.Long), o))

	notes := s.links(o)
	notes["summary"] = literal(s.name(o)) + ": {{ $value | humanizePercentage }} of the " + eventsOf(o) + " in the last " + Duration(t.Long) + " were bad; the objective allows " + percent(o.Budget())
	notes["description"] = literal(objective(o)) +
		"In the last " + Duration(t.Long) + " " + s.ask(bad, "humanize") + " of " + s.ask(counted, "humanize") + " counted " + eventsOf(o) + " were bad. " +
		s.lateText(o, t) + budget + s.budgetLeft(left, lasts) + "."
	notes["reasons_query"] = literal(Reasons(s.file, o, t.Long))
	return Rule{Alert: AlertBudgetBurn, Expr: expr, KeepFiringFor: model.Duration(t.KeepFiring), Labels: labels, Annotations: notes}
}

// late is about how many bad events of the window were counted long after
// their runs' ends. When most of them were, what they show is past, and nobody is
// woken for it; tickets come all the same.
func (s scope) late(o *slo.Objective, window time.Duration) string {
	return fmt.Sprintf("sum by (%s) (increase(%s[%s]))", s.key(), s.events(lateMetric).equal(LabelSLO, o.Name), Duration(window))
}

// lateText tells, in a ticket, of failures that were counted too late to page.
func (s scope) lateText(o *slo.Objective, t Tier) string {
	if t.Severity != SeverityTicket || !o.CountsRuns() {
		return ""
	}
	sel := s.events(lateMetric).equal(LabelSLO, o.Name)
	if s.byAgent() {
		sel = sel.with(LabelAgent + "=" + thisAgent)
	}
	query := s.queryText(fmt.Sprintf("round(sum(increase(%s[%s])))", sel, Duration(t.Long)))
	return "{{ with query " + query + " }}{{ if gt (. | first | value) 0.0 }}About {{ . | first | value | humanize }} of them were counted more than " +
		slo.FormatDuration(s.file.LateAfter(o)) + " after their runs ended. {{ end }}{{ end }}"
}

// newest is the evidence of the short window, or of the first longer one that
// holds an event; 0 where its error ratio is no longer above the threshold.
func (s scope) newest(o *slo.Objective, t Tier) []string {
	var all []string
	for _, w := range append([]time.Duration{t.Short}, t.Grow...) {
		evidence := fmt.Sprintf("%s * (%s > bool %s)",
			s.one(identity(recordEvidence(s.file, w), s.file, o)), s.one(identity(recordErrorRatio(s.file, w), s.file, o)), t.ShortThreshold)
		if w < t.Long {
			evidence = fmt.Sprintf("(%s and %s > 0)", evidence, s.all(o, w, `good|bad`))
		}
		all = append(all, evidence)
	}
	return all
}

// all is the number of events in the window with any of the verdicts.
func (s scope) all(o *slo.Objective, window time.Duration, verdicts string) string {
	return fmt.Sprintf("sum by (%s) (%s)", s.key(), identity(recordIncrease(s.file, window), s.file, o).with(LabelVerdict+"=~"+quote(verdicts)))
}

// maxUncounted is the share of runs that may be unknown or excluded: where
// evaluation is sampled on purpose, what is outside the sample comes on top.
func maxUncounted(f *slo.File, o *slo.Objective) decimal.Decimal {
	one := decimal.NewFromInt(1)
	if !o.ExpectedCoverage.IsPositive() {
		return f.MaxExcluded
	}
	return one.Sub(o.ExpectedCoverage.Mul(one.Sub(f.MaxExcluded)))
}

// coverage believes that too much is not counted by the same evidence as the
// burn alerts do: one unknown among three runs is none.
func (s scope) coverage(o *slo.Objective) Rule {
	window := coverageWindow(s.file)
	share, runs := s.one(identity(recordUncounted(s.file, window), s.file, o)), s.all(o, window, ".+")
	about := ""
	if o.Conditional() {
		about = " that it is about"
		// The runs that it is not about hide nothing, however many they are.
		runs = s.all(o, window, "good|bad|unknown")
		share = "(" + s.all(o, window, "unknown") + " / clamp_min(" + runs + ", 1))"
	}
	most := maxUncounted(s.file, o)
	least := decimal.NewFromInt(1).Sub(most)
	expr := share + " > " + most.String()
	if most.IsPositive() && least.IsPositive() {
		expr += fmt.Sprintf(`
and
%s
*
(
  %s * ln(clamp_min(%s, 1e-18) / %s)
  +
  (1 - %s) * ln(clamp_min(1 - %s, 1e-18) / %s)
) > %s`, runs, share, share, most, share, share, least, EvidenceNeeded)
	}
	notes := s.links(o)
	notes["summary"] = literal(s.name(o)) + ": {{ $value | humanizePercentage }} of the " + eventsOf(o) + about + " in the last " + Duration(window) + " gave no verdict, " + percent(most) + " may"
	notes["description"] = literal(objective(o)) +
		"In the last " + Duration(window) + " " + s.ask(s.told(recordIncrease(s.file, window), o).equal(LabelVerdict, slo.Unknown.String()).String(), "humanize") + " " + eventsOf(o) + " were unknown, evidence missing, and " +
		s.ask(s.told(recordIncrease(s.file, window), o).equal(LabelVerdict, slo.Excluded.String()).String(), "humanize") + " excluded: the error budget says little about them."
	return Rule{Alert: AlertCoverageLow, Expr: expr, Labels: alertLabels(s.file, o, SeverityTicket), Annotations: notes}
}

// noData fires when the counters of the service are gone and the exporter with
// them. An agent that does not run keeps its counters; one that has not run
// since its exporter restarted has none, but then the exporter is there.
func (s scope) noData() []Rule {
	var loudest *slo.Objective
	for i := range s.file.SLOs {
		if s.file.SLOs[i].Alert != slo.AlertNone && s.file.SLOs[i].CountsRuns() {
			loudest = &s.file.SLOs[i]
			break
		}
	}
	if loudest == nil {
		return nil
	}
	events := s.events("agentslo_events_total")
	known := s.events(State).equal(labelPart, "seen").String()
	// Jobs that had the service's counters within the last day; any, if none had.
	expr := fmt.Sprintf(`absent(%s)
unless on ()
(
  (agentslo_unmatched_runs_total and on (job) %s)
  or
  (agentslo_unmatched_runs_total unless on () %s)
)`, events, known, known)
	all := s.noRuns()
	labels := alertLabels(s.file, nil, SeverityTicket)
	notes := s.links(nil)
	notes["summary"] = literal(s.name(nil)) + ": no data on any SLO for " + Duration(noDataFor)
	notes["description"] = "The counters agentslo_events_total of the service are gone, and so is the exporter that published them. " +
		"This is not an idle agent: its counters would stand still. Until they are back, error budgets and alerts rest on what was counted before."
	return append(all, Rule{Alert: AlertNoData, Expr: expr, For: model.Duration(noDataFor), Labels: labels, Annotations: notes})
}

// noRuns fires when the file says how often a run is to be expected, and for
// longer than that none was counted: the job that starts the agent at night did
// not, or its telemetry takes another way. It is silent until the rules have run
// for so long.
func (s scope) noRuns() []Rule {
	every := s.file.Alerting.ExpectedEvery
	if every == 0 {
		return nil
	}
	by := ""
	if s.byAgent() {
		by = "by (" + LabelAgent + ") "
	}
	// Verdicts that wait for evaluations come after their run, and steps are none.
	at := slices.DeleteFunc(objectives(s.file), func(o *slo.Objective) bool { return !o.CountsRuns() || o.Waits() || o.OfSteps() })
	if len(at) == 0 {
		at = slices.DeleteFunc(objectives(s.file), func(o *slo.Objective) bool { return !o.CountsRuns() })
	}
	total := named(s.events(State).equal(labelPart, "total"), at).String()
	// What a run that is a little later than the last one takes: a tenth, at least
	// ten minutes.
	window := Duration((every + max(every/10, 10*time.Minute)).Truncate(time.Minute))
	expr := fmt.Sprintf("sum %[1]s(%[2]s)\n-\nsum %[1]s(%[2]s offset %[3]s or last_over_time(%[2]s[%[4]s] offset %[3]s))\n== 0", by, total, window, lookBack)
	who, ofWhom := literal(s.name(nil)), "of the service"
	if s.byAgent() {
		// An agent that was given up is not missed for ever.
		longest := budgetWindow(s.file)
		expr += fmt.Sprintf("\nand\nsum by (%s) (%s) > 0", LabelAgent, named(identity(recordIncrease(s.file, longest), s.file, nil), at))
		who, ofWhom = who+" {{ $labels."+LabelAgent+" }}", "of the agent"
	}
	labels := alertLabels(s.file, nil, SeverityTicket)
	labels["tier"] = tierNoRuns
	notes := s.links(nil)
	notes["summary"] = who + ": no run for more than " + window + ", where one is expected every " + Duration(every)
	notes["description"] = "No run " + ofWhom + " completed in the last " + window + ". Either nothing starts the agent, or what it does is not seen. " +
		"Its error budgets do not change while it does not run."
	return []Rule{{Alert: AlertNoData, Expr: expr, Labels: labels, Annotations: notes}}
}

// tierNoRuns tells the alert on missing runs from that on missing counters.
const tierNoRuns = "no_runs"

// alertLabels identify an alert and route it: the file's labels, then what
// `alerting` says for the severity. o is nil for an alert of the whole service.
func alertLabels(f *slo.File, o *slo.Objective, severity string) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, f.Labels)
	labels["severity"] = severity
	own := f.Alerting.PageLabels
	if severity == SeverityTicket {
		own = f.Alerting.TicketLabels
	}
	maps.Copy(labels, own)
	for _, name := range reserved {
		delete(labels, name)
	}
	for name, value := range labels { // alert labels are templates
		labels[name] = literal(value)
	}
	labels[LabelService] = literal(f.Service)
	if f.Environment != "" {
		labels[LabelEnvironment] = literal(f.Environment)
	}
	if o != nil {
		labels[LabelSLO] = literal(o.Name)
	}
	return labels
}

// name is how annotations call the SLO.
func (s scope) name(o *slo.Objective) string {
	name := s.file.Service
	if s.file.Environment != "" {
		name += " (" + s.file.Environment + ")"
	}
	if o != nil {
		name += " " + o.Name
	}
	return name
}

// told selects a recorded series for [scope.ask]: of the alert's agent, where
// budgets are kept per agent.
func (s scope) told(metric string, o *slo.Objective) selector {
	sel := identity(metric, s.file, o)
	if s.byAgent() {
		sel = sel.with(LabelAgent + "=" + thisAgent)
	}
	return sel
}

// thisAgent stands in a query for the quoted name of the alert's agent. No
// quoted string can hold it.
const thisAgent = "\x00"

// ask is a template that asks the server for one number at the time the alert
// fires.
func (s scope) ask(query, format string) string {
	return "{{ with query " + s.queryText(query) + " }}{{ . | first | value | " + format + " }}{{ else }}?{{ end }}"
}

// queryText is a query as a template writes it.
func (s scope) queryText(query string) string {
	if s.byAgent() {
		return "(printf " + strconv.Quote(strings.ReplaceAll(strings.ReplaceAll(query, "%", "%%"), thisAgent, "%[1]q")) + " $labels." + LabelAgent + ")"
	}
	return strconv.Quote(query)
}

// budgetLeft tells how much is left and how long it lasts, or that it is used up.
func (s scope) budgetLeft(left, lasts string) string {
	return ": {{ with query " + s.queryText(left) + " }}{{ $left := . | first | value }}" +
		"{{ if gt $left 0.0 }}{{ $left | humanizePercentage }} is left, which lasts " + s.ask(lasts, "humanizeDuration") + " at this rate" +
		"{{ else }}overspent, {{ $left | humanizePercentage }} is left{{ end }}{{ else }}?{{ end }}"
}

var plainName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,30}$`)

// links are the annotations that lead on: the runbook and the dashboard.
func (s scope) links(o *slo.Objective) map[string]string {
	notes := map[string]string{}
	if s.file.Alerting.Runbook != "" {
		values := map[string]string{"service": s.file.Service, "environment": s.file.Environment, "slo": ""}
		if o != nil {
			values["slo"] = o.Name
		}
		link := templateField.ReplaceAllStringFunc(s.file.Alerting.Runbook, func(field string) string {
			return url.PathEscape(values[templateField.FindStringSubmatch(field)[1]])
		})
		notes["runbook_url"] = literal(link)
	}
	if base := s.file.Alerting.Dashboard; base != "" {
		board := "agentslo-overview"
		if plainName.MatchString(s.file.Service) {
			board = "agentslo-" + s.file.Service
		}
		notes["dashboard_url"] = literal(strings.TrimSuffix(base, "/") + "/d/" + board)
	}
	return notes
}

var templateField = regexp.MustCompile(`\{\{\s*([a-z]+)\s*\}\}`)
