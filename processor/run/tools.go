package run

import (
	"encoding/binary"
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
)

// tools lists the executed tool calls. A call that a framework, an MCP client
// and an MCP server each report is one: the outermost span. So is one that a
// replay reports again under new span ids.
func (b *assembly) tools() {
	r := b.run
	type key struct {
		call   uint64
		name   string
		result uint64
		failed bool
	}
	seen := map[key]bool{}
	captured := false
	b.siblings()
	for _, i := range b.members {
		s := &b.spans[i]
		if !b.isToolCall(s) || b.judged[i] || b.repeated(i) {
			continue
		}
		if s.Failure == convention.FailurePaused {
			continue // it waits for an approval: asked for, not executed
		}
		if s.CallID != 0 {
			k := key{s.CallID, s.ToolName, s.ResultHash, s.Failed}
			if seen[k] {
				continue
			}
			seen[k] = true
		}
		call := ToolCall{
			Name: s.ToolName, Agent: b.owner(i), Role: b.role(i), Retrieval: b.file.RetrievalTool(s.ToolName),
			Message: b.message(i),
			HasArgs: s.HasArgs, ArgsHash: s.ArgsHash, ArgsEmpty: s.ArgsEmpty,
			HasResult: s.HasResult, ResultHash: s.ResultHash, ResultEmpty: s.ResultEmpty,
			Start: s.Start, End: s.End, SpanID: s.SpanID,
		}
		if s.Failed {
			call.Class = s.Class
			if call.Class == convention.ClassNone {
				call.Class = convention.Unclassified
			}
		}
		captured = captured || s.HasArgs && !s.ArgsEmpty || s.HasResult && !s.ResultEmpty
		r.Tools = append(r.Tools, call)
		b.toolIdx = append(b.toolIdx, i)
	}
	// Nothing but empty arguments and results in the whole run: some emitters
	// write {} when content capture is off.
	r.ContentCaptured = captured
	if !captured {
		for i := range r.Tools {
			r.Tools[i].HasArgs, r.Tools[i].HasResult = false, false
			r.Tools[i].ArgsEmpty, r.Tools[i].ResultEmpty = false, false
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
	for _, i := range b.roots {
		if b.spans[i].ToolsOffered == 2 {
			v := true
			r.ToolsOffered = &v
		}
	}
}

// isToolCall: a tool span, or a retrieval span under the name of a tool that
// the file calls a retrieval tool: some emitters type such tools as retrievers.
func (b *assembly) isToolCall(s *span) bool {
	return s.Kind == convention.Tool || s.Kind == convention.Retrieval && s.ToolName != "" && b.file.RetrievalTool(s.ToolName)
}

// repeated says whether a tool span above reports the same call.
func (b *assembly) repeated(i int) bool {
	s := &b.spans[i]
	found := false
	b.above(i, func(p int) bool {
		q := &b.spans[p]
		switch q.Kind {
		case convention.Agent, convention.Model:
			return false
		case convention.Tool:
			found = q.ToolName == s.ToolName || q.CallID != 0 && q.CallID == s.CallID
			return !found
		}
		return b.in[p]
	})
	return found
}

// role says what the call is to the run.
func (b *assembly) role(i int) Role {
	s := &b.spans[i]
	switch {
	case b.file.AnswerTool(s.ToolName):
		return Answer
	case b.file.NotCountedTool(s.ToolName):
		return NotCounted
	case b.delegates(i):
		return Delegation
	case !b.file.EvidenceTool(s.ToolName):
		return Counted
	}
	return Evidence
}

// delegates says whether the tool is a sub-agent: its nearest AI descendant,
// past transparent steps, is an agent; or a related agent ran inside its
// interval.
func (b *assembly) delegates(i int) bool {
	queue := slices.Clone(b.spans[i].children)
	inside := false
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		switch b.spans[c].Kind {
		case convention.Agent:
			return true
		case convention.Model, convention.Tool, convention.Retrieval:
			inside = true
		default:
			queue = append(queue, b.spans[c].children...)
		}
	}
	return !inside && b.sibling[i]
}

// siblings finds the tools whose sub-agent is not below them but elsewhere
// below the tool's caller, or beside it: an agent that ran inside the tool's
// interval. Of several such tools the tightest one called it.
func (b *assembly) siblings() {
	b.sibling = map[int]bool{}
	var tools, agents []int
	for _, i := range b.members {
		switch s := &b.spans[i]; {
		case s.Kind == convention.Tool:
			tools = append(tools, i)
		case s.Kind == convention.Agent && s.parent >= 0 && b.in[s.parent] && s.Start < s.End:
			agents = append(agents, i)
		}
	}
	if len(tools)*len(agents) > 1<<20 {
		return // no telemetry of a real run; not worth the time
	}
	for _, a := range agents {
		q := &b.spans[a]
		best := -1
		for _, i := range tools {
			s := &b.spans[i]
			if s.Start > q.Start || q.End > s.End || best >= 0 && s.End-s.Start >= b.spans[best].End-b.spans[best].Start {
				continue
			}
			related := false
			b.above(i, func(p int) bool { related = related || p == q.parent; return !related && p != a })
			if related {
				best = i
			}
		}
		if best >= 0 {
			b.sibling[best] = true
		}
	}
}

// message identifies the model call that asked for the tool call: the one
// above it, else the last one of the same agent that began before it.
func (b *assembly) message(i int) uint64 {
	s := &b.spans[i]
	found := -1
	b.above(i, func(p int) bool {
		switch b.spans[p].Kind {
		case convention.Model:
			found = p
		case convention.Agent, convention.Tool:
			return false
		}
		return found < 0
	})
	if found < 0 {
		owner := b.ancestor(i, convention.Agent)
		for _, m := range b.calls {
			if b.spans[m].Start <= s.Start && b.ancestor(m, convention.Agent) == owner {
				found = m
			}
		}
	}
	if found < 0 {
		return 0
	}
	id := b.spans[found].SpanID
	return binary.LittleEndian.Uint64(id[:]) | 1
}
