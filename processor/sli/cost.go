package sli

import "github.com/agentslo/agentslo/slo"

// rounding is the relative error that sums of per-call costs in floating point
// may carry; without it a run of exactly max_usd could be bad.
const rounding = 1e-9

// cost: did the run stay within max_usd? The cheap runs of an outage must not
// refill the budget.
func cost(o *slo.Objective, s *subject) Result {
	most := float(o.MaxUSD)
	spent := s.CostUSD
	if spent == nil {
		spent = &s.KnownUSD
	}
	switch {
	case *spent > most*(1+rounding):
		return badFor(TooExpensive).value(spent)
	case s.Outcome == slo.Error, s.Outcome == slo.Cancelled:
		// Also where the cost is not known: a failed run has calls without
		// usage, and an outage is no gap in the evidence.
		return excludedFor(s.outcomeReason()).value(s.CostUSD)
	case s.CostUSD == nil:
		return unknownFor(CostUnknown)
	case s.Outcome == slo.OutcomeUnknown:
		return unknownFor(OutcomeUnknown).value(spent)
	}
	return goodRun().value(spent)
}
