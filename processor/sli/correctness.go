package sli

import "github.com/agentslo/agentslo/slo"

// correctness: do the evaluations of the answer pass? The outcome comes before
// evaluations, so that a verdict never depends on whether a judge also looked
// at a run without an answer.
func correctness(o *slo.Objective, s *subject) Result {
	sampled := sampledJudging(o)
	switch {
	case failed(s.Outcome) && sampled:
		return excludedFor(s.outcomeReason())
	case failed(s.Outcome):
		return s.forgive(o, badFor(s.outcomeReason()), s.EndedByProvider)
	case s.Outcome == slo.Abstained, s.Outcome == slo.Escalated, s.Outcome == slo.Cancelled:
		return excludedFor(s.outcomeReason())
	}

	j := judgeEvaluations(o, s.Evaluations)
	switch {
	case j.said:
		return j.result()
	case sampled:
		return excludedFor(NotSampled).pendingIf(!j.decided)
	case s.Outcome == slo.OutcomeUnknown && j.missing == NoEvaluation:
		return unknownFor(OutcomeUnknown).pendingIf(!j.decided)
	}
	return unknownFor(j.missing).pendingIf(!j.decided)
}
