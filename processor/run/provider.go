package run

import (
	"sort"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// providers finds the trouble that model calls had with their providers, and
// the failovers after it. Of nested spans of one call the innermost one that
// tells of it counts.
func (b *assembly) providers() {
	r := b.run
	faulty := func(s *span) bool { return s.Kind == convention.Model && s.Fault != convention.NoFault && !s.judged }
	any := false
	for _, i := range b.this.members {
		if !faulty(&b.spans[i]) {
			continue
		}
		any = true
		for p := b.spans[i].parent; b.inside(p) && b.spans[p].Kind != convention.Agent && b.spans[p].Kind != convention.Tool; p = b.spans[p].parent {
			b.spans[p].faultBelow = true
		}
	}
	if !any {
		return
	}
	var last uint64
	for _, i := range b.this.members {
		s := &b.spans[i]
		if !faulty(s) || s.faultBelow {
			continue
		}
		x := ProviderFault{Model: s.ModelName, Fault: s.Fault, Start: s.Start, End: s.End}
		if k := b.next(i); k >= 0 {
			x.End = b.spans[k].Start // what passed before the next try was lost, too
			if b.other(s, &b.spans[k]) {
				r.Failovers++
			}
		}
		r.Faults = append(r.Faults, x)
		last = max(last, s.End)
	}
	r.EndedByProvider = r.Outcome == slo.Error && !b.wentOn(last)
}

// next is the model call by which the same agent tries again: the next thing it
// does, or -1.
func (b *assembly) next(i int32) int32 {
	s, owner := &b.spans[i], b.ancestor(i, convention.Agent)
	_, later := b.around(b.this.members, s.End)
	for _, j := range later {
		q := &b.spans[j]
		if j == i || q.judged || b.ancestor(j, convention.Agent) != owner {
			continue
		}
		switch {
		case q.Kind == convention.Tool, q.Kind == convention.Retrieval:
			return -1
		case q.Kind == convention.Model && !q.wraps:
			return j
		}
	}
	return -1
}

// near bounds how many spans are looked at to find the one before or after another.
const near = 4096

// around cuts a list of spans in order of start into those that start before a
// time and those that start at it or later, as far as they are near.
func (b *assembly) around(list []int32, at uint64) (before, after []int32) {
	k := sort.Search(len(list), func(k int) bool { return b.spans[list[k]].Start >= at })
	return list[max(0, k-near):k], list[k:min(len(list), k+near)]
}

// other says whether the second call asks another model or provider.
func (b *assembly) other(first, second *span) bool {
	switch {
	case first.Provider != 0 && second.Provider != 0 && first.Provider != second.Provider:
		return true
	case first.Requested != 0 && second.Requested != 0:
		return first.Requested != second.Requested
	}
	return first.ModelName != "" && second.ModelName != "" && !slo.SameModel(first.ModelName, second.ModelName)
}

// wentOn says whether the run did anything after that time: a tool call, or a
// model call that the provider let through.
func (b *assembly) wentOn(after uint64) bool {
	for _, i := range b.this.members {
		s := &b.spans[i]
		if s.Start >= after && !s.judged && (s.Kind == convention.Tool || s.Kind == convention.Model && s.Fault == convention.NoFault) {
			return true
		}
	}
	return false
}
