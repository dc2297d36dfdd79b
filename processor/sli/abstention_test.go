package sli

import (
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

func init() {
	verdictTable["abstention"] = []verdictRow{
		{name: "answered is good", run: ended(slo.Answered), want: slo.Good, value: none},
		{name: "abstained is bad", run: ended(slo.Abstained), want: slo.Bad, reason: "abstained", value: none},
		{name: "handed to a person is bad", run: ended(slo.Escalated), want: slo.Bad, reason: "escalated", value: none},
		{name: "an error is no answer", run: ended(slo.Error), want: slo.Bad, reason: "error", value: none},
		{name: "nor is a run that was lost", run: ended(slo.Lost), want: slo.Bad, reason: "lost", value: none},
		{name: "nor a limit", run: ended(slo.LimitReached), want: slo.Bad, reason: "limit_reached", value: none},
		{name: "nor a stop for want of progress", run: ended(slo.StoppedNoProgress), want: slo.Bad, reason: "stopped_no_progress", value: none},
		{name: "a pause for an approval is excluded: the answer may still come", run: ended(slo.Escalated, paused), want: slo.Excluded, reason: "paused", value: none},
		{name: "cancelled is excluded", run: ended(slo.Cancelled), want: slo.Excluded, reason: "cancelled", value: none},
		{name: "how it ended is unknown", run: ended(slo.OutcomeUnknown), want: slo.Unknown, reason: "outcome_unknown", value: none},
	}
}

func paused(r *run.Run) { r.OutcomeReason = "paused" }
