package run

import (
	"container/heap"
	"encoding/binary"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/sampling"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// Settings say when a run is over and how much memory open runs may take.
type Settings struct {
	slo.Runs
	// MaxBytes bounds what open and finished runs hold, in bytes. Past it the
	// runs that are due first are released early, with reason evicted.
	MaxBytes int64
	// Shards is a power of two; 0 takes four a core.
	Shards int
	// Sources: each run says where its facts come from.
	Sources bool
}

// Handler receives what the assembler finds out. Its functions are called
// without any lock held, from the goroutine that calls the assembler, and may
// be called concurrently.
type Handler struct {
	// Complete receives each completed run exactly once, with the pipeline
	// that saw it first.
	Complete func(r *Run, file *slo.File, pipeline int)
	// Evaluated receives an evaluation of a run that is completed already.
	Evaluated func(run [16]byte, e convention.Evaluation)
	// Marker gives the outcome that a file's own markers say, if any.
	Marker func(file *slo.File, r *Run) (slo.Outcome, bool)
	// Skip says which scopes are not telemetry of agents but our own summaries.
	Skip func(scope pcommon.InstrumentationScope) bool
}

// Stats counts what became of spans, runs and evaluations. All are totals.
type Stats struct {
	Spans, AISpans, Malformed, Duplicates, Late, Unattached atomic.Int64
	OpenRuns, Bytes                                         atomic.Int64 // gauges: open traces, bytes held
	EvaluationsOrphaned, EvaluationsLate                    atomic.Int64
	MixedSampling                                           atomic.Int64

	mu           sync.Mutex
	completed    map[Completion]int64
	unrecognised map[string]int64
}

func (s *Stats) complete(c Completion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.completed[c]++
}

func (s *Stats) unrecognise(scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.unrecognised[scope]; !ok && len(s.unrecognised) >= 100 {
		scope = slo.OverflowValue
	}
	s.unrecognised[strings.Clone(scope)]++
}

// Completed returns the number of completed runs by reason.
func (s *Stats) Completed() map[Completion]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[Completion]int64, len(s.completed))
	for k, v := range s.completed {
		out[k] = v
	}
	return out
}

// Unrecognised returns, by scope, the number of spans of a known AI scope that
// said nothing usable.
func (s *Stats) Unrecognised() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int64, len(s.unrecognised))
	for k, v := range s.unrecognised {
		out[k] = v
	}
	return out
}

// Assembler turns spans into runs. It is safe for concurrent use.
type Assembler struct {
	Stats Stats

	settings  Settings
	files     *slo.Set
	extractor *convention.Extractor
	handler   Handler
	now       func() time.Time

	keys   []bool // by attribute index: it is a run key
	judges bool   // some SLO waits for evaluations
	// resourceDimensions: some file has a dimension of a resource.
	resourceDimensions bool
	shards             []*shard
	registry           registry
	responses          responses
	resources          struct {
		sync.RWMutex
		m map[string]*resource
	}
	facts   sync.Pool
	lists   map[*slo.File]*lists // by file; nil for runs that no file matches
	answers memo[bool]           // tools that some file takes for the answer
	asks    asks
}

// New returns an assembler. now is the process clock; spans' own times never
// decide when something is due.
func New(settings Settings, files *slo.Set, extractor *convention.Extractor, handler Handler, now func() time.Time) *Assembler {
	if settings.Shards <= 0 {
		settings.Shards = 4 * runtime.GOMAXPROCS(0)
	}
	settings.Shards = 1 << bits.Len(uint(settings.Shards-1))
	if settings.MaxBytes <= 0 {
		settings.MaxBytes = 256 << 20
	}
	if settings.MaxSpans <= 0 {
		settings.MaxSpans = 100_000
	}
	a := &Assembler{settings: settings, files: files, extractor: extractor, handler: handler, now: now, lists: newLists(files)}
	a.Stats.completed, a.Stats.unrecognised = map[Completion]int64{}, map[string]int64{}
	a.resources.m = map[string]*resource{}
	a.facts.New = func() any { return new(convention.Facts) }
	a.keys = make([]bool, len(extractor.Names))
	for i, name := range extractor.Names {
		for _, key := range settings.Key {
			a.keys[i] = a.keys[i] || key == name
		}
	}
	for _, f := range files.Files {
		a.resourceDimensions = a.resourceDimensions || slices.ContainsFunc(f.Dimensions, func(d slo.Dimension) bool { return d.Source == slo.FromResource })
		for i := range f.SLOs {
			a.judges = a.judges || len(f.SLOs[i].Evaluations) > 0
		}
	}
	for range settings.Shards {
		a.shards = append(a.shards, newShard(settings.MaxBytes/4/int64(settings.Shards)))
	}
	a.asks.init(files)
	a.registry.init()
	a.responses.pending = map[uint64][]pendingEvaluation{}
	return a
}

