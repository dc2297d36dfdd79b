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
	for _, i := range b.members {
		s := &b.spans[i]
		if s.Kind != convention.Tool || b.judged[i] || b.repeated(i) {
			continue
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
		if s.Failed && s.Failure != convention.FailurePaused {
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
// past transparent steps, is an agent; or an agent that is its sibling runs
// inside its interval.
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
	if inside || b.spans[i].parent < 0 {
		return false
	}
	s := &b.spans[i]
	for _, c := range b.spans[s.parent].children {
		q := &b.spans[c]
		if q.Kind != convention.Agent || q.Start < s.Start || q.End > s.End || q.Start == q.End {
			continue
		}
		// The tightest tool round the agent is the one that called it.
		tightest := true
		for _, d := range b.spans[s.parent].children {
			o := &b.spans[d]
			if d != i && o.Kind == convention.Tool && o.Start <= q.Start && q.End <= o.End && o.End-o.Start < s.End-s.Start {
				tightest = false
			}
		}
		if tightest {
			return true
		}
	}
	return false
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
