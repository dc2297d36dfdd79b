package convention

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Where a fact comes from is not noted while spans are read, which happens to
// every span, but found out for the few that somebody asks about: what a span
// says without one of its attributes, and no longer says, that attribute said.

// Field is one fact of a span, or a few that are read together.
type Field uint8

const (
	FieldKind Field = iota
	FieldAgent
	FieldWorkflow
	FieldSpanName
	FieldRunID
	FieldModel
	FieldResponse
	FieldInput
	FieldCachedInput
	FieldCacheWrite
	FieldOutput
	FieldReasoning
	FieldCost
	FieldFirstToken
	FieldFinish
	FieldOutputText // that there is an answer or a reply with text
	FieldAsksTool
	FieldToolsOffered
	FieldTool
	FieldCallID
	FieldArgs
	FieldResult
	FieldFailure
	FieldDocuments
	FieldClientSide
	FieldWait
	FieldCallerGone
	FieldMaxSteps
	FieldMessages // results of tool calls among the messages
	FieldTimes
	FieldEvaluations
)

// fieldReaders give a field's value, comparable.
var fieldReaders = [...]func(f *Facts) any{
	FieldKind:         func(f *Facts) any { return [...]Kind{f.Kind, f.Tentative} },
	FieldAgent:        func(f *Facts) any { return f.AgentName },
	FieldWorkflow:     func(f *Facts) any { return f.WorkflowName },
	FieldSpanName:     func(f *Facts) any { return f.SpanName },
	FieldRunID:        func(f *Facts) any { return f.RunID },
	FieldModel:        func(f *Facts) any { return f.ModelName },
	FieldResponse:     func(f *Facts) any { return f.ResponseID },
	FieldInput:        func(f *Facts) any { return f.Usage.Input },
	FieldCachedInput:  func(f *Facts) any { return f.Usage.CachedInput },
	FieldCacheWrite:   func(f *Facts) any { return f.Usage.CacheWrite },
	FieldOutput:       func(f *Facts) any { return f.Usage.Output },
	FieldReasoning:    func(f *Facts) any { return f.Usage.Reasoning },
	FieldCost:         func(f *Facts) any { return math.Float64bits(f.CostUSD) },
	FieldFirstToken:   func(f *Facts) any { return math.Float64bits(f.FirstToken) },
	FieldFinish:       func(f *Facts) any { return f.Finish },
	FieldOutputText:   func(f *Facts) any { return f.HasOutput },
	FieldAsksTool:     func(f *Facts) any { return f.AsksTool },
	FieldToolsOffered: func(f *Facts) any { return f.ToolsOffered },
	FieldTool:         func(f *Facts) any { return f.ToolName },
	FieldCallID:       func(f *Facts) any { return f.CallID },
	FieldArgs:         func(f *Facts) any { return [...]any{f.HasArgs, f.ArgsHash, f.ArgsEmpty} },
	FieldResult:       func(f *Facts) any { return [...]any{f.HasResult, f.ResultHash, f.ResultEmpty} },
	FieldFailure:      func(f *Facts) any { return [...]any{f.Failed, f.Class, f.Failure} },
	FieldDocuments:    func(f *Facts) any { return f.Documents },
	FieldClientSide:   func(f *Facts) any { return f.ClientSide },
	FieldWait:         func(f *Facts) any { return f.WaitsForPerson },
	FieldCallerGone:   func(f *Facts) any { return f.CallerGone },
	FieldMaxSteps:     func(f *Facts) any { return f.MaxSteps },
	FieldMessages:     func(f *Facts) any { return fmt.Sprint(f.Returned) },
	FieldTimes:        func(f *Facts) any { return [...]uint64{f.Start, f.End} },
	FieldEvaluations:  func(f *Facts) any { return fmt.Sprint(f.Evaluations) },
}

// Says says whether the facts carry a field.
func Says(f *Facts, field Field) bool {
	var blank Facts
	blank.Reset()
	return fieldReaders[field](f) != fieldReaders[field](&blank)
}

