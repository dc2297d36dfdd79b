package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// Fact says where one fact of a run comes from.
type Fact struct {
	// Name is as in the report: outcome, tokens.input, tool_calls.1 …
	Name string
	// Value is set where the report has no such place: of a single tool call.
	Value string
	// How the fact came about, or why it is not known.
	How string
	// From are the spans that it was read from.
	From []Source
	// Missing are spans where it would stand, and does not.
	Missing []Source
}

// Source is a fact of a span.
type Source struct {
	Trace pcommon.TraceID
	Span  pcommon.SpanID
	Field convention.Field
	Role  string // what the source is to the fact, where there are several kinds
}

// maxSources bounds what is listed of one fact.
const maxSources = 100

// sources explains the run. It is called after everything is known.
func (b *assembly) sources() []Fact {
	x := &explanation{b: b}
	x.identity()
	x.outcome()
	x.times()
	x.models()
	x.usage()
	x.cost()
	x.tools()
	x.retrievals()
	return x.facts
}

type explanation struct {
	b     *assembly
	facts []Fact
}

func (x *explanation) source(s *span, field convention.Field) Source {
	return Source{Trace: x.b.group.traces[s.trace], Span: s.SpanID, Field: field}
}

// add begins the explanation of a fact.
func (x *explanation) add(name, how string) *Fact {
	x.facts = append(x.facts, Fact{Name: name, How: how})
	return &x.facts[len(x.facts)-1]
}

func (f *Fact) from(s Source) {
	if len(f.From) < maxSources {
		f.From = append(f.From, s)
	}
}

func (f *Fact) missing(s Source) {
	if len(f.Missing) < maxSources {
		f.Missing = append(f.Missing, s)
	}
}

// each calls yield with the members that are some work of the run's own.
func (x *explanation) each(kind convention.Kind, yield func(i int32, s *span)) {
	for _, i := range x.b.this.members {
		if s := &x.b.spans[i]; s.Kind == kind && !s.judged {
			yield(i, s)
		}
	}
}

func (x *explanation) identity() {
	b := x.b
	if b.this.root < 0 {
		x.add("root", "no agent or workflow span without another one above it came")
	} else {
		how := "the topmost agent or workflow span"
		switch root := &b.spans[b.this.root]; {
		case root.Kind == convention.Chain:
			how = "the topmost chain with model or tool calls of its own"
		case b.this.trace:
			how = "the whole trace, as the file says (runs.root: trace)"
		case root.broken:
			how = "the topmost agent or workflow span that came; its parent did not"
		}
		if len(b.this.more) > 0 {
			how += fmt.Sprintf("; %d more roots with the same run id are the same run", len(b.this.more))
		}
		f := x.add("root", how)
		for s := range b.roots {
			f.from(x.source(s, convention.FieldKind))
		}
	}
	if b.run.RunID == "" {
		x.add("run", "no span gives a run id: trace id and root span id are the identity")
	} else {
		f := x.add("run", "run id that the framework gives")
		for _, i := range b.this.members {
			if s := &b.spans[i]; s.RunID == b.run.RunID {
				f.from(x.source(s, convention.FieldRunID))
				break
			}
		}
	}
	x.agent()
}

func (x *explanation) agent() {
	b, name := x.b, x.b.run.Agent
	root := &b.spans[b.first]
	f := x.add("agent", "")
	switch {
	case name == "":
		f.How = "no span names an agent, and the root span has no name"
		return
	case root.AgentName == name:
		f.from(x.source(root, convention.FieldAgent))
		return
	case root.WorkflowName == name:
		f.How = "the workflow's name; the root gives no agent name"
		f.from(x.source(root, convention.FieldWorkflow))
		return
	}
	for _, i := range b.this.members {
		s := &b.spans[i]
		field := convention.FieldAgent
		switch {
		case s.AgentName == name && s.Kind == convention.Agent:
			f.How = "the first agent below; the root has no name of its own"
		case b.this.root < 0 && s.AgentName == name:
			f.How = "named by a span; there is no root"
		case b.this.root < 0 && s.WorkflowName == name:
			f.How, field = "workflow named by a span; there is no root", convention.FieldWorkflow
		default:
			continue
		}
		f.from(x.source(s, field))
		return
	}
	f.How = "the root span's name; no span names an agent or workflow"
	f.from(x.source(root, convention.FieldSpanName))
	f.missing(x.source(root, convention.FieldAgent))
}

