package sli

import "github.com/agentslo/agentslo/slo"

// custom: is the SLO's own expression true?
func custom(o *slo.Objective, s *subject) Result {
	if o.Good == nil {
		return unknownFor(ExpressionFailed)
	}
	waits := waitsFor(o, o.Good)
	switch holds, err := s.holds(o.Good); {
	case err != nil:
		return unknownFor(conditionReason(err)).pendingIf(waits)
	case holds:
		return goodRun().pendingIf(waits)
	}
	return badFor(ConditionFalse).pendingIf(waits)
}
