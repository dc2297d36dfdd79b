package run

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// resolution is what a look at a group finds.
type resolution struct {
	runs []resolvedRun
	rest *group // what stays open; nil: nothing
	next int64  // when to look again

	unattached, late, duplicates, orphanEvaluations int
}

type resolvedRun struct {
	completed
	spans     []span
	responses []uint64
}

// tree is a group's spans with their kinship. Everything in it is a function
// of the set of spans, whatever the order in which they came.
type tree struct {
	spans []span
	// root is, by span, the index of the run root it belongs to; -1 none.
	root []int
	// broken is true where the way up ends at a span whose parent is missing.
	broken []bool
	// top is, by span, the topmost span reachable from it.
	top []int
}

// grow links parents and children. Cycles, which only broken telemetry has,
// are cut at their first span.
func grow(spans []span) *tree {
	slices.SortFunc(spans, func(x, y span) int {
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End), cmp.Compare(x.id, y.id))
	})
	index := make(map[uint64]int, len(spans))
	for i := range spans {
		index[spans[i].id] = i
	}
	for i := range spans {
		spans[i].parent = -1
		if p, ok := index[spans[i].parentID]; ok && spans[i].parentID != 0 && p != i {
			spans[i].parent = p
		}
	}
	t := &tree{spans: spans, root: make([]int, len(spans)), broken: make([]bool, len(spans)), top: make([]int, len(spans))}
	for i := range t.top {
		t.root[i], t.top[i] = -1, -1
	}
	seen := make([]int, len(spans))
	for i := range spans {
		path := i
		for {
			if t.top[path] >= 0 {
				break
			}
			if seen[path] == i+1 { // a cycle: cut it here
				spans[path].parent = -1
				t.top[path] = path
				break
			}
			seen[path] = i + 1
			if spans[path].parent < 0 {
				t.top[path] = path
				break
			}
			path = spans[path].parent
		}
		top := t.top[path]
		for p := i; t.top[p] < 0; p = spans[p].parent {
			t.top[p] = top
		}
	}
	for i := range spans {
		if p := spans[i].parent; p >= 0 {
			spans[p].children = append(spans[p].children, i)
		}
		s := &spans[t.top[i]]
		t.broken[i] = s.parentID != 0
	}
	return t
}

// above calls yield with the span's ancestors, nearest first.
func (t *tree) above(i int, yield func(int) bool) {
	for p := t.spans[i].parent; p >= 0; p = t.spans[p].parent {
		if !yield(p) {
			return
		}
	}
}

// ancestor returns the nearest ancestor of that kind, or -1.
func (t *tree) ancestor(i int, kind convention.Kind) int {
	found := -1
	t.above(i, func(p int) bool {
		if t.spans[p].Kind == kind {
			found = p
		}
		return found < 0
	})
	return found
}

