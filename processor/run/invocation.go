package run

import (
	"cmp"
	"strings"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// HandedOff is the reason of an invocation that ended by handing on to another agent.
const HandedOff = "handed_off"

// Invocation is one piece of work that a sub-agent did within a run.
type Invocation struct {
	Agent   string
	Outcome slo.Outcome // as that of a run, from the sub-agent's own spans
	Reason  string      // such as limit, error, handed_off; "" for a plain answer
	Seconds float64     // start to end less waits for a person; -1 not known
}

// work is an invocation while its spans are looked through.
type work struct {
	spans []int32 // agent spans that report it, the outermost first
	name  string
	model int32 // the last model call, tool call; -1 none
	tool  int32
	call  int // of tool in run.Tools
	waits []interval
}

// invocations lists the work of sub-agents in order of start. An agent span
// begins one unless it reports what the agent span above it, or the run,
// reports already: the same agent, with no tool between.
func (b *assembly) invocations() {
	own := map[int32]int{} // agent span → index of its work; -1 the run's own
	var list []work
	for _, i := range b.this.members {
		s := &b.spans[i]
		if s.Kind != convention.Agent || s.judged {
			continue
		}
		if b.isOfRoot(i) {
			own[i] = -1
			continue
		}
		above, tool := b.caller(i)
		name := s.AgentName
		if s.Placeholder {
			name = ""
		}
		of, known := -1, true // without an agent above it, the run's own
		if above >= 0 {
			of, known = own[above]
		}
		if tool < 0 && known && b.sameAgent(list, of, name) {
			own[i] = of
			if of >= 0 {
				list[of].spans = append(list[of].spans, i)
				list[of].name = cmp.Or(list[of].name, name)
			}
			continue
		}
		own[i] = len(list)
		list = append(list, work{spans: []int32{i}, name: name, model: -1, tool: -1})
	}
	if len(list) == 0 {
		return
	}
	of := func(i int32) *work {
		if a := b.ancestor(i, convention.Agent); b.inside(a) {
			if k, ok := own[a]; ok && k >= 0 {
				return &list[k]
			}
		}
		return nil
	}
	for _, i := range b.calls {
		if w := of(i); w != nil {
			w.model = i
		}
	}
	for k, i := range b.calledBy {
		if w := of(i); w != nil {
			w.tool, w.call = i, k
		}
	}
	b.waitsOf(own, list)
	b.run.Invocations = make([]Invocation, 0, len(list))
	for k := range list {
		b.run.Invocations = append(b.run.Invocations, b.invocation(&list[k]))
	}
}

func (b *assembly) isOfRoot(i int32) bool {
	if i == b.this.root {
		return true
	}
	for _, r := range b.this.more {
		if r == i {
			return true
		}
	}
	return false
}

// caller is the agent span above, and the tool span on the way to it; -1 none.
func (b *assembly) caller(i int32) (agent, tool int32) {
	tool = -1
	for p := b.spans[i].parent; b.inside(p); p = b.spans[p].parent {
		switch b.spans[p].Kind {
		case convention.Agent:
			return p, tool
		case convention.Tool:
			if tool < 0 {
				tool = p
			}
		}
	}
	return -1, tool
}

// sameAgent says whether the work, or for -1 the run, is that agent's: spans
// without a name report whatever the span above them does.
func (b *assembly) sameAgent(list []work, of int, name string) bool {
	if of < 0 {
		return name == "" || sameName(name, b.run.Agent)
	}
	return name == "" || list[of].name == "" || sameName(name, list[of].name)
}

// sameName compares names as frameworks spell them: some allow no hyphen.
func sameName(a, b string) bool {
	return a == b || len(a) == len(b) && plain.Replace(a) == plain.Replace(b)
}

var plain = strings.NewReplacer("-", "_", " ", "_")

// waitsOf finds the times in which a sub-agent waited for a person.
func (b *assembly) waitsOf(own map[int32]int, list []work) {
	for _, i := range b.this.members {
		s := &b.spans[i]
		if !s.timed() || !s.WaitsForPerson && (s.Kind != convention.Tool || !s.tool.waits) {
			continue
		}
		for p := s.parent; b.inside(p); p = b.spans[p].parent {
			k, ok := own[p]
			if !ok || k < 0 || list[k].spans[0] != p {
				continue
			}
			a := &b.spans[p]
			if w := (interval{max(s.Start, a.Start), min(s.End, a.End)}); w.end > w.start {
				list[k].waits = append(list[k].waits, w)
			}
		}
	}
}

func (b *assembly) invocation(w *work) Invocation {
	s := &b.spans[w.spans[0]]
	v := Invocation{Seconds: -1}
	v.Agent = w.name
	if v.Agent == "" {
		tool := ""
		if _, t := b.caller(w.spans[0]); t >= 0 {
			tool = b.spans[t].ToolName
		}
		v.Agent = cmp.Or(tool, s.AgentName, s.WorkflowName, s.SpanName)
	}
	if s.timed() {
		total := s.End - s.Start
		v.Seconds = float64(total-min(union(w.waits), total)) / 1e9
	}
	v.Outcome, v.Reason = b.endingOf(w)
	if v.Outcome == slo.OutcomeUnknown {
		v.Outcome, v.Reason = b.told(w, v.Reason)
	}
	if b.run.Outcome == slo.Cancelled && !endedWell(v.Outcome) && v.Outcome != slo.OutcomeUnknown && s.End >= b.lastEnd() {
		v.Outcome, v.Reason = slo.Cancelled, "cut_short" // it was at work when the caller left
	}
	return v
}

// told is what the sub-agent's caller has of it, where its own spans do not say
// how it ended: the tool that it worked for failed, or has a result.
func (b *assembly) told(w *work, why string) (slo.Outcome, string) {
	_, t := b.caller(w.spans[0])
	if t < 0 {
		return slo.OutcomeUnknown, why
	}
	switch tool := &b.spans[t]; {
	case tool.Failure == convention.FailureCancelled:
		return slo.Cancelled, "aborted"
	case tool.Failed:
		return slo.Error, "tool_error"
	case tool.HasResult && !tool.ResultEmpty:
		return slo.Answered, ""
	}
	return slo.OutcomeUnknown, why
}

func endedWell(o slo.Outcome) bool {
	return o == slo.Answered || o == slo.Abstained || o == slo.Escalated
}

// lastEnd is when the last model or tool call of the run ended.
func (b *assembly) lastEnd() (end uint64) {
	for _, list := range [...][]int32{b.calls, b.calledBy} {
		for _, i := range list {
			end = max(end, b.spans[i].End)
		}
	}
	return end
}

// endingOf says how a sub-agent's work ended: what its spans say in words, then
// its last call.
func (b *assembly) endingOf(w *work) (slo.Outcome, string) {
	s := &b.spans[w.spans[0]]
	output := false
	for _, i := range w.spans {
		if o, why, ok := ended(&b.spans[i]); ok {
			return o, why
		}
		output = output || b.spans[i].HasOutput
	}
	if s.Failed {
		if s.Failure == convention.FailureGuardrail {
			return slo.Error, "guardrail"
		}
		return slo.Error, "error"
	}
	var model, tool *span
	if w.model >= 0 {
		model = &b.spans[w.model]
	}
	if w.tool >= 0 && (model == nil || b.spans[w.tool].Start >= model.Start) {
		tool = &b.spans[w.tool]
	}
	if tool != nil {
		switch call := &b.run.Tools[w.call]; {
		case call.Failed():
			if !output {
				return slo.Error, "tool_error"
			}
		case call.Role == Answer:
			return slo.Answered, ""
		case call.Role == NotCounted && !output:
			return slo.Answered, HandedOff
		case slo.EscalationTool(call.Name):
			return slo.Escalated, "tool"
		case slo.AbstainTool(call.Name):
			return slo.Abstained, "tool"
		}
	}
	switch {
	case model == nil:
		if o, why, ok := worded(s); ok {
			return o, why
		}
		if output {
			return slo.Answered, ""
		}
		return slo.OutcomeUnknown, "no_evidence"
	case model.Failed:
		if output && s.End > model.End {
			return slo.Answered, "" // it answered without that call
		}
		return slo.Error, "model_error"
	}
	if o, why, ok := worded(model); ok {
		return o, why
	}
	switch asks := model.Finish == convention.FinishTool || model.AsksTool; {
	case output && !asks, model.Finish == convention.FinishStop, model.HasOutput && !asks:
		return slo.Answered, ""
	case asks && output && s.Finish == convention.FinishStop:
		return slo.Answered, ""
	case asks && tool != nil && !b.run.Tools[w.call].Unfinished:
		return slo.LimitReached, "no_answer"
	case output:
		return slo.Answered, ""
	case asks && b.run.OutcomeReason == "paused":
		return slo.Escalated, "paused"
	}
	return slo.OutcomeUnknown, "no_evidence"
}
