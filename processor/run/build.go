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
	*tree
	group   *group
	run     *Run
	file    *slo.File
	roots   []int // the run's roots in order of start; none for a lost run
	members []int // in order of start
	in      map[int]bool

	judged  map[int]bool // below an evaluator: costs nothing and says nothing
	calls   []int        // counted model calls in order of start
	usages  []int        // spans whose usage counts
	isUsage map[int]bool // of usages
	toolIdx []int        // span of each run.Tools entry
	sibling map[int]bool // tools whose sub-agent is not below them
}

// build makes a run of its spans. roots is empty for a lost run.
func (a *Assembler) build(g *group, t *tree, roots, members []int, runID string, completion Completion) resolvedRun {
	b := &assembly{tree: t, group: g, roots: roots, members: members, in: map[int]bool{}, judged: map[int]bool{}, isUsage: map[int]bool{},
		run: &Run{RunID: runID, Completion: completion, Usage: convention.UnknownUsage, Sampling: g.samplingProbability()}}
	for _, i := range members {
		b.in[i] = true
	}
	r := b.run
	first := members[0]
	for _, i := range members {
		if t.spans[i].IsAI() {
			r.Spans++
		}
	}
	if len(roots) > 0 {
		first = roots[0]
		r.HasRoot = true
		r.RootSpanID = t.spans[first].SpanID
	}
	r.TraceID = g.traces[t.spans[first].trace]
	r.ID = identity(runID, r.TraceID, r.RootSpanID)
	for _, i := range members {
		for p := i; p >= 0; p = t.spans[p].parent {
			if t.spans[p].Kind == convention.Evaluator {
				b.judged[i] = true
			}
			if !b.in[p] {
				break
			}
		}
	}

	b.identify(a.extractor.Names, first)
	b.file = a.files.Match(r.Service, r.Environment, r.Agent, func(name string) (string, bool) {
		v, ok := r.Attributes[name]
		return v, ok
	})
	b.times()
	b.models()
	b.cost()
	b.tools()
	b.retrievals()
	b.outcome()
	if a.handler.Marker != nil && b.file != nil && r.Outcome != slo.Lost {
		if o, ok := a.handler.Marker(b.file, r); ok {
			r.Outcome, r.OutcomeReason = o, "marker"
		}
	}

	out := resolvedRun{completed: completed{run: r, file: b.file}}
	for _, i := range members {
		out.spans = append(out.spans, t.spans[i])
		if id := t.spans[i].ResponseID; id != 0 {
			out.responses = append(out.responses, id)
		}
	}
	return out
}

