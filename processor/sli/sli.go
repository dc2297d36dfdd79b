// Package sli turns a run into verdicts: one file an SLI kind. It knows
// nothing of spans, attributes or the Collector.
package sli

import (
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// Result is one SLO's verdict on one run.
type Result struct {
	SLO     string
	Verdict slo.Verdict
	Reason  string   // a short stable word, such as no_call; "" for a plain good
	Value   *float64 // what was measured, in the kind's unit; nil when not known
	// Pending: the verdict may still change with evaluations that come within
	// the SLO's wait; Verdict is what it would be at the end of it.
	Pending bool
}

// Evaluate gives one result per SLO of the file, in file order. excluded is
// the name of the first matching exclusion, or "". final says that no more
// evaluations are waited for: nothing is then pending.
func Evaluate(f *slo.File, r *run.Run, final bool) (results []Result, excluded string) {
	return nil, ""
}
