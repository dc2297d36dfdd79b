package sli

import "github.com/agentslo/agentslo/slo"

// stuckAfterBlocker: did the run end soon after a failure that it could not get
// round?
func stuckAfterBlocker(o *slo.Objective, s *subject) Result {
	b := s.Blocker
	if b == nil {
		if s.Unseen > 0 {
			return unknownFor(CallsNotSeen)
		}
		return excludedFor(NoBlocker)
	}
	if b.Doubtful {
		return unknownFor(ContentNotCaptured)
	}
	bounded := !o.MaxUSD.IsZero()
	switch {
	case b.Steps > o.MaxSteps, bounded && b.KnownUSD > float(o.MaxUSD)*(1+rounding):
		return badFor(stuckUntil(s.Outcome)).count(b.Steps)
	case s.Outcome == slo.Cancelled:
		return excludedFor(Cancelled).count(b.Steps)
	case s.Unseen > 0:
		return unknownFor(CallsNotSeen)
	case !b.ModelCallsSeen:
		return unknownFor(ModelCallsNotSeen)
	case bounded && b.USD == nil:
		return unknownFor(CostUnknown).count(b.Steps)
	case s.Outcome == slo.Answered:
		return goodRun().count(b.Steps)
	}
	return goodRun().because(s.outcomeReason()).count(b.Steps)
}

// stuckUntil is what ended a run that was stuck, as a reason.
func stuckUntil(ended slo.Outcome) string {
	switch ended {
	case slo.Answered, slo.Abstained:
		return StuckUntilAnswer
	case slo.Escalated:
		return StuckUntilEscalation
	case slo.LimitReached, slo.StoppedNoProgress:
		return StuckUntilLimit
	case slo.Error, slo.Lost:
		return StuckUntilFailure
	}
	return Stuck
}