func (x *explanation) outcome() {
	d := &x.b.decided
	f := x.add("outcome", d.rule)
	if x.b.run.OutcomeReason == "marker" {
		f.How = "a marker of the file (outcomes); without it: " + d.rule
	}
	for _, fact := range d.facts {
		if fact.span == nil {
			continue
		}
		if x.b.run.Outcome == slo.OutcomeUnknown {
			f.missing(x.source(fact.span, fact.field))
		} else {
			f.from(x.source(fact.span, fact.field))
		}
	}
}

func (x *explanation) times() {
	b, r := x.b, x.b.run
	f := x.add("duration_seconds", "root start to root end")
	switch {
	case b.this.root < 0:
		f.How = "no root, so no end; so far " + seconds(r.SoFar) + " s"
	case r.Seconds == nil:
		f.How = "the root's times are no interval; what is below takes " + seconds(r.SoFar) + " s"
	case r.RootEndedEarly:
		f.How = "work went on for more than a second after the root, which shows no output: start to the end of the work"
	}
	for s := range b.roots {
		f.from(x.source(s, convention.FieldTimes))
	}
	for _, i := range b.this.members {
		s := &b.spans[i]
		waits := s.WaitsForPerson || s.Kind == convention.Tool && s.tool.waits
		if r.RootEndedEarly && s.IsAI() && s.timed() && s.End == r.End {
			f.from(x.source(s, convention.FieldTimes))
		} else if waits && r.Seconds != nil {
			field := convention.FieldTool
			if s.WaitsForPerson {
				field = convention.FieldWait
			}
			source := x.source(s, field)
			source.Role = "wait for a person, taken off"
			f.from(source)
		}
	}

	f = x.add("first_token_seconds", "")
	if r.FirstToken == nil {
		f.How = "no model call or root says when its first token came"
		x.each(convention.Model, func(_ int32, s *span) { f.missing(x.source(s, convention.FieldFirstToken)) })
		return
	}
	for s := range b.roots {
		if s.FirstToken == *r.FirstToken {
			f.from(x.source(s, convention.FieldFirstToken))
			return
		}
	}
	f.How = "from the root's start to the first token of a model call"
	for _, i := range b.this.members {
		s := &b.spans[i]
		if t := float64(s.Start-r.Start)/1e9 + s.FirstToken; !math.IsNaN(s.FirstToken) && !s.judged && s.Start >= r.Start && t == *r.FirstToken {
			f.from(x.source(s, convention.FieldFirstToken))
			return
		}
	}
}

