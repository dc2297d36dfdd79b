package sli

import "github.com/agentslo/agentslo/slo"

// abstention: was there an answer? Declining and handing over are honest, and
// still no answer; so is a failure, or an outage would look like an agent that
// answers everything it can.
func abstention(o *slo.Objective, s *subject) Result {
	switch {
	case s.Outcome == slo.Answered:
		return goodRun()
	case s.Outcome == slo.Escalated && s.OutcomeReason == Paused:
		return excludedFor(Paused) // the answer may still come, in a run of its own
	case s.Outcome == slo.Cancelled:
		return excludedFor(Cancelled)
	case s.Outcome == slo.OutcomeUnknown:
		return unknownFor(OutcomeUnknown)
	}
	return s.forgive(o, badFor(s.outcomeReason()), s.EndedByProvider)
}