// resource is what a span's resource says, shared by all spans that have it.
type resource struct {
	service, environment string
	attributes           []convention.Attribute
}

// maxResources bounds how many resources are shared; past it each batch holds
// its own.
const maxResources = 1 << 14

func (a *Assembler) resource(r pcommon.Resource, key []byte) (*resource, []byte) {
	x := a.extractor.Resource(r)
	key = append(append(append(key[:0], x.Service...), 0), x.Environment...)
	for _, at := range x.Attributes {
		key = append(append(key, 0, byte(at.Name)), at.Value...)
	}
	a.resources.RLock()
	res := a.resources.m[string(key)]
	a.resources.RUnlock()
	if res != nil {
		return res, key
	}
	res = &resource{service: strings.Clone(x.Service), environment: strings.Clone(x.Environment)}
	for _, at := range x.Attributes {
		res.attributes = append(res.attributes, convention.Attribute{Name: at.Name, Value: strings.Clone(at.Value)})
	}
	a.resources.Lock()
	defer a.resources.Unlock()
	if len(a.resources.m) < maxResources {
		a.resources.m[string(key)] = res
	}
	return res, key
}

// noPipeline: only log records have come so far.
const noPipeline = -1

// group is what arrived of one trace, or of several that a run id joins, and
// has not become a completed run yet.
type group struct {
	key       [1]pcommon.TraceID // memory of traces; most groups have one
	traces    []pcommon.TraceID  // the first one is the key
	log       []byte
	ids       []uint64
	index     map[uint64]struct{} // of ids, once a scan would be slow
	strs      []string
	resources []*resource
	claimed   []string            // run ids
	claims    map[string]struct{} // of claimed, once a scan would be slow
	evals     []convention.Evaluation
	finished  *finishedTrace // completed runs of the same trace

	base          uint64
	firstArrival  int64
	lastArrival   int64
	rootArrival   int64 // when the last possible root came
	checked       int64 // when roots were last looked for
	deadline      int64
	queued        int64
	bytes         int64
	counted       int64  // size when it was last added to Stats.Bytes
	threshold     uint64 // sampling threshold of its spans, from tracestate
	ai            int
	pipeline      int32
	rootLike      bool
	hasThreshold  bool
	mixedSampling bool // different thresholds, or a tail sampler's mark
}

const groupBytes = 320 // fixed cost of an open group with its map and heap entries

func (g *group) size() int64 {
	return groupBytes + g.bytes + int64(cap(g.log)+8*cap(g.ids)+8*cap(g.resources)+16*cap(g.traces)+120*cap(g.evals)+24*len(g.index))
}

// growth is by how much the group has grown since it was last asked.
func (g *group) growth() int64 {
	size := g.size()
	grown := size - g.counted
	g.counted = size
	return grown
}

func (g *group) has(key uint64) bool {
	const scan = 48
	if g.index == nil {
		if len(g.ids) < scan {
			for _, id := range g.ids {
				if id == key {
					return true
				}
			}
			return false
		}
		g.index = make(map[uint64]struct{}, 2*len(g.ids))
		for _, id := range g.ids {
			g.index[id] = struct{}{}
		}
	}
	_, ok := g.index[key]
	if !ok {
		g.index[key] = struct{}{} // the caller appends it
	}
	return ok
}

