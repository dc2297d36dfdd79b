package run

import (
	"encoding/binary"
	"math"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
)

// An open run is a log of encoded facts: one append-only byte slice and a
// table of the few distinct strings, without a pointer a span. It is small,
// nothing for the garbage collector to walk, and already the form in which a
// checkpoint keeps it.

// flag bits of a record. The lower ones say that a field is present.
const (
	fParent uint64 = 1 << iota
	fTrace
	fAgent
	fWorkflow
	fSpanName
	fRunID
	fModel
	fTool
	fUsage
	fResponse
	fCost
	fFirstToken
	fCall
	fArgs
	fResult
	fDocuments
	fCodes
	fAttributes
	fConvention
	fTentative

	fParentLocal
	fPlaceholder
	fNested
	fLifetime
	fOutput
	fAsksTool
	fOffered
	fNotOffered
	fArgsEmpty
	fResultEmpty
	fClientSide
	fFailed
	fCallerGone
	fFinishVague
	fWaits
	fOutspoken
	fAsksAnswer
	fMaxSteps
)

const traceMix = 0x9e3779b97f4a7c15

// spanKey makes span ids of joined traces distinct and stays reversible.
func spanKey(id pcommon.SpanID, trace int) uint64 {
	return binary.LittleEndian.Uint64(id[:]) ^ uint64(trace)*traceMix
}

func spanID(key uint64, trace int) (id pcommon.SpanID) {
	binary.LittleEndian.PutUint64(id[:], key^uint64(trace)*traceMix)
	return id
}

