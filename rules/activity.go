package rules

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// Builders over the exporter's own series, for pictures: what runs did, beside
// what they mean to an SLO. They use increase(), which extrapolates, so counts
// are rounded to whole numbers.

// Union has the series of all expressions.
func Union(expressions ...string) string { return strings.Join(expressions, " or ") }

// SuccessRatio is good events over good and bad ones within the window, 0 to
// 1; 1 when there were none.
func SuccessRatio(f *slo.File, o *slo.Objective, window time.Duration) string {
	return "1 - " + ErrorRatio(f, o, window)
}

// Counted is the number of good and bad events within the window, the ratios'
// denominator.
func Counted(f *slo.File, o *slo.Objective, window time.Duration) string {
	s := identity(recordIncrease(f, window), f, o).with(LabelVerdict + `=~"good|bad"`)
	return "sum without (" + LabelVerdict + ") (" + s.String() + ")"
}

// Uncounted is the share of the window's runs that an SLO did not count, 0 to
// 1: unknown and excluded ones. Nothing when there were no runs.
func Uncounted(f *slo.File, o *slo.Objective, window time.Duration) string {
	all := identity(recordIncrease(f, window), f, o)
	uncounted := all.with(LabelVerdict + `=~"unknown|excluded"`)
	return "sum without (" + LabelVerdict + ") (" + uncounted.String() + ") / (sum without (" + LabelVerdict + ") (" + all.String() + ") > 0)"
}

// EveryReason is the number of events within the window by verdict and
// reason, of every verdict but good.
func EveryReason(f *slo.File, o *slo.Objective, window time.Duration) string {
	if o != nil && !o.CountsRuns() {
		return labelled(ratioReasons(o, window), LabelVerdict, slo.Bad.String()) + " > 0"
	}
	s := raw("agentslo_reasons_total", f, o).with(LabelVerdict + `!="good"`)
	return increased(s, window, LabelVerdict, "reason") + " > 0"
}

// Runs is the number of completed runs within the window by outcome.
func Runs(f *slo.File, window time.Duration) string {
	return increased(raw("agentslo_runs_total", f, nil), window, "outcome")
}

// ToolCalls is the number of tool calls within the window by result: ok or a
// failure class.
func ToolCalls(f *slo.File, window time.Duration) string {
	return increased(raw("agentslo_tool_calls_total", f, nil), window, "result")
}

// FailedToolCalls is the number of failed tool calls within the window by tool
// and failure class, at most the ten with the most.
func FailedToolCalls(f *slo.File, window time.Duration) string {
	s := raw("agentslo_tool_calls_total", f, nil).with(`result!="ok"`)
	return "topk(10, " + increased(s, window, "tool", "result") + " > 0)"
}

// Tokens is the number of tokens within the window by model and type. Cached
// input and cache writes are parts of input, reasoning is part of output.
func Tokens(f *slo.File, window time.Duration) string {
	return increased(raw("agentslo_tokens_total", f, nil), window, "model", "type")
}

// RunDuration is a quantile, 0 to 1, of the duration in seconds of runs that
// completed within the window. It is as exact as the histogram's buckets.
func RunDuration(f *slo.File, quantile float64, window time.Duration) string {
	s := raw("agentslo_run_duration_seconds_bucket", f, nil)
	return "histogram_quantile(" + strconv.FormatFloat(quantile, 'g', -1, 64) + ", sum by (le) (increase(" + s.String() + "[" + Duration(window) + "])))"
}

// RunCost is the mean cost in US dollars of runs that completed within the
// window and whose cost is known.
func RunCost(f *slo.File, window time.Duration) string {
	return mean("agentslo_run_cost_usd", f, window)
}

// RunToolCalls is the mean number of tool calls of runs that completed within the window.
func RunToolCalls(f *slo.File, window time.Duration) string {
	return mean("agentslo_run_tool_calls", f, window)
}

// increased is a count within the window, by labels.
func increased(s selector, window time.Duration, by ...string) string {
	return "round(sum by (" + strings.Join(by, ", ") + ") (increase(" + s.String() + "[" + Duration(window) + "])))"
}

// mean is a histogram's mean within the window; nothing when it saw no value.
func mean(metric string, f *slo.File, window time.Duration) string {
	of := func(part string) string {
		return "sum(increase(" + raw(metric+part, f, nil).String() + "[" + Duration(window) + "]))"
	}
	return of("_sum") + " / (" + of("_count") + " > 0)"
}

// EachObjective is the target of an SLO with the labels of its other series:
// where budgets are kept per agent, once for each agent.
func EachObjective(f *slo.File, o *slo.Objective) string {
	if f == nil || len(f.By) == 0 {
		return Objective(f, o)
	}
	on := LabelService + ", " + LabelSLO
	if f.Environment != "" {
		on += ", " + LabelEnvironment
	}
	return BudgetRemaining(f, o) + " * 0 + on (" + on + ") group_left " + Objective(f, o)
}

// AnyEnvironment gives series without an environment the value "any", so that
// a table keeps their rows apart from those of an environment.
func AnyEnvironment(expression string) string {
	return "label_replace(" + expression + `, "` + LabelEnvironment + `", "any", "` + LabelEnvironment + `", "")`
}

// BadBy is the number of bad events within the window by SLO and value of a
// dimension, at most the twenty with the most.
func BadBy(f *slo.File, dimension string, window time.Duration) string {
	s := raw("agentslo_events_by_"+dimension+"_total", f, nil).equal(LabelVerdict, slo.Bad.String())
	return "topk(20, " + increased(s, window, LabelSLO, dimension) + " > 0)"
}