// roots finds the roots of runs: for each topmost agent that agent, or the
// topmost chain above it that does AI work of its own outside every agent; and
// the topmost chains with AI work but no agent. Without any of these, the
// trace itself is a run where the file says so, by its mode or by a run key.
func (t *tree) roots(mode slo.RunRoot, keyed bool) []int {
	// works: a model or tool span lies below, outside every agent below.
	works := make([]bool, len(t.spans))
	agentBelow := make([]bool, len(t.spans))
	for i := range t.spans {
		s := &t.spans[i]
		switch s.Kind {
		case convention.Model, convention.Tool, convention.Retrieval:
			work := s.Kind != convention.Retrieval
			for p := s.parent; p >= 0; p = t.spans[p].parent {
				if t.spans[p].Kind == convention.Agent || t.spans[p].Kind == convention.Evaluator {
					break
				}
				works[p] = works[p] || work
			}
		case convention.Agent:
			for p := s.parent; p >= 0; p = t.spans[p].parent {
				agentBelow[p] = true
			}
		}
	}
	isRoot := map[int]bool{}
	topChain := func(i int) int {
		best := -1
		t.above(i, func(p int) bool {
			if t.spans[p].Kind == convention.Chain && works[p] {
				best = p
			}
			return true
		})
		return best
	}
	for i := range t.spans {
		switch t.spans[i].Kind {
		case convention.Agent:
			if t.ancestor(i, convention.Agent) >= 0 || t.ancestor(i, convention.Evaluator) >= 0 {
				continue
			}
			if c := topChain(i); c >= 0 {
				isRoot[c] = true
			} else {
				isRoot[i] = true
			}
		case convention.Chain:
			if !works[i] || t.ancestor(i, convention.Agent) >= 0 || t.ancestor(i, convention.Evaluator) >= 0 {
				continue
			}
			if topChain(i) < 0 {
				isRoot[i] = true
			}
		}
	}
	if len(isRoot) == 0 && (mode == slo.RootTrace || keyed) {
		for i := range t.spans {
			s := &t.spans[i]
			if s.IsAI() && s.Kind != convention.Evaluator && !t.broken[i] && (mode == slo.RootTrace || s.RunID != "") {
				isRoot[t.top[i]] = true
			}
		}
	}
	roots := make([]int, 0, len(isRoot))
	for i := range isRoot {
		roots = append(roots, i)
	}
	slices.Sort(roots)
	return roots
}

// adopt takes out roots whose way up is broken and whose interval lies within
// that of exactly one other root of their trace: the missing span stood between
// the two. hosts says which root took them in.
func (t *tree) adopt(roots []int) (kept []int, hosts map[int]int) {
	hosts = map[int]int{}
	longest := slices.Clone(roots)
	slices.SortStableFunc(longest, func(x, y int) int {
		return cmp.Compare(t.spans[y].End-t.spans[y].Start, t.spans[x].End-t.spans[x].Start)
	})
	for _, r := range longest {
		s := &t.spans[r]
		host := -1
		for _, q := range kept {
			if o := &t.spans[q]; t.broken[r] && o.trace == s.trace && o.Start <= s.Start && s.End <= o.End {
				if host >= 0 {
					host = -2
					break
				}
				host = q
			}
		}
		if host >= 0 {
			hosts[r] = host
		} else {
			kept = append(kept, r)
		}
	}
	slices.Sort(kept)
	return kept, hosts
}

// highest is i or the ancestor of i that was taken in, or -1.
func (t *tree) highest(i int, hosts map[int]int) int {
	if _, ok := hosts[i]; ok || len(hosts) == 0 {
		return i
	}
	found := -1
	t.above(i, func(p int) bool {
		if _, ok := hosts[p]; ok {
			found = p
		}
		return found < 0
	})
	return found
}

