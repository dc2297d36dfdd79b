package sli

import "github.com/agentslo/agentslo/slo"

// completion: did the run come to an end that its agent may be proud of?
func completion(o *slo.Objective, s *subject) Result {
	switch {
	case failed(s.Outcome):
		return s.forgive(o, badFor(s.outcomeReason()), s.EndedByProvider)
	case s.Outcome == slo.Cancelled:
		return excludedFor(Cancelled)
	case s.Outcome == slo.OutcomeUnknown:
		return unknownFor(OutcomeUnknown)
	case s.Outcome == slo.Answered:
		return goodRun()
	}
	return goodRun().because(s.outcomeReason())
}
