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

// evidence is what decided how the run ended: spans with one of their facts,
// and the rule.
type evidence struct {
	rule  string
	facts [2]struct {
		span  *span // nil: none
		field convention.Field
	}
}

// because notes what decides, for whoever asks where an outcome comes from.
func (b *assembly) because(rule string, s *span, field convention.Field) {
	b.decided = evidence{rule: rule}
	b.decided.facts[0].span, b.decided.facts[0].field = s, field
}

// and notes a second fact that decides.
func (b *assembly) and(s *span, field convention.Field) {
	b.decided.facts[1].span, b.decided.facts[1].field = s, field
}

// becauseEnded notes the words of [ended].
func (b *assembly) becauseEnded(rule string, s *span) {
	switch s.Failure {
	case convention.FailureLimit, convention.FailureNoProgress, convention.FailureCancelled, convention.FailurePaused:
		b.because(rule, s, convention.FieldFailure)
	default:
		b.because(rule, s, convention.FieldFinish)
	}
}

func (b *assembly) ending() (slo.Outcome, string) {
	r := b.run
	if b.this.root < 0 {
		b.because("no root span came", nil, 0)
		switch r.Completion {
		case Evicted, MaxSpans, Shutdown:
			return slo.OutcomeUnknown, string(r.Completion)
		}
		return slo.Lost, "no_root"
	}
	root := &b.spans[b.lastRoot()]
	if o, why, ok := ended(root); ok {
		b.becauseEnded("the root says how it ended", root)
		return o, why
	}

	b.findTrunk()
	last, lastTool := b.lastModel(), b.lastTool()
	var model, tool *span
	if last >= 0 {
		model = b.wordOf(last)
	}
	if lastTool >= 0 {
		tool = &b.spans[lastTool]
	}
	toolAfter := tool != nil && (model == nil || tool.Start >= model.Start)

	// The end of the run's own path, if it says how it ended and nothing but
	// the root came after it.
	if tail := b.tail(); tail >= 0 && (root.Failed || !root.HasOutput) {
		if o, why, ok := ended(&b.spans[tail]); ok {
			b.becauseEnded("the last call says how it ended", &b.spans[tail])
			return o, why
		}
	}
	if p := b.lastPaused(); p != nil && (model == nil || p.Start >= model.Start) && (tool == nil || p.Start >= tool.Start) {
		field := convention.FieldFailure
		if p.ClientSide {
			field = convention.FieldClientSide
		}
		b.because("the last call waits for a person or for the caller", p, field)
		return slo.Escalated, "paused"
	}
	if no := b.lastRefusal(); no != nil && (model == nil || no.Start >= model.Start) && (tool == nil || no.Start >= tool.Start) {
		b.because("a person refused the last tool call, and nothing came after it", no, convention.FieldFailure)
		return slo.Cancelled, "aborted"
	}
	failed := root
	if !root.Failed && !root.HasOutput {
		failed = b.failedAgent(root) // a root above it may say OK, or nothing
	}
	if failed != nil && failed.Failed {
		if o, why, ok := ended(failed); ok {
			b.becauseEnded("the agent that ended the run says how", failed)
			return o, why
		}
		if o, why, ok := b.failureBelow(); ok {
			return o, why
		}
		b.because("the agent that ended the run failed", failed, convention.FieldFailure)
		if failed.Failure == convention.FailureGuardrail {
			return slo.Error, "guardrail"
		}
		return slo.Error, "error"
	}
	if root.MaxSteps > 0 && b.steps(root) >= int(root.MaxSteps) && !b.answerCalled() {
		b.because("as many steps as the root allows, and no answer tool was called", root, convention.FieldMaxSteps)
		return slo.LimitReached, "limit"
	}

	// Signs that the caller left, whatever the last model call said.
	if root.Finish == convention.FinishOther && (!root.HasOutput || b.gapAfter(root)) {
		b.because("the root ended for another reason than an answer", root, convention.FieldFinish)
		return slo.Cancelled, "other"
	}
	if toolAfter && b.unfinished(lastTool, model, root) {
		b.because("the last tool call has neither result nor failure, though others show theirs, and nothing came after it", tool, convention.FieldResult)
		return slo.Cancelled, "cut_short"
	}
	if toolAfter && b.dropped(tool, root) {
		b.because("the last tool call ended without a word on why, and nothing came after it", tool, convention.FieldFailure)
		return slo.Cancelled, "cut_short"
	}

	// Answer tools are the answer.
	for i, call := range r.Tools {
		if s := &b.spans[b.calledBy[i]]; call.Role == Answer && !call.Failed() && (model == nil || s.Start >= model.Start) {
			b.because("a tool was called that is the answer", s, convention.FieldTool)
			return b.marked(slo.Answered)
		}
	}

	if o, why, ok := worded(root); ok && (model == nil || root.Finish == convention.FinishLength || root.Finish == convention.FinishError) {
		b.because("the root says how its answer fell short", root, convention.FieldFinish)
		return o, why
	}
	switch {
	case model == nil:
		b.because("there is no model call, and the root carries an output", root, convention.FieldOutputText)
		if root.HasOutput {
			return b.marked(slo.Answered)
		}
		if gone := b.callerGone(); gone != nil {
			b.because("the caller went away, and there is no answer", gone, convention.FieldCallerGone)
			return slo.Cancelled, "caller_gone"
		}
		b.because("there is no model call, and the root carries no output", root, convention.FieldOutputText)
		return b.marked(slo.OutcomeUnknown)
	case model.Failed:
		if root.HasOutput && root.End > model.End && !root.Failed && root.Finish == convention.FinishStop {
			b.because("the last model call failed, but the root stopped with an answer after it", root, convention.FieldFinish)
			return b.marked(slo.Answered) // it answered without that call
		}
		b.because("the last model call failed", model, convention.FieldFailure)
		return slo.Error, "model_error"
	}
	if o, why, ok := worded(model); ok {
		b.because("the last model call says how its answer fell short", model, convention.FieldFinish)
		return o, why
	}

	vague := model.FinishVague && toolAfter && b.endedOn(lastTool, last)
	asks := model.Finish == convention.FinishTool || model.AsksTool || vague
	silent := says(model) == 0 && !model.HasOutput
	gone := b.callerGone()
	switch {
	case silent && !root.HasOutput && b.othersSpeak(model):
		b.because("the last model call says nothing of its end, though this emitter does: it was cut short", model, convention.FieldFinish)
		return slo.Cancelled, "cut_short"
	case gone != nil && (asks || silent):
		b.because("the caller went away, and there is no answer", gone, convention.FieldCallerGone)
		return slo.Cancelled, "caller_gone"
	case asks:
		if root.HasOutput && !toolAfter && root.Finish == convention.FinishStop {
			b.because("the root stopped with an answer", root, convention.FieldFinish)
			return b.marked(slo.Answered)
		}
		if o, why := b.marked(slo.LimitReached); o != slo.LimitReached && b.calledSince(model) {
			return o, why
		}
		return b.endingOnTool(root, model, tool, toolAfter)
	case model.Finish == convention.FinishStop:
		b.because("the last model call stopped with an answer", model, convention.FieldFinish)
	case model.HasOutput:
		b.because("the last model call's reply has text, and asks for no tool", model, convention.FieldOutputText)
	case root.HasOutput:
		b.because("the root carries an output", root, convention.FieldOutputText)
	case root.Finish == convention.FinishStop:
		b.because("the root says that it stopped", root, convention.FieldFinish)
	default:
		b.because("the last model call does not say how it ended, and neither it nor the root shows an answer", model, convention.FieldFinish)
		b.and(root, convention.FieldOutputText)
		return b.marked(slo.OutcomeUnknown)
	}
	return b.marked(slo.Answered)
}