// identify finds the run's names and the attributes that files ask for.
func (b *assembly) identify(names []string, first int) {
	r := b.run
	root := &b.spans[first]
	res := b.group.resources[root.resource]
	r.Service, r.Environment = res.service, res.environment
	r.Agent = b.agentName(first)
	r.Agents = append(r.Agents, r.Agent)
	for _, i := range b.members {
		if n := b.spans[i].AgentName; n != "" && !b.spans[i].Placeholder && b.spans[i].Kind == convention.Agent && !slices.Contains(r.Agents, n) {
			r.Agents = append(r.Agents, n)
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
	b.above(first, func(p int) bool {
		take(b.spans[p].Attributes)
		take(b.group.resources[b.spans[p].resource].attributes)
		return true
	})
	for _, i := range b.members {
		take(b.spans[i].Attributes)
	}
	for _, i := range b.members {
		take(b.group.resources[b.spans[i].resource].attributes)
	}
}

// agentName is the root's own name; else its workflow's; else that of the
// first agent below that is reached without crossing a tool or model span;
// else the root span's. A placeholder counts only when nothing else is there.
func (b *assembly) agentName(first int) string {
	root := &b.spans[first]
	if len(b.roots) == 0 {
		for _, pick := range []func(*span) string{
			func(s *span) string { return s.WorkflowName },
			func(s *span) string {
				if s.Placeholder {
					return ""
				}
				return s.AgentName
			},
			func(s *span) string { return s.AgentName },
		} {
			for _, i := range b.members {
				if n := pick(&b.spans[i]); n != "" {
					return n
				}
			}
		}
		return root.SpanName
	}
	if root.AgentName != "" && !root.Placeholder {
		return root.AgentName
	}
	if root.WorkflowName != "" && !convention.Placeholder(root.WorkflowName) {
		return root.WorkflowName
	}
	queue := slices.Clone(root.children)
	for len(queue) > 0 {
		s := &b.spans[queue[0]]
		queue = queue[1:]
		if s.Kind == convention.Tool || s.Kind == convention.Model {
			continue
		}
		if s.Kind == convention.Agent && s.AgentName != "" && !s.Placeholder {
			return s.AgentName
		}
		queue = append(queue, s.children...)
	}
	return cmp.Or(root.AgentName, root.WorkflowName, root.SpanName)
}

// earlyEnd is how long work may go on after a root without an output before
// the root no longer counts as the end of the run.
const earlyEnd = uint64(1e9)

// interval is a stretch of time in Unix nanoseconds.
type interval struct{ start, end uint64 }

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
	r.Start, r.End = math.MaxUint64, 0
	var extent interval
	extent.start = math.MaxUint64
	for _, i := range b.members {
		s := &b.spans[i]
		if s.IsAI() && !b.judged[i] && s.Kind != convention.Evaluator {
			extent.start, extent.end = min(extent.start, s.Start), max(extent.end, s.End)
		}
	}
	if len(b.roots) == 0 {
		r.Start, r.End = extent.start, extent.end
		r.SoFar = seconds(extent)
		return
	}
	var spans []interval
	output := false
	for _, i := range b.roots {
		s := &b.spans[i]
		spans = append(spans, interval{s.Start, s.End})
		r.Start, r.End = min(r.Start, s.Start), max(r.End, s.End)
		output = output || s.HasOutput
	}
	if extent.end > r.End+earlyEnd && !output {
		r.RootEndedEarly = true
		spans = append(spans, interval{r.Start, extent.end})
		r.End = extent.end
	}
	var waits []interval
	for _, i := range b.members {
		s := &b.spans[i]
		if s.Kind != convention.Tool || !slo.HumanWaitTool(s.ToolName) {
			continue
		}
		for _, x := range spans {
			w := interval{max(s.Start, x.start), min(s.End, x.end)}
			if w.end > w.start {
				waits = append(waits, w)
			}
		}
	}
	total := union(spans)
	v := float64(total-min(union(waits), total)) / 1e9
	r.Seconds, r.SoFar = &v, v

	for _, i := range b.roots {
		if t := b.spans[i].FirstToken; !math.IsNaN(t) {
			r.FirstToken = &t
			return
		}
	}
	for _, i := range b.members {
		s := &b.spans[i]
		if math.IsNaN(s.FirstToken) || b.judged[i] || s.Start < r.Start {
			continue
		}
		if t := float64(s.Start-r.Start)/1e9 + s.FirstToken; r.FirstToken == nil || t < *r.FirstToken {
			r.FirstToken = &t
		}
	}
}

func seconds(x interval) float64 {
	if x.end <= x.start {
		return 0
	}
	return float64(x.end-x.start) / 1e9
}

// models counts model calls and tokens. Where model spans are nested (a
// framework's around an SDK's) the innermost ones with usage count; one
// response that several spans report is one call.
func (b *assembly) models() {
	below := map[int]bool{} // a model span lies below, no tool or agent between
	usage := map[int]bool{} // and one of them carries usage
	responses := map[uint64]bool{}
	for i := len(b.members) - 1; i >= 0; i-- {
		m := b.members[i]
		if b.spans[m].Kind != convention.Model || b.judged[m] {
			continue
		}
		b.above(m, func(p int) bool {
			switch b.spans[p].Kind {
			case convention.Tool, convention.Agent:
				return false
			case convention.Model:
				below[p] = true
				usage[p] = usage[p] || usage[m] || b.spans[m].Usage.Known()
			}
			return b.in[p]
		})
	}
	for _, m := range b.members {
		s := &b.spans[m]
		if s.Kind != convention.Model || b.judged[m] || neverSent(s) {
			continue
		}
		if s.ResponseID != 0 {
			if responses[s.ResponseID] && !below[m] {
				continue
			}
			responses[s.ResponseID] = responses[s.ResponseID] || !below[m]
		}
		if !below[m] {
			b.calls = append(b.calls, m)
		}
		if s.Usage.Known() && !usage[m] {
			b.usages = append(b.usages, m)
			b.isUsage[m] = true
		}
	}
	r := b.run
	byModel := map[string]*ModelUsage{}
	var order []string
	add := func(s *span, calls int) {
		u := byModel[s.ModelName]
		if u == nil {
			u = &ModelUsage{Model: s.ModelName, Usage: convention.UnknownUsage}
			byModel[s.ModelName] = u
			order = append(order, s.ModelName)
		}
		u.Calls += calls
		plus(&u.Usage, s.Usage)
	}
	if len(b.calls) > 0 {
		n := len(b.calls)
		r.ModelCalls = &n
		for _, m := range b.calls {
			if !b.isUsage[m] {
				add(&span{Facts: convention.Facts{ModelName: b.spans[m].ModelName, Usage: convention.UnknownUsage}}, 1)
			}
		}
		for _, m := range b.usages {
			c := 1
			if below[m] {
				c = 0
			}
			add(&b.spans[m], c)
			plus(&r.Usage, b.spans[m].Usage)
		}
		if b.usageIncomplete() {
			r.Usage = convention.UnknownUsage
		}
	}
	if len(b.usages) == 0 {
		b.agentUsage(add)
	}
	for _, name := range order {
		if byModel[name].Model != "" || byModel[name].Usage.Known() {
			r.Models = append(r.Models, *byModel[name])
		}
	}
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
	for _, m := range b.calls {
		s := &b.spans[m]
		if s.Failed && s.Failure != convention.FailureCancelled || s.Usage.Known() {
			continue
		}
		covered := false // a span above carries the usage of this call
		b.above(m, func(p int) bool { covered = covered || b.isUsage[p]; return !covered && b.in[p] })
		if !covered {
			return true
		}
	}
	return false
}

// agentUsage takes the usage that agents repeat, where no model span has any.
// With sub-agents below that carry usage of their own it is not known whether
// the outer figure includes them.
func (b *assembly) agentUsage(add func(*span, int)) {
	var found []int
	has := map[int]bool{}
	for _, i := range b.members {
		s := &b.spans[i]
		switch s.Kind {
		case convention.Agent, convention.Chain, convention.Step:
			if s.Usage.Known() && !s.Lifetime && !b.judged[i] {
				found = append(found, i)
				has[i] = true
			}
		}
	}
	for _, i := range found {
		nested := false
		b.above(i, func(p int) bool { nested = nested || has[p]; return !nested && b.in[p] })
		if nested {
			return
		}
	}
	for _, i := range found {
		add(&b.spans[i], 0)
		plus(&b.run.Usage, b.spans[i].Usage)
		b.usages = append(b.usages, i)
		b.isUsage[i] = true
	}
}

// cost prefers what the telemetry says it cost, at the calls, then at the
// root; else it is price times tokens. It is known only as a whole.
func (b *assembly) cost() {
	r := b.run
	known := true
	total := 0.0
	explicit := map[int]bool{} // spans whose cost is part of the total
	inner := map[int]bool{}    // spans above one that says its cost
	says := func(i int) bool {
		switch b.spans[i].Kind {
		case convention.Model, convention.Tool, convention.Retrieval:
			return !math.IsNaN(b.spans[i].CostUSD) && !b.judged[i]
		}
		return false
	}
	for _, i := range b.members {
		if says(i) {
			b.above(i, func(p int) bool { inner[p] = true; return b.in[p] })
		}
	}
	for _, i := range b.members {
		if says(i) && !inner[i] {
			explicit[i] = true
			total += b.spans[i].CostUSD
		}
	}
	if len(explicit) == 0 {
		var own float64
		n := 0
		for _, i := range b.roots {
			if c := b.spans[i].CostUSD; !math.IsNaN(c) {
				own += c
				n++
			}
		}
		if n > 0 && n == len(b.roots) {
			r.CostUSD, r.KnownUSD = &own, own
			return
		}
	}
	priced := 0
	price := func(s *span) {
		p, ok := b.file.Price(s.ModelName)
		if !ok || s.Usage.Input < 0 || s.Usage.Output < 0 {
			known = false
			return
		}
		priced++
		total += p.Cost(s.Usage.Input, max(s.Usage.CachedInput, 0), max(s.Usage.CacheWrite, 0), s.Usage.Output)
	}
	covered := func(i int, by func(int) bool) bool {
		if by(i) {
			return true
		}
		found := false
		b.above(i, func(p int) bool { found = found || by(p); return !found && b.in[p] })
		return found
	}
	for _, i := range b.usages {
		if covered(i, func(p int) bool { return explicit[p] }) {
			continue
		}
		s := &b.spans[i]
		if s.Kind != convention.Model && b.subAgents() {
			known = false // does its usage include theirs?
			continue
		}
		price(s)
	}
	for _, m := range b.calls {
		s := &b.spans[m]
		if s.Failed && s.Failure != convention.FailureCancelled {
			continue
		}
		if !covered(m, func(p int) bool { return explicit[p] || b.isUsage[p] }) {
			known = false
		}
	}
	r.KnownUSD = total
	if known && priced+len(explicit) > 0 {
		r.CostUSD = &total
	}
}

// subAgents says whether agents lie below the run's roots.
func (b *assembly) subAgents() bool {
	for _, i := range b.members {
		if b.spans[i].Kind == convention.Agent && !slices.Contains(b.roots, i) {
			return true
		}
	}
	return false
}

func (b *assembly) retrievals() {
	for _, i := range b.members {
		s := &b.spans[i]
		if s.Kind == convention.Retrieval && !b.judged[i] {
			b.run.Retrievals = append(b.run.Retrievals, Retrieval{Documents: s.Documents, Failed: s.Failed, Start: s.Start, End: s.End})
		}
	}
}

// owner is the name of the agent that a span works for.
func (b *assembly) owner(i int) string {
	if p := b.ancestor(i, convention.Agent); p >= 0 && b.in[p] && b.spans[p].AgentName != "" {
		return b.spans[p].AgentName
	}
	return b.run.Agent
}