func (g *group) trace(id pcommon.TraceID) int {
	for i, t := range g.traces {
		if t == id {
			return i
		}
	}
	g.traces = append(g.traces, id)
	return len(g.traces) - 1
}

func (g *group) resource(r *resource) int {
	for i := len(g.resources) - 1; i >= 0; i-- {
		if g.resources[i] == r {
			return i
		}
	}
	g.resources = append(g.resources, r)
	return len(g.resources) - 1
}

// shard is a share of the open runs under a lock of its own.
type shard struct {
	mu       sync.Mutex
	groups   map[pcommon.TraceID]*group
	forward  map[pcommon.TraceID]pcommon.TraceID // trace → home of the group it was joined to
	due      dueHeap
	finished finishedCache
	in       interner
}

func newShard(finishedBytes int64) *shard {
	return &shard{
		groups: map[pcommon.TraceID]*group{}, forward: map[pcommon.TraceID]pcommon.TraceID{},
		finished: finishedCache{byTrace: map[pcommon.TraceID]*finishedTrace{}, maxBytes: finishedBytes},
		in:       interner{m: map[string]string{}},
	}
}

// schedule sets the group's deadline. A group has one valid entry in the heap,
// the one at g.queued. A deadline that moves back, as it does with each span,
// leaves the entry where it is: it is looked at again when the entry comes up.
func (sh *shard) schedule(g *group, at int64) {
	g.deadline = at
	if g.queued == 0 || at < g.queued {
		g.queued = at
		heap.Push(&sh.due, dueGroup{at, g})
	}
}

// dueHeap is ordered by time.
type dueHeap []dueGroup

type dueGroup struct {
	at int64
	g  *group
}

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(dueGroup)) }
func (h *dueHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = dueGroup{}
	*h = old[:len(old)-1]
	return x
}

func (a *Assembler) shard(t pcommon.TraceID) *shard {
	h := binary.LittleEndian.Uint64(t[:8]) ^ bits.RotateLeft64(binary.LittleEndian.Uint64(t[8:]), 31)
	h *= traceMix
	return a.shards[(h>>40)&uint64(len(a.shards)-1)]
}

// Consume reads the spans of td, which it does not change. pipeline is handed
// to [Handler.Complete] with the runs that these spans begin.
func (a *Assembler) Consume(td ptrace.Traces, pipeline int) {
	now := a.now().UnixNano()
	f := a.facts.Get().(*convention.Facts)
	defer a.facts.Put(f)
	var spans, ai, grown int64
	var key []byte
	for i := range td.ResourceSpans().Len() {
		rs := td.ResourceSpans().At(i)
		var res *resource
		for j := range rs.ScopeSpans().Len() {
			ss := rs.ScopeSpans().At(j)
			if a.handler.Skip != nil && a.handler.Skip(ss.Scope()) {
				continue
			}
			if res == nil {
				res, key = a.resource(rs.Resource(), key)
			}
			tail := convention.TailSampled(ss.Scope())
			list := ss.Spans()
			for k := range list.Len() {
				s := list.At(k)
				spans++
				a.extractor.Span(f, ss.Scope(), s)
				if f.Kind == convention.Unrecognised {
					a.Stats.unrecognise(ss.Scope().Name())
				}
				if f.IsAI() {
					ai++
				}
				grown += a.add(f, s.TraceID(), s.TraceState(), tail, res, now, int32(pipeline))
				for _, e := range f.Evaluations {
					a.evaluate(e, now)
				}
			}
		}
	}
	a.Stats.Spans.Add(spans)
	a.Stats.AISpans.Add(ai)
	a.Stats.Bytes.Add(grown)
	for a.Stats.Bytes.Load() > a.settings.MaxBytes && a.evict() {
	}
}

