package sli

import "github.com/agentslo/agentslo/slo"

// forgive excludes a run that is bad only for trouble at its model provider,
// where the SLO says so.
func (s *subject) forgive(o *slo.Objective, r Result, providersFault bool) Result {
	if o.ProviderFaults == slo.ProviderFaultsExclude && r.Verdict == slo.Bad && providersFault {
		r.Verdict, r.Reason = slo.Excluded, ProviderFault
	}
	return r
}

// lostToProvider is how many seconds, from the run's start to a moment, passed
// in model calls that failed for trouble at their provider.
func (s *subject) lostToProvider(until uint64) float64 {
	var lost []stretch
	for i := range s.Faults {
		if f := &s.Faults[i]; f.Start < until {
			lost = append(lost, stretch{f.Start, min(f.End, until)})
		}
	}
	return secondsOf(lost)
}
