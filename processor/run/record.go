package run

import (
	"encoding/binary"
	"math"
	"math/bits"

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
	fAsked
	fStub
	fByMessage
	fRequested
	fFault
	fFindings
	fLikeSame
	fLikeArgs
	fLikeAsk
	fLikeWords
	fLikeResult
	fLikeError
	fPoint
	fTimedOut
)

const fLike = fLikeSame | fLikeArgs | fLikeAsk | fLikeWords | fLikeResult | fLikeError

const traceMix = 0x9e3779b97f4a7c15

// spanKey makes span ids of joined traces distinct and stays reversible.
func spanKey(id pcommon.SpanID, trace int) uint64 {
	return binary.LittleEndian.Uint64(id[:]) ^ uint64(trace)*traceMix
}

func spanID(key uint64, trace int) (id pcommon.SpanID) {
	binary.LittleEndian.PutUint64(id[:], key^uint64(trace)*traceMix)
	return id
}

// bit is flag if on.
func bit(on bool, flag uint64) (x uint64) {
	if on {
		x = flag
	}
	return x
}

// flagsOf are the flag bits of f, but for those of its place among the spans.
// There is no branch in it: kinds of spans follow each other at random.
func flagsOf(f *convention.Facts) uint64 {
	rootLike := f.Kind == convention.Agent || f.Kind == convention.Chain || f.ParentID.IsEmpty()
	return bit(!f.ParentID.IsEmpty(), fParent) |
		bit(f.AgentName != "", fAgent) |
		bit(f.WorkflowName != "", fWorkflow) |
		bit(rootLike && f.SpanName != "", fSpanName) |
		bit(f.RunID != "", fRunID) |
		bit(f.ModelName != "", fModel) |
		bit(f.ToolName != "", fTool) |
		bit(f.Usage.Known(), fUsage) |
		bit(f.ResponseID != 0, fResponse) |
		bit(f.CostUSD == f.CostUSD, fCost) | // not NaN
		bit(f.FirstToken == f.FirstToken, fFirstToken) |
		bit(f.CallID != 0, fCall) |
		bit(f.HasArgs, fArgs) |
		bit(f.HasResult, fResult) |
		bit(f.Documents != convention.Unknown, fDocuments) |
		bit(uint8(f.Finish)|uint8(f.Class)|uint8(f.Failure) != 0, fCodes) |
		bit(len(f.Attributes) > 0, fAttributes) |
		bit(f.ParentLocal, fParentLocal) |
		bit(f.Placeholder, fPlaceholder) |
		bit(f.Nested, fNested) |
		bit(f.Lifetime, fLifetime) |
		bit(f.HasOutput, fOutput) |
		bit(f.AsksTool, fAsksTool) |
		bit(f.ToolsOffered == 2, fOffered) |
		bit(f.ToolsOffered == 1, fNotOffered) |
		bit(f.ArgsEmpty, fArgsEmpty) |
		bit(f.ResultEmpty, fResultEmpty) |
		bit(f.ClientSide, fClientSide) |
		bit(f.Failed, fFailed) |
		bit(f.CallerGone, fCallerGone) |
		bit(f.FinishVague, fFinishVague) |
		bit(f.WaitsForPerson, fWaits) |
		bit(f.Outspoken, fOutspoken) |
		bit(f.AsksAnswer, fAsksAnswer) |
		bit(f.MaxSteps > 0, fMaxSteps) |
		bit(f.AskedCount != 0, fAsked) |
		bit(f.ByMessage, fByMessage) |
		bit(f.StubAtLimit, fStub) |
		bit(f.Requested|f.Provider != 0, fRequested) |
		bit(f.Fault != convention.NoFault, fFault) |
		bit(len(f.Findings) > 0, fFindings) |
		likenessFlags(&f.Like) |
		bit(f.Point != convention.NoPoint, fPoint) |
		bit(f.TimedOut, fTimedOut) |
		bit(f.Convention != "", fConvention) |
		bit(f.Tentative != convention.Other, fTentative)
}

// kindShift is where a record's first eight bytes have the kind, above the flags.
const kindShift = 56

// No flag reaches the kind, or this does not compile.
const _ = -(fTimedOut >> kindShift)

// recordRoom is more than nearly any record takes, in bytes.
const recordRoom = 96

