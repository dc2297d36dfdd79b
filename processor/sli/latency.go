package sli

import "github.com/agentslo/agentslo/slo"

// latency: was the answer, or its first token, there in time? A run that is
// too slow is bad whatever its outcome, but failing fast is not being fast.
func latency(o *slo.Objective, s *subject) Result {
	measured, plain, missing := s.Seconds, "", NoRoot
	if s.HasRoot {
		missing = NoDuration
	}
	if s.RootEndedEarly {
		plain = RootEndedEarly
	}
	if o.Measure == slo.MeasureFirstToken {
		measured, plain, missing = s.FirstToken, "", NoFirstToken
	}

	threshold := o.Threshold.Seconds()
	switch {
	case measured != nil && *measured > threshold:
		if plain == "" {
			plain = TooSlow
		}
		return s.forgive(o, badFor(plain).value(measured), s.lateByProvider(o, *measured))
	case measured == nil && o.Measure != slo.MeasureFirstToken && s.SoFar > threshold:
		return s.forgive(o, badFor(TooSlow).value(&s.SoFar), s.lateByProvider(o, s.SoFar))
	case measured == nil:
		return unknownFor(missing)
	}

	switch answered, known := s.answered(); {
	case !known:
		return unknownFor(OutcomeUnknown).value(measured)
	case !answered:
		return excludedFor(s.outcomeReason()).value(measured)
	}
	return goodRun().because(plain).value(measured)
}

// lateByProvider says whether the run would have been in time without the model
// calls that failed for trouble at their provider.
func (s *subject) lateByProvider(o *slo.Objective, measured float64) bool {
	until := s.End
	if o.Measure == slo.MeasureFirstToken {
		until = s.Start + uint64(measured*1e9)
	}
	return measured-s.lostToProvider(until) <= o.Threshold.Seconds()
}