// fieldSlots are the slots that a field is read from.
var fieldSlots = map[Field][]slot{
	FieldKind:         {slotKind},
	FieldAgent:        {slotAgentName},
	FieldWorkflow:     {slotWorkflowName},
	FieldRunID:        {slotRunID},
	FieldModel:        {slotModel},
	FieldResponse:     {slotResponseID},
	FieldInput:        {slotInput, slotUsageJSON},
	FieldCachedInput:  {slotCacheRead, slotUsageJSON},
	FieldCacheWrite:   {slotCacheWrite, slotUsageJSON},
	FieldOutput:       {slotOutput, slotUsageJSON},
	FieldReasoning:    {slotReasoning, slotUsageJSON},
	FieldCost:         {slotCost, slotCostJSON, slotCostInput, slotCostOutput},
	FieldFirstToken:   {slotFirstToken, slotFirstTokenMillis, slotFirstTokenTime},
	FieldFinish:       {slotFinish},
	FieldOutputText:   {slotReply, slotResult},
	FieldAsksTool:     {slotFinish, slotReply, slotToolCalls},
	FieldToolsOffered: {slotTools, slotRequest},
	FieldTool:         {slotToolName},
	FieldCallID:       {slotCallID},
	FieldArgs:         {slotArgs, slotParameters},
	FieldResult:       {slotResult},
	FieldFailure:      {slotErrorType, slotErrorText, slotLevel, slotState, slotToolStatus},
	FieldDocuments:    {slotDocuments},
	FieldMaxSteps:     {slotMaxSteps},
	FieldMessages:     {slotPrompt},
}

// fieldAlso are slots that a field takes into account: input may leave out
// cached tokens, output reasoning.
var fieldAlso = map[Field][]slot{
	FieldInput:  {slotCacheRead, slotCacheWrite, slotTotal},
	FieldOutput: {slotReasoning, slotTotal},
	FieldCost:   {slotCostCurrency},
	FieldFinish: {slotReply},
}

// Origin is a part of a span, or of its resource or a log record, that a fact
// was read from.
type Origin struct {
	// Attribute is the attribute's key. Other parts stand as "span status",
	// "span name", "span times", "scope name" and "event NAME".
	Attribute string
	Value     string // as text, cut after 200 bytes
	// Convention is the name of the convention that knows the part.
	Convention string

	slot slot
}

// Probe finds out where the facts of one span come from. It reads the span
// again for each of its parts: about a microsecond each.
type Probe struct {
	x       *Extractor
	span    ptrace.Span
	scope   pcommon.InstrumentationScope
	facts   *Facts
	parts   parts
	without []*Facts // what the span says without the part
}

// part is something that a span can be without.
type part struct {
	Origin
	remove func(scope pcommon.InstrumentationScope, s ptrace.Span)
	rank   int // the lowest is read first where several say the same
}

// Probe reads a span. The span is not changed.
func (x *Extractor) Probe(scope pcommon.InstrumentationScope, s ptrace.Span) *Probe {
	p := &Probe{x: x, span: s, scope: scope, facts: new(Facts)}
	x.Span(p.facts, scope, s)
	return p
}

// Facts are what the span says.
func (p *Probe) Facts() *Facts { return p.facts }

// Origins are the parts of the span that say the field's value. They are few:
// mostly one. That a span is what it is comes from other parts, which are
// [FieldKind]'s origins.
func (p *Probe) Origins(field Field) []Origin {
	if field == FieldTimes {
		return []Origin{{Attribute: "span times", Convention: "otlp"}}
	}
	origins := p.origins(fieldReaders[field], fieldSlots[field], field == FieldKind)
	// What is another fact's key only led to where this fact was looked for.
	own := func(s slot) bool {
		return s == noSlot || slices.Contains(fieldSlots[field], s) || slices.Contains(fieldAlso[field], s)
	}
	if slices.ContainsFunc(origins, func(o Origin) bool { return slices.Contains(fieldSlots[field], o.slot) }) {
		origins = slices.DeleteFunc(origins, func(o Origin) bool { return !own(o.slot) })
	}
	return origins
}