// ConsumeLogs reads evaluations, and facts that emitters put into log records.
func (a *Assembler) ConsumeLogs(ld plog.Logs) {
	now := a.now().UnixNano()
	f := a.facts.Get().(*convention.Facts)
	defer a.facts.Put(f)
	var key []byte
	var grown int64
	for i := range ld.ResourceLogs().Len() {
		rl := ld.ResourceLogs().At(i)
		var res *resource
		for j := range rl.ScopeLogs().Len() {
			sl := rl.ScopeLogs().At(j)
			for k := range sl.LogRecords().Len() {
				if !a.extractor.Log(f, sl.Scope(), sl.LogRecords().At(k)) {
					continue
				}
				for _, e := range f.Evaluations {
					a.evaluate(e, now)
				}
				if f.Kind == convention.Evaluator {
					continue
				}
				if res == nil {
					res, key = a.resource(rl.Resource(), key)
				}
				grown += a.add(f, sl.LogRecords().At(k).TraceID(), pcommon.NewTraceState(), false, res, now, noPipeline)
			}
		}
	}
	a.Stats.Bytes.Add(grown)
}

// add takes one span in and says by how many bytes its group has grown.
func (a *Assembler) add(f *convention.Facts, trace pcommon.TraceID, state pcommon.TraceState, tail bool, res *resource, now int64, pipeline int32) (grown int64) {
	if trace.IsEmpty() || f.SpanID.IsEmpty() {
		a.Stats.Malformed.Add(1)
		return 0
	}
	for _, at := range f.Attributes {
		if a.keys[at.Name] && at.Value != "" {
			f.RunID = at.Value
		}
	}
	if f.RunID == "" && len(a.settings.Key) > 0 {
		for _, at := range res.attributes {
			if a.keys[at.Name] && at.Value != "" {
				f.RunID = at.Value
			}
		}
	}

	switch f.Kind {
	case convention.Note:
		a.noteAsked(f)
		a.asks.find(f)
	case convention.Model:
		a.noteAsked(f)
	case convention.Tool, convention.Retrieval:
		a.asks.find(f)
	}

	sh, home := a.lock(trace)
	g := sh.groups[home]
	var fin *finishedTrace
	if g != nil {
		fin = g.finished
	} else {
		fin = sh.finished.byTrace[home]
	}
	if fin != nil {
		if duplicate, late := fin.seen(trace, f); duplicate || late {
			sh.mu.Unlock()
			if duplicate {
				a.Stats.Duplicates.Add(1)
			} else {
				a.Stats.Late.Add(1)
			}
			return 0
		}
	}
	if g == nil {
		g = newGroup(home, now)
		g.pipeline, g.finished = pipeline, fin
		sh.groups[home] = g
		a.Stats.OpenRuns.Add(1)
	}
	if g.pipeline == noPipeline {
		g.pipeline = pipeline
	}
	t := 0
	if trace != g.traces[0] {
		t = g.trace(trace)
	}
	if g.has(spanKey(f.SpanID, t)) {
		sh.mu.Unlock()
		a.Stats.Duplicates.Add(1)
		return 0
	}
	g.appendRecord(f, t, g.resource(res), now, &sh.in)
	if ts := state.AsRaw(); ts != "" {
		g.sampled(ts)
	}
	g.mixedSampling = g.mixedSampling || tail
	g.lastArrival = now
	if f.IsAI() {
		g.ai++
		if f.Kind == convention.Agent || f.Kind == convention.Chain || a.settings.Root == slo.RootTrace || f.RunID != "" {
			g.rootLike, g.rootArrival = true, now
		}
	} else if f.ParentID.IsEmpty() {
		g.rootArrival = now
	}
	claim := f.RunID != "" && g.claim(f.RunID)
	sh.schedule(g, a.deadline(g))
	full := len(g.ids) >= a.settings.MaxSpans
	grown = g.growth()
	sh.mu.Unlock()

	if claim {
		a.join(home, f.RunID)
	}
	if full {
		a.release(home, MaxSpans, now)
	}
	return grown
}

// noteAsked sums up what a model call asks for.
func (a *Assembler) noteAsked(f *convention.Facts) {
	if len(f.Asked) == 0 && (f.AsksTool || f.Finish == convention.FinishTool) {
		f.AskedCount = 1
	}
	a.asks.findAsked(f)
	none := a.lists[nil]
	for i := range f.Asked {
		name := f.Asked[i].Name
		f.AsksAnswer = f.AsksAnswer || a.isAnswer(name)
		if f.AskedCount < 255 && none.toolKind(name).role != NotCounted { // a handoff has no work of its own
			f.AskedCount++
		}
	}
}