// appendRecord encodes f at the end of the group's log.
func (g *group) appendRecord(f *convention.Facts, trace, resource int, arrival int64, in *interner) {
	var flags uint64
	set := func(on bool, bit uint64) {
		if on {
			flags |= bit
		}
	}
	rootLike := f.Kind == convention.Agent || f.Kind == convention.Chain || f.ParentID.IsEmpty()
	set(!f.ParentID.IsEmpty(), fParent)
	set(trace != 0, fTrace)
	set(f.AgentName != "", fAgent)
	set(f.WorkflowName != "", fWorkflow)
	set(rootLike && f.SpanName != "", fSpanName)
	set(f.RunID != "", fRunID)
	set(f.ModelName != "", fModel)
	set(f.ToolName != "", fTool)
	set(f.Usage.Known(), fUsage)
	set(f.ResponseID != 0, fResponse)
	set(!math.IsNaN(f.CostUSD), fCost)
	set(!math.IsNaN(f.FirstToken), fFirstToken)
	set(f.CallID != 0, fCall)
	set(f.HasArgs, fArgs)
	set(f.HasResult, fResult)
	set(f.Documents != convention.Unknown, fDocuments)
	set(f.Finish != 0 || f.Class != 0 || f.Failure != 0, fCodes)
	set(len(f.Attributes) > 0, fAttributes)
	set(f.ParentLocal, fParentLocal)
	set(f.Placeholder, fPlaceholder)
	set(f.Nested, fNested)
	set(f.Lifetime, fLifetime)
	set(f.HasOutput, fOutput)
	set(f.AsksTool, fAsksTool)
	set(f.ToolsOffered == 2, fOffered)
	set(f.ToolsOffered == 1, fNotOffered)
	set(f.ArgsEmpty, fArgsEmpty)
	set(f.ResultEmpty, fResultEmpty)
	set(f.ClientSide, fClientSide)
	set(f.Failed, fFailed)
	set(f.CallerGone, fCallerGone)
	set(f.FinishVague, fFinishVague)
	set(f.WaitsForPerson, fWaits)
	set(f.Outspoken, fOutspoken)
	set(f.AsksAnswer, fAsksAnswer)
	set(f.MaxSteps > 0, fMaxSteps)
	set(f.Convention != "", fConvention)
	set(f.Tentative != convention.Other, fTentative)

	if len(g.ids) == 0 {
		g.base = f.Start
	}
	if need := len(g.log) + 160; need > cap(g.log) {
		// Grow by a quarter: open runs are many, and doubling would waste half.
		grown := make([]byte, len(g.log), max(need, cap(g.log)+max(512, cap(g.log)/4)))
		copy(grown, g.log)
		g.log = grown
	}
	b := append(g.log, byte(f.Kind))
	b = binary.AppendUvarint(b, flags)
	if flags&fParent != 0 {
		b = binary.LittleEndian.AppendUint64(b, spanKey(f.ParentID, trace))
	}
	b = binary.AppendVarint(b, int64(f.Start-g.base))
	b = binary.AppendVarint(b, int64(f.End-f.Start))
	b = binary.AppendVarint(b, (arrival-g.firstArrival)/arrivalUnit)
	b = binary.AppendUvarint(b, uint64(resource))
	if flags&fTrace != 0 {
		b = binary.AppendUvarint(b, uint64(trace))
	}
	str := func(bit uint64, s string, shared bool) {
		if flags&bit != 0 {
			b = binary.AppendUvarint(b, uint64(g.str(s, shared, in)))
		}
	}
	str(fConvention, f.Convention, true)
	if flags&fTentative != 0 {
		b = append(b, byte(f.Tentative))
		b = binary.AppendUvarint(b, uint64(g.str(f.TentativeOf, true, in)))
	}
	str(fAgent, f.AgentName, true)
	str(fWorkflow, f.WorkflowName, true)
	str(fSpanName, f.SpanName, true)
	str(fRunID, f.RunID, false)
	str(fModel, f.ModelName, true)
	str(fTool, f.ToolName, true)
	if flags&fUsage != 0 {
		for _, v := range [...]int64{f.Usage.Input, f.Usage.CachedInput, f.Usage.CacheWrite, f.Usage.Output, f.Usage.Reasoning} {
			b = binary.AppendUvarint(b, uint64(max(v, -1)+1))
		}
	}
	u64 := func(bit, v uint64) {
		if flags&bit != 0 {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	u64(fResponse, f.ResponseID)
	u64(fCost, math.Float64bits(f.CostUSD))
	u64(fFirstToken, math.Float64bits(f.FirstToken))
	u64(fCall, f.CallID)
	u64(fArgs, f.ArgsHash)
	u64(fResult, f.ResultHash)
	if flags&fDocuments != 0 {
		b = binary.AppendUvarint(b, uint64(max(f.Documents, 0)))
	}
	if flags&fCodes != 0 {
		b = append(b, byte(f.Finish), byte(f.Class), byte(f.Failure))
	}
	if flags&fMaxSteps != 0 {
		b = binary.AppendUvarint(b, uint64(f.MaxSteps))
	}
	if flags&fAttributes != 0 {
		b = binary.AppendUvarint(b, uint64(len(f.Attributes)))
		for _, a := range f.Attributes {
			b = binary.AppendUvarint(b, uint64(a.Name))
			b = binary.AppendUvarint(b, uint64(g.str(a.Value, true, in)))
		}
	}
	g.log = b
	g.ids = append(g.ids, spanKey(f.SpanID, trace))
}

// arrivalUnit is the resolution in which arrivals are kept.
const arrivalUnit = int64(1e6)

// reader decodes a group's log. It stops at the first impossible byte, so that
// a damaged checkpoint cannot make it panic.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if len(r.b) < 1 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) u64() uint64 {
	if len(r.b) < 8 {
		r.bad = true
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// decode reads the group's spans in order of arrival into spans, whose memory
// it reuses. It reports false if the log is damaged.
func (g *group) decode(spans []span) ([]span, bool) {
	if cap(spans) < len(g.ids) {
		spans = make([]span, len(g.ids))
	}
	spans = spans[:len(g.ids)]
	r := reader{b: g.log}
	str := func() string {
		i := r.uvarint()
		if i >= uint64(len(g.strs)) {
			r.bad = true
			return ""
		}
		return g.strs[i]
	}
	for i := range spans {
		s := &spans[i]
		s.Reset()
		s.kin = unrelated
		s.Kind = convention.Kind(r.byte())
		flags := r.uvarint()
		has := func(bit uint64) bool { return flags&bit != 0 }
		s.parentID, s.trace = 0, 0
		if has(fParent) {
			s.parentID = r.u64()
		}
		s.Start = g.base + uint64(r.varint())
		s.End = s.Start + uint64(r.varint())
		s.arrival = g.firstArrival + r.varint()*arrivalUnit
		s.resource = int(r.uvarint())
		if has(fTrace) {
			s.trace = int(r.uvarint())
		}
		if s.resource >= len(g.resources) || s.trace >= len(g.traces) {
			r.bad = true
		}
		s.id = g.ids[i]
		s.SpanID = spanID(s.id, s.trace)
		if has(fParent) {
			s.ParentID = spanID(s.parentID, s.trace)
		}
		if has(fConvention) {
			s.Convention = str()
		}
		if has(fTentative) {
			s.Tentative, s.TentativeOf = convention.Kind(r.byte()), str()
		}
		if has(fAgent) {
			s.AgentName = str()
		}
		if has(fWorkflow) {
			s.WorkflowName = str()
		}
		if has(fSpanName) {
			s.SpanName = str()
		}
		if has(fRunID) {
			s.RunID = str()
		}
		if has(fModel) {
			s.ModelName = str()
		}
		if has(fTool) {
			s.ToolName = str()
		}
		if has(fUsage) {
			for _, p := range [...]*int64{&s.Usage.Input, &s.Usage.CachedInput, &s.Usage.CacheWrite, &s.Usage.Output, &s.Usage.Reasoning} {
				*p = int64(r.uvarint()) - 1
			}
		}
		if has(fResponse) {
			s.ResponseID = r.u64()
		}
		if has(fCost) {
			s.CostUSD = math.Float64frombits(r.u64())
		}
		if has(fFirstToken) {
			s.FirstToken = math.Float64frombits(r.u64())
		}
		if has(fCall) {
			s.CallID = r.u64()
		}
		if has(fArgs) {
			s.HasArgs, s.ArgsHash = true, r.u64()
		}
		if has(fResult) {
			s.HasResult, s.ResultHash = true, r.u64()
		}
		if has(fDocuments) {
			s.Documents = int64(r.uvarint())
		}
		if has(fCodes) {
			s.Finish, s.Class, s.Failure = convention.Finish(r.byte()), convention.Class(r.byte()), convention.Failure(r.byte())
		}
		if has(fMaxSteps) {
			s.MaxSteps = int64(r.uvarint())
		}
		if has(fAttributes) {
			n := r.uvarint()
			if n > uint64(len(r.b)) {
				r.bad = true
				n = 0
			}
			for range n {
				name := int(r.uvarint())
				s.Attributes = append(s.Attributes, convention.Attribute{Name: name, Value: str()})
			}
		}
		s.ParentLocal, s.Placeholder, s.Nested = has(fParentLocal), has(fPlaceholder), has(fNested)
		s.Lifetime, s.HasOutput, s.AsksTool = has(fLifetime), has(fOutput), has(fAsksTool)
		if has(fOffered) {
			s.ToolsOffered = 2
		} else if has(fNotOffered) {
			s.ToolsOffered = 1
		}
		s.ArgsEmpty, s.ResultEmpty = has(fArgsEmpty), has(fResultEmpty)
		s.ClientSide, s.Failed, s.CallerGone = has(fClientSide), has(fFailed), has(fCallerGone)
		s.FinishVague, s.WaitsForPerson = has(fFinishVague), has(fWaits)
		s.Outspoken, s.AsksAnswer = has(fOutspoken), has(fAsksAnswer)
		if r.bad {
			return spans[:i], false
		}
	}
	return spans, true
}

// interner shares the memory of strings that many runs repeat: names of
// agents, tools and models. It stops taking new ones at its cap. The zero
// interner takes strings as they are: they are owned already.
type interner struct{ m map[string]string }

const internerCap = 1 << 16

func (in *interner) intern(s string) string {
	if in.m == nil {
		return s
	}
	if v, ok := in.m[s]; ok {
		return v
	}
	c := string(append([]byte(nil), s...))
	if len(in.m) < internerCap && len(s) <= 128 {
		in.m[c] = c
	}
	return c
}

// str returns the index of s in the group's string table.
func (g *group) str(s string, shared bool, in *interner) int {
	// A run has few distinct strings; past the first and the last of them a
	// repeated one is not worth looking for.
	const look = 16
	n := len(g.strs)
	for i := range min(n, look) {
		if g.strs[i] == s {
			return i
		}
	}
	for i := max(look, n-look); i < n; i++ {
		if g.strs[i] == s {
			return i
		}
	}
	if len(s) > maxString {
		s = s[:maxString]
	}
	if shared {
		s = in.intern(s)
	} else {
		s = string(append([]byte(nil), s...))
	}
	g.strs = append(g.strs, s)
	g.bytes += int64(len(s)) + 16
	return n
}

// maxString bounds the strings an open run holds.
const maxString = 1024
