package convention

import (
	"math/bits"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Extractor reads spans and log records. It is read-only after [New] and safe
// for concurrent use.
type Extractor struct {
	// Names are the attributes that files ask for: dimensions, match, run keys
	// and CEL. Facts.Attributes refers to them by index.
	Names []string

	// Likeness: also say what tool calls have in common that are not the same to
	// the letter; Facts.Like has failures alone otherwise.
	Likeness bool
	// Searches says which tools answer questions in words by what they find; nil
	// says none.
	Searches func(tool string) bool

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
	r.likeness, r.searches, r.start = x.Likeness, x.Searches, uint64(s.StartTimestamp())

	f.SpanID, f.ParentID = s.SpanID(), s.ParentSpanID()
	f.Start, f.End = uint64(s.StartTimestamp()), uint64(s.EndTimestamp())
	f.SpanName = r.name
	if flags := s.Flags(); flags&flagHasIsRemote != 0 && !f.ParentID.IsEmpty() {
		f.ParentLocal, r.remote = flags&flagIsRemote == 0, flags&flagIsRemote != 0
	}

	x.attributes(f, r, s.Attributes())

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

// attributes puts the values of all keys that somebody knows into their slots.
func (x *Extractor) attributes(f *Facts, r *reading, m pcommon.Map) {
	if r.route.table != x.keys {
		r.route.reset(x.keys)
	}
	at := int32(0)
	for k, v := range m.All() {
		at = r.route.after(at, k)
		step := &r.route.steps[at]
		e, family := step.entry, step.family
		if at == 0 { // not learnt
			e, family = nil, x.keys.familyOf(k)
		}
		if e == nil {
			if family != nil {
				family.read(r, k[len(family.text):], v)
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
		storeEvent(r, e)
		claudeEvent(r, f, e)
	}
	f.foundDocuments(r)
	if f.Kind == Tool {
		if r.hasArgs && !f.HasArgs && !redacted(r.args) {
			c := canonicalText(r.args)
			f.HasArgs, f.ArgsHash, f.ArgsEmpty, f.argsText = true, c.hash, c.empty, r.args
			f.likeArgs(r.args)
		}
		if r.hasResult && !f.HasResult && !redacted(r.result) {
			f.takeResult(canonicalText(r.result))
			f.likeResult(r.result)
		}
	}
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
	if f.Fault != NoFault && (f.Failure != FailureError || f.Class != Transient) {
		f.Fault = NoFault
	}
	if f.Failure == FailureSchema && f.Kind == Tool {
		f.Failure = FailureError // what it says is about its own work
	}
	if v, ok := r.get(slotResumed); ok {
		f.Point = Resumed
		if v.Str() == "checkpoint" || r.text(slotResumedFrom) != "" {
			f.Point = ResumedAt
		}
	} else if r.text(slotResumedFrom) != "" {
		f.Point = ResumedAt
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