// isAnswer says whether some file takes the tool for the answer. Which file the
// run belongs to is not known yet.
func (a *Assembler) isAnswer(tool string) bool {
	return a.answers.get(tool, func(tool string) bool {
		for _, l := range a.lists {
			if l.toolKind(tool).role == Answer {
				return true
			}
		}
		return false
	})
}

// claim notes a run id and says whether it is new to the group.
func (g *group) claim(id string) bool {
	const scan = 16
	if len(g.claimed) < scan {
		if slices.Contains(g.claimed, id) {
			return false
		}
	} else {
		if g.claims == nil {
			g.claims = make(map[string]struct{}, 2*scan)
			for _, c := range g.claimed {
				g.claims[c] = struct{}{}
			}
		}
		if _, ok := g.claims[id]; ok {
			return false
		}
	}
	id = strings.Clone(id)
	g.claimed = append(g.claimed, id)
	g.bytes += int64(len(id)) + 16
	if g.claims != nil {
		g.claims[id] = struct{}{}
	}
	return true
}

// sampled notes the sampling threshold of a span's tracestate.
func (g *group) sampled(raw string) {
	if !strings.Contains(raw, "ot=") {
		return
	}
	ts, err := sampling.NewW3CTraceState(raw)
	if err != nil {
		return
	}
	threshold, ok := ts.OTelValue().TValueThreshold()
	if !ok {
		return
	}
	v := threshold.Unsigned()
	if g.hasThreshold && v != g.threshold {
		g.mixedSampling = true
	}
	g.threshold, g.hasThreshold = v, true
}

func (g *group) samplingProbability() float64 {
	if !g.hasThreshold {
		return 0
	}
	return 1 - float64(g.threshold)/math.Exp2(56)
}

// lock returns the locked shard of the trace's group and the group's key.
func (a *Assembler) lock(trace pcommon.TraceID) (*shard, pcommon.TraceID) {
	sh := a.shard(trace)
	sh.mu.Lock()
	for len(sh.forward) > 0 {
		home, ok := sh.forward[trace]
		if !ok {
			break
		}
		sh.mu.Unlock()
		sh, trace = a.shard(home), home
		sh.mu.Lock()
	}
	return sh, trace
}

// deadline says when the group must next be looked at.
func (a *Assembler) deadline(g *group) int64 {
	quiet, idle := int64(a.settings.QuietPeriod), int64(a.settings.IdleTimeout)
	var at int64
	switch {
	case len(g.ids) == 0: // only evaluations that came before their run
		at = g.firstArrival + idle
	case g.ai == 0: // no agent so far: the rest of an ordinary trace
		at = g.lastArrival + quiet
	case g.rootLike:
		at = max(g.rootArrival, g.checked) + quiet
	default:
		at = g.lastArrival + idle
	}
	if g.ai > 0 {
		at = min(at, g.firstArrival+int64(a.settings.MaxAge))
	}
	return at
}

// Tick releases what is due. The caller calls it every so often, and again at
// the time it returns at the latest; zero when nothing is open.
func (a *Assembler) Tick() time.Time {
	now := a.now().UnixNano()
	var next int64
	for _, sh := range a.shards {
		for {
			sh.mu.Lock()
			if len(sh.due) == 0 {
				sh.mu.Unlock()
				break
			}
			top := sh.due[0]
			if top.at > now {
				if next == 0 || top.at < next {
					next = top.at
				}
				sh.mu.Unlock()
				break
			}
			heap.Pop(&sh.due)
			g, key := top.g, top.g.traces[0]
			switch {
			case sh.groups[key] != g || top.at != g.queued: // gone, or queued anew
				sh.mu.Unlock()
				continue
			case g.deadline > now: // moved back since
				g.queued = 0
				sh.schedule(g, g.deadline)
				sh.mu.Unlock()
				continue
			}
			emit := a.check(sh, key, g, "", now)
			sh.mu.Unlock()
			emit()
		}
	}
	a.responses.expire(now-int64(a.settings.IdleTimeout), &a.Stats)
	if next == 0 {
		return time.Time{}
	}
	return time.Unix(0, next)
}

