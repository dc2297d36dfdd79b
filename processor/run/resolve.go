package run

import (
	"github.com/cespare/xxhash/v2"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// resolution is what a look at a group finds.
type resolution struct {
	runs []resolved
	rest *group // what stays open; nil: nothing
	next int64  // when to look again

	unattached, late, orphanEvaluations int
}

// resolved is a run that is over, with what the assembler keeps of it.
type resolved struct {
	run       *Run
	file      *slo.File
	spans     []uint32 // fingerprints of its spans
	awaited   []uint32 // of a run without a root: of the parents that never came
	responses []uint64
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
	t := trees.Get().(*tree)
	defer trees.Put(t)
	var ok bool
	if t.spans, ok = g.decode(t.spans); !ok {
		a.Stats.Malformed.Add(int64(len(g.ids) - len(t.spans)))
	}
	t.ids = g.ids[:len(t.spans)]
	t.confirm()
	t.grow()
	t.supplement()
	t.findRoots(a.settings.Root, len(a.settings.Key) > 0)
	t.adopt()
	t.claim()
	hanging := t.gather()
	idleOver := why != "" || now >= g.lastArrival+idle

	next := int64(0)
	wait := func(at int64) {
		if next == 0 || at < next {
			next = at
		}
	}
	rooted, open := 0, 0
	for r := range t.runs {
		c := &t.runs[r]
		if c.root < 0 {
			continue
		}
		rooted++
		c.completion = why
		if why == "" || why == EndOfInput || why == Shutdown {
			c.completion = RootEnded
		}
		if why == "" {
			due := c.lastArrival + quiet
			root := &t.spans[c.root]
			if root.broken && (t.spans[root.top].ParentLocal || hanging > c.hanging) {
				due = max(c.lastArrival, t.lastOrphan) + idle // its parent may still come
			}
			if now < due {
				wait(due)
				open++
				continue
			}
		}
		c.ready = true
	}

	lost := candidate{root: -1, completion: why}
	if open == 0 && idleOver {
		lost.members = a.rootless(g, t, rooted, &out)
	}
	for r := range t.runs {
		if c := &t.runs[r]; c.ready {
			for _, i := range c.members {
				t.spans[i].gone = true
			}
			a.take(g, t, c, &out)
		}
	}
	if len(lost.members) > 0 {
		if why == "" {
			lost.completion = Idle
		}
		for _, i := range lost.members {
			if lost.runID == "" {
				lost.runID = t.spans[i].RunID
			}
			t.spans[i].run = int32(len(t.runs))
		}
		t.runs = append(t.runs, lost)
		a.take(g, t, &t.runs[len(t.runs)-1], &out)
	}
	attach(g, t, &out, open == 0)

	rest := 0
	for i := range t.spans {
		if s := &t.spans[i]; !s.gone && s.IsAI() {
			rest++
		}
	}
	switch {
	case why != "" || idleOver || rest == 0 && len(g.evals) == 0:
		out.orphanEvaluations = len(g.evals)
		return out
	case len(out.runs) == 0 && out.late == 0:
		out.rest = g
	default:
		out.rest = g.without(t, rest)
	}
	wait(g.lastArrival + idle)
	wait(g.firstArrival + int64(a.settings.MaxAge))
	out.next = next
	return out
}

// rootless sorts out the AI spans that belong to no run once nothing is waited
// for: those that fall into a completed run of their trace are late; in a trace
// without a root, spans that name a workflow or agent make a lost run; the
// others are unattached.
func (a *Assembler) rootless(g *group, t *tree, rooted int, out *resolution) (lost []int32) {
	named := len(a.settings.Key) > 0
	for _, i := range t.order {
		s := &t.spans[i]
		if s.run >= 0 || !s.IsAI() || s.Kind == convention.Evaluator {
			continue
		}
		s.gone = true
		switch {
		case g.finished != nil && g.finished.covers(s):
			out.late++
		case rooted > 0:
			out.unattached++
		default:
			lost = append(lost, i)
			named = named || s.AgentName != "" || s.WorkflowName != "" || s.RunID != ""
		}
	}
	if !named {
		out.unattached += len(lost)
		return nil
	}
	return lost
}

// take builds the run, unless its run id was counted before.
func (a *Assembler) take(g *group, t *tree, c *candidate, out *resolution) {
	if a.resumed(c.runID) || g.finished != nil && c.root >= 0 && g.finished.takes(&t.spans[c.root]) {
		out.late += len(c.members)
		return
	}
	out.runs = append(out.runs, a.build(g, t, c))
}

// without returns the group of the spans that have not gone.
func (g *group) without(t *tree, ai int) *group {
	rest := newGroup(g.traces[0], g.firstArrival)
	rest.traces, rest.resources, rest.claimed, rest.evals = g.traces, g.resources, g.claimed, g.evals
	rest.pipeline, rest.lastArrival, rest.rootArrival = g.pipeline, g.lastArrival, g.rootArrival
	rest.rootLike, rest.threshold, rest.hasThreshold, rest.mixedSampling = g.rootLike, g.threshold, g.hasThreshold, g.mixedSampling
	in := interner{}
	for i := range t.spans {
		if s := &t.spans[i]; !s.gone {
			rest.appendRecord(&s.Facts, s.trace, s.resource, s.arrival, &in)
		}
	}
	rest.ai = ai
	return rest
}

func newGroup(key pcommon.TraceID, firstArrival int64) *group {
	g := &group{key: [1]pcommon.TraceID{key}, pipeline: noPipeline, firstArrival: firstArrival, lastArrival: firstArrival}
	g.traces = g.key[:]
	return g
}

// takes says whether a root that comes after its trace's completed runs is a
// late part of one of them: it hangs below one, or stood above the only run
// that was completed without a root.
func (t *finishedTrace) takes(root *span) bool {
	var rootless []*finishedRun
	for _, r := range t.runs {
		if root.parentID != 0 && root.parent < 0 && r.holds(root.parentID) {
			return true
		}
		if r.rootless && root.Start <= r.start && r.end <= root.End {
			rootless = append(rootless, r)
		}
	}
	return len(rootless) == 1 || root.broken && root.ParentLocal && t.covers(root)
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

// attach gives the completed runs the evaluations that came before. all says
// that no run of the trace is left open.
func attach(g *group, t *tree, out *resolution, all bool) {
	if len(g.evals) == 0 || len(out.runs) == 0 {
		return
	}
	only := all && len(out.runs) == 1 && (g.finished == nil || len(g.finished.runs) == 0)
	var rest []convention.Evaluation
	for _, e := range g.evals {
		match := -1
		for i := range t.spans {
			s := &t.spans[i]
			if s.run < 0 || !(!e.TargetSpan.IsEmpty() && s.SpanID == e.TargetSpan && g.traces[s.trace] == e.TargetTrace ||
				e.TargetSpan.IsEmpty() && e.TargetResponse != 0 && s.ResponseID == e.TargetResponse) {
				continue
			}
			for k := range out.runs {
				if out.runs[k].run == t.runs[s.run].run {
					match = k
				}
			}
		}
		if match < 0 && only {
			match = 0
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

// runKey is a run id where response ids are looked up: an evaluation may name
// either.
func runKey(runID string) uint64 { return xxhash.Sum64String("run\x00" + runID) }

// identity is the run's ID: of its run id where there is one, else of its root.
func identity(runID string, trace pcommon.TraceID, root pcommon.SpanID) (id [16]byte) {
	var b [1 + 16 + 8]byte
	in := b[:]
	if runID != "" {
		in = append(append(in[:0], 1), runID...)
	} else {
		copy(b[1:], trace[:])
		copy(b[17:], root[:])
	}
	var d xxhash.Digest
	for half := range 2 {
		d.ResetWithSeed(uint64(half))
		_, _ = d.Write(in)
		v := d.Sum64()
		for k := range 8 {
			id[half*8+k] = byte(v >> (8 * k))
		}
	}
	return id
}
