package run

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// tools lists the executed tool calls. A call that a framework, an MCP client
// and an MCP server each report is one: the outermost span. So is one that a
// replay reports again under new span ids.
func (b *assembly) tools() {
	r := b.run
	captured := false
	b.siblings()
	for _, i := range b.this.members {
		s := &b.spans[i]
		if !b.isToolCall(s) || s.judged || b.repeated(i) {
			continue
		}
		if s.Failure == convention.FailurePaused || s.ClientSide {
			continue // it waits for an approval or for the caller: asked for, not executed
		}
		if b.refused(i) != nil || b.replayed(i) {
			continue
		}
		call := ToolCall{
			Name: s.ToolName, Agent: b.owner(i), Role: b.role(i), Retrieval: s.tool.retrieval,
			CallID: s.CallID, Trace: s.trace,
			HasArgs: s.HasArgs, ArgsHash: s.ArgsHash, ArgsEmpty: s.ArgsEmpty,
			HasResult: s.HasResult, ResultHash: s.ResultHash, ResultEmpty: s.ResultEmpty, Like: s.Like,
			Start: s.Start, End: s.End, SpanID: s.SpanID,
		}
		if asked := b.askedBy(i); asked >= 0 {
			call.Message, call.Response = b.messageOf(asked), b.spans[asked].ResponseID
		}
		if s.Failed {
			call.Class = s.Class
			if call.Class == convention.ClassNone {
				call.Class = convention.Unclassified
			}
		} else if e := b.execution(i); e != nil && e.Failure == convention.FailureCancelled {
			call.Unfinished = true
		} else if e != nil {
			call.Class = e.Class
			if call.Class == convention.ClassNone {
				call.Class = convention.Unclassified
			}
		}
		if s.HasArgs && len(s.Findings) > 0 {
			call.Findings = slices.Clone(s.Findings)
		}
		r.Tools = append(r.Tools, call)
		b.calledBy = append(b.calledBy, i)
	}
	b.untraced()
	for i := range r.Tools {
		c := &r.Tools[i]
		captured = captured || c.HasArgs && !c.ArgsEmpty || c.HasResult && !c.ResultEmpty
	}
	// Nothing but empty arguments and results in the whole run: some emitters
	// write {} when content capture is off.
	r.ContentCaptured = captured
	if !captured {
		for i := range r.Tools {
			r.Tools[i].HasArgs, r.Tools[i].HasResult = false, false
			r.Tools[i].ArgsEmpty, r.Tools[i].ResultEmpty = false, false
			r.Tools[i].Findings = nil
			r.Tools[i].Like = convention.Likeness{Error: r.Tools[i].Like.Error}
		}
	}
	for _, m := range b.calls {
		switch o := b.spans[m].ToolsOffered; {
		case o == 2:
			v := true
			r.ToolsOffered = &v
		case o == 1 && r.ToolsOffered == nil:
			v := false
			r.ToolsOffered = &v
		}
	}
	for s := range b.roots {
		if s.ToolsOffered == 2 {
			v := true
			r.ToolsOffered = &v
		}
	}
}

// refused is the wait for a person below a tool span that ended with a no, so
// that the call was not executed; nil where there is none.
func (b *assembly) refused(i int32) *span {
	for c := b.spans[i].child; c >= 0; c = b.spans[c].next {
		if s := &b.spans[c]; s.WaitsForPerson && s.Failure == convention.FailureCancelled {
			return s
		}
	}
	return nil
}

// execution is the failed step below a tool span that executed its call, for
// emitters that keep the two apart.
func (b *assembly) execution(i int32) *span {
	for c := b.spans[i].child; c >= 0; c = b.spans[c].next {
		if s := &b.spans[c]; s.Kind == convention.Step && s.Failed && s.CallID != 0 && s.CallID == b.spans[i].CallID {
			return s
		}
	}
	return nil
}

// untraced finds the calls that a model asked for and went on from without a
// span of theirs. Those whose result the next model call of the same agent was
// given are calls like any other; of the rest it is not known whether they ran.
func (b *assembly) untraced() {
	if len(b.calls) < 2 {
		return
	}
	var asking []int // places in calls
	for k, m := range b.calls[:len(b.calls)-1] {
		if s := &b.spans[m]; s.AskedCount > 0 && !s.AsksAnswer && !s.Failed {
			asking = append(asking, k)
		}
	}
	if len(asking) == 0 {
		return
	}
	// A call may be asked for by the span round the counted one.
	counted := map[int32]int32{}
	for _, k := range asking {
		m := b.calls[k]
		counted[m] = m
		for p := b.spans[m].parent; b.inside(p) && b.spans[p].Kind != convention.Agent && b.spans[p].Kind != convention.Tool; p = b.spans[p].parent {
			if b.spans[p].wraps {
				counted[p] = m
			}
		}
	}
	traced := make(map[int32][]int32, len(asking)) // by the model call that asked
	for _, i := range b.this.members {
		if s := &b.spans[i]; (s.Kind == convention.Tool || s.Kind == convention.Retrieval) && !s.judged && !b.repeated(i) {
			if m, ok := counted[b.askedBy(i)]; ok {
				traced[m] = append(traced[m], i)
			}
		}
	}
	found := false
	for _, k := range asking {
		m := b.calls[k]
		missing := int(b.spans[m].AskedCount) - len(traced[m])
		if missing <= 0 {
			continue
		}
		derived := b.byMessage(m, b.nextCall(k), traced[m])
		found = found || derived > 0
		if missing > derived {
			b.run.Unseen += missing - derived
			b.unseenBy = append(b.unseenBy, m)
		}
	}
	if found {
		b.sortCalls()
	}
}

