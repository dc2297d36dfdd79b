package convention

import (
	"encoding/binary"
	"strings"

	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// Log reads one log record into f, which it resets first. It reports false if
// the record says nothing of a run. What is no evaluation is a [Note] to a span,
// or stands for a span of its own (a call that the emitter only logs). The
// record's trace is the caller's to read.
func (x *Extractor) Log(f *Facts, scope pcommon.InstrumentationScope, r plog.LogRecord) bool {
	f.Reset()
	if f.reading == nil {
		f.reading = &reading{}
	}
	f.reading.reset() // of the span that was read before
	f.reading.likeness, f.reading.searches = x.Likeness, x.Searches
	if f.Start = uint64(r.Timestamp()); f.Start == 0 {
		f.Start = uint64(r.ObservedTimestamp())
	}
	f.reading.start = f.Start
	name := r.EventName()
	if name == "" {
		name = mapText(r.Attributes(), "event.name")
	}
	if name == "gen_ai.evaluation.result" {
		return x.logEvaluation(f, r)
	}
	if r.TraceID().IsEmpty() || r.SpanID().IsEmpty() {
		return false // nobody knows of which run
	}
	f.ParentID, f.Kind, f.Convention = r.SpanID(), Note, otelGenAIVocabulary.name
	switch name {
	case "gen_ai.agent.paused":
		f.Failure, f.Finish = FailurePaused, FinishHuman
	case "gen_ai.agent.checkpointed":
		f.Point = Checkpoint
	case "gen_ai.agent.resumed":
		f.Point = Resumed
		if mapText(r.Attributes(), "gen_ai.agent.resumed_from.type") == "checkpoint" || mapText(r.Attributes(), "gen_ai.agent.checkpoint.id") != "" {
			f.Point = ResumedAt
		}
	case "gen_ai.client.inference.operation.details":
		f.details(r.Attributes())
	case "gen_ai.choice":
		f.choice(r)
	case "gemini_cli.agent.finish":
		f.Convention, f.Finish = geminiCLIVocabulary.name, finishWord(mapText(r.Attributes(), "terminate_reason"))
	default:
		switch {
		case strings.HasPrefix(scope.Name(), "com.anthropic.claude_code"):
			if !f.claudeLog(name, r) {
				return false
			}
		case strings.HasPrefix(name, "codex."):
			if !f.codexLog(name, r) {
				return false
			}
		case r.Body().Type() != pcommon.ValueTypeMap || !f.bodies(r.Body().Map()):
			return false
		}
	}
	x.logFacts(f, r)
	f.SpanID = recordID(name, r, f)
	return true
}

// recordID makes an id for what a log record tells, so that a record that is
// sent again is known.
func recordID(name string, r plog.LogRecord, f *Facts) (id pcommon.SpanID) {
	var d xxhash.Digest
	d.Reset()
	span := r.SpanID()
	_, _ = d.Write(span[:])
	_, _ = d.WriteString(name)
	binary.LittleEndian.PutUint64(id[:], mix(d.Sum64()^f.Start, f.CallID^f.ResponseID^f.ArgsHash)|1)
	return id
}

// spoken takes a reply that was read.
func (f *Facts) spoken(r *reading) {
	f.Finish, f.HasOutput, f.AsksTool = r.finish, r.replyText, r.replyCalls || r.finish == FinishTool
	if r.replyCalls && f.Finish == FinishStop {
		f.Finish = FinishTool
	}
	f.Asked = append(f.Asked, r.asked...)
}

// details reads the event in which content stands where it is kept off spans.
func (f *Facts) details(a pcommon.Map) {
	var r reading
	if v, ok := a.Get("gen_ai.output.messages"); ok {
		r.reply(v)
	}
	if v, ok := a.Get("gen_ai.response.finish_reasons"); ok && r.finish == FinishNone {
		r.finish = finishOf(v)
	}
	f.spoken(&r)
	if _, ok := a.Get("gen_ai.tool.definitions"); ok || f.AsksTool {
		f.ToolsOffered = 2
	}
	if v, ok := a.Get("gen_ai.tool.call.arguments"); ok {
		f.setArgs(v)
	}
	if v, ok := a.Get("gen_ai.tool.call.result"); ok {
		f.setResult(v)
	}
}

// choice reads a model's choice as the first conventions logged it.
func (f *Facts) choice(record plog.LogRecord) {
	var r reading
	for _, m := range [...]pcommon.Value{record.Body(), mapValue(record.Attributes())} {
		if m.Type() != pcommon.ValueTypeMap {
			continue
		}
		if v, ok := m.Map().Get("finish_reason"); ok && r.finish == FinishNone {
			r.finish = finishOf(v)
		}
		for _, key := range [...]string{"message", "content", "tool_calls"} {
			if v, ok := m.Map().Get(key); ok {
				r.reply(v)
			}
		}
	}
	f.spoken(&r)
}

func mapValue(m pcommon.Map) pcommon.Value {
	v := pcommon.NewValueMap()
	m.CopyTo(v.Map())
	return v
}

// bodies reads the log record that AWS's distribution moves the content of a
// span into: {"input": {"messages": […]}, "output": {"messages": […]}}.
func (f *Facts) bodies(body pcommon.Map) bool {
	messages := func(side string) (pcommon.Value, bool) {
		v, ok := body.Get(side)
		if !ok || v.Type() != pcommon.ValueTypeMap {
			return v, false
		}
		v, ok = v.Map().Get("messages")
		return v, ok && v.Type() == pcommon.ValueTypeSlice && v.Slice().Len() > 0
	}
	in, hasIn := messages("input")
	out, hasOut := messages("output")
	if !hasIn && !hasOut {
		return false
	}
	if hasIn {
		f.setArgs(content(in.Slice().At(in.Slice().Len() - 1)))
	}
	if !hasOut {
		return true
	}
	var r reading
	last := content(out.Slice().At(out.Slice().Len() - 1))
	if last.Type() == pcommon.ValueTypeMap { // Strands: the message and its stop reason
		if v, ok := last.Map().Get("finish_reason"); ok {
			r.finish = finishOf(v)
		}
		if v, ok := last.Map().Get("message"); ok {
			last = v
		}
	}
	r.reply(last)
	f.spoken(&r)
	f.setResult(last)
	return true
}

// content is what a message says.
func content(message pcommon.Value) pcommon.Value {
	if message.Type() == pcommon.ValueTypeMap {
		if v, ok := message.Map().Get("content"); ok {
			return v
		}
	}
	return message
}

// claudeLog reads what Claude Code only logs: what a request cost, and what a
// tool was called with.
func (f *Facts) claudeLog(name string, r plog.LogRecord) bool {
	f.Convention = claudeCodeVocabulary.name
	a := r.Attributes()
	switch strings.TrimPrefix(name, "claude_code.") {
	case "api_request":
		if v, ok := a.Get("cost_usd"); ok {
			if x := number(v); x >= 0 && x <= maxUSD {
				f.CostUSD = x
			}
		}
		f.ResponseID = identity(mapText(a, "request_id"))
		return f.ResponseID != 0 && f.CostUSD == f.CostUSD
	case "tool_result":
		f.CallID = identity(mapText(a, "tool_use_id"))
		if v, ok := a.Get("tool_input"); ok {
			f.setArgs(v)
		}
		if v, ok := a.Get("success"); ok && !truth(v) {
			f.fail(mapText(a, "error"))
		}
		return f.CallID != 0
	}
	return false
}

// codexLog reads Codex's calls, which are no spans: each is made one.
func (f *Facts) codexLog(name string, r plog.LogRecord) bool {
	f.Convention = codexVocabulary.name
	a := r.Attributes()
	switch name {
	case "codex.tool_result":
		f.Kind, f.ToolName, f.CallID = Tool, mapText(a, "tool_name"), identity(mapText(a, "call_id"))
		if v, ok := a.Get("arguments"); ok {
			f.reading.args, f.reading.hasArgs = v.AsString(), true
			f.setArgs(v)
		}
		if v, ok := a.Get("output"); ok {
			f.setResult(v)
		}
		if v, ok := a.Get("success"); ok && !truth(v) {
			f.fail(mapText(a, "output"))
		}
	case "codex.sse_event":
		if mapText(a, "event.kind") != "response.completed" && mapText(a, "kind") != "response.completed" {
			return false
		}
		f.Kind, f.ModelName = Model, mapText(a, "model")
		for key, to := range map[string]*int64{"input_token_count": &f.Usage.Input, "cached_token_count": &f.Usage.CachedInput,
			"output_token_count": &f.Usage.Output, "reasoning_token_count": &f.Usage.Reasoning} {
			if v, ok := a.Get(key); ok {
				*to = count(v)
			}
		}
	default:
		return false
	}
	return true
}

func (x *Extractor) logEvaluation(f *Facts, r plog.LogRecord) bool {
	a := r.Attributes()
	if a.Len() == 0 && r.Body().Type() == pcommon.ValueTypeMap {
		a = r.Body().Map() // forwarded by a log store
	}
	e := evaluationResult(a)
	if e.Time = uint64(r.Timestamp()); e.Time == 0 {
		e.Time = uint64(r.ObservedTimestamp())
	}
	e.TargetTrace, e.TargetSpan = r.TraceID(), r.SpanID()
	f.Kind, f.Convention = Evaluator, otelGenAIVocabulary.name
	f.Evaluations = append(f.Evaluations, e)
	x.logFacts(f, r)
	return true
}

func (x *Extractor) logFacts(f *Facts, r plog.LogRecord) {
	if f.Start = uint64(r.Timestamp()); f.Start == 0 {
		f.Start = uint64(r.ObservedTimestamp())
	}
	f.End = f.Start
	if v, ok := r.Attributes().Get("duration_ms"); ok && f.Kind != Note { // told when it was over
		if ms := number(v); ms > 0 && ms < 24*3600e3 && uint64(ms*1e6) < f.Start {
			f.Start -= uint64(ms * 1e6)
		}
	}
	for k, v := range r.Attributes().All() {
		if e := x.keys.find(k); e != nil {
			if e.name >= 0 {
				f.Attributes = append(f.Attributes, Attribute{int(e.name), v.AsString()})
			}
			if e.slot == slotRunID && f.RunID == "" && e.vocabulary != geminiCLI {
				f.RunID = v.Str()
			}
		}
	}
}

// Supplement adds what a log record tells of the span, where the span itself
// says nothing.
func (f *Facts) Supplement(n *Facts) {
	if f.Failure == FailureNone {
		f.Failure = n.Failure
	}
	if f.Kind == Tool || f.Kind == Retrieval {
		if !f.HasArgs {
			f.HasArgs, f.ArgsHash, f.ArgsEmpty = n.HasArgs, n.ArgsHash, n.ArgsEmpty
			f.Like.Same, f.Like.Args, f.Like.Ask, f.Like.Words = n.Like.Same, n.Like.Args, n.Like.Ask, n.Like.Words
			f.Findings = append(f.Findings[:0], n.Findings...)
		}
		if !f.HasResult {
			f.HasResult, f.ResultHash, f.ResultEmpty = n.HasResult, n.ResultHash, n.ResultEmpty
			f.Like.Result, f.Like.Substance = n.Like.Result, n.Like.Substance
		}
		if !f.Failed && n.Failed {
			f.Failed, f.Class, f.Like.Error = true, n.Class, n.Like.Error
		}
		return
	}
	if f.Finish == FinishNone {
		f.Finish = n.Finish
	}
	if f.CostUSD != f.CostUSD {
		f.CostUSD = n.CostUSD
	}
	f.HasOutput = f.HasOutput || n.HasOutput && !(f.Kind != Model && n.AsksTool)
	f.AsksTool = f.AsksTool || n.AsksTool
	f.AsksAnswer = f.AsksAnswer || n.AsksAnswer
	f.AskedCount = max(f.AskedCount, n.AskedCount)
	f.ToolsOffered = max(f.ToolsOffered, n.ToolsOffered)
}