// makeRoom grows log and ids by a quarter: open runs are many, and doubling
// would waste half.
func (g *group) makeRoom() {
	if cap(g.log)-len(g.log) < recordRoom {
		more := max(256, cap(g.log)/4)
		if len(g.log) == 0 {
			more = 512
		}
		grown := make([]byte, len(g.log), cap(g.log)+more)
		copy(grown, g.log)
		g.log = grown
	}
	if n := len(g.ids); n == cap(g.ids) {
		grown := make([]uint64, n, n+max(12, n/4))
		copy(grown, g.ids)
		g.ids = grown
	}
	if g.strs == nil {
		g.strs = make([]string, 0, 5)
	}
}

// appendRecord encodes f at the end of the group's log.
func (g *group) appendRecord(f *convention.Facts, trace, resource int, arrival int64, in *interner) {
	if len(g.ids) == 0 {
		g.base = f.Start
	}
	g.makeRoom()
	flags := flagsOf(f) | bit(trace != 0, fTrace)
	b := binary.LittleEndian.AppendUint64(g.log, flags|uint64(f.Kind)<<kindShift)
	if flags&fParent != 0 {
		b = binary.LittleEndian.AppendUint64(b, spanKey(f.ParentID, trace))
	}
	b = appendTimes(b, f.Start-g.base, f.End-f.Start)
	b = binary.AppendVarint(b, (arrival-g.firstArrival)/arrivalUnit)
	b = appendCount(b, uint64(resource))
	if flags&fTrace != 0 {
		b = appendCount(b, uint64(trace))
	}
	if flags&fConvention != 0 {
		b = g.appendString(b, f.Convention, in)
	}
	if flags&fTentative != 0 {
		b = append(b, byte(f.Tentative))
		b = g.appendString(b, f.TentativeOf, in)
	}
	if flags&fAgent != 0 {
		b = g.appendString(b, f.AgentName, in)
	}
	if flags&fWorkflow != 0 {
		b = g.appendString(b, f.WorkflowName, in)
	}
	if flags&fSpanName != 0 {
		b = g.appendString(b, f.SpanName, in)
	}
	if flags&fRunID != 0 {
		b = appendCount(b, uint64(g.str(f.RunID, false, in)))
	}
	if flags&fModel != 0 {
		b = g.appendString(b, f.ModelName, in)
	}
	if flags&fTool != 0 {
		b = g.appendString(b, f.ToolName, in)
	}
	if flags&fUsage != 0 {
		u := &f.Usage
		for _, v := range [...]int64{u.Input, u.CachedInput, u.CacheWrite, u.Output, u.Reasoning} {
			b = appendCount(b, uint64(max(v, -1)+1))
		}
	}
	if flags&fResponse != 0 {
		b = binary.LittleEndian.AppendUint64(b, f.ResponseID)
	}
	if flags&fCost != 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.CostUSD))
	}
	if flags&fFirstToken != 0 {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f.FirstToken))
	}
	if flags&fCall != 0 {
		b = binary.LittleEndian.AppendUint64(b, f.CallID)
	}
	if flags&fArgs != 0 {
		b = binary.LittleEndian.AppendUint64(b, f.ArgsHash)
	}
	if flags&fResult != 0 {
		b = binary.LittleEndian.AppendUint64(b, f.ResultHash)
	}
	if flags&fDocuments != 0 {
		b = appendCount(b, uint64(max(f.Documents, 0)))
	}
	if flags&fCodes != 0 {
		b = append(b, byte(f.Finish), byte(f.Class), byte(f.Failure))
	}
	if flags&fMaxSteps != 0 {
		b = appendCount(b, uint64(f.MaxSteps))
	}
	if flags&fAsked != 0 {
		b = append(b, f.AskedCount)
	}
	if flags&fByMessage != 0 {
		b = g.appendMessages(b, f, in)
	}
	if flags&fRequested != 0 {
		b = append(b, f.Requested, f.Provider)
	}
	if flags&fFault != 0 {
		b = append(b, byte(f.Fault))
	}
	if flags&fPoint != 0 {
		b = append(b, byte(f.Point))
	}
	if flags&fLike != 0 {
		b = appendLikeness(b, &f.Like, flags)
	}
	if flags&fAttributes != 0 {
		b = appendCount(b, uint64(len(f.Attributes)))
		for _, a := range f.Attributes {
			b = appendCount(b, uint64(a.Name))
			b = g.appendString(b, a.Value, in)
		}
	}
	if flags&fFindings != 0 {
		b = appendFindings(b, f.Findings)
	}
	g.log = b
	g.ids = append(g.ids, spanKey(f.SpanID, trace))
}