func seconds(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// models explains the number of model calls.
func (x *explanation) models() {
	f := x.add("model_calls", "model spans that wrap no other, each response once")
	if x.b.run.ModelCalls == nil {
		f.How = "no model span in the run"
	}
	x.each(convention.Model, func(_ int32, s *span) {
		source := x.source(s, convention.FieldKind)
		switch {
		case s.isCall:
		case neverSent(s):
			source.Role = "not counted: it failed before a request was sent"
		case s.wraps:
			source.Role = "not counted: it wraps the call below"
		default:
			source.Role, source.Field = "not counted: reports a response that another span reported", convention.FieldResponse
		}
		f.from(source)
	})
}

// usage explains the five counts of tokens.
func (x *explanation) usage() {
	b, r := x.b, x.b.run
	of := func(u convention.Usage) [5]int64 {
		return [...]int64{u.Input, u.CachedInput, u.CacheWrite, u.Output, u.Reasoning}
	}
	total := of(r.Usage)
	for k, name := range [...]string{"input", "cached_input", "cache_write", "output", "reasoning"} {
		field := convention.FieldInput + convention.Field(k)
		f := x.add("tokens."+name, "")
		if total[k] != convention.Unknown {
			if r.ModelCalls == nil || len(b.uses) > 0 && b.spans[b.uses[0]].Kind != convention.Model {
				f.How = "what agents repeat; no model span carries it"
			} else if len(b.uses) > 1 {
				f.How = "sum over the model calls"
			}
			for _, i := range b.uses {
				if s := &b.spans[i]; of(s.Usage)[k] != convention.Unknown {
					source := x.source(s, field)
					source.Role = strconv.FormatInt(of(s.Usage)[k], 10)
					f.from(source)
				}
			}
			continue
		}
		f.How = "not known from any span of the run"
		lacking := 0
		for _, i := range b.calls {
			s := &b.spans[i]
			if !b.unbilled(s) && of(s.Usage)[k] == convention.Unknown {
				lacking++
				f.missing(x.source(s, field))
			}
		}
		if lacking > 0 && lacking < len(b.calls) {
			f.How = fmt.Sprintf("%d of %d model calls carry none, and a sum that lacks a part is no sum", lacking, len(b.calls))
		}
		if len(b.calls) == 0 {
			for s := range b.roots {
				f.missing(x.source(s, field))
			}
			x.each(convention.Agent, func(_ int32, s *span) {
				if s.Lifetime && s.Usage.Known() {
					f.How = "an agent span has a total, but over the whole life of its agent, not of this run"
				}
			})
		}
	}
}

// cost explains what the run cost.
func (x *explanation) cost() {
	b, r := x.b, x.b.run
	f := x.add("cost_usd", "")
	said := false
	for _, i := range b.this.members {
		if s := &b.spans[i]; s.priced {
			said = true
			f.from(x.source(s, convention.FieldCost))
		}
	}
	if said {
		f.How = "what the calls say they cost"
	} else {
		for s := range b.roots {
			if r.CostUSD != nil && !math.IsNaN(s.CostUSD) {
				f.How = "what the root says it cost"
				f.from(x.source(s, convention.FieldCost))
				return
			}
		}
	}
	var why []string
	note := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !strings.Contains(strings.Join(why, "; "), text) {
			why = append(why, text)
		}
	}
	for _, i := range b.uses {
		s := &b.spans[i]
		switch p := b.lists.rates(s.ModelName); {
		case said && b.covered(i, func(s *span) bool { return s.priced }):
		case s.Kind != convention.Model && len(r.Agents) > 1:
			note("an agent's usage may or may not include its sub-agents'")
			f.missing(x.source(s, convention.FieldCost))
		case s.ModelName == "":
			note("a span with tokens names no model")
			f.missing(x.source(s, convention.FieldModel))
		case !p.known:
			note("no price for model %q (add it to prices)", s.ModelName)
			f.missing(x.source(s, convention.FieldModel))
		case s.Usage.Input < 0 || s.Usage.Output < 0:
			note("a call carries no input or no output tokens")
			field := convention.FieldInput
			if s.Usage.Input >= 0 {
				field = convention.FieldOutput
			}
			f.missing(x.source(s, field))
		default:
			note("price × tokens of %s", s.ModelName)
			f.from(x.source(s, convention.FieldModel))
		}
	}
	for _, i := range b.calls {
		if s := &b.spans[i]; !b.unbilled(s) && !b.covered(i, func(s *span) bool { return s.priced || s.isUse }) {
			note("a model call carries neither tokens nor a cost")
			f.missing(x.source(s, convention.FieldInput))
		}
	}
	if len(why) > 0 {
		f.How = strings.TrimPrefix(f.How+"; "+strings.Join(why, "; "), "; ")
	}
	if r.CostUSD == nil && f.How != "" && len(f.From) > 0 {
		f.How = "not known as a whole: " + f.How
	}
	if r.CostUSD == nil && f.How == "" {
		f.How = "no span carries a cost or tokens"
		for s := range b.roots {
			f.missing(x.source(s, convention.FieldCost))
		}
	}
}

