package run

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxForwards bounds a shard's memory of joined traces.
const maxForwards = 1 << 14

// join brings the group of trace together with the other traces of its run id.
func (a *Assembler) join(trace pcommon.TraceID, id string) {
	for {
		home := a.registry.claim(id, trace)
		if home == trace || a.merge(trace, home) {
			return
		}
		// The home was completed in between: claim again.
		a.registry.release(id, home)
	}
}

// merge moves the group of from into the group of home, and has later spans of
// from follow. It reports false if home has no group.
func (a *Assembler) merge(from, home pcommon.TraceID) bool {
	src, dst := a.shard(from), a.shard(home)
	// Lock in one order over all callers.
	first, second := src, dst
	for _, sh := range a.shards {
		if sh == src {
			break
		}
		if sh == dst {
			first, second = dst, src
			break
		}
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	if second != first {
		second.mu.Lock()
		defer second.mu.Unlock()
	}
	to := dst.groups[home]
	if to == nil {
		return false
	}
	g := src.groups[from]
	if g == nil {
		return true // joined or completed already
	}
	spans, _ := g.decode(nil)
	for i := range spans {
		s := &spans[i]
		t := to.trace(g.traces[s.trace])
		if to.has(spanKey(s.SpanID, t)) {
			a.Stats.Duplicates.Add(1)
			continue
		}
		to.appendRecord(&s.Facts, t, to.resource(g.resources[s.resource]), s.arrival, &dst.in)
	}
	to.ai += g.ai
	to.rootLike = to.rootLike || g.rootLike
	to.rootArrival = max(to.rootArrival, g.rootArrival)
	to.lastArrival = max(to.lastArrival, g.lastArrival)
	to.evals = append(to.evals, g.evals...)
	to.mixedSampling = to.mixedSampling || g.mixedSampling
	for _, id := range g.claimed {
		to.claim(id)
	}
	delete(src.groups, from)
	a.Stats.OpenRuns.Add(-1)
	for _, t := range g.traces {
		a.forward(src, t, home)
	}
	dst.schedule(to, a.deadline(to))
	a.Stats.Bytes.Add(to.growth() - g.counted)
	return true
}

// forward has spans of t follow to home. Only traces of src's own are
// entered: a trace joined earlier still leads here through its first home.
func (a *Assembler) forward(src *shard, t, home pcommon.TraceID) {
	if t == home || a.shard(t) != src {
		return
	}
	if len(src.forward) >= maxForwards {
		for old := range src.forward {
			delete(src.forward, old)
			break
		}
	}
	src.forward[t] = home
}

// resumed says whether the run that g's spans claim is completed already: what
// comes of it now is late.
func (a *Assembler) resumed(id string) bool {
	if id == "" {
		return false
	}
	_, ok := a.registry.finished(id)
	return ok
}