// appendFindings encodes what arguments say to questions.
func appendFindings(b []byte, list []convention.Finding) []byte {
	b = appendCount(b, uint64(len(list)))
	for _, x := range list {
		b = binary.LittleEndian.AppendUint32(b, x.ID)
		b = binary.LittleEndian.AppendUint64(b, x.Hash)
	}
	return b
}

// findings is the inverse of appendFindings.
func (r *reader) findings(list []convention.Finding) []convention.Finding {
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		list = append(list, convention.Finding{ID: r.u32(), Hash: r.u64()})
	}
	return list
}

// appendMessages encodes what a model call asks for and was given, for
// emitters that may show it nowhere else. A first byte of each call says what
// of it is known.
func (g *group) appendMessages(b []byte, f *convention.Facts, in *interner) []byte {
	b = appendCount(b, uint64(len(f.Asked)))
	for i := range f.Asked {
		c := &f.Asked[i]
		b = append(b, byte(bit(c.HasArgs, 1)|bit(c.ArgsEmpty, 2)|bit(len(c.Findings) > 0, 4)))
		b = g.appendString(b, c.Name, in)
		b = binary.LittleEndian.AppendUint64(b, c.CallID)
		b = binary.LittleEndian.AppendUint64(b, c.ArgsHash)
		if len(c.Findings) > 0 {
			b = appendFindings(b, c.Findings)
		}
		b = appendKnownLikeness(b, &c.Like)
	}
	b = appendCount(b, uint64(len(f.Returned)))
	for i := range f.Returned {
		c := &f.Returned[i]
		b = append(b, byte(bit(c.HasResult, 1)|bit(c.ResultEmpty, 2)|bit(c.Error, 4)|bit(c.Refused, 8)), byte(c.Class))
		b = binary.LittleEndian.AppendUint64(b, c.CallID)
		b = binary.LittleEndian.AppendUint64(b, c.ResultHash)
		b = appendKnownLikeness(b, &c.Like)
	}
	return b
}

// appendKnownLikeness puts a byte before what there is that says what that is.
func appendKnownLikeness(b []byte, l *convention.Likeness) []byte {
	flags := likenessFlags(l)
	return appendLikeness(append(b, byte(flags/fLikeSame)), l, flags)
}

// messages is the inverse of appendMessages.
func (r *reader) messages(f *convention.Facts, str func() string) {
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		known := r.byte()
		c := convention.AskedCall{HasArgs: known&1 != 0, ArgsEmpty: known&2 != 0, Name: str(), CallID: r.u64(), ArgsHash: r.u64()}
		if known&4 != 0 {
			c.Findings = r.findings(nil)
		}
		r.likeness(&c.Like, uint64(r.byte())*fLikeSame)
		f.Asked = append(f.Asked, c)
	}
	for n := r.uvarint(); n > 0 && !r.bad; n-- {
		known := r.byte()
		c := convention.ReturnedCall{HasResult: known&1 != 0, ResultEmpty: known&2 != 0, Error: known&4 != 0, Refused: known&8 != 0,
			Class: convention.Class(r.byte()), CallID: r.u64(), ResultHash: r.u64()}
		r.likeness(&c.Like, uint64(r.byte())*fLikeSame)
		f.Returned = append(f.Returned, c)
	}
}

func (g *group) appendString(b []byte, s string, in *interner) []byte {
	return appendCount(b, uint64(g.str(s, true, in)))
}

// appendCount is binary.AppendUvarint, mostly of one byte.
func appendCount(b []byte, n uint64) []byte {
	if n < 0x80 {
		return append(b, byte(n))
	}
	return binary.AppendUvarint(b, n)
}

// appendTimes encodes two differences of time, each in as many bytes as it
// takes; a first byte has the two numbers of bytes. Negative ones take eight.
func appendTimes(b []byte, x, y uint64) []byte {
	n, m := (bits.Len64(x)+7)/8, (bits.Len64(y)+7)/8
	b = append(b, byte(n|m<<4))
	b = binary.LittleEndian.AppendUint64(b, x)[:len(b)+n]
	return binary.LittleEndian.AppendUint64(b, y)[:len(b)+m]
}

// arrivalUnit is the resolution in which arrivals are kept.
const arrivalUnit = int64(1e6)