// tools explains each tool call, and tool spans that are none.
func (x *explanation) tools() {
	b, r := x.b, x.b.run
	counted, idle := map[int32]bool{}, false
	for k := range r.Tools {
		t, s := &r.Tools[k], &b.spans[b.calledBy[k]]
		f := x.add("tool_calls."+strconv.Itoa(k+1), "")
		f.Value = t.Name + ": " + t.Class.String()
		if t.Unfinished {
			f.Value = t.Name + ": unfinished"
		}
		switch t.Role {
		case Answer:
			f.How = "it is the answer, so it is no evidence"
		case NotCounted:
			f.How = "a handoff or the like: neither evidence nor failure"
		case Delegation:
			f.How = "a sub-agent ran below or inside it: its own calls count"
		case Counted:
			f.How = "a call, but of a tool that consults nothing"
		}
		if t.ByMessage {
			f.How = "no span shows it: the model call asks for it, and the next one was given its result"
			f.from(x.source(s, convention.FieldAsksTool))
			if next := b.nextCallAfter(b.calledBy[k]); next >= 0 {
				f.from(x.source(&b.spans[next], convention.FieldMessages))
			}
			continue
		}
		counted[b.calledBy[k]] = true
		f.from(x.source(s, convention.FieldTool))
		if e := b.execution(b.calledBy[k]); t.Failed() && !s.Failed && e != nil {
			f.from(x.source(e, convention.FieldFailure))
		} else if t.Failed() {
			f.from(x.source(s, convention.FieldFailure))
		}
		for _, content := range [...]struct {
			has   bool
			field convention.Field
		}{{s.HasArgs, convention.FieldArgs}, {s.HasResult || t.Failed(), convention.FieldResult}} {
			if source := x.source(s, content.field); !content.has {
				f.missing(source)
			} else if content.field == convention.FieldArgs || s.HasResult {
				f.from(source)
			}
		}
	}
	for _, i := range b.this.members {
		s := &b.spans[i]
		if !b.isToolCall(s) || s.judged || counted[i] {
			continue
		}
		idle = true
		f := x.add("not a tool call", "the same call as the tool span above it, or reported before")
		f.Value = s.ToolName
		field := convention.FieldTool
		switch {
		case s.Failure == convention.FailurePaused:
			f.How, field = "asked for, not executed: it waits for an approval", convention.FieldFailure
		case b.refused(i) != nil:
			f.How, field, s = "asked for, not executed: a person refused it", convention.FieldFailure, b.refused(i)
		case s.ClientSide:
			f.How, field = "asked for, not executed: it is the caller's to call", convention.FieldClientSide
		}
		f.from(x.source(s, field))
	}
	if r.Unseen > 0 {
		f := x.add("tool_calls.unseen", "a model asked for tools and went on, but no span and no later message shows what became of the calls")
		for _, m := range b.unseenBy {
			f.from(x.source(&b.spans[m], convention.FieldAsksTool))
		}
	}
	if len(r.Tools) == 0 && r.Unseen == 0 {
		how := "no tool span in the run, and no model call that went on from asking for one"
		if idle {
			how = "none of the run's tool spans is an executed call"
		}
		x.add("tool_calls", how)
	}
}

// nextCallAfter is the next model call of the agent of m, or -1.
func (b *assembly) nextCallAfter(m int32) int32 {
	for k, i := range b.calls {
		if i == m {
			return b.nextCall(k)
		}
	}
	return -1
}

func (x *explanation) retrievals() {
	n := 0
	x.each(convention.Retrieval, func(_ int32, s *span) {
		n++
		f := x.add("retrievals."+strconv.Itoa(n), "")
		f.from(x.source(s, convention.FieldKind))
		if f.Value = "documents not captured"; s.Documents == convention.Unknown {
			f.missing(x.source(s, convention.FieldDocuments))
		} else {
			f.Value = strconv.FormatInt(s.Documents, 10) + " documents"
			f.from(x.source(s, convention.FieldDocuments))
		}
	})
}
