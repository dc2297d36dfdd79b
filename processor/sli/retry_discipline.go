package sli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// retryDiscipline: did the agent stop asking a tool for what it would not give?
func retryDiscipline(o *slo.Objective, s *subject) Result {
	r := s.retries(o.MaxRetries)
	switch {
	case r.refused:
		return badFor(RetriedRefusal).count(r.most)
	case r.most > o.MaxRetries:
		return badFor(RetriedTooOften).count(r.most)
	case !r.failed && s.Unseen == 0:
		return excludedFor(NoFailure)
	case s.Outcome == slo.Cancelled:
		return excludedFor(Cancelled).count(r.most)
	case s.Unseen > 0:
		return unknownFor(CallsNotSeen)
	case r.hidden:
		return unknownFor(ContentNotCaptured)
	}
	return goodRun().count(r.most)
}

// retrying is how failed calls of a run were tried again.
type retrying struct {
	failed  bool // some call failed
	refused bool // a call that failed for want of permission was tried again
	most    int  // most retries of one call that never succeeded
	hidden  bool // calls whose arguments are not captured may be retries too many
}

// retries looks at the calls of each tool with the same arguments. Handoffs are
// left out: they do not fail.
func (s *subject) retries(most int) (r retrying) {
	var calls []*run.ToolCall
	for i := range s.Tools {
		if t := &s.Tools[i]; t.Role != run.NotCounted {
			calls = append(calls, t)
			r.failed = r.failed || t.Failed()
		}
	}
	if !r.failed {
		return r
	}
	slices.SortStableFunc(calls, func(a, b *run.ToolCall) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), compareBools(a.HasArgs, b.HasArgs), cmp.Compare(a.ArgsHash, b.ArgsHash))
	})
	for ofTool := range groups(calls, func(a, b *run.ToolCall) bool { return a.Name == b.Name }) {
		hiddenSuccess := slices.ContainsFunc(ofTool, func(t *run.ToolCall) bool { return !t.HasArgs && t.Succeeded() })
		for same := range groups(ofTool, func(a, b *run.ToolCall) bool { return a.HasArgs == b.HasArgs && a.ArgsHash == b.ArgsHash }) {
			n, refused, ok := tries(same)
			if !same[0].HasArgs {
				continue // they may have nothing in common
			}
			r.refused = r.refused || refused
			switch {
			case ok:
			case hiddenSuccess && n > most: // or that was the same call, and it succeeded
				r.hidden = true
			default:
				r.most = max(r.most, n)
			}
		}
		if slices.ContainsFunc(ofTool, func(t *run.ToolCall) bool { return !t.HasArgs }) {
			inTime := slices.Clone(ofTool)
			slices.SortStableFunc(inTime, func(a, b *run.ToolCall) int { return cmp.Compare(a.Start, b.Start) })
			_, refused, _ := tries(inTime)
			n, _, _ := tries(slices.DeleteFunc(inTime, func(t *run.ToolCall) bool { return !t.Failed() }))
			r.hidden = r.hidden || refused || n > most
		}
	}
	return r
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// inOneBreath is more same calls than one model message asks for: what a call
// tries again is among so many before it.
const inOneBreath = 64

// tries counts the retries among calls in order of start: those that began
// after one had failed. refused says whether one followed a failure for want of
// permission, ok whether any call succeeded.
func tries(calls []*run.ToolCall) (n int, refused, ok bool) {
	for i, t := range calls {
		ok = ok || t.Succeeded()
		retry := false
		for _, before := range calls[max(i-inOneBreath, 0):i] {
			if before.Failed() && triesAgain(before, t) {
				retry = true
				refused = refused || before.Class == convention.Auth
			}
		}
		if retry {
			n++
		}
	}
	return n, refused, ok
}

// triesAgain says whether the later call tries again what the earlier one failed
// at. Two calls that one model message asks for are no retry, unless whoever
// executes the tools tries one and the same call again.
func triesAgain(before, t *run.ToolCall) bool {
	if t.Start < max(before.Start, before.End) {
		return false
	}
	return t.Message == 0 || t.Message != before.Message || t.CallID != 0 && t.CallID == before.CallID
}