// likenessFlags say what there is of l.
func likenessFlags(l *convention.Likeness) uint64 {
	return bit(l.Same != 0, fLikeSame) | bit(l.Args != 0, fLikeArgs) | bit(l.Ask != 0, fLikeAsk) | bit(l.Words != 0, fLikeWords) |
		bit(l.Result != 0, fLikeResult) | bit(l.Error != 0, fLikeError)
}

// appendLikeness encodes what flags say is there.
func appendLikeness(b []byte, l *convention.Likeness, flags uint64) []byte {
	if flags&fLikeSame != 0 {
		b = binary.LittleEndian.AppendUint32(b, l.Same)
	}
	if flags&fLikeArgs != 0 {
		b = binary.LittleEndian.AppendUint32(b, l.Args)
	}
	if flags&fLikeAsk != 0 {
		b = binary.LittleEndian.AppendUint32(b, l.Ask)
	}
	if flags&fLikeWords != 0 {
		b = binary.LittleEndian.AppendUint64(b, l.Words)
	}
	if flags&fLikeResult != 0 {
		b = binary.LittleEndian.AppendUint32(b, l.Result)
		b = append(b, byte(l.Substance))
	}
	if flags&fLikeError != 0 {
		b = binary.LittleEndian.AppendUint32(b, l.Error)
	}
	return b
}

// likeness is the inverse of appendLikeness.
func (r *reader) likeness(l *convention.Likeness, flags uint64) {
	if flags&fLikeSame != 0 {
		l.Same = r.u32()
	}
	if flags&fLikeArgs != 0 {
		l.Args = r.u32()
	}
	if flags&fLikeAsk != 0 {
		l.Ask = r.u32()
	}
	if flags&fLikeWords != 0 {
		l.Words = r.u64()
	}
	if flags&fLikeResult != 0 {
		l.Result, l.Substance = r.u32(), convention.Substance(r.byte())
	}
	if flags&fLikeError != 0 {
		l.Error = r.u32()
	}
}

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

func (r *reader) u32() uint32 {
	if len(r.b) < 4 {
		r.bad = true
		return 0
	}
	v := binary.LittleEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v
}

func (r *reader) uvarint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	return r.longUvarint()
}

func (r *reader) longUvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// times is the inverse of appendTimes.
func (r *reader) times() (x, y uint64) {
	lengths := r.byte()
	return r.sized(int(lengths & 15)), r.sized(int(lengths >> 4))
}

// sized reads a number of n bytes.
func (r *reader) sized(n int) (v uint64) {
	if n > 8 || n > len(r.b) {
		r.bad = true
		return 0
	}
	if len(r.b) >= 8 {
		v = binary.LittleEndian.Uint64(r.b) & (1<<(8*n) - 1)
	} else {
		for i := range n {
			v |= uint64(r.b[i]) << (8 * i)
		}
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
		attributes, asked, returned, findings := s.Attributes[:0], s.Asked[:0], s.Returned[:0], s.Findings[:0]
		*s = blank
		s.Attributes, s.Asked, s.Returned, s.Findings = attributes, asked, returned, findings
		flags := r.u64()
		s.Kind = convention.Kind(flags >> kindShift)
		has := func(bit uint64) bool { return flags&bit != 0 }
		s.parentID, s.trace = 0, 0
		if has(fParent) {
			s.parentID = r.u64()
		}
		start, length := r.times()
		s.Start = g.base + start
		s.End = s.Start + length
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
		if has(fAsked) {
			s.AskedCount = r.byte()
		}
		if has(fByMessage) {
			s.ByMessage = true
			r.messages(&s.Facts, str)
		}
		if has(fRequested) {
			s.Requested, s.Provider = r.byte(), r.byte()
		}
		if has(fFault) {
			s.Fault = convention.ProviderFault(min(r.byte(), byte(convention.Unavailable)))
		}
		if has(fPoint) {
			s.Point = convention.Point(r.byte())
		}
		if flags&fLike != 0 {
			r.likeness(&s.Like, flags)
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
		if has(fFindings) {
			s.Findings = r.findings(s.Findings)
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
		s.TimedOut = has(fTimedOut)
		s.FinishVague, s.WaitsForPerson = has(fFinishVague), has(fWaits)
		s.Outspoken, s.AsksAnswer, s.StubAtLimit = has(fOutspoken), has(fAsksAnswer), has(fStub)
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
