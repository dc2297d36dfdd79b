package convention

import (
	"math/bits"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Extractor reads spans and log records. It is read-only after [New] and safe
// for concurrent use.
type Extractor struct {
	// Names are the attributes that files ask for: dimensions, match, run keys
	// and CEL. Facts.Attributes refers to them by index.
	Names []string

	keys *table
}

// New returns an extractor that also keeps the values of the named attributes.
func New(names ...string) *Extractor {
	return &Extractor{Names: names, keys: newTable(names)}
}

// Resource is what a resource says, read once a batch.
type Resource struct {
	Service, Environment string // service.name; deployment.environment.name or its older name
	Attributes           []Attribute
}

// Resource reads a resource.
func (x *Extractor) Resource(r pcommon.Resource) Resource {
	var out Resource
	for k, v := range r.Attributes().All() {
		switch k {
		case "service.name":
			out.Service = v.AsString()
		case "deployment.environment.name":
			out.Environment = v.AsString()
		case "deployment.environment":
			if out.Environment == "" {
				out.Environment = v.AsString()
			}
		}
		if e := x.keys.find(k); e != nil && e.name >= 0 {
			out.Attributes = append(out.Attributes, Attribute{int(e.name), v.AsString()})
		}
	}
	return out
}

const (
	flagHasIsRemote = 0x100
	flagIsRemote    = 0x200
)

// Span reads one span into f, which it resets first. scope is the name of the
// span's instrumentation scope. The span is not changed. It does not allocate
// once f has been used for some spans, unless the span failed, or its captured
// attributes are no strings.
func (x *Extractor) Span(f *Facts, scope pcommon.InstrumentationScope, s ptrace.Span) {
	f.Reset()
	r := f.reading
	if r == nil {
		r = &reading{}
		f.reading = r
	}
	r.reset()
	r.scope = r.scopes.find(scope.Name())
	r.name = s.Name()

	f.SpanID, f.ParentID = s.SpanID(), s.ParentSpanID()
	f.Start, f.End = uint64(s.StartTimestamp()), uint64(s.EndTimestamp())
	f.SpanName = r.name
	if flags := s.Flags(); flags&flagHasIsRemote != 0 && !f.ParentID.IsEmpty() {
		f.ParentLocal, r.remote = flags&flagIsRemote == 0, flags&flagIsRemote != 0
	}

	for k, v := range s.Attributes().All() {
		e := x.keys.find(k)
		if e == nil {
			if p, rest := x.keys.prefixed(k); p != nil {
				p.read(r, rest, v)
			}
			continue
		}
		if e.name >= 0 {
			f.Attributes = append(f.Attributes, Attribute{int(e.name), v.AsString()})
		}
		if e.slot != noSlot {
			r.put(e, v)
		}
	}

	f.kind(r, x.keys)
	f.names(r)
	switch f.Kind {
	case Model:
		f.readModel(r)
	case Tool, Retrieval:
		f.readTool(r)
	case Agent, Step, Chain:
		f.readUsage(r)
	}
	if s.Events().Len() > 0 {
		f.events(r, s)
	}
	f.status(r, s)
	for m := r.seen | r.scope.emits; m != 0; m &= m - 1 {
		if read := vocabularies[bits.TrailingZeros32(m)].read; read != nil {
			read(r, f, s)
		}
	}
	f.settle(r, s)
}

// kind finds the span's own vocabulary and what the span is.
func (f *Facts) kind(r *reading, keys *table) {
	if r.mask[slotSpanType] != 0 && r.text(slotSpanType) == "pending_span" {
		f.Kind, f.Convention = Ignore, pydanticAIVocabulary.name
		return
	}
	said := false // a kind word that nobody knows
	for m := r.mask[slotKind]; m != 0; m &= m - 1 {
		id := vocabularyID(bits.TrailingZeros32(m))
		v := vocabularies[id]
		word := r.value[id][slotKind].Str()
		var k Kind
		if v.kind != nil {
			k = v.kind(r, word)
		} else {
			k = keys.kinds[id].find(word)
		}
		if k == Other {
			said = said || id == openInference || id == otelGenAI
			continue
		}
		f.Kind, f.Convention, r.own = k, v.name, 1<<id
		break
	}
	accents := (r.seen | r.scope.emits) & emitters
	if f.Kind == Other {
		// By name, for spans of a vocabulary's scope or with its keys.
		for m := r.seen | r.scope.emits; m != 0; m &= m - 1 {
			id := bits.TrailingZeros32(m)
			v := vocabularies[id]
			if v.named == nil {
				continue
			}
			if k := v.named(r.name, r.scope.emits&(1<<id) != 0); k != Other {
				f.Kind, f.Convention, r.own = k, v.name, 1<<id
				break
			}
		}
	}
	switch {
	case f.Kind != Other:
		// The transport of a model's work is not the work, whatever the
		// application's baggage puts on it.
		if (r.mask[slotHTTPMethod]|r.mask[slotMessaging]) != 0 && !r.scope.known {
			f.Kind, f.Convention = Other, ""
			return
		}
		if accents != 0 {
			f.Convention = vocabularies[bits.TrailingZeros32(accents)].name
		}
	case said && strings.EqualFold(r.text(slotKind), "unknown"):
		f.Kind, f.Convention = Step, vocabularies[otelGenAI].name
	case said, r.scope.known:
		f.Kind = Unrecognised
	case r.bare():
		f.Tentative = adkKind(r.name, false)
		if f.Tentative != Other {
			f.TentativeOf = googleADKVocabulary.name
			if f.Tentative == Tool {
				f.ToolName = strings.TrimPrefix(r.name, "execute_tool ")
			}
		}
	}
}

// names reads what any span may say of agent, workflow and run.
func (f *Facts) names(r *reading) {
	f.AgentName = r.text(slotAgentName)
	f.WorkflowName = r.text(slotWorkflowName)
	f.RunID = r.text(slotRunID)
	f.Placeholder = placeholder(f.AgentName) || f.AgentName == "" && placeholder(f.WorkflowName)
	if v, ok := r.get(slotNested); ok && f.Kind == Agent {
		f.Nested = truth(v)
	}
}

// Placeholder says whether a name is what an emitter writes when nobody gave
// the agent one: no name while there is a better one.
func Placeholder(name string) bool { return placeholder(name) }

func placeholder(name string) bool {
	switch len(name) {
	case len("agent"):
		return strings.EqualFold(name, "agent")
	case len("OpenAI Agent"):
		return strings.EqualFold(name, "OpenAI Agent")
	case len("Agent Workflow"):
		return strings.EqualFold(name, "Agent Workflow")
	}
	return false
}

// readUsage takes all counts from one vocabulary: the span's own if it has any.
func (f *Facts) readUsage(r *reading) {
	f.readCost(r)
	m := r.mask[slotInput] | r.mask[slotOutput]
	if m == 0 {
		return
	}
	if m&r.own != 0 {
		m = r.own
	} else if m &^= private; m == 0 {
		return
	}
	id := vocabularyID(bits.TrailingZeros32(m))
	get := func(s slot) int64 {
		if v, ok := r.from(id, s); ok {
			return count(v)
		}
		return Unknown
	}
	u := &f.Usage
	u.Input, u.Output = get(slotInput), get(slotOutput)
	u.CachedInput, u.CacheWrite, u.Reasoning = get(slotCacheRead), get(slotCacheWrite), get(slotReasoning)
	total := get(slotTotal)
	if id == otelGenAI || id == vercel {
		// Details that another vocabulary adds to the same counts.
		if u.CachedInput == Unknown {
			u.CachedInput = r.count(slotCacheRead)
		}
		if u.Reasoning == Unknown {
			u.Reasoning = r.count(slotReasoning)
		}
	}
	r.proved = u.include(total)
	if r.scope.exclusive && !r.proved {
		// Input leaves out cached tokens; without their number it is not known.
		if u.CachedInput == Unknown && u.CacheWrite == Unknown {
			u.Input = Unknown
		} else if u.Input != Unknown {
			u.Input += max(u.CachedInput, 0) + max(u.CacheWrite, 0)
		}
	}
}

// include adds cached input and reasoning where the counts themselves prove
// that input and output leave them out. It reports whether it did so to input.
func (u *Usage) include(total int64) bool {
	cached := max(u.CachedInput, 0) + max(u.CacheWrite, 0)
	proved := u.Input != Unknown && cached > u.Input
	if proved {
		u.Input += cached
	}
	if u.Output != Unknown && u.Reasoning > 0 &&
		(u.Reasoning > u.Output || total != Unknown && u.Input != Unknown && total == u.Input+u.Output+u.Reasoning) {
		u.Output += u.Reasoning
	}
	return proved
}

// maxUSD bounds a cost in USD: what is above is no cost of one span.
const maxUSD = 1e7

func (f *Facts) readCost(r *reading) {
	if r.mask[slotCost]|r.mask[slotCostJSON]|r.mask[slotCostInput]|r.mask[slotCostOutput] == 0 {
		return
	}
	if r.has(slotCost) {
		if c := r.text(slotCostCurrency); c == "" || strings.EqualFold(c, "USD") {
			f.CostUSD = r.positive(slotCost, maxUSD)
		}
		return
	}
	if raw := r.text(slotCostJSON); raw != "" {
		for _, key := range [...]string{"total", "total_cost"} {
			if v := member(raw, key); v != "" {
				f.CostUSD = positiveText(v, maxUSD)
				return
			}
		}
	}
	in, out := r.positive(slotCostInput, maxUSD), r.positive(slotCostOutput, maxUSD)
	f.CostUSD = in + out // NaN unless both are known
}

func (f *Facts) readModel(r *reading) {
	f.ModelName = r.text(slotModel)
	f.ResponseID = identity(r.text(slotResponseID))
	f.readUsage(r)
	if v, ok := r.get(slotFinish); ok {
		f.Finish = finishOf(v)
	}
	if f.Finish == FinishNone {
		f.Finish = r.finish // of numbered keys
	}
	f.readFirstToken(r)
	if !r.replySeen {
		if v, ok := r.get(slotReply); ok {
			r.reply(v)
		} else if v, ok := r.get(slotResult); ok {
			r.reply(v)
		}
		if v, ok := r.get(slotToolCalls); ok && v.Type() == pcommon.ValueTypeStr && !hollow(v.Str()) && !redacted(v.Str()) {
			r.replyFrom(v.Str())
		}
	}
	f.readOffered(r)
}

func (f *Facts) readOffered(r *reading) {
	if r.offered || r.replyCalls || f.Finish == FinishTool {
		f.ToolsOffered = 2
		return
	}
	if v, ok := r.get(slotTools); ok {
		f.ToolsOffered = max(f.ToolsOffered, 1)
		switch v.Type() {
		case pcommon.ValueTypeStr:
			if !hollow(v.Str()) && !redacted(v.Str()) {
				f.ToolsOffered = 2
			}
		case pcommon.ValueTypeSlice:
			if v.Slice().Len() > 0 {
				f.ToolsOffered = 2
			}
		}
	}
	if f.ToolsOffered == 0 {
		if v, ok := r.get(slotRequest); ok {
			f.ToolsOffered = toolsIn(v.Str())
		}
	}
}

// maxFirstToken bounds the time to the first token, in seconds.
const maxFirstToken = 24 * 3600

func (f *Facts) readFirstToken(r *reading) {
	switch {
	case r.has(slotFirstToken):
		f.FirstToken = r.positive(slotFirstToken, maxFirstToken)
	case r.has(slotFirstTokenMillis):
		f.FirstToken = r.positive(slotFirstTokenMillis, maxFirstToken*1000) / 1000
	case r.has(slotFirstTokenTime):
		if t := point(r.text(slotFirstTokenTime)); t >= f.Start && t <= f.End {
			f.FirstToken = float64(t-f.Start) / 1e9
		}
	}
}

func (f *Facts) readTool(r *reading) {
	f.ToolName = r.text(slotToolName)
	f.CallID = identity(r.text(slotCallID))
	if v, ok := r.get(slotArgs); ok {
		f.setArgs(v)
	}
	if v, ok := r.get(slotResult); ok {
		f.setResult(v)
	}
}

func (f *Facts) setArgs(v value) {
	if v.Type() == pcommon.ValueTypeStr && redacted(v.Str()) {
		return
	}
	c := canonicalValue(v)
	f.HasArgs, f.ArgsHash, f.ArgsEmpty = true, c.hash, c.empty
}

func (f *Facts) setResult(v value) {
	if v.Type() == pcommon.ValueTypeStr && redacted(v.Str()) {
		return
	}
	f.takeResult(canonicalValue(v))
}

func (f *Facts) takeResult(c canonical) {
	f.HasResult, f.ResultHash, f.ResultEmpty = true, c.hash, c.empty
	if c.error {
		f.fail("")
	}
}

// events reads the span's events by whoever knows them.
func (f *Facts) events(r *reading, s ptrace.Span) {
	events := s.Events()
	for i := range events.Len() {
		e := events.At(i)
		if e.Name() == "exception" {
			continue // read with the status
		}
		if f.evaluationEvent(s, e) {
			continue
		}
		otelEvent(r, f, e)
		vercelEvent(r, f, e)
		traceloopEvent(r, f, e)
	}
	if f.Kind == Tool {
		if r.hasArgs && !f.HasArgs && !redacted(r.args) {
			c := canonicalText(r.args)
			f.HasArgs, f.ArgsHash, f.ArgsEmpty = true, c.hash, c.empty
		}
		if r.hasResult && !f.HasResult && !redacted(r.result) {
			f.takeResult(canonicalText(r.result))
		}
	}
}

// status reads status, exceptions and error text.
func (f *Facts) status(r *reading, s ptrace.Span) {
	status := s.Status()
	failed := status.Code() == ptrace.StatusCodeError
	if f.Kind == Other || f.Kind == Ignore {
		f.CallerGone = f.callerLeft(r, s, failed)
		return
	}
	kind, ok := r.get(slotErrorType)
	if ok && failed == false && status.Code() != ptrace.StatusCodeOk {
		failed = kind.Type() != pcommon.ValueTypeStr || kind.Str() != ""
	}
	if r.has(slotLevel) && strings.EqualFold(r.text(slotLevel), "ERROR") {
		failed = true
	}
	if !failed && s.Events().Len() == 0 {
		return
	}
	if failed {
		f.Failed, f.Failure = true, max(f.Failure, FailureError)
	}
	// Types are more exact than prose: error.type, the exceptions' types, then
	// the texts.
	if failed && ok {
		if kind.Type() == pcommon.ValueTypeStr {
			f.blame(kind.Str())
		} else {
			f.blame(kind.AsString())
		}
	}
	events := s.Events()
	told := "" // exceptions and the status often say the same
	for i := range events.Len() {
		e := events.At(i)
		if e.Name() != "exception" {
			continue
		}
		typ, message := mapText(e.Attributes(), "exception.type"), mapText(e.Attributes(), "exception.message")
		if failed {
			f.blame(typ)
			f.blame(message)
			told = message
		} else {
			// Recorded and handled, and yet it says how the run went.
			f.admit(typ)
			f.admit(message)
		}
	}
	if failed {
		if text := status.Message(); text != told {
			f.blame(text)
			told = text
		}
		if text := r.text(slotErrorText); text != told {
			f.blame(text)
		}
		if f.Class == ClassNone {
			f.Class = Unclassified
		}
	}
}

// callerLeft says whether a span that is no agent's work shows that the caller
// went away.
func (f *Facts) callerLeft(r *reading, s ptrace.Span, failed bool) bool {
	if r.mask[slotHTTPStatus] != 0 && r.count(slotHTTPStatus) == 499 {
		return true
	}
	server := s.Kind() == ptrace.SpanKindServer
	if r.mask[slotRPCStatus] != 0 && server {
		if v, _ := r.get(slotRPCStatus); count(v) == 1 || strings.EqualFold(v.Str(), "CANCELLED") {
			return true
		}
	}
	if !failed && r.mask[slotErrorType] == 0 {
		return false
	}
	if kind := r.text(slotErrorType); kind == "499" || callerGone(kind) {
		return true
	}
	if !server {
		return false
	}
	if callerGone(s.Status().Message()) {
		return true
	}
	events := s.Events()
	for i := range events.Len() {
		if e := events.At(i); e.Name() == "exception" &&
			(callerGone(mapText(e.Attributes(), "exception.type")) || callerGone(mapText(e.Attributes(), "exception.message"))) {
			return true
		}
	}
	return false
}

// settle draws together what table, events and readers gave.
func (f *Facts) settle(r *reading, s ptrace.Span) {
	switch f.Kind {
	case Model:
		if r.finish != FinishNone && (f.Finish == FinishNone || f.Finish == FinishOther) {
			f.Finish = r.finish
		}
		f.AsksTool = f.AsksTool || r.replyCalls || f.Finish == FinishTool
		f.HasOutput = f.HasOutput || r.replyText
		if f.AsksTool && f.Finish == FinishStop && r.replyCalls {
			f.Finish = FinishTool
		}
		f.Asked = append(f.Asked, r.asked...)
		if r.firstToken >= f.Start && r.firstToken <= f.End && f.FirstToken != f.FirstToken {
			f.FirstToken = float64(r.firstToken-f.Start) / 1e9
		}
		if f.Finish == FinishError && !f.Failed {
			f.fail("")
		}
	case Agent, Chain:
		if v, ok := r.get(slotReply); ok && !r.replySeen {
			r.reply(v)
		}
		if f.Finish == FinishNone {
			if v, ok := r.get(slotFinish); ok {
				f.Finish = finishOf(v)
			}
		}
		if f.Finish == FinishNone || f.Finish == FinishOther {
			f.setFinish(r.finish)
		}
		f.readAnswer(r)
		if f.Kind == Agent {
			f.readOffered(r)
		}
	case Retrieval:
		if f.ToolName == "" {
			f.ToolName = r.name
		}
		if f.Documents == Unknown {
			f.Documents = r.documents
		}
		if f.Documents == Unknown {
			if v, ok := r.get(slotDocuments); ok {
				f.Documents = documentCount(v)
			}
		}
	}
	if r.mask[slotMethod] != 0 && r.text(slotMethod) == "elicitation/create" {
		f.WaitsForPerson = true
	}
	if len(r.evaluations) > 0 || r.mask[slotFeedback] != 0 {
		r.evaluate(f, s)
	}
	switch f.Failure {
	case failureControl:
		f.Failed, f.Class, f.Failure = false, ClassNone, FailureNone
	case FailurePaused:
		f.Failed, f.Class = false, ClassNone
	case FailureLimit, FailureNoProgress, FailureCancelled, FailureGuardrail:
		if f.Failed {
			f.Class = Unclassified // whatever code went with it
		}
	}
}

func documentCount(v value) int64 {
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		return int64(v.Slice().Len())
	case pcommon.ValueTypeStr:
		return documentsIn(v.Str())
	}
	return Unknown
}

