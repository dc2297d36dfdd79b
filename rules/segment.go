package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// Builders over the counters that split events by one dimension, for pictures:
// which tenant, version or tool an SLO is worst for. They use increase(), which
// extrapolates, so counts are rounded to whole numbers; sloctl budget --by
// counts exactly. They take a nil Objective for all SLOs of the file, and need
// no recorded series.

// SegmentEvents is the number of good and bad events within the window by SLO
// and value of the dimension.
func SegmentEvents(f *slo.File, o *slo.Objective, dimension string, window time.Duration) string {
	return increased(segments(f, o, dimension, `good|bad`), window, LabelSLO, dimension)
}

// SegmentBad is the number of bad ones among them.
func SegmentBad(f *slo.File, o *slo.Objective, dimension string, window time.Duration) string {
	return increased(segments(f, o, dimension, slo.Bad.String()), window, LabelSLO, dimension)
}

// SegmentVerdicts is both, with the label verdict: one look at the counters.
func SegmentVerdicts(f *slo.File, o *slo.Objective, dimension string, window time.Duration) string {
	return increased(segments(f, o, dimension, `good|bad`), window, LabelSLO, dimension, LabelVerdict)
}

func segments(f *slo.File, o *slo.Objective, dimension, verdicts string) selector {
	return raw("agentslo_events_by_"+dimension+"_total", f, o).with(LabelVerdict + "=~" + quote(verdicts))
}

// SegmentErrorRatio is bad events over good and bad ones within the window by
// SLO and value of the dimension, 0 to 1; nothing for values without events.
func SegmentErrorRatio(f *slo.File, o *slo.Objective, dimension string, window time.Duration) string {
	return SegmentBad(f, o, dimension, window) + " / (" + SegmentEvents(f, o, dimension, window) + " > 0)"
}

// SegmentEvidence is the log-likelihood ratio, in nats, of each value's error
// ratio within the window against the objective: Σ n·ln((n/all)/q) over good and
// bad, q being the share that the objective gives to each. Unlike [Evidence] it
// is above 0 for a value that is better than its objective as well.
func SegmentEvidence(f *slo.File, o *slo.Objective, dimension string, window time.Duration) string {
	each := "(" + SegmentVerdicts(f, o, dimension, window) + " > 0)" // 0·ln 0 is 0
	return fmt.Sprintf("sum by (%[1]s, %[2]s) (%[3]s * ln(%[3]s / ignoring (%[4]s) group_left () %[5]s / on (%[1]s, %[4]s) group_left () (%[6]s or %[7]s)))",
		LabelSLO, dimension, each, LabelVerdict, SegmentEvents(f, o, dimension, window),
		tolerated(f, o, slo.Bad), tolerated(f, o, slo.Good))
}

// tolerated is the share of events with that verdict, good or bad, that each SLO
// of the file tolerates at most, or asks for.
func tolerated(f *slo.File, o *slo.Objective, verdict slo.Verdict) string {
	var all []string
	for i := range f.SLOs {
		one := &f.SLOs[i]
		if o != nil && o.Name != one.Name || !one.CountsRuns() {
			continue
		}
		share := one.JudgedBudget()
		if verdict == slo.Good {
			share = decimal.NewFromInt(1).Sub(share)
		}
		all = append(all, labelled(labelled(vector(share), LabelSLO, one.Name), LabelVerdict, verdict.String()))
	}
	return Union(all...)
}

// Proven says whether so many good and bad events of one value of a dimension
// are what [WorstSegments] asks for.
func Proven(o *slo.Objective, good, bad float64) bool {
	needed, _ := EvidenceNeeded.Float64()
	return bad >= 2 && o.Evidence(good, bad) > needed
}

// WorstSegments are the values of a dimension with the highest error ratios
// within the window, at most n, of those that certainly overspend: with at
// least two bad events, an error ratio above the budgeted one and
// [EvidenceNeeded] for it. A tenant whose only run was bad has an error ratio of
// 100% and proves nothing. At 8 nats a tenant that is just within budget is
// named by chance in less than one look of 3000.
func WorstSegments(f *slo.File, o *slo.Objective, dimension string, window time.Duration, n int) string {
	return fmt.Sprintf("topk(%d, (%s) > on (%s) group_left () (%s) and %s >= 2 and %s > %s)", n,
		SegmentErrorRatio(f, o, dimension, window), LabelSLO, tolerated(f, o, slo.Bad),
		SegmentBad(f, o, dimension, window), SegmentEvidence(f, o, dimension, window), EvidenceNeeded)
}

// Predicted is the share of runs, 0 to 1, that come to a good end if their
// steps of that scope fail independently of each other and every failed step
// fails its run: the product over all tools, or sub-agents, of
// (1 − error ratio) ^ (calls a run), from what was counted within the window.
// It is empty, and so no query, where the file has no SLO on the completion of
// runs or none on that of such steps.
func Predicted(f *slo.File, scope slo.Scope, window time.Duration) string {
	runs := completion(f)
	var steps []*slo.Objective
	for i := range f.SLOs {
		if o := &f.SLOs[i]; o.SLI == "completion" && o.Scope == scope {
			steps = append(steps, o)
		}
	}
	if runs == nil || len(steps) == 0 {
		return ""
	}
	metric, label := "agentslo_events_total", LabelAgent
	if scope == slo.ScopeTool {
		metric, label = "agentslo_events_by_"+slo.DimensionTool+"_total", slo.DimensionTool
	}
	// A step that several SLOs count is one step: the widest of them counts.
	count := func(verdicts string) string {
		s := named(raw(metric, f, nil), steps).with(LabelVerdict + "=~" + quote(verdicts))
		return "max by (" + label + ") (" + increased(s, window, LabelSLO, label) + ")"
	}
	all := "(" + count(`good|bad`) + " > 0)"
	counted := raw("agentslo_events_total", f, runs).with(LabelVerdict + `=~"good|bad"`)
	return fmt.Sprintf("exp(sum(%[1]s * ln(clamp_min(%[1]s - %[2]s, 0) / %[1]s)) / (round(sum(increase(%[3]s[%[4]s]))) > 0))",
		all, count(slo.Bad.String()), counted, Duration(window))
}

// Completion is the file's first SLO on the completion of runs, or nil: what
// [Predicted] is to be held against.
func Completion(f *slo.File) *slo.Objective { return completion(f) }

func completion(f *slo.File) *slo.Objective {
	for i := range f.SLOs {
		if o := &f.SLOs[i]; o.SLI == "completion" && !o.OfSteps() {
			return o
		}
	}
	return nil
}

// StepScopes are the scopes of steps for which [Predicted] has a query.
func StepScopes(f *slo.File) (scopes []slo.Scope) {
	for _, scope := range []slo.Scope{slo.ScopeTool, slo.ScopeAgent} {
		if strings.TrimSpace(Predicted(f, scope, time.Hour)) != "" {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}
