package run

import (
	"math"
	"strings"
	"sync"

	"github.com/agentslo/agentslo/processor/convention"
)

// evaluate takes one evaluation to the run it judges: open, completed, or
// still to come.
func (a *Assembler) evaluate(e convention.Evaluation, now int64) {
	e.Name, e.Label = strings.Clone(e.Name), strings.Clone(e.Label)
	if e.TargetTrace.IsEmpty() {
		if e.TargetRunID != "" {
			if id, ok := a.registry.finished(e.TargetRunID); ok {
				a.handler.Evaluated(id, e)
				return
			}
			e.TargetResponse = runKey(e.TargetRunID)
		}
		if e.TargetResponse == 0 {
			a.Stats.EvaluationsOrphaned.Add(1)
			return
		}
		if id, ok := a.responses.add(e, now); ok {
			a.handler.Evaluated(id, e)
		}
		return
	}
	sh, home := a.lock(e.TargetTrace)
	g := sh.groups[home]
	if fin := sh.finished.byTrace[home]; fin != nil {
		var match *finishedRun
		if i := fin.index(e.TargetTrace); i >= 0 && !e.TargetSpan.IsEmpty() {
			for _, r := range fin.runs {
				if r.holds(spanKey(e.TargetSpan, i)) {
					match = r
				}
			}
		}
		if match == nil && (g == nil || g.ai == 0) && len(fin.runs) == 1 {
			match = fin.runs[0]
		}
		if match != nil {
			sh.mu.Unlock()
			a.handler.Evaluated(match.id, e)
			return
		}
	}
	defer sh.mu.Unlock()
	if g == nil {
		g = newGroup(home, now)
		sh.groups[home] = g
		a.Stats.OpenRuns.Add(1)
	}
	g.evals = append(g.evals, e)
	a.Stats.Bytes.Add(g.growth())
	sh.schedule(g, a.deadline(g))
}

// responses finds runs by the response id that an evaluation names when it has
// no trace.
type responses struct {
	mu      sync.Mutex
	pending map[uint64][]pendingEvaluation
	oldest  int64 // no pending one has waited since before
	runs    map[uint64][16]byte
	order   []uint64
}

type pendingEvaluation struct {
	evaluation convention.Evaluation
	since      int64
}

// maxResponses bounds how many response ids of completed runs are remembered.
const maxResponses = 1 << 18

// add returns the completed run that holds the response, or keeps the
// evaluation for a run that is still to be completed.
func (r *responses) add(e convention.Evaluation, now int64) ([16]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id, ok := r.runs[e.TargetResponse]; ok {
		return id, true
	}
	if len(r.pending) == 0 {
		r.oldest = now
	}
	r.oldest = min(r.oldest, now)
	r.pending[e.TargetResponse] = append(r.pending[e.TargetResponse], pendingEvaluation{e, now})
	return [16]byte{}, false
}

// take returns the evaluations that wait for these responses, and remembers
// whose they are.
func (r *responses) take(ids []uint64, run [16]byte) (out []convention.Evaluation) {
	if len(ids) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == nil {
		r.runs = map[uint64][16]byte{}
	}
	for _, id := range ids {
		for _, p := range r.pending[id] {
			out = append(out, p.evaluation)
		}
		delete(r.pending, id)
		if _, ok := r.runs[id]; !ok {
			r.order = append(r.order, id)
		}
		r.runs[id] = run
	}
	for len(r.order) > maxResponses {
		delete(r.runs, r.order[0])
		r.order = r.order[1:]
	}
	return out
}

// expire gives up evaluations that have waited since before the given time.
func (r *responses) expire(before int64, stats *Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before <= r.oldest || len(r.pending) == 0 {
		return
	}
	r.oldest = math.MaxInt64
	for id, list := range r.pending {
		kept := list[:0]
		for _, p := range list {
			if p.since >= before {
				r.oldest = min(r.oldest, p.since)
				kept = append(kept, p)
			} else {
				stats.EvaluationsOrphaned.Add(1)
			}
		}
		if len(kept) == 0 {
			delete(r.pending, id)
		} else {
			r.pending[id] = kept
		}
	}
}