// readAnswer says whether a root carries an answer.
func (f *Facts) readAnswer(r *reading) {
	f.HasOutput = false
	// Chains are many and their outputs long: one that is below another span of
	// its process is no root.
	if f.Kind == Chain && !f.ParentID.IsEmpty() && !r.remote {
		return
	}
	if f.Failed || f.Failure == FailureCancelled || f.Failure == FailurePaused {
		return
	}
	switch f.Finish {
	case FinishTool, FinishCancelled, FinishLimit, FinishNoProgress, FinishHuman, FinishError:
		return
	}
	switch {
	case r.hasAnswer:
		f.HasOutput = r.replyText
	case r.mask[slotReply] != 0:
		f.HasOutput = r.replyText
	default:
		if v, ok := r.get(slotResult); ok {
			f.HasOutput = answers(v)
		}
	}
}

func (f *Facts) setFinish(finish Finish) {
	if finish != FinishNone {
		f.Finish = finish
	}
}

// Log reads one log record into f, which it resets first. It reports false if
// the record says nothing of a run. The record's trace and span id are the
// caller's to read: where an evaluation has no target of its own, they name it.
func (x *Extractor) Log(f *Facts, scope pcommon.InstrumentationScope, r plog.LogRecord) bool {
	f.Reset()
	name := r.EventName()
	if name == "" {
		name = mapText(r.Attributes(), "event.name")
	}
	switch name {
	case "gen_ai.evaluation.result":
		return x.logEvaluation(f, r)
	case "gen_ai.agent.paused":
		f.Convention, f.Failure, f.Finish = otelGenAIVocabulary.name, FailurePaused, FinishHuman
	case "gemini_cli.agent.finish":
		f.Convention, f.Finish = geminiCLIVocabulary.name, finishWord(mapText(r.Attributes(), "terminate_reason"))
	default:
		return false
	}
	x.logFacts(f, r)
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
	f.SpanID = r.SpanID()
	if f.Start = uint64(r.Timestamp()); f.Start == 0 {
		f.Start = uint64(r.ObservedTimestamp())
	}
	f.End = f.Start
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
