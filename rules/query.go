package rules

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// Label names of the exporter's and the recorded series.
const (
	LabelService     = "slo_service"
	LabelEnvironment = "environment"
	LabelSLO         = "slo"
	LabelAgent       = "agent"
	LabelVerdict     = "verdict"
)

// Alert names.
const (
	AlertBudgetBurn  = "AgentSLOBudgetBurn"
	AlertCoverageLow = "AgentSLOCoverageLow"
	AlertNoData      = "AgentSLONoData"
)

// The query builders return PromQL over recorded series. All of them take a
// nil Objective for all SLOs of the file, and a nil File for all files.
// A window is one of [Windows] of the file; other windows are not recorded.

// Objective is the target of an SLO, a ratio above 0 and below 1.
func Objective(f *slo.File, o *slo.Objective) string {
	return identity("agentslo:objective:ratio", f, o).String()
}

// ErrorRatio is bad events over good and bad ones within the window, 0 to 1;
// 0 when there were none.
func ErrorRatio(f *slo.File, o *slo.Objective, window time.Duration) string {
	return identity(recordErrorRatio(f, window), f, o).String()
}

// BurnRate is the error ratio over the tolerated one, 0 and up: at 1 the budget lasts
// exactly for its window.
func BurnRate(f *slo.File, o *slo.Objective, window time.Duration) string {
	return identity(recordBurnRate(f, window), f, o).String()
}

// Evidence is the log-likelihood ratio, in nats, of the window's error ratio
// against the budgeted one; 0 when the budget is not being overspent.
func Evidence(f *slo.File, o *slo.Objective, window time.Duration) string {
	return identity(recordEvidence(f, window), f, o).String()
}

// BudgetRemaining is the share of the error budget that is left, at most 1,
// negative when it is overspent, 1 when there were no events.
func BudgetRemaining(f *slo.File, o *slo.Objective) string {
	return identity("agentslo:budget_remaining:ratio", f, o).String()
}

// Events is the number of events with that verdict within the window.
func Events(f *slo.File, o *slo.Objective, verdict slo.Verdict, window time.Duration) string {
	return identity(recordIncrease(f, window), f, o).equal(LabelVerdict, verdict.String()).String()
}

// Reasons is the number of bad events within the window by reason, largest
// first, at most ten. It reads the exporter's own series, and is rounded to
// whole events because increase() extrapolates. The reasons of a ratio are its
// counters of bad events.
func Reasons(f *slo.File, o *slo.Objective, window time.Duration) string {
	if o != nil && !o.CountsRuns() {
		return "sort_desc(topk(10, " + ratioReasons(o, window) + " > 0))"
	}
	s := raw("agentslo_reasons_total", f, o).equal(LabelVerdict, slo.Bad.String())
	return "sort_desc(topk(10, round(sum by (" + LabelSLO + ", reason) (increase(" + s.String() + "[" + Duration(window) + "]))) > 0))"
}

// FiringAlerts has one series for each firing alert, with the labels severity and tier.
func FiringAlerts(f *slo.File, o *slo.Objective) string {
	return identity("ALERTS", f, o).with(`alertname=~"AgentSLO.+"`).with(`alertstate="firing"`).String()
}

// Thresholds has one series for each burn tier of the SLO, with the labels
// severity and tier: the burn rate above which it may fire. It is empty, and
// so no query, for an SLO that does not alert.
func Thresholds(f *slo.File, o *slo.Objective) string {
	var lines []string
	for _, t := range Tiers(f, o) {
		v := "vector(" + t.BurnThreshold.String() + ")"
		lines = append(lines, labelled(labelled(v, "severity", t.Severity), "tier", t.Name))
	}
	return strings.Join(lines, " or ")
}

// Duration writes a window as PromQL and the names of recorded series do:
// 5m, 1h, 30d. It is whole seconds, at least one.
func Duration(d time.Duration) string {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if d >= unit.length && d%unit.length == 0 {
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(d/time.Second), 10) + "s"
}

// WindowName is how recorded series and people name a window of [Windows]: 5m,
// 30d, or month for a budget over a calendar month.
func WindowName(f *slo.File, window time.Duration) string {
	if f != nil && f.Window.Calendar != "" && window == budgetWindow(f) {
		return f.Window.Calendar
	}
	return Duration(window)
}

func recordIncrease(f *slo.File, w time.Duration) string {
	return "agentslo:events:increase" + WindowName(f, w)
}
func recordErrorRatio(f *slo.File, w time.Duration) string {
	return "agentslo:error_ratio:" + WindowName(f, w)
}
func recordBurnRate(f *slo.File, w time.Duration) string {
	return "agentslo:burn_rate:" + WindowName(f, w)
}
func recordUncounted(f *slo.File, w time.Duration) string {
	return "agentslo:uncounted_ratio:" + WindowName(f, w)
}
func recordEvidence(f *slo.File, w time.Duration) string {
	return "agentslo:evidence:" + WindowName(f, w)
}

// identity selects recorded series: a file without an environment records
// none, and an empty matcher keeps its series apart from those of a file of
// the same service with one.
func identity(metric string, f *slo.File, o *slo.Objective) selector {
	s := selector{metric: metric}
	if f != nil {
		s = s.equal(LabelService, f.Service).equal(LabelEnvironment, f.Environment)
	}
	if o != nil {
		s = s.equal(LabelSLO, o.Name)
	}
	return s
}

// raw selects the exporter's series. Those of a file without an environment
// carry the environment of their runs.
func raw(metric string, f *slo.File, o *slo.Objective) selector {
	s := selector{metric: metric}
	if f != nil {
		s = s.equal(LabelService, f.Service)
		if f.Environment != "" {
			s = s.equal(LabelEnvironment, f.Environment)
		}
	}
	if o != nil {
		s = s.equal(LabelSLO, o.Name)
	}
	return s
}

// selector is a PromQL vector selector. Values are quoted, so that no name
// from a file can leave its matcher.
type selector struct {
	metric   string
	matchers []string
}

func (s selector) equal(label, value string) selector {
	return s.with(label + "=" + quote(value))
}

// noneOf matches everything but the values.
func (s selector) noneOf(label string, values []string) selector {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return s.with(label + "!~" + quote(strings.Join(quoted, "|")))
}

func (s selector) with(matcher string) selector {
	s.matchers = append(s.matchers[:len(s.matchers):len(s.matchers)], matcher)
	return s
}

func (s selector) String() string {
	if len(s.matchers) == 0 {
		return s.metric
	}
	return s.metric + "{" + strings.Join(s.matchers, ",") + "}"
}

// labelled gives every series of the expression a label.
func labelled(expr, name, value string) string {
	// $ would stand for a capture group in label_replace.
	return "label_replace(" + expr + ", " + strconv.Quote(name) + ", " + strconv.Quote(strings.ReplaceAll(value, "$", "$$")) + `, "", "")`
}

// quote writes a PromQL string.
func quote(s string) string { return strconv.Quote(s) }
