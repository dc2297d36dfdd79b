package run

import (
	"cmp"
	"slices"
	"sync"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// span is one decoded record with its place in the tree.
type span struct {
	convention.Facts
	id       uint64 // span id, mixed with its trace's index
	parentID uint64 // likewise; 0 none
	trace    int
	resource int
	arrival  int64 // process clock, Unix nanoseconds

	kin
}

// kin is a span's place among the others. Spans are named by their index.
type kin struct {
	parent, child, next int32 // parent, first child, next sibling; -1 none
	top                 int32 // the topmost span above; itself when nothing is
	depth               int32
	run                 int32 // index into tree.runs; -1 none
	tool                toolKind
	marks
}

// marks are what is found out about a span on the way to its run.
type marks struct {
	broken    bool // the way up ends at a span whose parent is missing
	works     bool // a model or tool lies below, outside every agent below
	isRoot    bool
	gone      bool // it leaves the group with a completed run
	judged    bool // below an evaluator: costs nothing and says nothing
	wraps     bool // a model span lies below, no tool or agent between
	wrapsUse  bool // and one of those carries usage
	isUse     bool // its usage counts
	isCall    bool // it is a counted model call
	priced    bool // its own word on the cost counts
	costBelow bool // a span below says its cost
	sibling   bool // a tool whose sub-agent is not below it
	// misformedBelow: a span below shows an answer without its form.
	misformedBelow bool
	// faultBelow: a span of the same model call below tells of the provider's trouble.
	faultBelow bool
	offTrunk   bool // below a tool or guardrail: not on the run's own path
}

var unrelated = kin{parent: -1, child: -1, next: -1, top: -1, run: -1}

// blank is a span of which nothing is known.
var blank = func() span {
	s := span{kin: unrelated}
	s.Reset()
	return s
}()

// tree is a group's spans with their kinship. What it says is a function of
// the set of spans, whatever the order in which they came.
type tree struct {
	spans []span
	ids   []uint64    // of the spans
	order []int32     // the spans in order of start; of equal starts the longer first
	runs  []candidate // what the spans are members of
	list  []int32     // memory of the candidates' members
	// evaluated: there are evaluators, and so there may be spans below them.
	evaluated bool
	noted     bool // there are log records that tell of spans
	// lastOrphan is when the last AI span came that hangs on a missing parent and
	// belongs to no run: whoever is above it may still be at work.
	lastOrphan int64

	index map[uint64]int32 // of big groups, by id
	path  []int32
}

// candidate is a run in the making.
type candidate struct {
	root    int32   // its first root; -1 for a lost run
	trace   bool    // the trace as a whole is the run
	more    []int32 // further roots of the same run id, in order of start
	runID   string
	depth   int32 // below the root of the span that gave runID
	members []int32

	lastArrival int64
	hanging     int // AI members that hang on missing parents
	ready       bool
	completion  Completion
	run         *Run // once built
}

// trees are reused: a look at a group is frequent and short.
var trees = sync.Pool{New: func() any { return &tree{index: map[uint64]int32{}} }}

// maxDepth bounds the way up. No agent nests like that; a chain that is longer
// is cut, so that what telemetry says cannot make us slow.
const maxDepth = 1024

// grow links parents and children. Cycles, which only broken telemetry has,
// are cut at their first span.
func (t *tree) grow() {
	spans := t.spans
	t.order = t.order[:0]
	for i := range spans {
		t.order = append(t.order, int32(i))
	}
	t.sort()
	t.link()
	for _, i := range t.order {
		t.climb(i)
	}
	for k := len(t.order) - 1; k >= 0; k-- { // children in order of start
		i := t.order[k]
		if p := spans[i].parent; p >= 0 {
			spans[i].next, spans[p].child = spans[p].child, i
		}
	}
}

// sort puts order into order. Spans come as they end, so that few are far from
// their place.
func (t *tree) sort() {
	spans, order := t.spans, t.order
	const few = 64
	if len(order) > few {
		slices.SortFunc(order, func(x, y int32) int { return compareStarts(&spans[x], &spans[y]) })
		return
	}
	for n := 1; n < len(order); n++ {
		i, k := order[n], n
		for ; k > 0 && compareStarts(&spans[i], &spans[order[k-1]]) < 0; k-- {
			order[k] = order[k-1]
		}
		order[k] = i
	}
}

func compareStarts(a, b *span) int {
	switch {
	case a.Start < b.Start:
		return -1
	case a.Start > b.Start:
		return 1
	}
	return cmp.Or(cmp.Compare(b.End, a.End), cmp.Compare(a.id, b.id))
}

// link finds each span's parent.
func (t *tree) link() {
	spans, ids := t.spans, t.ids
	const scan = 40 // so few are found by looking at each
	indexed := len(spans) > scan
	if indexed {
		clear(t.index)
		for i, id := range ids {
			t.index[id] = int32(i)
		}
	}
	last := 0 // neighbours have the same parent
	for i := range spans {
		s := &spans[i]
		switch {
		case s.parentID == 0 || s.parentID == s.id:
		case ids[last] == s.parentID:
			s.parent = int32(last)
		case indexed:
			if p, ok := t.index[s.parentID]; ok {
				s.parent, last = p, int(p)
			}
		default:
			if p := slices.Index(ids, s.parentID); p >= 0 {
				s.parent, last = int32(p), p
			}
		}
	}
}

// climb finds the top of i and of everything on the way.
func (t *tree) climb(i int32) {
	spans := t.spans
	if s := &spans[i]; s.top < 0 && s.parent >= 0 {
		// In order of start the parent is mostly done already.
		if up := &spans[s.parent]; up.top >= 0 && up.depth < maxDepth {
			s.top, s.depth, s.broken = up.top, up.depth+1, up.broken
			return
		}
	}
	t.path = t.path[:0]
	p := i
	for spans[p].top < 0 {
		spans[p].top = p // on the path
		t.path = append(t.path, p)
		next := spans[p].parent
		if next < 0 {
			break
		}
		if spans[next].top == next && spans[next].parent >= 0 && slices.Contains(t.path, next) {
			for _, q := range t.path {
				spans[q].top = -1
			}
			spans[next].parent = -1
			t.climb(i)
			return
		}
		p = next
	}
	for k := len(t.path) - 1; k >= 0; k-- {
		s := &spans[t.path[k]]
		if s.parent < 0 || spans[s.parent].depth >= maxDepth {
			s.parent, s.depth, s.broken = -1, 0, s.parentID != 0
			continue
		}
		up := &spans[s.parent]
		s.top, s.depth, s.broken = up.top, up.depth+1, up.broken
	}
}

// ancestor returns the nearest ancestor of that kind, or -1.
func (t *tree) ancestor(i int32, kind convention.Kind) int32 {
	for p := t.spans[i].parent; p >= 0; p = t.spans[p].parent {
		if t.spans[p].Kind == kind {
			return p
		}
	}
	return -1
}

// confirm settles the spans that only their name speaks for: they are what
// their name says if another span of the trace has that convention.
func (t *tree) confirm() {
	t.evaluated, t.noted = false, false
	tentative := false
	for i := range t.spans {
		s := &t.spans[i]
		tentative = tentative || s.Tentative != convention.Other
		t.evaluated = t.evaluated || s.Kind == convention.Evaluator
		t.noted = t.noted || s.Kind == convention.Note
	}
	if !tentative {
		return
	}
	type speech struct {
		convention string
		trace      int
	}
	heard := map[speech]bool{}
	for i := range t.spans {
		heard[speech{t.spans[i].Convention, t.spans[i].trace}] = true
	}
	for i := range t.spans {
		if s := &t.spans[i]; s.Tentative != convention.Other && heard[speech{s.TentativeOf, s.trace}] {
			s.Confirm()
		}
	}
}

// supplement gives spans what log records tell of them. A record that names a
// call or a response is about the span that has it, whatever span it hangs on.
func (t *tree) supplement() {
	if !t.noted {
		return
	}
	calls, responses := map[uint64]int32{}, map[uint64]int32{}
	for _, i := range t.order {
		switch s := &t.spans[i]; s.Kind {
		case convention.Tool:
			if _, ok := calls[s.CallID]; !ok {
				calls[s.CallID] = i
			}
		case convention.Model:
			if _, ok := responses[s.ResponseID]; !ok {
				responses[s.ResponseID] = i
			}
		}
	}
	for _, n := range t.order {
		note := &t.spans[n]
		if note.Kind != convention.Note {
			continue
		}
		about := note.parent
		if i, ok := calls[note.CallID]; ok && note.CallID != 0 {
			about = i
		}
		if i, ok := responses[note.ResponseID]; ok && note.ResponseID != 0 {
			about = i
		}
		if about >= 0 && t.spans[about].IsAI() {
			t.spans[about].Supplement(&note.Facts)
		}
	}
}

// findRoots makes a candidate of each root: for each topmost agent that agent,
// or the topmost chain above it that does AI work of its own outside every
// agent; and the topmost chains with AI work but no agent. Without any of
// these, the trace itself is a run where the file says so, by its mode or by a
// run key.
func (t *tree) findRoots(mode slo.RunRoot, keyed bool) {
	spans := t.spans
	chains := false
	for i := range spans {
		switch s := &spans[i]; s.Kind {
		case convention.Chain:
			chains = true
		case convention.Model, convention.Tool:
			for p := s.parent; p >= 0 && spans[p].Kind != convention.Agent && spans[p].Kind != convention.Evaluator; p = spans[p].parent {
				spans[p].works = true
			}
		}
	}
	found := false
	for i := range spans {
		s := &spans[i]
		if s.Kind != convention.Agent && !(s.Kind == convention.Chain && s.works) {
			continue
		}
		root, top := int32(i), true
		for p := s.parent; p >= 0; p = spans[p].parent {
			switch spans[p].Kind {
			case convention.Agent, convention.Evaluator:
				top = false
			case convention.Chain:
				if chains && spans[p].works {
					root = p
				}
			}
		}
		if top {
			spans[root].isRoot, found = true, true
		}
	}
	if !found && (mode == slo.RootTrace || keyed) {
		for i := range spans {
			s := &spans[i]
			if s.IsAI() && s.Kind != convention.Evaluator && (mode == slo.RootTrace || s.RunID != "") {
				spans[s.top].isRoot = true
			}
		}
	}
	t.runs = t.runs[:0]
	if !found && mode == slo.RootTrace {
		t.wholeTraces()
		return
	}
	for _, i := range t.order {
		if spans[i].isRoot {
			spans[i].run = int32(len(t.runs))
			t.runs = append(t.runs, candidate{root: i, runID: spans[i].RunID})
		}
	}
}

// wholeTraces makes one candidate of each trace: its topmost spans with AI work
// below are its roots.
func (t *tree) wholeTraces() {
	byTrace := map[int]int32{}
	for _, i := range t.order {
		s := &t.spans[i]
		if !s.isRoot {
			continue
		}
		r, ok := byTrace[s.trace]
		if !ok {
			r = int32(len(t.runs))
			byTrace[s.trace] = r
			t.runs = append(t.runs, candidate{root: i, runID: s.RunID, trace: true})
		} else {
			t.runs[r].more = append(t.runs[r].more, i)
		}
		s.run = r
	}
}

// maxAdopted bounds the roots that adopt looks at. No real trace has so many.
const maxAdopted = 512

// adopt takes out roots whose way up is broken and whose interval lies within
// that of exactly one other root of their trace: the missing span stood
// between the two. The longest roots are the first to be hosts.
func (t *tree) adopt() {
	if len(t.runs) < 2 || len(t.runs) > maxAdopted {
		return
	}
	type root struct{ span, run int32 }
	byLength := make([]root, len(t.runs))
	for r := range t.runs {
		byLength[r] = root{t.runs[r].root, int32(r)}
	}
	length := func(i int32) uint64 { return t.spans[i].End - t.spans[i].Start }
	slices.SortStableFunc(byLength, func(x, y root) int { return cmp.Compare(length(y.span), length(x.span)) })
	kept := byLength[:0:0]
	for _, r := range byLength {
		s := &t.spans[r.span]
		host := int32(-1)
		if s.broken {
			for _, q := range kept {
				if o := &t.spans[q.span]; o.trace == s.trace && o.Start <= s.Start && s.End <= o.End && !t.siblings(q.span, r.span) {
					if host >= 0 {
						host = -2
						break
					}
					host = q.run
				}
			}
		}
		if host >= 0 {
			s.isRoot, s.run = false, host
			t.runs[r.run].root = -1
		} else {
			kept = append(kept, r)
		}
	}
}

// siblings says whether two spans hang on the same missing parent: they ran
// beside each other.
func (t *tree) siblings(x, y int32) bool {
	a, b := &t.spans[t.spans[x].top], &t.spans[t.spans[y].top]
	return a.parentID != 0 && a.parentID == b.parentID
}

// claim gives every span its run: that of the nearest root above; that of its
// run id; for an AI span whose way up is broken, the one whose interval
// contains its own, if exactly one does.
func (t *tree) claim() {
	spans := t.spans
	// Of a run whose root gives no run id, the member nearest to the root does.
	for _, i := range t.order {
		s := &spans[i]
		for p := s.parent; s.run < 0 && p >= 0; p = spans[p].parent {
			s.run = spans[p].run
		}
		if s.RunID == "" || s.run < 0 {
			continue
		}
		if c := &t.runs[s.run]; c.runID == "" || c.depth > s.depth && spans[c.root].RunID == "" {
			c.runID, c.depth = s.RunID, s.depth
		}
	}
	// Runs with the same run id are one, under the root that began first.
	var byID map[string]int32
	for r := range t.runs {
		c := &t.runs[r]
		if c.root < 0 || c.runID == "" {
			continue
		}
		if byID == nil {
			byID = map[string]int32{}
		}
		first, ok := byID[c.runID]
		if !ok {
			byID[c.runID] = int32(r)
			continue
		}
		t.runs[first].more = append(t.runs[first].more, c.root)
		c.root = -1
		for i := range spans {
			if spans[i].run == int32(r) {
				spans[i].run = first
			}
		}
	}
	for i := range spans {
		s := &spans[i]
		if s.run >= 0 || !s.IsAI() {
			continue
		}
		if r, ok := byID[s.RunID]; ok && s.RunID != "" {
			s.run = r
			continue
		}
		if !s.broken && !t.besideRoot(s) {
			continue
		}
		match := int32(-1)
		for r := range t.runs {
			c := &t.runs[r]
			if c.root < 0 {
				continue
			}
			if o := &spans[c.root]; o.trace == s.trace && o.Start <= s.Start && s.End <= o.End {
				if match >= 0 {
					match = -2
					break
				}
				match = int32(r)
			}
		}
		s.run = max(match, -1)
	}
}

// besideRoot says whether the span hangs on the same parent as some root: some
// emitters put an agent's calls beside it instead of below.
func (t *tree) besideRoot(s *span) bool {
	if s.parent < 0 {
		return false
	}
	for r := range t.runs {
		if c := &t.runs[r]; c.root >= 0 && t.spans[c.root].parent == s.parent {
			return true
		}
	}
	return false
}

// gather lists each run's members in order of start, and counts what hangs on
// missing parents, in all and by run.
func (t *tree) gather() (hanging int) {
	spans := t.spans
	if cap(t.list) < len(spans) {
		t.list = make([]int32, 0, max(len(spans), 64))
	}
	counts := t.path[:0]
	for range t.runs {
		counts = append(counts, 0)
	}
	for i := range spans {
		if r := spans[i].run; r >= 0 {
			counts[r]++
		}
	}
	list, at := t.list[:cap(t.list)], 0
	for r := range t.runs {
		n := int(counts[r])
		t.runs[r].members = list[at : at : at+n]
		at += n
	}
	t.path = counts
	t.lastOrphan = 0
	for _, i := range t.order {
		s := &spans[i]
		hangs := s.broken && s.IsAI()
		if hangs {
			hanging++
		}
		if s.run < 0 {
			if hangs {
				t.lastOrphan = max(t.lastOrphan, s.arrival)
			}
			continue
		}
		c := &t.runs[s.run]
		c.members = append(c.members, i)
		c.lastArrival = max(c.lastArrival, s.arrival)
		if hangs {
			c.hanging++
		}
	}
	return hanging
}
