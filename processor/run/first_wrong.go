package run

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
)

// What the first step that went wrong was.
const (
	FailedCall      = "failed_call"       // a tool call, or a retrieval
	FailedModelCall = "failed_model_call" // as its provider or the framework has it
	EmptyRetrieval  = "empty_retrieval"   // nothing was found
	RepeatedCall    = "repeated_call"     // the same call with the same result as an earlier one
)

// FirstWrong is the first step of a run that went wrong. It need not be why the
// run ended as it did: it is where to begin to look.
type FirstWrong struct {
	What   string           // FailedCall, FailedModelCall, EmptyRetrieval or RepeatedCall
	Name   string           // of the tool, or of the model; "" where it has none
	Class  convention.Class // of a failure
	Step   int              // which of the run's model calls, tool calls and retrievals it is, in order of start, from 1
	SpanID pcommon.SpanID
}

// firstWrong looks at tool calls, and at model calls and retrievals that no
// model asked for, and takes what began first.
func (b *assembly) firstWrong() {
	tool, span := b.firstWrongTool(), b.firstWrongSpan()
	switch {
	case tool < 0 && span < 0:
		return
	case span >= 0 && (tool < 0 || b.spans[span].Start <= b.run.Tools[tool].Start):
		b.spanWentWrong(span)
	default:
		b.toolWentWrong(tool)
	}
}

// firstWrongTool is the place of a tool call; -1 when none went wrong.
func (b *assembly) firstWrongTool() int {
	for i := range b.run.Tools {
		if b.run.wentWrong(i) != "" {
			return i
		}
	}
	return -1
}

func (r *Run) wentWrong(i int) string {
	switch t := &r.Tools[i]; {
	case t.Role == NotCounted:
	case t.Failed():
		return FailedCall
	case t.Retrieval && t.HasResult && t.ResultEmpty && t.Succeeded():
		return EmptyRetrieval
	case r.repeats(i):
		return RepeatedCall
	}
	return ""
}

// firstWrongSpan is a model call or a retrieval; -1 when none went wrong.
func (b *assembly) firstWrongSpan() int32 {
	for _, i := range b.this.members {
		switch s := &b.spans[i]; {
		case s.isCall && s.Failed && (s.Failure <= convention.FailureError || s.Failure == convention.FailureSchema),
			b.retrieves(s) && (s.Failed || s.Documents == 0):
			return i
		}
	}
	return -1
}

// retrieves says whether the span is a retrieval that is no tool call.
func (b *assembly) retrieves(s *span) bool {
	return s.Kind == convention.Retrieval && !s.judged && !b.isToolCall(s)
}

func (b *assembly) toolWentWrong(i int) {
	t := &b.run.Tools[i]
	x := &FirstWrong{What: b.run.wentWrong(i), Name: t.Name, Class: t.Class, SpanID: t.SpanID, Step: 1}
	for k := range b.run.Tools[:i] {
		if b.run.Tools[k].Role != NotCounted {
			x.Step++
		}
	}
	for _, m := range b.this.members {
		if s := &b.spans[m]; s.Start <= t.Start && (s.isCall || b.retrieves(s)) {
			x.Step++
		}
	}
	b.run.FirstWrong = x
}

func (b *assembly) spanWentWrong(i int32) {
	s := &b.spans[i]
	x := &FirstWrong{What: EmptyRetrieval, Name: s.ToolName, SpanID: s.SpanID}
	switch {
	case s.isCall:
		x.What, x.Name, x.Class = FailedModelCall, s.ModelName, s.Class
	case s.Failed:
		x.What, x.Class = FailedCall, s.Class
	}
	if s.Failed && x.Class == convention.ClassNone {
		x.Class = convention.Unclassified
	}
	for k := range b.run.Tools {
		if t := &b.run.Tools[k]; t.Role != NotCounted && t.Start < s.Start {
			x.Step++
		}
	}
	for _, m := range b.this.members {
		if q := &b.spans[m]; q.isCall || b.retrieves(q) {
			x.Step++
		}
		if m == i {
			break
		}
	}
	b.run.FirstWrong = x
}

// maxRepeatCalls bounds among how many calls of a run a repetition is looked for.
const maxRepeatCalls = 512

// repeats says whether an earlier call is the same as the i-th, with the same
// result. Those of one model message are not: it had seen no result in between.
func (r *Run) repeats(i int) bool {
	t := &r.Tools[i]
	if !t.HasArgs || !t.HasResult || !t.Succeeded() || i >= maxRepeatCalls {
		return false
	}
	for k := range r.Tools[:i] {
		q := &r.Tools[k]
		if q.ArgsHash == t.ArgsHash && q.ResultHash == t.ResultHash && q.HasArgs && q.HasResult && q.Name == t.Name && q.Agent == t.Agent &&
			q.Succeeded() && (q.Message == 0 || q.Message != t.Message) {
			return true
		}
	}
	return false
}
