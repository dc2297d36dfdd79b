package run

import (
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
		r.Faults = append(r.Faults, ProviderFault{Model: s.ModelName, Fault: s.Fault, Start: s.Start, End: s.End})
		if b.failedOver(i) {
			r.Failovers++
		}
		last = max(last, s.End)
	}
	r.EndedByProvider = r.Outcome == slo.Error && !b.wentOn(last)
}

// failedOver says whether the next model call of the same agent goes to another
// model or provider.
func (b *assembly) failedOver(i int32) bool {
	s, owner := &b.spans[i], b.ancestor(i, convention.Agent)
	for _, j := range b.this.members { // in order of start
		next := &b.spans[j]
		if next.Kind != convention.Model || next.judged || next.wraps || j == i || next.Start < s.End || b.ancestor(j, convention.Agent) != owner {
			continue
		}
		switch {
		case s.Provider != 0 && next.Provider != 0 && s.Provider != next.Provider:
			return true
		case s.Requested != 0 && next.Requested != 0:
			return s.Requested != next.Requested
		}
		return s.ModelName != "" && next.ModelName != "" && !slo.SameModel(s.ModelName, next.ModelName)
	}
	return false
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