// resolve looks for runs in g that are over. why forces everything out.
func (a *Assembler) resolve(g *group, why Completion, now int64) (out resolution) {
	quiet, idle := int64(a.settings.QuietPeriod), int64(a.settings.IdleTimeout)
	if g.ai == 0 {
		if len(g.ids) > 0 && len(g.evals) == 0 {
			return out // an ordinary trace
		}
		if wait := g.firstArrival + idle; why == "" && now < wait {
			out.rest, out.next = g, wait
			return out
		}
		out.orphanEvaluations = len(g.evals)
		return out
	}
	decoded, ok := g.decode()
	if !ok {
		a.Stats.Malformed.Add(int64(len(g.ids) - len(decoded)))
	}
	t := grow(decoded)
	roots := t.roots(a.settings.Root, len(a.settings.Key) > 0)
	roots, hosts := t.adopt(roots)
	idleOver := why != "" || now >= g.lastArrival+idle

	// Which root a span belongs to: the nearest one above.
	for _, r := range roots {
		t.root[r] = r
	}
	for i := range t.spans {
		if t.root[i] < 0 {
			t.above(i, func(p int) bool {
				if t.root[p] == p {
					t.root[i] = p
				}
				return t.root[i] < 0
			})
		}
	}

	// A run id found on any span belongs to the whole run; runs with the same
	// one are one run, under the root that began first.
	runID := map[int]string{}
	for _, r := range roots {
		runID[r] = t.spans[r].RunID
	}
	depth := map[int]int{}
	for i := range t.spans {
		r := t.root[i]
		if r < 0 || t.spans[r].RunID != "" || t.spans[i].RunID == "" {
			continue
		}
		d := 0
		t.above(i, func(p int) bool { d++; return p != r })
		if old, ok := depth[r]; !ok || d < old {
			depth[r], runID[r] = d, t.spans[i].RunID
		}
	}
	lead := map[int]int{} // root → the root that leads its run
	byID := map[string]int{}
	for _, r := range roots {
		lead[r] = r
		if id := runID[r]; id != "" {
			if first, ok := byID[id]; ok {
				lead[r] = first
			} else {
				byID[id] = r
			}
		}
	}
	for i := range t.spans {
		s := &t.spans[i]
		if r := t.root[i]; r >= 0 {
			t.root[i] = lead[r]
		} else if h, ok := hosts[t.highest(i, hosts)]; ok {
			t.root[i] = lead[h]
		} else if s.RunID != "" {
			if r, ok := byID[s.RunID]; ok {
				t.root[i] = r
			}
		}
	}

	// Orphans join the run whose interval contains theirs, if exactly one does.
	for i := range t.spans {
		s := &t.spans[i]
		if t.root[i] >= 0 || !s.IsAI() || !t.broken[i] {
			continue
		}
		match := -1
		for _, r := range roots {
			if lead[r] == r && t.spans[r].trace == s.trace && t.spans[r].Start <= s.Start && s.End <= t.spans[r].End {
				if match >= 0 {
					match = -2
					break
				}
				match = r
			}
		}
		if match >= 0 {
			t.root[i] = match
		}
	}

	// Which roots are ready, and when the others may be.
	members := map[int][]int{}
	lastArrival := map[int]int64{}
	hanging := 0 // AI spans that hang on missing parents
	for i := range t.spans {
		if r := t.root[i]; r >= 0 {
			members[r] = append(members[r], i)
			lastArrival[r] = max(lastArrival[r], t.spans[i].arrival)
		}
		if t.spans[i].IsAI() && t.broken[i] {
			hanging++
		}
	}
	hangingIn := map[int]int{}
	for r, list := range members {
		for _, i := range list {
			if t.spans[i].IsAI() && t.broken[i] {
				hangingIn[r]++
			}
		}
	}
	next := int64(0)
	wait := func(at int64) {
		if next == 0 || at < next {
			next = at
		}
	}
	done := map[int]Completion{}
	var order []int
	for _, r := range roots {
		if lead[r] != r {
			continue
		}
		completion := why
		if why == "" || why == EndOfInput || why == Shutdown {
			completion = RootEnded
		}
		if why == "" {
			top := &t.spans[t.top[r]]
			provisional := t.broken[r] && (top.ParentLocal || hanging > hangingIn[r])
			due := lastArrival[r] + quiet
			if provisional {
				due = g.lastArrival + idle
			}
			if now < due {
				wait(due)
				continue
			}
		}
		done[r] = completion
		order = append(order, r)
	}

	// Spans without any root, once waiting is over.
	gone := make([]bool, len(t.spans))
	var lost []int
	if len(done) == len(members) && idleOver {
		names := false
		for i := range t.spans {
			s := &t.spans[i]
			if t.root[i] >= 0 || !s.IsAI() || s.Kind == convention.Evaluator {
				continue
			}
			if g.finished != nil && g.finished.covers(s) {
				out.late++
				gone[i] = true
				continue
			}
			if len(roots) == 0 {
				lost = append(lost, i)
				names = names || s.AgentName != "" || s.WorkflowName != "" || s.RunID != ""
			} else {
				out.unattached++
			}
			gone[i] = true
		}
		if !names && len(a.settings.Key) == 0 {
			out.unattached += len(lost)
			lost = nil
		}
	}

	for _, r := range order {
		list := members[r]
		for _, i := range list {
			gone[i] = true
		}
		id := runID[r]
		if a.resumed(id) {
			out.late += len(list)
			continue
		}
		var tops []int
		for _, x := range roots {
			if lead[x] == r {
				tops = append(tops, x)
			}
		}
		out.runs = append(out.runs, a.build(g, t, tops, list, id, done[r]))
	}
	if len(lost) > 0 {
		id := ""
		for _, i := range lost {
			if id == "" {
				id = t.spans[i].RunID
			}
		}
		completion := why
		if why == "" {
			completion = Idle
		}
		if a.resumed(id) {
			out.late += len(lost)
		} else {
			out.runs = append(out.runs, a.build(g, t, nil, lost, id, completion))
		}
	}

	a.attach(g, &out, len(out.runs) == 1 && len(done) == len(members))

	// What is left stays open, unless no AI span is among it.
	restAI := 0
	for i := range t.spans {
		if !gone[i] && t.spans[i].IsAI() {
			restAI++
		}
	}
	switch {
	case why != "" || (restAI == 0 && len(g.evals) == 0) || idleOver:
		out.orphanEvaluations = len(g.evals)
		return out
	case len(out.runs) == 0 && out.late == 0:
		out.rest = g
	default:
		rest := newGroup(g.traces[0], g.firstArrival)
		rest.traces, rest.resources, rest.claimed, rest.evals = g.traces, g.resources, g.claimed, g.evals
		rest.pipeline, rest.lastArrival, rest.rootArrival = g.pipeline, g.lastArrival, g.rootArrival
		rest.rootLike, rest.threshold, rest.hasThreshold, rest.mixedSampling = g.rootLike, g.threshold, g.hasThreshold, g.mixedSampling
		in := interner{}
		for i := range t.spans {
			if s := &t.spans[i]; !gone[i] {
				rest.appendRecord(&s.Facts, s.trace, s.resource, s.arrival, &in)
			}
		}
		rest.ai = restAI
		out.rest = rest
	}
	wait(g.lastArrival + idle)
	wait(g.firstArrival + int64(a.settings.MaxAge))
	out.next = next
	return out
}