// endingOnTool is how a run ended whose last model call asks for a tool.
func (b *assembly) endingOnTool(root, model, tool *span, toolAfter bool) (slo.Outcome, string) {
	asking := convention.FieldAsksTool
	if toolAfter && tool.Failed && root.Finish == convention.FinishNone && !root.HasOutput && !b.gaveUp(tool) {
		b.because("the last tool call failed, and nothing came after it", tool, convention.FieldFailure)
		return slo.Error, "tool_error"
	}
	if toolAfter {
		if tool.Finish == convention.FinishStop {
			b.because("the last tool ends the run, as it is meant to", tool, convention.FieldFinish)
			return b.marked(slo.Answered)
		}
		if !root.HasOutput && b.gapAfter(root) {
			b.because("the root outlives the last tool call by a clear gap, in which something never came: it was cut short", root, convention.FieldTimes)
			b.and(tool, convention.FieldTimes)
			return slo.Cancelled, "cut_short"
		}
		if model.StubAtLimit && !root.HasOutput && !b.gaveUp(tool) {
			// It would have gone on, and a limit would show.
			b.because("the run ends on a tool call without the one more model call that this emitter begins, also at a limit", tool, convention.FieldTimes)
			return slo.Cancelled, "cut_short"
		}
		if root.HasOutput && root.Finish != convention.FinishTool && model.Finish != convention.FinishTool {
			b.because("the root carries an output, and the last model call did not stop for a tool alone", root, convention.FieldOutputText)
			return b.marked(slo.Answered)
		}
		b.because("the last model call asks for a tool, the tool is done and no answer came", model, asking)
		b.and(tool, convention.FieldTool)
		return slo.LimitReached, "no_answer"
	}
	if model.AsksAnswer {
		b.because("the last model call asks for a tool that is the answer", model, asking)
		return b.marked(slo.Answered)
	}
	if root.HasOutput && root.Finish != convention.FinishTool {
		b.because("the root carries an output", root, convention.FieldOutputText)
		return b.marked(slo.Answered)
	}
	if b.gapAfter(root) {
		b.because("the last model call asks for a tool that never came, and the root outlives it by a clear gap: it was cut short", model, asking)
		b.and(root, convention.FieldTimes)
		return slo.Cancelled, "cut_short"
	}
	b.because("the last model call asks for a tool, and the run ended without calling it: it is the caller's to call", model, asking)
	return slo.Escalated, "paused"
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
			b.because("the run ends on a tool that hands it to a person", &b.spans[b.calledBy[i]], convention.FieldTool)
			return slo.Escalated, "tool"
		}
		if slo.AbstainTool(t.Name) {
			b.because("the run ends on a tool that declines", &b.spans[b.calledBy[i]], convention.FieldTool)
			return slo.Abstained, "tool"
		}
		break
	}
	if o == slo.OutcomeUnknown {
		return o, "no_evidence"
	}
	return o, ""
}

