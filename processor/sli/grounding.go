package sli

import (
	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// grounding: does the answer rest on what was retrieved?
func grounding(o *slo.Objective, s *subject) Result {
	answered, known := s.answered()
	if known && !answered {
		return excludedFor(s.outcomeReason())
	}

	j := judgeEvaluations(o, s.Evaluations)
	retrieved := s.retrieval()
	switch {
	case j.said && !j.good:
		return j.result()
	case retrieved == noRetrieval && !s.expectsAlways():
		// An evaluation that is still to come may find claims made up all the same.
		return excludedFor(NothingToGround).pendingIf(!j.decided)
	case j.said:
		return j.result()
	case sampledJudging(o):
		return excludedFor(NotSampled).pendingIf(!j.decided)
	case !known:
		return unknownFor(OutcomeUnknown).pendingIf(!j.decided)
	case retrieved == emptyRetrieval:
		return badFor(EmptyRetrieval).pendingIf(!j.decided)
	}
	return unknownFor(j.missing).pendingIf(!j.decided)
}

type retrieval uint8

const (
	noRetrieval    retrieval = iota
	emptyRetrieval           // every look-up certainly returned nothing
	someRetrieval
)

// retrieval looks at retrieval spans and at the calls of retrieval tools. A
// failed look-up returned nothing.
func (s *subject) retrieval() retrieval {
	found := noRetrieval
	for i := range s.Retrievals {
		l := &s.Retrievals[i]
		if !l.Failed && l.Documents != 0 {
			return someRetrieval
		}
		found = emptyRetrieval
	}
	for i := range s.Tools {
		t := &s.Tools[i]
		switch {
		case !t.Retrieval:
		case t.Failed(), t.HasResult && t.ResultEmpty && s.ContentCaptured:
			found = emptyRetrieval
		case !t.HasResult && s.lookedUpWithin(t):
			// The retrieval spans inside the call say what it returned.
			found = emptyRetrieval
		default:
			return someRetrieval
		}
	}
	return found
}

func (s *subject) lookedUpWithin(t *run.ToolCall) bool {
	for i := range s.Retrievals {
		if l := &s.Retrievals[i]; l.Start >= t.Start && l.End <= t.End && l.Documents != convention.Unknown {
			return true
		}
	}
	return false
}

func (s *subject) expectsAlways() bool {
	e := s.file.Tools.Expect
	return e == slo.ExpectAlways || e == ""
}