// release completes the group at once, whatever it still lacks.
func (a *Assembler) release(key pcommon.TraceID, why Completion, now int64) {
	sh, home := a.lock(key)
	g := sh.groups[home]
	if g == nil {
		sh.mu.Unlock()
		return
	}
	emit := a.check(sh, home, g, why, now)
	sh.mu.Unlock()
	emit()
}

// evict releases the group that is due first in the fullest of a few shards.
func (a *Assembler) evict() bool {
	var best *shard
	most := 0
	for _, sh := range a.shards {
		sh.mu.Lock()
		n := len(sh.groups)
		sh.mu.Unlock()
		if n > most {
			best, most = sh, n
		}
	}
	if best == nil {
		return false
	}
	best.mu.Lock()
	for len(best.due) > 0 {
		top := heap.Pop(&best.due).(dueGroup)
		key := top.g.traces[0]
		if best.groups[key] != top.g {
			continue
		}
		emit := a.check(best, key, top.g, Evicted, a.now().UnixNano())
		best.mu.Unlock()
		emit()
		return true
	}
	best.mu.Unlock()
	return false
}

// Finish completes everything that is open, as if nothing could follow.
func (a *Assembler) Finish(why Completion) {
	now := a.now().UnixNano()
	for _, sh := range a.shards {
		for {
			sh.mu.Lock()
			var key pcommon.TraceID
			var g *group
			for key, g = range sh.groups {
				break
			}
			if g == nil {
				sh.due = nil
				sh.mu.Unlock()
				break
			}
			emit := a.check(sh, key, g, why, now)
			sh.mu.Unlock()
			emit()
		}
	}
	a.responses.expire(math.MaxInt64, &a.Stats)
}

// check looks for runs in g that are over, takes them out of it, and returns
// what remains to be done without the lock. why forces everything out.
func (a *Assembler) check(sh *shard, key pcommon.TraceID, g *group, why Completion, now int64) func() {
	before := g.counted
	if why == "" && g.ai > 0 && now >= g.firstArrival+int64(a.settings.MaxAge) {
		why = MaxAge
	}
	out := a.resolve(g, why, now)
	pipeline := int(max(g.pipeline, 0))

	for i := range out.runs {
		x := &out.runs[i]
		sh.finished.add(key, g.traces, &finishedRun{id: x.run.ID, start: x.run.Start, end: x.run.End, spans: x.spans, awaited: x.awaited, rootless: !x.run.HasRoot})
	}
	var claims []string
	after := int64(0)
	if out.rest == nil {
		delete(sh.groups, key)
		a.Stats.OpenRuns.Add(-1)
		claims = g.claimed
	} else {
		*g = *out.rest
		g.finished = sh.finished.byTrace[key]
		g.checked = now
		g.queued = 0
		sh.schedule(g, max(out.next, now+1))
		g.counted = g.size()
		after = g.counted
	}
	a.Stats.Bytes.Add(after - before + sh.finished.takeGrowth())
	a.Stats.Unattached.Add(int64(out.unattached))
	a.Stats.Late.Add(int64(out.late))
	a.Stats.EvaluationsOrphaned.Add(int64(out.orphanEvaluations))
	if g.mixedSampling {
		a.Stats.MixedSampling.Add(int64(len(out.runs)))
	}

	return func() {
		for i := range out.runs {
			r := out.runs[i].run
			if r.RunID != "" {
				a.registry.finish(r.RunID, r.ID)
			}
			r.Evaluations = append(r.Evaluations, a.responses.take(out.runs[i].responses, r.ID)...)
			a.Stats.complete(r.Completion)
			a.handler.Complete(r, out.runs[i].file, pipeline)
		}
		for _, id := range claims {
			a.registry.release(id, key)
		}
	}
}