func newGroup(key pcommon.TraceID, firstArrival int64) *group {
	return &group{traces: []pcommon.TraceID{key}, firstArrival: firstArrival, lastArrival: firstArrival}
}

// covers says whether the span falls into a completed run of its trace.
func (t *finishedTrace) covers(s *span) bool {
	for _, r := range t.runs {
		if r.start <= s.Start && s.Start <= r.end {
			return true
		}
	}
	return false
}

// attach gives the completed runs the evaluations that came before.
func (a *Assembler) attach(g *group, out *resolution, only bool) {
	if len(out.runs) == 0 {
		return
	}
	var rest []convention.Evaluation
	for _, e := range g.evals {
		match := -1
		for i := range out.runs {
			r := &out.runs[i]
			for j := range r.spans {
				s := &r.spans[j]
				if !e.TargetSpan.IsEmpty() && s.SpanID == e.TargetSpan && g.traces[s.trace] == e.TargetTrace ||
					e.TargetSpan.IsEmpty() && e.TargetResponse != 0 && s.ResponseID == e.TargetResponse {
					match = i
				}
			}
		}
		if match < 0 && only && (g.finished == nil || len(g.finished.runs) == 0) {
			match = 0 // the trace's only run
		}
		if match < 0 {
			rest = append(rest, e)
			continue
		}
		r := out.runs[match].run
		r.Evaluations = append(r.Evaluations, e)
	}
	g.evals = rest
}

// identity is the run's ID: of its run id where there is one, else of its root.
func identity(runID string, trace pcommon.TraceID, root pcommon.SpanID) (id [16]byte) {
	h := sha256.New()
	if runID != "" {
		h.Write([]byte("run\x00"))
		h.Write([]byte(runID))
	} else {
		h.Write([]byte("root\x00"))
		h.Write(trace[:])
		h.Write(root[:])
	}
	copy(id[:], h.Sum(nil))
	return id
}