// byMessage adds the calls that the model call m asked for and that have no span
// but a result in what the next one was given, and returns their number.
func (b *assembly) byMessage(m, next int32, traced []int32) (n int) {
	s := &b.spans[m]
	if !s.ByMessage || next < 0 {
		return 0
	}
	spanned := make([]bool, len(s.Asked)) // the span of a call is told by its id, else by its name
	for _, byID := range [...]bool{true, false} {
		for _, i := range traced {
			t := &b.spans[i]
			if byID != (t.CallID != 0) {
				continue
			}
			for k := range s.Asked {
				if c := &s.Asked[k]; !spanned[k] && (byID && c.CallID == t.CallID || !byID && c.Name == t.ToolName) {
					spanned[k] = true
					break
				}
			}
		}
	}
	for k := range s.Asked {
		c := &s.Asked[k]
		kind := b.lists.toolKind(c.Name)
		if spanned[k] || c.CallID == 0 || kind.role == NotCounted {
			continue
		}
		for j := range b.spans[next].Returned {
			if got := &b.spans[next].Returned[j]; got.CallID == c.CallID {
				n++
				like := c.Like
				like.Result, like.Substance, like.Error = got.Like.Result, got.Like.Substance, got.Like.Error
				if got.Refused {
					break
				}
				b.run.Tools = append(b.run.Tools, ToolCall{
					Name: c.Name, Agent: b.owner(m), Role: kind.role, Retrieval: kind.retrieval, Message: b.messageOf(m),
					HasArgs: c.HasArgs, ArgsHash: c.ArgsHash, ArgsEmpty: c.ArgsEmpty,
					HasResult: got.HasResult, ResultHash: got.ResultHash, ResultEmpty: got.ResultEmpty, Like: like,
					Findings: slices.Clone(c.Findings), CallID: c.CallID, Response: s.ResponseID, Trace: s.trace,
					Class: got.Class, Start: s.End, End: max(s.End, b.spans[next].Start), SpanID: s.SpanID, ByMessage: true,
				})
				b.calledBy = append(b.calledBy, m)
				break
			}
		}
	}
	return n
}

// nextCall is the next model call of the same agent as call number k, or -1.
func (b *assembly) nextCall(k int) int32 {
	if b.nextCalls == nil {
		b.nextCalls = make([]int32, len(b.calls))
		ofAgent := map[int32]int32{}
		for k := len(b.calls) - 1; k >= 0; k-- {
			agent := b.ancestor(b.calls[k], convention.Agent)
			next, ok := ofAgent[agent]
			if !ok {
				next = -1
			}
			b.nextCalls[k], ofAgent[agent] = next, b.calls[k]
		}
	}
	return b.nextCalls[k]
}

// sortCalls puts the calls into order of start again.
func (b *assembly) sortCalls() {
	order := make([]int, len(b.calledBy))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(b.run.Tools[x].Start, b.run.Tools[y].Start) })
	tools, calledBy := make([]ToolCall, 0, len(order)), make([]int32, 0, len(order))
	for _, k := range order {
		tools, calledBy = append(tools, b.run.Tools[k]), append(calledBy, b.calledBy[k])
	}
	b.run.Tools, b.calledBy = tools, calledBy
}

// replayed says whether an earlier span reports the same call: a durable engine
// that replays a run emits its spans again, with new ids. A call id alone says
// little, as some servers give every call the same one: the model's reply that
// asked for it must be the same reply too.
func (b *assembly) replayed(i int32) bool {
	s := &b.spans[i]
	if s.CallID == 0 || !b.repliesRepeat {
		return false
	}
	asked := b.askedBy(i)
	if asked < 0 || b.spans[asked].ResponseID == 0 {
		return false
	}
	for _, j := range b.calledBy {
		q := &b.spans[j]
		if q.CallID != s.CallID || q.ToolName != s.ToolName || q.ArgsHash != s.ArgsHash || q.ResultHash != s.ResultHash || q.Failed != s.Failed {
			continue
		}
		if before := b.askedBy(j); before >= 0 && before != asked && b.spans[before].ResponseID == b.spans[asked].ResponseID {
			return true
		}
	}
	return false
}

// isToolCall: a tool span, or a retrieval span under the name of a tool that
// the file calls a retrieval tool: some emitters type such tools as retrievers.
func (b *assembly) isToolCall(s *span) bool {
	return s.Kind == convention.Tool || s.Kind == convention.Retrieval && s.ToolName != "" && s.tool.retrieval
}

