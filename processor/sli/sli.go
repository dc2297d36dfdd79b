// Package sli turns a run into verdicts: one file an SLI kind. It knows
// nothing of spans, attributes or the Collector.
//
// Every kind decides in the same order: certain bad, then excluded, then
// unknown, then good. A verdict that hinges on a fact which the telemetry does
// not carry is unknown, never a guess.
package sli

import (
	"errors"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// Result is one SLO's verdict on one run.
type Result struct {
	SLO     string
	Verdict slo.Verdict
	Reason  string   // one of [Reasons] or an exclusion's name; "" for a plain good
	Value   *float64 // what was measured, in the kind's unit (see [Kinds]); nil when not known
	// Steps are not nil for an SLO that counts steps within runs, and each of
	// them is an event. Verdict is then the worst among them, Value how many were
	// bad, and neither is an event.
	Steps []Step
	// Pending: the verdict may still change with evaluations that come within
	// the SLO's wait; Verdict is what it would be at the end of it.
	Pending bool
}

// Kind is one row of [Kinds].
type Kind struct {
	Name  string
	Value string // what [Result.Value] is, with its unit
	judge func(o *slo.Objective, s *subject) Result
}

// Kinds lists every SLI kind of runs: a new one is a file with its judge, and a row.
var Kinds = []Kind{
	{"completion", "", completion},
	{"correctness", "score of the deciding evaluation", correctness},
	{"latency", "seconds", latency},
	{"grounding", "score of the deciding evaluation", grounding},
	{"cost", "US dollars; a lower bound when only a part is known", cost},
	{"tool_free", "successful evidence calls before the answer", toolFree},
	{"no_progress", "how often the most repeated call was seen", noProgress},
	{"abstention", "", abstention},
	{"abandoned_spend", "seconds of work after the caller left or the deadline passed", abandonedSpend},
	{"retry_discipline", "most retries of a call that never succeeded", retryDiscipline},
	{"duplicate_effects", "calls that did again what one before had done", duplicateEffects},
	{"stuck_after_blocker", "model and tool calls after the blocker", stuckAfterBlocker},
	{"handoff", "fields that the ticket has", handoff},
	{"forbidden_actions", "forbidden calls", forbiddenActions},
	{"custom", "", custom},
}

var judges = func() map[string]func(*slo.Objective, *subject) Result {
	m := make(map[string]func(*slo.Objective, *subject) Result, len(Kinds))
	for _, k := range Kinds {
		m[k.Name] = k.judge
	}
	return m
}()

// Evaluate gives one result per SLO of the file that is about runs, in file
// order; ratios of other counters have no verdict of a run. excluded is
// the name of the first matching exclusion, or "": then every SLO is excluded
// with that name as its reason. final says that no more evaluations are waited
// for: nothing is then pending.
//
// It is safe for concurrent use and keeps no reference to the run except the
// pointers in Result.Value.
func Evaluate(f *slo.File, r *run.Run, final bool) (results []Result, excluded string) {
	if f == nil || len(f.SLOs) == 0 {
		return nil, ""
	}
	s := subject{Run: r, file: f}
	excluded = s.exclusion()
	results = make([]Result, 0, len(f.SLOs))
	for i := range f.SLOs {
		if o := &f.SLOs[i]; o.CountsRuns() {
			results = append(results, s.result(o, excluded, final))
		}
	}
	return results, excluded
}

// EvaluateOnly is [Evaluate] for some of the file's SLOs, by name: names that
// the file does not have are left out. over says of which SLOs no more
// evaluations are waited for.
func EvaluateOnly(f *slo.File, r *run.Run, names []string, over func(*slo.Objective) bool) (results []Result) {
	s := subject{Run: r, file: f}
	excluded := s.exclusion()
	for _, name := range names {
		if o := f.Objective(name); o != nil && o.CountsRuns() {
			results = append(results, s.result(o, excluded, over(o)))
		}
	}
	return results
}

func (s *subject) result(o *slo.Objective, excluded string, final bool) Result {
	result := Result{Verdict: slo.Excluded, Reason: excluded}
	switch {
	case o.OfSteps():
		result = s.steps(o, excluded)
	case excluded == "":
		result = judge(o, s)
	}
	result.SLO, result.Pending = o.Name, result.Pending && !final
	return result
}

// judge asks first whether the SLO is about this run at all.
func judge(o *slo.Objective, s *subject) Result {
	if !s.selectedBy(o) {
		return excludedFor(NotSelected)
	}
	if o.When != nil {
		switch applies, err := s.holds(o.When); {
		case err != nil:
			return unknownFor(conditionReason(err)).pendingIf(waitsFor(o, o.When))
		case !applies:
			return excludedFor(NotApplicable).pendingIf(waitsFor(o, o.When))
		}
	}
	of, ok := judges[o.SLI]
	if !ok {
		return unknownFor(UnknownKind)
	}
	result := of(o, s)
	if o.When != nil && waitsFor(o, o.When) {
		result.Pending = true
	}
	return result
}

func conditionReason(err error) string {
	if errors.Is(err, slo.ErrUnknown) {
		return FactMissing
	}
	return ExpressionFailed
}

func goodRun() Result                    { return Result{Verdict: slo.Good} }
func badFor(reason string) Result        { return Result{Verdict: slo.Bad, Reason: reason} }
func unknownFor(reason string) Result    { return Result{Verdict: slo.Unknown, Reason: reason} }
func excludedFor(reason string) Result   { return Result{Verdict: slo.Excluded, Reason: reason} }
func (r Result) because(s string) Result { r.Reason = s; return r }
func (r Result) pendingIf(b bool) Result { r.Pending = b; return r }
func (r Result) value(v *float64) Result { r.Value = v; return r }
func (r Result) count(n int) Result      { v := float64(n); r.Value = &v; return r }
