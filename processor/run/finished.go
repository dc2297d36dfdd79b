package run

import (
	"slices"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
)

// What is left of a completed run: enough to know a resent or late span for
// what it is, so that it neither changes a count nor begins a run of its own.

// maxFingerprints bounds what one completed run keeps, 4 bytes a span.
const maxFingerprints = 4096

type finishedRun struct {
	id         [16]byte
	start, end uint64
	spans      []uint32
	awaited    []uint32 // parents that had not come when a run without a root was completed
	rootless   bool
}

type finishedTrace struct {
	traces []pcommon.TraceID
	runs   []*finishedRun
	bytes  int64
}

// fingerprint folds a span key. Within one trace a false match has a chance of
// about spans/2³².
func fingerprint(key uint64) uint32 {
	key *= traceMix
	return uint32(key >> 32)
}

func (r *finishedRun) holds(key uint64) bool {
	fp := fingerprint(key)
	for _, x := range r.spans {
		if x == fp {
			return true
		}
	}
	return false
}

func (t *finishedTrace) index(trace pcommon.TraceID) int {
	for i, x := range t.traces {
		if x == trace {
			return i
		}
	}
	return -1
}

// seen says whether the span was part of a completed run, or hangs below one.
// A late span joins the run, so that its own children are late as well.
func (t *finishedTrace) seen(trace pcommon.TraceID, f *convention.Facts) (duplicate, late bool) {
	i := t.index(trace)
	if i < 0 {
		return false, false
	}
	key, parent := spanKey(f.SpanID, i), uint64(0)
	if !f.ParentID.IsEmpty() {
		parent = spanKey(f.ParentID, i)
	}
	for _, r := range t.runs {
		if r.holds(key) {
			return true, false
		}
	}
	for _, r := range t.runs {
		switch {
		case slices.Contains(r.awaited, fingerprint(key)):
			if parent != 0 {
				r.awaited = append(r.awaited, fingerprint(parent))
			}
		case parent != 0 && (r.holds(parent) || slices.Contains(r.awaited, fingerprint(parent))):
		default:
			continue
		}
		if len(r.spans) < maxFingerprints {
			r.spans = append(r.spans, fingerprint(key))
		}
		return false, true
	}
	return false, false
}

// finishedCache forgets the oldest traces once it holds maxBytes.
type finishedCache struct {
	byTrace  map[pcommon.TraceID]*finishedTrace
	order    []pcommon.TraceID
	bytes    int64
	growth   int64 // since takeGrowth
	maxBytes int64
}

const finishedBytes = 200 // fixed cost of one entry

func (c *finishedCache) add(key pcommon.TraceID, traces []pcommon.TraceID, r *finishedRun) {
	t := c.byTrace[key]
	if t == nil {
		t = &finishedTrace{}
		c.byTrace[key] = t
		c.order = append(c.order, key)
	}
	for _, id := range traces {
		if t.index(id) < 0 {
			t.traces = append(t.traces, id)
		}
	}
	t.runs = append(t.runs, r)
	grown := finishedBytes + int64(4*cap(r.spans)+16*len(traces))
	t.bytes += grown
	c.bytes += grown
	c.growth += grown
	for c.bytes > c.maxBytes && len(c.order) > 1 {
		oldest := c.byTrace[c.order[0]]
		delete(c.byTrace, c.order[0])
		c.order = c.order[1:]
		c.bytes -= oldest.bytes
		c.growth -= oldest.bytes
	}
}

func (c *finishedCache) takeGrowth() int64 {
	n := c.growth
	c.growth = 0
	return n
}

// registry knows which trace is home to the spans of a run id, and which run
// ids are completed. It is touched once a (trace, run id), not once a span.
type registry struct {
	mu    sync.Mutex
	open  map[string]pcommon.TraceID
	done  map[string][16]byte
	order []string // of done, oldest first
}

const maxDone = 1 << 17

func (r *registry) init() {
	r.open, r.done = map[string]pcommon.TraceID{}, map[string][16]byte{}
}

// claim returns the home of the run id; the first claimant is it.
func (r *registry) claim(id string, trace pcommon.TraceID) pcommon.TraceID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if home, ok := r.open[id]; ok {
		return home
	}
	r.open[id] = trace
	return trace
}

func (r *registry) release(id string, home pcommon.TraceID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open[id] == home {
		delete(r.open, id)
	}
}

func (r *registry) finish(id string, run [16]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.done[id]; ok {
		return
	}
	r.done[id] = run
	r.order = append(r.order, id)
	if len(r.order) > maxDone {
		delete(r.done, r.order[0])
		r.order = r.order[1:]
	}
}

func (r *registry) finished(id string) ([16]byte, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	run, ok := r.done[id]
	return run, ok
}
