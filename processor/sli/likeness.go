package sli

import (
	"math/bits"
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// What is certain beyond calls that are the same to the letter. Two calls of one
// agent and tool are alike when the second brought what the first had brought:
// the same result, or the same failure, for
//
//   - the same arguments, but for letter case, white space and members that are
//     made anew for each call; or
//   - the same question in other words, of a result that tells something.
//
// Results that tell nothing (empty, ok, true, a number) of different arguments
// are alike for many a good reason, and so are those of arguments that name
// different things: they prove nothing.

// looseArgs is the arguments without what does not matter; the arguments
// themselves where that is not known. Only of one tool's calls.
func (c *call) looseArgs() uint64 {
	if l := c.of.Like.Args; l != 0 {
		return uint64(l)
	}
	return c.args
}

// sameArgs is the arguments but for generated members.
func (c *call) sameArgs() uint64 {
	if l := c.of.Like.Same; l != 0 {
		return uint64(l)
	}
	return c.args
}

// looseResult is the result without what does not matter, or the failure.
func (c *call) looseResult() uint64 {
	l := &c.of.Like
	switch {
	case c.of.Failed() && l.Error != 0:
		return 1<<40 | uint64(l.Error)<<8 | uint64(c.of.Class)
	case l.Result != 0:
		return uint64(l.Result)
	}
	return c.result
}

// proves says whether the calls' result, which is the same, proves that calls
// with different arguments went nowhere.
func (c *call) proves(least convention.Substance) bool {
	return c.of.Failed() || c.of.Like.Substance >= least
}

// likeness is what calls that are alike have in common.
type likeness struct {
	agent, tool  string
	ask, outcome uint64
	inOtherWords bool
}

// asked is the call's likeness by its arguments.
func (c *call) asked() likeness {
	return likeness{c.agent, c.tool, c.looseArgs(), c.looseResult(), false}
}

// askedInOtherWords is its likeness by what it asks for; not ok when its
// arguments are no question in words, or the result proves nothing.
func (c *call) askedInOtherWords() (x likeness, ok bool) {
	l := &c.of.Like
	least := convention.Content
	if l.Words == 0 { // a search, or another part of the same list
		least = convention.Slight
	}
	return likeness{c.agent, c.tool, uint64(l.Ask), c.looseResult(), true}, l.Ask != 0 && !c.of.Failed() && l.Substance >= least
}

// overlap says whether two questions have at least half of their words in
// common, so that one may be the other in other words. Searches need not: what
// they find is all there is to their words.
func overlap(a, b *call) bool {
	x, y := a.of.Like.Words, b.of.Like.Words
	return 2*bits.OnesCount64(x&y) >= bits.OnesCount64(x|y)
}

// looseRepeats finds calls that are alike as often as their tool's limit.
func (s *subject) looseRepeats(o *slo.Objective, calls []call) (r repetition) {
	var cosmetic, reworded gathering
	for i := range calls {
		c := &calls[i]
		if !c.known() || c.of.Like.Args == 0 {
			continue
		}
		cosmetic.add(c.asked(), c, func(first *call) bool { return c.proves(convention.Slight) || first.sameArgs() == c.sameArgs() })
		if x, ok := c.askedInOtherWords(); ok {
			reworded.add(x, c, func(first *call) bool { return overlap(first, c) })
		}
	}
	for _, kind := range []struct {
		found   *gathering
		pattern string
	}{{&cosmetic, CosmeticChange}, {&reworded, RewordedCall}} {
		var circles [][]call
		for _, alike := range kind.found.groups {
			if n := rounds(alike); n >= o.RepeatsOf(alike[0].tool) && s.certain(alike, calls) {
				circles, r.most = append(circles, alike), max(r.most, n)
			}
		}
		if circles == nil {
			continue
		}
		if r.pattern, r.wasted = kind.pattern, wastedIn(circles); interleaved(circles) {
			r.pattern = RepeatedCycle
		}
		return r
	}
	return r
}

// certain says whether calls that are alike went nowhere for certain: the tool's
// failures never gave way, and arguments that differ met a result that tells
// something.
func (s *subject) certain(alike, calls []call) bool {
	differ := slices.ContainsFunc(alike, func(c call) bool { return c.sameArgs() != alike[0].sameArgs() })
	if differ && !alike[0].proves(convention.Slight) {
		return false
	}
	return !s.succeededLater(alike, calls)
}

// gathering puts calls that are alike together, in order of start.
type gathering struct {
	groups [][]call
	by     map[likeness][]int
}

// maxWordings bounds how many groups of one likeness are told apart by words.
const maxWordings = 16

// add puts the call into the first group of its likeness whose first call suits
// it, or begins one.
func (g *gathering) add(x likeness, c *call, suits func(first *call) bool) {
	if g.by == nil {
		g.by = map[likeness][]int{}
	}
	for _, k := range g.by[x] {
		if suits(&g.groups[k][0]) {
			g.groups[k] = append(g.groups[k], *c)
			return
		}
	}
	if len(g.by[x]) < maxWordings {
		g.by[x] = append(g.by[x], len(g.groups))
		g.groups = append(g.groups, []call{*c})
	}
}

// nothingNew finds, in the calls of each agent, a succession of calls of which
// each brought what one before it had brought: twice as many as `repeats` mean
// that the run went nowhere, whichever tools it called. Tools that per_tool lets
// repeat more often are left out.
func (s *subject) nothingNew(o *slo.Objective, calls []call) (r repetition) {
	limit := 2 * o.Repeats
	if len(calls) <= limit {
		return r
	}
	byAgent := map[string]*succession{}
	for i := range calls {
		c := &calls[i]
		if o.RepeatsOf(c.tool) > o.Repeats {
			continue
		}
		x := byAgent[c.agent]
		if x == nil {
			x = &succession{tools: map[string]bool{}}
			byAgent[c.agent] = x
		}
		switch s.novelty(x, c) {
		case fresh:
			x.certain, x.possible = x.certain[:0], 0
		case stale:
			x.certain, x.possible = append(x.certain, c.place), x.possible+1
		case open:
			x.certain, x.possible = x.certain[:0], x.possible+1
		}
		if len(x.certain) >= limit && len(x.certain) > r.most {
			r.pattern, r.most, r.wasted = UnchangedResults, len(x.certain), slices.Clone(x.certain)
		}
		r.hidden = r.hidden || x.possible >= limit
	}
	return r
}

// succession is the calls of one agent so far.
type succession struct {
	exact, cosmetic, reworded gathering
	tools                     map[string]bool
	certain                   []int // the last calls, which brought nothing new
	possible                  int   // the last calls, which may have
}

type novelty uint8

const (
	fresh novelty = iota // it brought something
	stale                // it brought what one before it had brought
	open                 // it is not captured, and its tool was called before
	again                // it was asked for twice in one message
)

// novelty says whether a call brought something, and takes it in.
func (s *subject) novelty(x *succession, c *call) (n novelty) {
	defer func() { x.tools[c.tool] = true }()
	if !c.known() {
		if x.tools[c.tool] {
			return open
		}
		return fresh
	}
	see := func(g *gathering, l likeness, suits func(*call) bool, proves bool) {
		before := 0
		for _, k := range g.by[l] {
			if suits(&g.groups[k][0]) {
				before = len(g.groups[k])
				if last := &g.groups[k][before-1]; c.message != 0 && last.message == c.message && n == fresh {
					n = again
				}
			}
		}
		if before > 0 && proves && n != again {
			n = stale
		}
		g.add(l, c, suits)
	}
	see(&x.exact, likeness{c.agent, c.tool, c.args, c.result, false}, func(*call) bool { return true }, true)
	if c.of.Like.Args == 0 {
		return n
	}
	see(&x.cosmetic, c.asked(), func(first *call) bool { return c.proves(convention.Slight) || first.sameArgs() == c.sameArgs() }, true)
	if l, ok := c.askedInOtherWords(); ok {
		see(&x.reworded, l, func(first *call) bool { return overlap(first, c) }, true)
	}
	return n
}
