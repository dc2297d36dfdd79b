package run

import (
	"cmp"
	"math"
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// assembly is a run while its facts are put together.
type assembly struct {
	*Assembler
	*tree
	group *group
	run   *Run
	file  *slo.File
	lists *lists // of the file
	this  *candidate
	index int32 // of the candidate

	first   int32   // the first root, or the first span of a lost run
	calls   []int32 // counted model calls in order of start
	replies []int32 // all model spans that wrap no other, repeats included
	// repliesRepeat: two model spans report the same response.
	repliesRepeat bool
	responses     map[uint64]bool // of calls, once they are many
	uses          []int32         // spans whose usage counts
	calledBy      []int32         // span of each run.Tools entry
	asking        map[uint64]bool // messages that tools were called by, once asked for
	nextCalls     []int32         // of each call the next one of its agent, once asked for
	unseenBy      []int32         // model calls that asked for calls of which nothing is seen
	decided       evidence        // of the outcome
	storage       [64]int32
}

// build makes a run of the candidate's members.
func (a *Assembler) build(g *group, t *tree, c *candidate) resolved {
	index := t.spans[c.members[0]].run
	b := &assembly{Assembler: a, tree: t, group: g, this: c, index: index, first: c.members[0],
		run: &Run{RunID: c.runID, Completion: c.completion, Usage: convention.UnknownUsage, Sampling: g.samplingProbability(), Biased: g.mixedSampling}}
	r := b.run
	c.run = r
	tools, models := 0, 0
	for _, i := range c.members {
		s := &t.spans[i]
		switch s.Kind {
		case convention.Tool, convention.Retrieval:
			tools++
		case convention.Model:
			models++
		}
		if s.IsAI() {
			r.Spans++
		}
		s.judged = t.evaluated && (s.Kind == convention.Evaluator || t.ancestor(i, convention.Evaluator) >= 0)
	}
	if models*2+tools <= len(b.storage) {
		b.calls, b.uses, b.calledBy = b.storage[:0:models], b.storage[models:models:2*models], b.storage[2*models:2*models:2*models+tools]
	}
	if tools > 0 {
		r.Tools = make([]ToolCall, 0, tools)
	}
	if c.root >= 0 {
		b.first = c.root
		r.HasRoot = true
		r.RootSpanID = t.spans[c.root].SpanID
	}
	r.TraceID = g.traces[t.spans[b.first].trace]
	r.ID = identity(c.runID, r.TraceID, r.RootSpanID)

	b.identify(a.extractor.Names)
	b.file = a.files.Match(r.Service, r.Environment, r.Agent, func(name string) (string, bool) {
		v, ok := r.Attributes[name]
		return v, ok
	})
	b.lists = a.lists[b.file]
	if tools > 0 {
		b.kinds()
	}
	b.times()
	b.models()
	b.cost()
	b.tools()
	b.retrievals()
	r.Outcome, r.OutcomeReason = b.ending()
	if r.Outcome == slo.Cancelled {
		b.spare()
	}
	b.spend()
	b.providers()
	b.checks()
	r.CallerLeft, r.TimedOut = b.callerLeft()
	if b.lists.agents {
		b.invocations()
	}
	r.persistence()
	b.firstWrong()
	if a.handler.Marker != nil && b.file != nil && r.Outcome != slo.Lost {
		if o, ok := a.handler.Marker(b.file, r); ok && markable(o, r.Outcome) {
			r.Outcome, r.OutcomeReason = o, "marker"
		}
	}

	b.blocker()

	if a.settings.Sources {
		r.Sources = b.sources()
	}
	out := resolved{run: r, file: b.file, spans: make([]uint32, 0, min(len(c.members), maxFingerprints))}
	// Past the bound, spans that others hang on are worth more than leaves.
	for pass := range 2 {
		for _, i := range c.members {
			s := &t.spans[i]
			if (s.child < 0) == (pass == 1) && len(out.spans) < maxFingerprints {
				out.spans = append(out.spans, fingerprint(s.id))
			}
		}
	}
	for _, i := range c.members {
		s := &t.spans[i]
		if s.ResponseID != 0 && a.judges {
			out.responses = append(out.responses, s.ResponseID)
		}
		if c.root < 0 && s.parent < 0 && s.parentID != 0 && len(out.awaited) < maxFingerprints {
			out.awaited = append(out.awaited, fingerprint(s.parentID))
		}
	}
	if r.RunID != "" && a.judges {
		out.responses = append(out.responses, runKey(r.RunID))
	}
	return out
}

// spare takes the failure from calls that the caller's leaving cut short: the
// tool did not fail.
func (b *assembly) spare() {
	for k, i := range b.calledBy {
		if t := &b.run.Tools[k]; b.spans[i].Failure == convention.FailureCancelled {
			t.Class, t.Unfinished = convention.ClassNone, true
		}
	}
}

// markable says whether a file's marker may turn one outcome into another: a
// run that crashed or was left was neither handed on nor declined, whatever it
// called last.
func markable(to, from slo.Outcome) bool {
	if to != slo.Escalated && to != slo.Abstained {
		return true
	}
	return from != slo.Error && from != slo.Cancelled && from != slo.StoppedNoProgress
}

// inside says whether the span is a member of this run.
func (b *assembly) inside(i int32) bool { return i >= 0 && b.spans[i].run == b.index }

// roots calls yield with the run's roots in order of start.
func (b *assembly) roots(yield func(*span) bool) {
	if b.this.root < 0 || !yield(&b.spans[b.this.root]) {
		return
	}
	for _, i := range b.this.more {
		if !yield(&b.spans[i]) {
			return
		}
	}
}

// lastRoot is the root that ends the run: of a resumed run the last one.
func (b *assembly) lastRoot() int32 {
	if n := len(b.this.more); n > 0 {
		return b.this.more[n-1]
	}
	return b.this.root
}

// identify finds the run's names and the attributes that files ask for.
func (b *assembly) identify(names []string) {
	r := b.run
	root := &b.spans[b.first]
	res := b.group.resources[root.resource]
	r.Service, r.Environment = res.service, res.environment
	r.Agent = b.agentName()
	r.Agents = append(make([]string, 0, 2), r.Agent)
	for _, i := range b.this.members {
		if s := &b.spans[i]; s.Kind == convention.Agent && s.AgentName != "" && !s.Placeholder && !slices.Contains(r.Agents, s.AgentName) {
			r.Agents = append(r.Agents, s.AgentName)
		}
	}

	if len(names) == 0 {
		return
	}
	r.Attributes = map[string]string{}
	take := func(list []convention.Attribute) {
		for _, at := range list {
			if at.Name >= len(names) {
				continue
			}
			if _, ok := r.Attributes[names[at.Name]]; !ok {
				r.Attributes[names[at.Name]] = at.Value
			}
		}
	}
	take(root.Attributes)
	take(res.attributes)
	for p := root.parent; p >= 0; p = b.spans[p].parent {
		take(b.spans[p].Attributes)
		take(b.group.resources[b.spans[p].resource].attributes)
	}
	for _, i := range b.this.members {
		take(b.spans[i].Attributes)
	}
	for _, i := range b.this.members {
		take(b.group.resources[b.spans[i].resource].attributes)
	}
	if b.resourceDimensions {
		b.identifyResources(names)
	}
}

// identifyResources finds the attributes that resources carry, whatever spans
// say: the root's, then those of the spans above it, then of those below.
func (b *assembly) identifyResources(names []string) {
	r := b.run
	r.ResourceAttributes = map[string]string{}
	take := func(i int32) {
		for _, at := range b.group.resources[b.spans[i].resource].attributes {
			if at.Name >= len(names) {
				continue
			}
			if _, ok := r.ResourceAttributes[names[at.Name]]; !ok {
				r.ResourceAttributes[names[at.Name]] = at.Value
			}
		}
	}
	for i := b.first; i >= 0; i = b.spans[i].parent {
		take(i)
	}
	for _, i := range b.this.members {
		take(i)
	}
}

// agentName is the root's own name; else its workflow's; else that of the
// first agent below that is reached without crossing a tool or model span;
// else the root span's. A placeholder counts only when nothing else is there.
func (b *assembly) agentName() string {
	root := &b.spans[b.first]
	if b.this.root < 0 {
		return b.lostName()
	}
	if root.AgentName != "" && !root.Placeholder {
		return root.AgentName
	}
	if root.WorkflowName != "" && !convention.Placeholder(root.WorkflowName) {
		return root.WorkflowName
	}
	if n := b.nameBelow(b.first); n != "" {
		return n
	}
	return cmp.Or(root.AgentName, root.WorkflowName, root.SpanName)
}

// nameBelow searches level by level, in order of start.
func (b *assembly) nameBelow(i int32) string {
	queue := append(b.path[:0], i)
	for k := 0; k < len(queue); k++ {
		for c := b.spans[queue[k]].child; c >= 0; c = b.spans[c].next {
			s := &b.spans[c]
			switch {
			case s.Kind == convention.Tool || s.Kind == convention.Model:
				continue
			case s.Kind == convention.Agent && s.AgentName != "" && !s.Placeholder:
				return s.AgentName
			}
			queue = append(queue, c)
		}
	}
	b.path = queue
	return ""
}

// lostName is the name that a run without a root goes by.
func (b *assembly) lostName() string {
	var workflow, agent, placeholder string
	for _, i := range b.this.members {
		s := &b.spans[i]
		if !convention.Placeholder(s.WorkflowName) {
			workflow = cmp.Or(workflow, s.WorkflowName)
		}
		if s.Placeholder {
			placeholder = cmp.Or(placeholder, s.AgentName, s.WorkflowName)
		} else {
			agent = cmp.Or(agent, s.AgentName)
		}
	}
	return cmp.Or(workflow, agent, placeholder, b.spans[b.first].SpanName)
}

// earlyEnd is how long, in nanoseconds, work may go on after a root without an
// output before the root no longer counts as the end of the run.
const earlyEnd = uint64(1e9)

// longest is the length, in nanoseconds, past which a span's times are taken
// for a fault of its clock: a year.
const longest = uint64(365 * 24 * 3600 * 1e9)

// timed says whether the span's start and end can be an interval.
func (s *span) timed() bool {
	return s.Start > 0 && s.End >= s.Start && s.End-s.Start <= longest
}

// interval is a stretch of time in Unix nanoseconds.
type interval struct{ start, end uint64 }

func (x interval) seconds() float64 {
	if x.end <= x.start {
		return 0
	}
	return float64(x.end-x.start) / 1e9
}

// union is the total length of the intervals, in nanoseconds.
func union(list []interval) (total uint64) {
	slices.SortFunc(list, func(x, y interval) int { return cmp.Compare(x.start, y.start) })
	var until uint64
	for _, x := range list {
		start := max(x.start, until)
		if x.end > start {
			total += x.end - start
			until = x.end
		}
	}
	return total
}

func (b *assembly) times() {
	r := b.run
	extent := interval{start: math.MaxUint64}
	for _, i := range b.this.members {
		if s := &b.spans[i]; s.IsAI() && !s.judged && s.timed() {
			extent.start, extent.end = min(extent.start, s.Start), max(extent.end, s.End)
		}
	}
	if extent.end == 0 {
		extent = interval{}
	}
	if b.this.root < 0 {
		r.Start, r.End, r.SoFar = extent.start, extent.end, extent.seconds()
		return
	}
	work := make([]interval, 0, 2)
	output, timed := false, true
	whole := interval{start: math.MaxUint64}
	for s := range b.roots {
		timed = timed && s.timed()
		work = append(work, interval{s.Start, s.End})
		whole.start, whole.end = min(whole.start, s.Start), max(whole.end, s.End)
		output = output || s.HasOutput
	}
	if !timed {
		// Its clock says nothing of how long it took; what is below may.
		r.Start, r.End, r.SoFar = extent.start, extent.end, extent.seconds()
		return
	}
	r.Start, r.End = whole.start, whole.end
	if b.this.trace {
		work = append(work[:0], whole)
	}
	if extent.end > r.End+earlyEnd && !output {
		r.RootEndedEarly = true
		work = append(work, interval{r.Start, extent.end})
		r.End = extent.end
	}
	var waits []interval
	for _, i := range b.this.members {
		s := &b.spans[i]
		if !s.timed() || !s.WaitsForPerson && (s.Kind != convention.Tool || !s.tool.waits) {
			continue
		}
		for _, x := range work {
			if w := (interval{max(s.Start, x.start), min(s.End, x.end)}); w.end > w.start {
				waits = append(waits, w)
			}
		}
	}
	total := union(work)
	v := float64(total-min(union(waits), total)) / 1e9
	r.Seconds, r.SoFar = &v, v

	for s := range b.roots {
		if t := s.FirstToken; !math.IsNaN(t) {
			r.FirstToken = &t
			return
		}
	}
	for _, i := range b.this.members {
		s := &b.spans[i]
		if math.IsNaN(s.FirstToken) || s.judged || s.Start < r.Start {
			continue
		}
		if t := float64(s.Start-r.Start)/1e9 + s.FirstToken; r.FirstToken == nil || t < *r.FirstToken {
			r.FirstToken = &t
		}
	}
}

// models counts model calls and tokens. Where model spans are nested (a
// framework's around an SDK's) the innermost ones with usage count; one
// response that several spans report is one call.
func (b *assembly) models() {
	for _, i := range b.this.members {
		s := &b.spans[i]
		if s.Kind != convention.Model || s.judged {
			continue
		}
		for p := s.parent; b.inside(p); p = b.spans[p].parent {
			q := &b.spans[p]
			if q.Kind == convention.Tool || q.Kind == convention.Agent {
				break
			}
			if q.Kind == convention.Model {
				q.wraps = true
				q.wrapsUse = q.wrapsUse || s.Usage.Known()
			}
		}
	}
	r := b.run
	for _, i := range b.this.members {
		s := &b.spans[i]
		if s.Kind != convention.Model || s.judged || neverSent(s) {
			continue
		}
		if !s.wraps {
			b.replies = append(b.replies, i)
		}
		if b.sameResponse(s) {
			b.repliesRepeat = true
			continue
		}
		if !s.wraps {
			s.isCall = true
			b.calls = append(b.calls, i)
		}
		if s.Usage.Known() && !s.wrapsUse {
			s.isUse = true
			b.uses = append(b.uses, i)
		}
	}
	if len(b.calls) > 0 {
		n := len(b.calls)
		r.ModelCalls = &n
		for _, i := range b.calls {
			if s := &b.spans[i]; !s.isUse {
				b.use(s.ModelName, convention.UnknownUsage, 1)
			}
		}
		for _, i := range b.uses {
			s := &b.spans[i]
			calls := 0
			if s.isCall {
				calls = 1
			}
			b.use(s.ModelName, s.Usage, calls)
			plus(&r.Usage, s.Usage)
		}
		if b.usageIncomplete() {
			r.Usage = convention.UnknownUsage
		}
		for _, i := range b.uses { // a sum that lacks a part is no sum
			if u := &b.spans[i].Usage; u.Input < 0 {
				r.Usage.Input = convention.Unknown
			} else if u.Output < 0 {
				r.Usage.Output = convention.Unknown
			}
		}
	}
	if len(b.uses) == 0 {
		b.agentUsage()
	}
}

// sameResponse says whether an earlier call of the run reports the span's
// response too, and notes the response.
func (b *assembly) sameResponse(s *span) bool {
	if s.ResponseID == 0 || s.wraps {
		return false
	}
	const scan = 32 // so few are found by looking at each
	if len(b.calls) < scan {
		for _, i := range b.calls {
			if b.spans[i].ResponseID == s.ResponseID {
				return true
			}
		}
		return false
	}
	if b.responses == nil {
		b.responses = make(map[uint64]bool, 2*scan)
		for _, i := range b.calls {
			b.responses[b.spans[i].ResponseID] = true
		}
	}
	if b.responses[s.ResponseID] {
		return true
	}
	b.responses[s.ResponseID] = true
	return false
}

// use adds to what the run used a model for.
func (b *assembly) use(model string, u convention.Usage, calls int) {
	r := b.run
	if model == "" && !u.Known() {
		return
	}
	for k := range r.Models {
		if r.Models[k].Model == model {
			r.Models[k].Calls += calls
			plus(&r.Models[k].Usage, u)
			return
		}
	}
	r.Models = append(r.Models, ModelUsage{Model: model, Calls: calls, Usage: u})
}

// neverSent: the call failed before a request could have gone out. A framework
// that has used up its call limit begins one more call and gives it up at
// once; in the recorded runs that took 0.4 ms, the quickest refusal by a server
// on the same machine 60 ms.
func neverSent(s *span) bool {
	return s.Failed && !s.Usage.Known() && s.ResponseID == 0 && s.End-s.Start < 2e6
}

// plus adds v's known counts to u.
func plus(u *convention.Usage, v convention.Usage) {
	add := func(to *int64, n int64) {
		if n >= 0 {
			*to = max(*to, 0) + n
		}
	}
	add(&u.Input, v.Input)
	add(&u.CachedInput, v.CachedInput)
	add(&u.CacheWrite, v.CacheWrite)
	add(&u.Output, v.Output)
	add(&u.Reasoning, v.Reasoning)
}

// usageIncomplete: a call that did not fail carries no tokens, though others
// do, so that their sum would be too small. A failed call is not billed.
func (b *assembly) usageIncomplete() bool {
	for _, i := range b.calls {
		s := &b.spans[i]
		if b.unbilled(s) || s.Usage.Known() {
			continue
		}
		if !b.covered(i, func(s *span) bool { return s.isUse }) {
			return true
		}
	}
	return false
}

func (b *assembly) unbilled(s *span) bool {
	return s.Failed && s.Failure != convention.FailureCancelled
}

// covered says whether by holds for the span or for a member above it.
func (b *assembly) covered(i int32, by func(*span) bool) bool {
	for ; b.inside(i); i = b.spans[i].parent {
		if by(&b.spans[i]) {
			return true
		}
	}
	return false
}

// agentUsage takes the usage that agents repeat, where no model span has any.
// With sub-agents below that carry usage of their own it is not known whether
// the outer figure includes them.
func (b *assembly) agentUsage() {
	carries := func(s *span) bool {
		switch s.Kind {
		case convention.Agent, convention.Chain, convention.Step:
			return s.Usage.Known() && !s.Lifetime && !s.judged
		}
		return false
	}
	for _, i := range b.this.members {
		if carries(&b.spans[i]) && b.covered(b.spans[i].parent, carries) {
			return
		}
	}
	for _, i := range b.this.members {
		if s := &b.spans[i]; carries(s) {
			b.use(s.ModelName, s.Usage, 0)
			plus(&b.run.Usage, s.Usage)
			s.isUse = true
			b.uses = append(b.uses, i)
		}
	}
}

// cost prefers what the telemetry says it cost, at the calls, then at the
// root; else it is price times tokens. It is known only as a whole.
func (b *assembly) cost() {
	r := b.run
	total, said := b.saidAtCalls()
	if said == 0 {
		own, known := 0.0, 0
		for s := range b.roots {
			if !math.IsNaN(s.CostUSD) {
				own += s.CostUSD
				known++
			}
		}
		if known > 0 && known == 1+len(b.this.more) {
			r.CostUSD, r.KnownUSD = &own, own
			return
		}
	}
	whole, parts, priced := true, said, int64(0)
	for _, i := range b.uses {
		s := &b.spans[i]
		if said > 0 && b.covered(i, func(s *span) bool { return s.priced }) {
			continue
		}
		if s.Kind != convention.Model && len(r.Agents) > 1 {
			whole = false // does the agent's usage include that of its sub-agents?
			continue
		}
		p := b.lists.rates(s.ModelName)
		if !p.known || s.Usage.Input < 0 || s.Usage.Output < 0 {
			whole = false
			continue
		}
		parts++
		priced += p.cost(s.Usage)
	}
	total += float64(priced) / 1e12
	for _, i := range b.calls {
		if !b.unbilled(&b.spans[i]) && !b.covered(i, func(s *span) bool { return s.priced || s.isUse }) {
			whole = false
		}
	}
	r.KnownUSD = total
	if whole && parts > 0 {
		r.CostUSD = &total
	}
}

// saidAtCalls adds up what model, tool and retrieval spans say they cost; of
// nested ones the innermost.
func (b *assembly) saidAtCalls() (total float64, n int) {
	says := func(s *span) bool {
		switch s.Kind {
		case convention.Model, convention.Tool, convention.Retrieval:
			return !math.IsNaN(s.CostUSD) && !s.judged
		}
		return false
	}
	for _, i := range b.this.members {
		if !says(&b.spans[i]) {
			continue
		}
		for p := b.spans[i].parent; b.inside(p); p = b.spans[p].parent {
			b.spans[p].costBelow = true
		}
	}
	for _, i := range b.this.members {
		if s := &b.spans[i]; says(s) && !s.costBelow {
			s.priced = true
			total += s.CostUSD
			n++
		}
	}
	return total, n
}

func (b *assembly) retrievals() {
	for _, i := range b.this.members {
		s := &b.spans[i]
		if s.Kind == convention.Retrieval && !s.judged {
			b.run.Retrievals = append(b.run.Retrievals, Retrieval{Documents: s.Documents, Failed: s.Failed, Start: s.Start, End: s.End})
		}
	}
}

// owner is the name of the agent that a span works for.
func (b *assembly) owner(i int32) string {
	if p := b.ancestor(i, convention.Agent); b.inside(p) && b.spans[p].AgentName != "" {
		return b.spans[p].AgentName
	}
	return b.run.Agent
}