// Unused are the attributes among keys that the span has though the field is not
// known, and why they do not say it.
func (p *Probe) Unused(field Field, keys []string) (out []Origin, why string) {
	p.prepare()
	for i := range p.parts {
		if o := p.parts[i].Origin; slices.Contains(keys, o.Attribute) {
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		return nil, ""
	}
	if field == FieldInput {
		for _, o := range out {
			if o.slot == slotInput && countText(o.Value) != Unknown {
				return out, "this emitter leaves cached tokens out of it, and their number is not carried"
			}
		}
	}
	return out, "there, but its value does not say it"
}

// EvaluationOrigins are the parts of the span that an evaluation was read from.
func (p *Probe) EvaluationOrigins(e *Evaluation) []Origin {
	return p.origins(func(f *Facts) any {
		for i := range f.Evaluations {
			if g := &f.Evaluations[i]; SameEvaluation(e, g) {
				return true
			}
		}
		return false
	}, nil, true)
}

// SameEvaluation says whether two evaluations say the same at the same time.
func SameEvaluation(a, b *Evaluation) bool {
	return a.Name == b.Name && a.Label == b.Label && a.Failed == b.Failed && a.Time == b.Time &&
		math.Float64bits(a.Score) == math.Float64bits(b.Score)
}

func (p *Probe) origins(read func(*Facts) any, slots []slot, kindToo bool) (out []Origin) {
	p.prepare()
	value, kind := read(p.facts), fieldReaders[FieldKind](p.facts)
	for i, f := range p.without {
		if read(f) != value && (kindToo || fieldReaders[FieldKind](f) == kind) {
			out = append(out, p.parts[i].Origin)
		}
	}
	if len(out) > 0 {
		return out
	}
	if value == read(p.bare()) {
		return nil // nothing says it
	}
	said := func(f *Facts) bool { return read(f) == value && fieldReaders[FieldKind](f) == kind }
	// Several keys say the same: the first one that says it alone.
	keys := p.parts.of(slots)
	for _, i := range keys {
		if said(p.read(difference(keys, []int{i})...)) {
			return p.parts.origins([]int{i})
		}
	}
	// Or the part is also what tells the kind: take away what is read last for as
	// long as the rest says it too.
	if !kindToo {
		// Names of span and scope mostly tell the kind, so that they stay at first;
		// then what is needed for the kind alone is no origin of the value.
		content := p.needed(p.parts.content(), nil, said)
		forKind := p.needed(content, p.parts.but(content), func(f *Facts) bool { return fieldReaders[FieldKind](f) == kind })
		if own := difference(content, forKind); len(own) > 0 {
			return p.parts.origins(own)
		}
	}
	return p.parts.origins(p.needed(p.parts.all(), nil, said))
}

// needed are those of the parts that cannot all be missed if ok is to hold. gone
// are missed from the start.
func (p *Probe) needed(of, gone []int, ok func(*Facts) bool) (kept []int) {
	order := slices.Clone(of)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.parts[b].rank, p.parts[a].rank) })
	gone = slices.Clone(gone)
	for _, i := range order {
		if ok(p.read(append(gone, i)...)) {
			gone = append(gone, i)
		} else {
			kept = append(kept, i)
		}
	}
	slices.Sort(kept)
	return kept
}

// parts are named by their index.
type parts []part

func (p parts) all() []int {
	list := make([]int, len(p))
	for i := range list {
		list[i] = i
	}
	return list
}

// of are the parts that fill one of the slots, the one that is read first first.
func (p parts) of(slots []slot) []int {
	list := slices.DeleteFunc(p.all(), func(i int) bool { return !slices.Contains(slots, p[i].slot) })
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(p[a].rank, p[b].rank) })
	return list
}

// content are the parts other than the names of span and scope.
func (p parts) content() []int {
	return slices.DeleteFunc(p.all(), func(i int) bool { return p[i].rank > readLast })
}

// but are the content parts that are not in list.
func (p parts) but(list []int) []int { return difference(p.content(), list) }

func (p parts) origins(list []int) (out []Origin) {
	for _, i := range list {
		out = append(out, p[i].Origin)
	}
	return out
}

func difference(list, without []int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return slices.Contains(without, i) })
}

// bare is what nothing but an empty span says.
func (p *Probe) bare() *Facts {
	f := new(Facts)
	p.x.Span(f, pcommon.NewInstrumentationScope(), ptrace.NewSpan())
	return f
}

// read reads the span without some of its parts.
func (p *Probe) read(gone ...int) *Facts {
	scope, s := pcommon.NewInstrumentationScope(), ptrace.NewSpan()
	p.scope.CopyTo(scope)
	p.span.CopyTo(s)
	// From the last event to the first, so that places stay true.
	for _, i := range slices.Backward(slices.Sorted(slices.Values(gone))) {
		p.parts[i].remove(scope, s)
	}
	f := new(Facts)
	p.x.Span(f, scope, s)
	return f
}