// endedOn says whether the model call asked for the tool, whatever its stop
// reason says: some emitters write "stop" for a call that asks for one, and
// begin the tool inside of it. Such a call is one reply of the model, however
// long its span goes on after the tool.
func (b *assembly) endedOn(tool, model int32) bool {
	for p := b.spans[tool].parent; b.inside(p); p = b.spans[p].parent {
		if p == model {
			return true
		}
	}
	t, m := &b.spans[tool], &b.spans[model]
	return t.Start >= m.End || t.End > m.End
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

// lastRefusal is the last refusal of a tool call by a person.
func (b *assembly) lastRefusal() (last *span) {
	for i, s := range b.trunk {
		if s.Kind == convention.Tool {
			if no := b.refused(i); no != nil {
				last = no
			}
		}
	}
	return last
}

// wordOf is the span that says how the model call ended: its own, or, where that
// says nothing, the one that wraps it.
func (b *assembly) wordOf(call int32) *span {
	s := &b.spans[call]
	for p := s; p.Finish == convention.FinishNone && !p.HasOutput && !p.AsksTool && !p.Failed && b.inside(p.parent); {
		if p = &b.spans[p.parent]; p.Kind == convention.Agent || p.Kind == convention.Tool {
			break
		}
		if p.Kind == convention.Model && (p.Finish != convention.FinishNone || p.HasOutput || p.AsksTool) {
			return p
		}
	}
	return s
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
			b.becauseEnded("a failed call on the run's own path says how it ended", s)
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
		case convention.Agent, convention.Chain, convention.Step, convention.Evaluator, convention.Note:
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

// callerGone is the root, or a span above it, that tells that the caller went
// away; nil where none does.
func (b *assembly) callerGone() *span {
	for i := b.lastRoot(); i >= 0; i = b.spans[i].parent {
		if b.spans[i].CallerGone {
			return &b.spans[i]
		}
	}
	return nil
}

// callerLeft is when the caller went away: the end of the first span above the
// root that tells so, for a server's span of a request ends when its client
// closes it; else the end of a root that was cancelled. And it is when a server
// above the root gave up waiting. 0 not said.
func (b *assembly) callerLeft() (at, timedOut uint64) {
	earlier := func(than *uint64, s *span) {
		if s.timed() && (*than == 0 || s.End < *than) {
			*than = s.End
		}
	}
	for i := b.lastRoot(); i >= 0; i = b.spans[i].parent {
		s := &b.spans[i]
		if s.CallerGone {
			earlier(&at, s)
		}
		if s.TimedOut {
			earlier(&timedOut, s)
		}
	}
	if at == 0 && b.run.Outcome == slo.Cancelled && b.this.root >= 0 {
		if root := &b.spans[b.lastRoot()]; root.timed() {
			at = root.End
		}
	}
	return at, timedOut
}