// repeated says whether a tool span above reports the same call.
func (b *assembly) repeated(i int32) bool {
	s := &b.spans[i]
	for p := s.parent; b.inside(p); p = b.spans[p].parent {
		q := &b.spans[p]
		switch q.Kind {
		case convention.Agent, convention.Model:
			return false
		case convention.Tool:
			if q.ToolName == s.ToolName || q.CallID != 0 && q.CallID == s.CallID {
				return true
			}
		}
	}
	return false
}

// role says what the call is to the run.
func (b *assembly) role(i int32) Role {
	s := &b.spans[i]
	if s.tool.role != Answer && s.tool.role != NotCounted && b.delegates(i) {
		return Delegation
	}
	return s.tool.role
}

// toolKind is what a file's lists say of a tool name.
type toolKind struct {
	role      Role // but for Delegation, which the spans say
	retrieval bool
	waits     bool // for a person
}

// toolKind matches a tool name against the lists once.
func (l *lists) toolKind(name string) toolKind { return l.tools.get(name, l.toolKindOf) }

func (l *lists) toolKindOf(name string) toolKind {
	k := toolKind{retrieval: l.file.RetrievalTool(name), waits: slo.HumanWaitTool(name)}
	switch {
	case l.file.AnswerTool(name):
		k.role = Answer
	case l.file.NotCountedTool(name):
		k.role = NotCounted
	case l.file.EvidenceTool(name):
		k.role = Evidence
	default:
		k.role = Counted
	}
	return k
}

// kinds finds out what the file's lists say of each tool.
func (b *assembly) kinds() {
	for _, i := range b.this.members {
		if s := &b.spans[i]; s.Kind == convention.Tool || s.Kind == convention.Retrieval {
			s.tool = b.lists.toolKind(s.ToolName)
		}
	}
}

// delegates says whether the tool is a sub-agent: its nearest AI descendant,
// past transparent steps, is an agent; or a related agent ran inside its
// interval.
func (b *assembly) delegates(i int32) bool {
	if b.spans[i].sibling {
		return true
	}
	queue := append(b.path[:0], i)
	defer func() { b.path = queue }()
	for k := 0; k < len(queue); k++ {
		for c := b.spans[queue[k]].child; c >= 0; c = b.spans[c].next {
			switch b.spans[c].Kind {
			case convention.Agent:
				return true
			case convention.Model, convention.Tool, convention.Retrieval:
			default:
				queue = append(queue, c)
			}
		}
	}
	return false
}

// siblings finds the tools whose sub-agent is not below them but elsewhere
// below the tool's caller, or beside it: an agent that ran inside the tool's
// interval. Of several such tools the tightest one called it.
func (b *assembly) siblings() {
	var tools, agents []int32
	for _, i := range b.this.members {
		if s := &b.spans[i]; s.Kind == convention.Agent && b.inside(s.parent) && s.Start < s.End {
			agents = append(agents, i)
		}
	}
	if len(agents) == 0 {
		return
	}
	for _, i := range b.this.members {
		if s := &b.spans[i]; s.Kind == convention.Tool && !b.aiBelow(i) {
			tools = append(tools, i)
		}
	}
	if len(tools)*len(agents) > 1<<20 {
		return // no telemetry of a real run; not worth the time
	}
	for _, a := range agents {
		q := &b.spans[a]
		best := int32(-1)
		for _, i := range tools {
			s := &b.spans[i]
			if s.Start > q.Start || q.End > s.End || best >= 0 && s.End-s.Start >= b.spans[best].End-b.spans[best].Start {
				continue
			}
			for p := s.parent; p >= 0 && p != a; p = b.spans[p].parent {
				if p == q.parent {
					best = i
					break
				}
			}
		}
		if best >= 0 {
			b.spans[best].sibling = true
		}
	}
}

// aiBelow says whether a child of the span is an AI span.
func (b *assembly) aiBelow(i int32) bool {
	for c := b.spans[i].child; c >= 0; c = b.spans[c].next {
		if b.spans[c].IsAI() {
			return true
		}
	}
	return false
}

// messageOf identifies a model call as one that asked for tool calls.
func (b *assembly) messageOf(model int32) uint64 {
	id := b.spans[model].SpanID
	return binary.LittleEndian.Uint64(id[:]) | 1
}

// askedBy is the model span that asked for the tool call: the one above it,
// else the last one of the same agent that began before it; -1 not known.
func (b *assembly) askedBy(i int32) int32 {
	s := &b.spans[i]
	for p := s.parent; p >= 0; p = b.spans[p].parent {
		k := b.spans[p].Kind
		if k == convention.Model {
			return p
		}
		if k == convention.Agent || k == convention.Tool {
			break
		}
	}
	owner := b.ancestor(i, convention.Agent)
	later, _ := slices.BinarySearchFunc(b.replies, s.Start, func(m int32, start uint64) int {
		if b.spans[m].Start <= start {
			return -1
		}
		return 1
	})
	for k := later - 1; k >= 0; k-- {
		if m := b.replies[k]; b.ancestor(m, convention.Agent) == owner {
			return m
		}
	}
	return -1
}