const maxOriginValue = 200

// readLast is the rank of parts that no table ranks.
const readLast = 1 << 20

func shortened(s string) string {
	if len(s) <= maxOriginValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxOriginValue], "") + "…"
}

// prepare takes the span apart.
func (p *Probe) prepare() {
	if p.parts != nil {
		return
	}
	own := p.facts.Convention
	if own == "" {
		own = p.facts.TentativeOf
	}
	for k, v := range p.span.Attributes().All() {
		by, rank, to := "", readLast, noSlot
		if e := p.x.keys.find(k); e != nil && e.slot != noSlot {
			by, rank, to = vocabularies[e.vocabulary].name, int(e.vocabulary)<<8|int(e.rank), e.slot
		} else if family := p.x.keys.familyOf(k); family != nil {
			by, rank = vocabularies[family.vocabulary].name, int(family.vocabulary)<<8
		}
		if by == own {
			rank -= readLast
		}
		p.parts = append(p.parts, part{Origin{k, shortened(v.AsString()), cmp.Or(by, own), to},
			func(_ pcommon.InstrumentationScope, s ptrace.Span) { s.Attributes().Remove(k) }, rank})
	}
	if code := p.span.Status().Code(); code != ptrace.StatusCodeUnset {
		p.parts = append(p.parts, part{Origin{"span status", shortened(strings.TrimSuffix(code.String()+" "+p.span.Status().Message(), " ")), own, noSlot},
			func(_ pcommon.InstrumentationScope, s ptrace.Span) { ptrace.NewStatus().CopyTo(s.Status()) }, readLast})
	}
	if name := p.span.Name(); name != "" {
		p.parts = append(p.parts, part{Origin{"span name", shortened(name), own, noSlot},
			func(_ pcommon.InstrumentationScope, s ptrace.Span) { s.SetName("") }, readLast + 1})
	}
	if name := p.scope.Name(); name != "" {
		p.parts = append(p.parts, part{Origin{"scope name", shortened(name), own, noSlot},
			func(scope pcommon.InstrumentationScope, _ ptrace.Span) { scope.SetName("") }, readLast + 2})
	}
	if p.span.Links().Len() > 0 {
		p.parts = append(p.parts, part{Origin{"span link", p.span.Links().At(0).SpanID().String(), own, noSlot},
			func(_ pcommon.InstrumentationScope, s ptrace.Span) { ptrace.NewSpanLinkSlice().CopyTo(s.Links()) }, readLast})
	}
	for i := range p.span.Events().Len() {
		e := p.span.Events().At(i)
		attributes := pcommon.NewValueMap()
		e.Attributes().CopyTo(attributes.Map())
		p.parts = append(p.parts, part{Origin{"event " + e.Name(), shortened(attributes.AsString()), own, noSlot},
			func(_ pcommon.InstrumentationScope, s ptrace.Span) {
				n := -1
				s.Events().RemoveIf(func(ptrace.SpanEvent) bool { n++; return n == i })
			}, readLast})
	}
	for i := range p.parts {
		p.without = append(p.without, p.read(i))
	}
}

// Keys are the attribute keys that a convention reads a field from, the first
// one first; for an emitter that speaks OpenTelemetry's with an accent those as
// well. They are what was looked for where the field is not known.
func Keys(field Field, convention string) (keys []string) {
	add := func(v *vocabulary) {
		type ranked struct {
			name string
			rank int
		}
		var found []ranked
		for _, k := range v.keys {
			if i := slices.Index(fieldSlots[field], k.slot); i >= 0 {
				found = append(found, ranked{k.name, i<<8 | int(k.rank)})
			}
		}
		slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(a.rank, b.rank) })
		for _, k := range found {
			if !slices.Contains(keys, k.name) {
				keys = append(keys, k.name)
			}
		}
	}
	accent := false
	for id, v := range vocabularies {
		if v.name == convention {
			add(v)
			accent = accent || emitters&(1<<id) != 0
		}
	}
	if accent || len(keys) == 0 {
		add(&otelGenAIVocabulary)
	}
	if field == FieldFailure {
		keys = append([]string{"span status", "event exception"}, keys...)
		add(&sharedVocabulary)
	}
	return keys
}
