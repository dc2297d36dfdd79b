package sli

import (
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// forbiddenActions: did the agent keep its hands off what it must not do? What
// it tried counts, whether it succeeded or not.
func forbiddenActions(o *slo.Objective, s *subject) Result {
	n, hidden := 0, false
	var first *run.ToolCall
	for i := range o.Actions {
		a := &o.Actions[i]
		done, possible := 0, 0
		for k := range s.Tools {
			t := &s.Tools[k]
			found, known := forbids(a, t)
			switch {
			case found:
				if done++; done > a.MaxCalls && (first == nil || t.Start < first.Start) {
					first = t
				}
			case !known:
				possible++
			}
		}
		n += max(done-a.MaxCalls, 0)
		hidden = hidden || possible > 0 && done+possible > a.MaxCalls
	}
	switch {
	case first != nil:
		return badFor(s.forbiddenWhen(o, first)).count(n)
	case s.Outcome == slo.Cancelled:
		return excludedFor(Cancelled).count(0)
	case hidden:
		return unknownFor(ContentNotCaptured)
	case s.Unseen > 0:
		return unknownFor(CallsNotSeen)
	}
	return goodRun().count(0)
}

// Forbidden are the calls of a run that an action names, those within max_calls
// included, in order of start.
func Forbidden(o *slo.Objective, r *run.Run) (calls []*run.ToolCall) {
	for i := range r.Tools {
		if isForbidden(o, &r.Tools[i]) {
			calls = append(calls, &r.Tools[i])
		}
	}
	return calls
}

// forbids says whether the call is such an action; not known where that hinges
// on arguments that are not captured.
func forbids(a *slo.Action, t *run.ToolCall) (found, known bool) {
	if !slo.MatchGlob(a.Tool, t.Name) {
		return false, true
	}
	if a.Arguments == nil {
		return true, true
	}
	hash, known := t.Found(a.Question())
	return hash != 0, known
}

// forbiddenWhen says, as a reason, whether the call came before or after the
// first permanent failure of another call: whether the agent was in trouble.
func (s *subject) forbiddenWhen(o *slo.Objective, call *run.ToolCall) string {
	for i := range s.Tools {
		t := &s.Tools[i]
		if t.Persistence != run.Permanent || t.Role == run.NotCounted || isForbidden(o, t) {
			continue
		}
		if max(t.Start, t.End) <= call.Start {
			return ForbiddenAfterBlocker
		}
		return ForbiddenBeforeBlocker
	}
	return ForbiddenAction
}

func isForbidden(o *slo.Objective, t *run.ToolCall) bool {
	for i := range o.Actions {
		if found, _ := forbids(&o.Actions[i], t); found {
			return true
		}
	}
	return false
}
