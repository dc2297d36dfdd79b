package run

import (
	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// How a run ended. No convention says it, and neither a root's status nor its
// absence of one can be trusted, so it is read from what the run did last:
// explicit words first (limits, aborts, pauses, wherever they stand on the
// run's own path), then the last model call, then what the root carries.

// clearGap is how long, in nanoseconds, a root without an answer outlives its
// last child before something that was never exported must have been under
// way: the call that was aborted. In the recorded runs a framework's own
// bookkeeping after the last child took under 30 ms, an aborted stream 190 ms
// and more.
const clearGap = uint64(100e6)

// ended maps words that say how something ended to the outcome they mean.
func ended(s *span) (slo.Outcome, string, bool) {
	switch s.Failure {
	case convention.FailureLimit:
		return slo.LimitReached, "limit", true
	case convention.FailureNoProgress:
		return slo.StoppedNoProgress, "no_progress", true
	case convention.FailureCancelled:
		return slo.Cancelled, "aborted", true
	case convention.FailurePaused:
		return slo.Escalated, "paused", true
	}
	switch s.Finish {
	case convention.FinishLimit:
		return slo.LimitReached, "limit", true
	case convention.FinishNoProgress:
		return slo.StoppedNoProgress, "no_progress", true
	case convention.FinishCancelled:
		return slo.Cancelled, "aborted", true
	case convention.FinishHuman:
		return slo.Escalated, "paused", true
	}
	return slo.OutcomeUnknown, "", false
}

func (b *assembly) ending() (slo.Outcome, string) {
	r := b.run
	if b.this.root < 0 {
		switch r.Completion {
		case Evicted, MaxSpans, Shutdown:
			return slo.OutcomeUnknown, string(r.Completion)
		}
		return slo.Lost, "no_root"
	}
	root := &b.spans[b.lastRoot()]
	if o, why, ok := ended(root); ok {
		return o, why
	}

	b.findTrunk()
	last, lastTool := b.lastModel(), b.lastTool()
	var model, tool *span
	if last >= 0 {
		model = &b.spans[last]
	}
	if lastTool >= 0 {
		tool = &b.spans[lastTool]
	}
	toolAfter := tool != nil && (model == nil || tool.Start >= model.Start)

	// The end of the run's own path, if it says how it ended and nothing but
	// the root came after it.
	if tail := b.tail(); tail >= 0 && (root.Failed || !root.HasOutput) {
		if o, why, ok := ended(&b.spans[tail]); ok {
			return o, why
		}
	}
	if p := b.lastPaused(); p != nil && (model == nil || p.Start >= model.Start) && (tool == nil || p.Start >= tool.Start) {
		return slo.Escalated, "paused"
	}
	failed := root
	if !root.Failed && !root.HasOutput {
		failed = b.failedAgent(root) // a root above it may say OK, or nothing
	}
	if failed != nil && failed.Failed {
		if o, why, ok := ended(failed); ok {
			return o, why
		}
		if o, why, ok := b.failureBelow(); ok {
			return o, why
		}
		if failed.Failure == convention.FailureGuardrail {
			return slo.Error, "guardrail"
		}
		return slo.Error, "error"
	}
	if root.MaxSteps > 0 && b.steps(root) >= int(root.MaxSteps) && !b.answerCalled() {
		return slo.LimitReached, "limit"
	}

	// Signs that the caller left, whatever the last model call said.
	if root.Finish == convention.FinishOther && (!root.HasOutput || b.gapAfter(root)) {
		return slo.Cancelled, "other"
	}
	if toolAfter && (b.unfinished(lastTool, model, root) || b.dropped(tool, root)) {
		return slo.Cancelled, "cut_short"
	}

	// Answer tools are the answer.
	for i, call := range r.Tools {
		if call.Role == Answer && !call.Failed() && (model == nil || b.spans[b.calledBy[i]].Start >= model.Start) {
			return b.marked(slo.Answered)
		}
	}

	if o, why, ok := worded(root); ok && (model == nil || root.Finish == convention.FinishLength || root.Finish == convention.FinishError) {
		return o, why
	}
	switch {
	case model == nil:
		if root.HasOutput {
			return b.marked(slo.Answered)
		}
		if b.callerGone() {
			return slo.Cancelled, "caller_gone"
		}
		return b.marked(slo.OutcomeUnknown)
	case model.Failed:
		if root.HasOutput && root.End > model.End && !root.Failed && root.Finish == convention.FinishStop {
			return b.marked(slo.Answered) // it answered without that call
		}
		return slo.Error, "model_error"
	}
	if o, why, ok := worded(model); ok {
		return o, why
	}

	asks := model.Finish == convention.FinishTool || model.AsksTool || model.FinishVague && toolAfter && b.endedOn(lastTool, last)
	silent := says(model) == 0 && !model.HasOutput
	switch {
	case silent && !root.HasOutput && b.othersSpeak(model):
		return slo.Cancelled, "cut_short"
	case b.callerGone() && (asks || silent):
		return slo.Cancelled, "caller_gone"
	case asks:
		if root.HasOutput && !toolAfter && root.Finish == convention.FinishStop {
			return b.marked(slo.Answered)
		}
		if o, why := b.marked(slo.LimitReached); o != slo.LimitReached && b.calledSince(model) {
			return o, why
		}
		if toolAfter && tool.Failed && root.Finish == convention.FinishNone && !root.HasOutput && !b.gaveUp(tool) {
			return slo.Error, "tool_error"
		}
		if toolAfter {
			if tool.Finish == convention.FinishStop {
				return b.marked(slo.Answered) // it ends the run, as it is meant to
			}
			if !root.HasOutput && b.gapAfter(root) {
				return slo.Cancelled, "cut_short"
			}
			if model.StubAtLimit && !root.HasOutput && !b.gaveUp(tool) {
				return slo.Cancelled, "cut_short" // it would have gone on, and a limit would show
			}
			if root.HasOutput && root.Finish != convention.FinishTool && model.Finish != convention.FinishTool {
				return b.marked(slo.Answered)
			}
			return slo.LimitReached, "no_answer"
		}
		if model.AsksAnswer || root.HasOutput && root.Finish != convention.FinishTool {
			return b.marked(slo.Answered)
		}
		if b.gapAfter(root) {
			return slo.Cancelled, "cut_short"
		}
		return slo.Escalated, "paused"
	case model.Finish == convention.FinishStop || model.HasOutput || root.HasOutput || root.Finish == convention.FinishStop:
		return b.marked(slo.Answered)
	}
	return b.marked(slo.OutcomeUnknown)
}

// worded maps stop reasons that say how an answer fell short.
func worded(s *span) (slo.Outcome, string, bool) {
	switch s.Finish {
	case convention.FinishLength:
		return slo.LimitReached, "length", true
	case convention.FinishRefusal:
		return slo.Abstained, "refusal", true
	case convention.FinishFiltered:
		return slo.Abstained, "content_filter", true
	case convention.FinishError:
		return slo.Error, "model_error", true
	}
	return slo.OutcomeUnknown, "", false
}

// marked applies the built-in markers: a run that ends on an escalating or
// abstaining tool was handed on or declined.
func (b *assembly) marked(o slo.Outcome) (slo.Outcome, string) {
	for i := len(b.run.Tools) - 1; i >= 0; i-- {
		t := &b.run.Tools[i]
		if t.Role == Answer {
			continue
		}
		if t.Failed() {
			break
		}
		if slo.EscalationTool(t.Name) {
			return slo.Escalated, "tool"
		}
		if slo.AbstainTool(t.Name) {
			return slo.Abstained, "tool"
		}
		break
	}
	if o == slo.OutcomeUnknown {
		return o, "no_evidence"
	}
	return o, ""
}

// toolTail is how long, in nanoseconds, a model span outlives a tool call
// inside it that was the last thing it did. A model that goes on after the
// tool's result takes longer for the first words of its answer.
const toolTail = uint64(20e6)

// endedOn says whether the model call asked for the tool, whatever its stop
// reason says: some emitters write "stop" for a call that asks for one. The
// tool began after it, or inside it as the last thing.
func (b *assembly) endedOn(tool, model int32) bool {
	t, m := &b.spans[tool], &b.spans[model]
	return t.Start >= m.End || t.End > m.End || m.End-t.End < toolTail
}

// findTrunk marks what is not on the run's own path: the members below a tool
// or a guardrail. What a sub-agent does below its tool says nothing of the end.
func (b *assembly) findTrunk() {
	for _, i := range b.this.members {
		for p := b.spans[i].parent; b.inside(p); p = b.spans[p].parent {
			if k := b.spans[p].Kind; k == convention.Tool || k == convention.Evaluator || k == convention.Guardrail {
				b.spans[i].offTrunk = true
				break
			}
		}
	}
}

// trunk calls yield with the AI spans of the run's own path in order of start.
func (b *assembly) trunk(yield func(int32, *span) bool) {
	for _, i := range b.this.members {
		s := &b.spans[i]
		if s.offTrunk || !s.IsAI() || s.Kind == convention.Evaluator {
			continue
		}
		if !yield(i, s) {
			return
		}
	}
}

// lastPaused is the last call that waits for an approval, or for the caller.
func (b *assembly) lastPaused() (last *span) {
	for _, s := range b.trunk {
		if s.Kind == convention.Tool && (s.Failure == convention.FailurePaused || s.ClientSide) {
			last = s
		}
	}
	return last
}

func (b *assembly) lastModel() int32 {
	last := int32(-1)
	for i, s := range b.trunk {
		if s.isCall {
			last = i
		}
	}
	return last
}

func (b *assembly) lastTool() int32 {
	last := int32(-1)
	for k, i := range b.calledBy {
		if t := &b.run.Tools[k]; t.Role != NotCounted && !t.ByMessage && !b.spans[i].offTrunk {
			last = i
		}
	}
	return last
}

// tail is the last leaf of the path: the model or tool span that ended last.
// What a tool says of its own abort does not count where the root has a word on
// the end.
func (b *assembly) tail() int32 {
	tail := int32(-1)
	for i, s := range b.trunk {
		switch s.Kind {
		case convention.Model, convention.Tool, convention.Guardrail:
			if tail < 0 || s.End >= b.spans[tail].End {
				tail = i
			}
		}
	}
	if tail >= 0 && b.spans[tail].Kind == convention.Tool && b.spans[tail].Failure == convention.FailureCancelled &&
		b.spans[b.lastRoot()].Finish != convention.FinishNone {
		return -1
	}
	return tail
}

// failedAgent is the agent on the path that ended last, if it failed and
// nothing began after it: it ended the run, whatever the root's status says.
func (b *assembly) failedAgent(root *span) (agent *span) {
	for _, s := range b.trunk {
		if s.Kind == convention.Agent && s.SpanID != root.SpanID && (agent == nil || s.End >= agent.End) {
			agent = s
		}
	}
	if agent == nil || !agent.Failed {
		return nil
	}
	for _, s := range b.trunk {
		if s.Start >= agent.End && s.SpanID != agent.SpanID {
			return nil
		}
	}
	return agent
}

// calledSince says whether a tool of any kind was called since the model asked.
func (b *assembly) calledSince(model *span) bool {
	n := len(b.calledBy)
	return n > 0 && b.spans[b.calledBy[n-1]].Start >= model.Start
}

// gaveUp says whether a model call was begun after the tool call and given up
// before it was sent: a limit forbade it.
func (b *assembly) gaveUp(tool *span) bool {
	for _, s := range b.trunk {
		if s.Kind == convention.Model && s.Start >= tool.End && neverSent(s) {
			return true
		}
	}
	return false
}

// steps counts the root's steps, for emitters that say how many there may be.
func (b *assembly) steps(root *span) (n int) {
	for c := b.spans[b.lastRoot()].child; c >= 0; c = b.spans[c].next {
		if k := b.spans[c].Kind; k == convention.Chain || k == convention.Step {
			n++
		}
	}
	return n
}

func (b *assembly) answerCalled() bool {
	for i := range b.run.Tools {
		if t := &b.run.Tools[i]; t.Role == Answer && !t.Failed() {
			return true
		}
	}
	return false
}

// says counts what a model span says of its end.
func says(s *span) (n int) {
	if s.Finish != convention.FinishNone {
		n++
	}
	if s.Usage.Known() {
		n++
	}
	if s.AsksTool {
		n++
	}
	return n
}

// othersSpeak says whether the silence of a model span means something: its
// emitter says of other calls how they ended, or always does.
func (b *assembly) othersSpeak(model *span) bool {
	for _, s := range b.trunk {
		if s.Kind == convention.Model && s.SpanID != model.SpanID && says(s) > 0 || s.Outspoken {
			return true
		}
	}
	return false
}

// failureBelow looks for the words behind a failed root on its own path, from
// the end.
func (b *assembly) failureBelow() (o slo.Outcome, why string, found bool) {
	for _, s := range b.trunk {
		if !s.Failed || s.Kind == convention.Tool {
			continue
		}
		if said, word, ok := ended(s); ok {
			o, why, found = said, word, true
		}
	}
	return o, why, found
}

// gapAfter says whether the root outlives everything below it by a clear gap,
// and says nothing else of its end. Agents and steps between are no work: they
// last as long as what they wait for.
func (b *assembly) gapAfter(root *span) bool {
	if root.Finish != convention.FinishNone && root.Finish != convention.FinishOther {
		return false
	}
	var end uint64
	for _, i := range b.this.members {
		switch s := &b.spans[i]; s.Kind {
		case convention.Agent, convention.Chain, convention.Step, convention.Evaluator:
		default:
			if s.timed() {
				end = max(end, s.End)
			}
		}
	}
	return end > 0 && root.End > end+clearGap
}

// unfinished says whether the tool call at the run's end was cut short: other
// content was captured, and it has neither result nor failure. A tool may
// return nothing, so it must not be the answer, a marker or part of a call that
// went on, and the root must not say how it ended.
func (b *assembly) unfinished(i int32, model, root *span) bool {
	s := &b.spans[i]
	if s.Failed || s.HasResult || !b.run.ContentCaptured || root.Finish != convention.FinishNone && root.Finish != convention.FinishOther ||
		slo.EscalationTool(s.ToolName) || slo.AbstainTool(s.ToolName) ||
		model != nil && model.End > s.End && (model.Finish == convention.FinishStop || model.HasOutput) {
		return false
	}
	for k, j := range b.calledBy {
		if j == i {
			if b.run.Tools[k].Role == Answer {
				return false
			}
			b.run.Tools[k].Unfinished = true
		}
	}
	return true
}

// dropped says whether the tool call at the run's end was given up: it failed
// without a word on why, nothing came after it, not even a call that a limit
// forbade, and the root says nothing either.
func (b *assembly) dropped(tool, root *span) bool {
	if !tool.Failed || tool.Class != convention.Unclassified || tool.HasArgs || tool.HasResult ||
		root.HasOutput || root.Finish != convention.FinishNone {
		return false
	}
	return !b.gaveUp(tool)
}

// callerGone says whether the root, or a span above it, tells that the caller
// went away.
func (b *assembly) callerGone() bool {
	for i := b.lastRoot(); i >= 0; i = b.spans[i].parent {
		if b.spans[i].CallerGone {
			return true
		}
	}
	return false
}

// callerLeft is when the caller went away: the end of the first span above the
// root that tells so, for a server's span of a request ends when its client
// closes it; else the end of a root that was cancelled. 0 not said.
func (b *assembly) callerLeft() (at uint64) {
	for i := b.lastRoot(); i >= 0; i = b.spans[i].parent {
		if s := &b.spans[i]; s.CallerGone && s.timed() && (at == 0 || s.End < at) {
			at = s.End
		}
	}
	if at == 0 && b.run.Outcome == slo.Cancelled && b.this.root >= 0 {
		if root := &b.spans[b.lastRoot()]; root.timed() {
			at = root.End
		}
	}
	return at
}
