package sli

import (
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// handoff: was a run that was handed to a person handed over in time, and with
// all that the person needs?
func handoff(o *slo.Objective, s *subject) Result {
	ticket := s.ticket(o)
	switch {
	case s.premature(o):
		return badFor(Premature)
	case s.Outcome == slo.Escalated && s.OutcomeReason == Paused:
		return excludedFor(Paused)
	case s.Outcome == slo.Escalated:
	case ticket != nil && s.handedOver(o, ticket):
	case s.Outcome == slo.OutcomeUnknown:
		return unknownFor(OutcomeUnknown)
	default:
		return excludedFor(NotEscalated)
	}
	if ticket == nil {
		return unknownFor(NoTicket)
	}
	said, missing, hidden := 0, false, false
	for i := range o.Fields {
		switch found, known := ticket.Found(o.Fields[i].Question()); {
		case !known:
			hidden = true
		case found != 0:
			said++
		default:
			missing = true
		}
	}
	switch {
	case missing:
		return badFor(TicketIncomplete).count(said)
	case hidden:
		return unknownFor(ContentNotCaptured)
	}
	return goodRun().count(said)
}

// TicketLacks names the hand-over tool that the run called last, "" where it
// called none, and the fields that its ticket lacks for certain.
func TicketLacks(o *slo.Objective, r *run.Run) (tool string, fields []string) {
	s := subject{Run: r}
	t := s.ticket(o)
	if t == nil {
		return "", nil
	}
	for i := range o.Fields {
		if found, known := t.Found(o.Fields[i].Question()); known && found == 0 {
			fields = append(fields, o.Fields[i].Name)
		}
	}
	return t.Name, fields
}

// ticket is the call that handed the run over: the last one that succeeded.
func (s *subject) ticket(o *slo.Objective) *run.ToolCall {
	for i := len(s.Tools) - 1; i >= 0; i-- {
		if t := &s.Tools[i]; t.Succeeded() && o.TicketTool(t.Name) {
			return t
		}
	}
	return nil
}

// handedOver says whether a run whose outcome says no such thing ended on a
// hand-over tool that the SLO names: with a word to the user that a ticket is
// open, it looks answered.
func (s *subject) handedOver(o *slo.Objective, ticket *run.ToolCall) bool {
	switch s.Outcome {
	case slo.Answered, slo.Abstained, slo.OutcomeUnknown:
	default:
		return false
	}
	last := -1
	for i := range s.Tools {
		if s.Tools[i].Role != run.Answer {
			last = i
		}
	}
	return last >= 0 && &s.Tools[last] == ticket && slices.ContainsFunc(o.TicketTools, func(glob string) bool { return slo.MatchGlob(glob, ticket.Name) })
}

// premature says whether the run was handed over for a failure that proved
// transient: the same call succeeded afterwards. A failure with another cause,
// such as a missing permission, may be gone because a person removed it.
func (s *subject) premature(o *slo.Objective) bool {
	handed := false
	for i := range s.Tools {
		handed = handed || s.Tools[i].Succeeded() && o.TicketTool(s.Tools[i].Name)
	}
	if !handed {
		return false
	}
	for i := range s.Tools {
		failed := &s.Tools[i]
		if failed.Persistence != run.Recovered || failed.Class != convention.Transient && failed.Class != convention.Unclassified {
			continue
		}
		ended := max(failed.Start, failed.End)
		for k := range s.Tools[i+1:] {
			ticket := &s.Tools[i+1+k]
			if !ticket.Succeeded() || !o.TicketTool(ticket.Name) || ticket.Start < ended {
				continue
			}
			if !s.succeeds(failed, s.Tools[i+1:i+1+k]) && s.succeeds(failed, s.Tools[i+1+k:]) {
				return true
			}
		}
	}
	return false
}

// succeeds says whether one of the calls is the failed one again, and
// succeeded. Where arguments are not captured nobody can say.
func (s *subject) succeeds(failed *run.ToolCall, calls []run.ToolCall) bool {
	return slices.ContainsFunc(calls, func(t run.ToolCall) bool {
		return t.Succeeded() && t.Name == failed.Name && t.HasArgs && failed.HasArgs && t.ArgsHash == failed.ArgsHash
	})
}
