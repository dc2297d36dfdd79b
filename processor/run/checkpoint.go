package run

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
)

// Snapshot is the assembler's state as plain data, for a checkpoint.
type Snapshot struct {
	Open      []OpenTrace
	Finished  []FinishedTrace
	Forward   map[[16]byte][16]byte
	Done      map[string][16]byte // run id → completed run
	DoneOrder []string
	Responses map[uint64][16]byte
	Pending   []convention.Evaluation // evaluations that only name a response
}

// OpenTrace is one trace, or several joined ones, with runs that are open.
type OpenTrace struct {
	Traces      [][16]byte
	Log         []byte
	IDs         []uint64
	Strings     []string
	Resources   []OpenResource
	Claimed     []string
	Evaluations []convention.Evaluation
	Base        uint64
	First, Last int64 // arrivals, Unix nanoseconds
	Root        int64
	Threshold   uint64
	Sampled     bool
	Mixed       bool
	AI          int
	RootLike    bool
	Pipeline    int32
	Names       []string // the attribute names that the log's indices mean
}

// OpenResource is what a resource says.
type OpenResource struct {
	Service, Environment string
	Attributes           []convention.Attribute
}

// FinishedTrace is the memory of a trace's completed runs.
type FinishedTrace struct {
	Key    [16]byte
	Traces [][16]byte
	Runs   []FinishedRun
}

// FinishedRun is the memory of one completed run.
type FinishedRun struct {
	ID         [16]byte
	Start, End uint64
	Spans      []uint32
	Awaited    []uint32
	Rootless   bool
}

func idBytes(ids []pcommon.TraceID) [][16]byte {
	out := make([][16]byte, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

func traceIDs(ids [][16]byte) []pcommon.TraceID {
	out := make([]pcommon.TraceID, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// Snapshot copies the state. Nothing may be consumed meanwhile.
func (a *Assembler) Snapshot() Snapshot {
	s := Snapshot{Forward: map[[16]byte][16]byte{}, Done: map[string][16]byte{}, Responses: map[uint64][16]byte{}}
	for _, sh := range a.shards {
		sh.mu.Lock()
		for _, g := range sh.groups {
			o := OpenTrace{
				Traces: idBytes(g.traces), Log: g.log, IDs: g.ids, Strings: g.strs, Claimed: g.claimed, Evaluations: g.evals,
				Base: g.base, First: g.firstArrival, Last: g.lastArrival, Root: g.rootArrival,
				Threshold: g.threshold, Sampled: g.hasThreshold, Mixed: g.mixedSampling,
				AI: g.ai, RootLike: g.rootLike, Pipeline: g.pipeline, Names: a.extractor.Names,
			}
			for _, r := range g.resources {
				o.Resources = append(o.Resources, OpenResource{r.service, r.environment, r.attributes})
			}
			s.Open = append(s.Open, o)
		}
		for t, home := range sh.forward {
			s.Forward[t] = home
		}
		for _, key := range sh.finished.order {
			t := sh.finished.byTrace[key]
			f := FinishedTrace{Key: key, Traces: idBytes(t.traces)}
			for _, r := range t.runs {
				f.Runs = append(f.Runs, FinishedRun{r.id, r.start, r.end, r.spans, r.awaited, r.rootless})
			}
			s.Finished = append(s.Finished, f)
		}
		sh.mu.Unlock()
	}
	a.registry.mu.Lock()
	for id, run := range a.registry.done {
		s.Done[id] = run
	}
	s.DoneOrder = a.registry.order
	a.registry.mu.Unlock()
	a.responses.mu.Lock()
	for id, run := range a.responses.runs {
		s.Responses[id] = run
	}
	for _, list := range a.responses.pending {
		for _, p := range list {
			s.Pending = append(s.Pending, p.evaluation)
		}
	}
	a.responses.mu.Unlock()
	return s
}

// Restore takes up a snapshot before anything is consumed. Waits go on: an
// open run is as old as it was.
func (a *Assembler) Restore(s Snapshot) {
	now := a.now().UnixNano()
	index := map[string]int{}
	for i, name := range a.extractor.Names {
		index[name] = i
	}
	for _, o := range s.Open {
		if len(o.Traces) == 0 {
			continue
		}
		g := newGroup(o.Traces[0], o.First)
		g.traces, g.log, g.ids, g.strs, g.claimed, g.evals = traceIDs(o.Traces), o.Log, o.IDs, o.Strings, o.Claimed, o.Evaluations
		g.base, g.lastArrival, g.rootArrival = o.Base, o.Last, o.Root
		g.threshold, g.hasThreshold, g.mixedSampling = o.Threshold, o.Sampled, o.Mixed
		g.ai, g.rootLike, g.pipeline = o.AI, o.RootLike, o.Pipeline
		rename := func(list []convention.Attribute) (out []convention.Attribute) {
			for _, at := range list {
				if at.Name >= len(o.Names) {
					continue
				}
				if i, ok := index[o.Names[at.Name]]; ok {
					out = append(out, convention.Attribute{Name: i, Value: at.Value})
				}
			}
			return out
		}
		for _, r := range o.Resources {
			g.resources = append(g.resources, &resource{r.Service, r.Environment, rename(r.Attributes)})
		}
		if !equal(o.Names, a.extractor.Names) {
			g = g.renamed(rename)
		}
		for _, s := range g.strs {
			g.bytes += int64(len(s)) + 16
		}
		sh := a.shard(g.traces[0])
		sh.mu.Lock()
		sh.groups[g.traces[0]] = g
		sh.schedule(g, max(a.deadline(g), now))
		sh.mu.Unlock()
		for _, id := range g.claimed {
			a.registry.claim(id, g.traces[0])
		}
		a.Stats.OpenRuns.Add(1)
		a.Stats.Bytes.Add(g.growth())
	}
	for _, f := range s.Finished {
		sh := a.shard(f.Key)
		sh.mu.Lock()
		for _, r := range f.Runs {
			sh.finished.add(f.Key, traceIDs(f.Traces), &finishedRun{id: r.ID, start: r.Start, end: r.End, spans: r.Spans, awaited: r.Awaited, rootless: r.Rootless})
		}
		if g := sh.groups[f.Key]; g != nil {
			g.finished = sh.finished.byTrace[f.Key]
		}
		a.Stats.Bytes.Add(sh.finished.takeGrowth())
		sh.mu.Unlock()
	}
	for t, home := range s.Forward {
		sh := a.shard(t)
		sh.mu.Lock()
		a.forward(sh, t, home)
		sh.mu.Unlock()
	}
	for _, id := range s.DoneOrder {
		a.registry.finish(id, s.Done[id])
	}
	for id, run := range s.Responses {
		a.responses.take([]uint64{id}, run)
	}
	for _, e := range s.Pending {
		a.responses.add(e, now)
	}
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// renamed rewrites the log for other attribute indices: the files' needs have
// changed since.
func (g *group) renamed(rename func([]convention.Attribute) []convention.Attribute) *group {
	spans, _ := g.decode(nil)
	out := *g
	out.log, out.ids, out.strs, out.bytes = nil, nil, nil, 0
	in := interner{}
	for i := range spans {
		s := &spans[i]
		s.Attributes = rename(s.Attributes)
		out.appendRecord(&s.Facts, s.trace, s.resource, s.arrival, &in)
	}
	return &out
}
