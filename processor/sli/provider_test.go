package sli

import (
	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// faulted appends a model call that failed for its provider's trouble, from one
// second to another.
func faulted(start, end float64) func(*run.Run) {
	return func(r *run.Run) {
		r.Faults = append(r.Faults, run.ProviderFault{Model: "gpt-5", Fault: convention.Overloaded, Start: second(start), End: second(end)})
	}
}

func endedByProvider(r *run.Run) { r.EndedByProvider = true }

// until makes the run last from second 1 to that one.
func until(end float64) func(*run.Run) {
	return func(r *run.Run) {
		r.End = second(end)
		lasting(end - 1)(r)
	}
}

func forgiving(change func(*slo.File, *slo.Objective)) func(*slo.File, *slo.Objective) {
	return func(f *slo.File, o *slo.Objective) {
		if change != nil {
			change(f, o)
		}
		o.ProviderFaults = slo.ProviderFaultsExclude
	}
}

func firstTokenWithin(_ *slo.File, o *slo.Objective) { o.Measure = slo.MeasureFirstToken }

func init() {
	for _, kind := range []string{"completion", "correctness", "abstention"} {
		verdictTable[kind] = append(verdictTable[kind],
			verdictRow{name: "an error by the provider's trouble is bad", run: ended(slo.Error, faulted(1, 2), endedByProvider), want: slo.Bad, reason: "error", value: none},
			verdictRow{name: "… unless the SLO excludes it", change: forgiving(nil), run: ended(slo.Error, faulted(1, 2), endedByProvider), want: slo.Excluded, reason: "provider_fault", value: none},
			verdictRow{name: "… an error after the trouble was over is the agent's own", change: forgiving(nil), run: ended(slo.Error, faulted(1, 2)), want: slo.Bad, reason: "error", value: none},
			verdictRow{name: "… and so is a limit", change: forgiving(nil), run: ended(slo.LimitReached, faulted(1, 2)), want: slo.Bad, reason: "limit_reached", value: none},
		)
	}
	// The threshold of the table is 30 s.
	verdictTable["latency"] = append(verdictTable["latency"],
		verdictRow{name: "too slow by the provider's trouble is bad", run: ended(slo.Answered, until(41), faulted(5, 20)), want: slo.Bad, reason: "too_slow", value: 40},
		verdictRow{name: "… unless the SLO excludes it", change: forgiving(nil), run: ended(slo.Answered, until(41), faulted(5, 20)), want: slo.Excluded, reason: "provider_fault", value: 40},
		verdictRow{name: "… at the threshold without it", change: forgiving(nil), run: ended(slo.Answered, until(41), faulted(5, 12), faulted(10, 15)), want: slo.Excluded, reason: "provider_fault", value: 40},
		verdictRow{name: "… too slow even without it", change: forgiving(nil), run: ended(slo.Answered, until(41), faulted(5, 14.9)), want: slo.Bad, reason: "too_slow", value: 40},
		verdictRow{name: "… in time with it is good", change: forgiving(nil), run: ended(slo.Answered, until(21), faulted(5, 14)), want: slo.Good, value: 20},
		verdictRow{name: "… the first token waited for it", change: forgiving(firstTokenWithin), run: ended(slo.Answered, until(61), firstToken(35), faulted(5, 15)), want: slo.Excluded, reason: "provider_fault", value: 35},
		verdictRow{name: "… the trouble came after the first token", change: forgiving(firstTokenWithin), run: ended(slo.Answered, until(61), firstToken(35), faulted(40, 60)), want: slo.Bad, reason: "too_slow", value: 35},
	)
}
