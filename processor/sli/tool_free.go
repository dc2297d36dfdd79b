package sli

import (
	"math"
	"slices"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// toolFree: did the agent consult a tool before it answered?
func toolFree(_ *slo.Objective, s *subject) Result {
	answered, known := s.answered()
	expected, sure := s.expectsTools()
	switch {
	case known && !answered:
		return excludedFor(s.outcomeReason())
	case sure && !expected:
		return excludedFor(NotExpected)
	case !known:
		return unknownFor(OutcomeUnknown)
	case !sure:
		return unknownFor(ExpectationUnknown)
	}

	called, succeeded, required := s.evidence()
	switch {
	case succeeded == 0 && s.Unseen > 0:
		return unknownFor(CallsNotSeen).count(0)
	case called == 0:
		return badFor(NoCall).count(0)
	case succeeded == 0:
		return badFor(AllCallsFailed).count(0)
	case len(s.file.Tools.Required) > 0 && !required:
		return badFor(RequiredMissing).count(succeeded)
	}
	return goodRun().count(succeeded)
}

// evidence counts the evidence calls that were over before the answer began.
// A tool that the file requires is evidence by that, whatever its name.
func (s *subject) evidence() (called, succeeded int, required bool) {
	deadline := s.answerStart()
	for i := range s.Tools {
		t := &s.Tools[i]
		isRequired := t.Role != run.Answer && s.file.RequiredTool(t.Name)
		if t.Role != run.Evidence && !isRequired || max(t.Start, t.End) > deadline {
			continue
		}
		called++
		if t.Failed() || t.Unfinished {
			continue
		}
		succeeded++
		required = required || isRequired
	}
	// A retrieval step consulted something as well, though no model asked for it.
	for i := range s.Retrievals {
		l := &s.Retrievals[i]
		if max(l.Start, l.End) > deadline {
			continue
		}
		called++
		if !l.Failed {
			succeeded++
		}
	}
	return called, succeeded, required
}

// answerStart is when the call that is the answer began: the last one that did
// not fail. Without an answer tool the run's end is the answer, and every call
// comes before it.
func (s *subject) answerStart() uint64 {
	start, failing := uint64(math.MaxUint64), true
	for i := len(s.Tools) - 1; i >= 0 && failing; i-- {
		t := &s.Tools[i]
		if t.Role != run.Answer {
			continue
		}
		if !t.Failed() || start == math.MaxUint64 {
			start = t.Start
		}
		failing = t.Failed()
	}
	return start
}

// expectsTools says whether an answer of this run needs a tool call, and
// whether that is known.
func (s *subject) expectsTools() (expected, sure bool) {
	switch s.file.Tools.Expect {
	case slo.ExpectNever:
		return false, true
	case slo.ExpectWhenOffered:
		switch {
		case slices.ContainsFunc(s.Tools, wasOffered): // whatever the model calls say
			return true, true
		case s.ToolsOffered != nil:
			return *s.ToolsOffered, true
		}
		return false, false
	case slo.ExpectCEL:
		expected, err := s.holds(s.file.Tools.ExpectWhen)
		return expected, err == nil
	}
	return true, true
}

// wasOffered says whether the call is of a tool that the agent chose to use.
func wasOffered(t run.ToolCall) bool { return t.Role != run.Answer && t.Role != run.NotCounted }
