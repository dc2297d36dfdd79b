package processor

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

// Engine is the way from spans to verdicts without the Collector round it:
// the component runs it, and so does whoever wants verdicts from recorded
// telemetry. It is safe for concurrent use.
type Engine struct {
	files     *slo.Set
	assembler *run.Assembler
	judged    func(Judged, int)
	now       func() time.Time

	finishing atomic.Bool // waits are over

	mu      sync.Mutex
	waiting waitingRuns
}

// Judged is a completed run with some or all of its verdicts.
type Judged struct {
	Run  *run.Run
	File *slo.File // nil: no file matches the run
	// Results are the verdicts that are decided now and were not before.
	Results  []sli.Result
	Excluded string // name of the exclusion that matched
	First    bool   // the first time this run is handed out
}

// EngineOptions bound an engine. The zero value takes defaults.
type EngineOptions struct {
	// MaxBytes bounds the memory of open and finished runs; default 256 MiB.
	MaxBytes int64
	// Shards is the number of locks over open runs; default four a core.
	Shards int
	// Now is the process clock; default time.Now.
	Now func() time.Time
	// Sources: runs say where their facts come from.
	Sources bool
}

// NewEngine returns an engine that hands every run to judged: once when it is
// completed, and once more for each time that SLOs waiting for evaluations are
// decided. Each (run, SLO) is handed out exactly once. pipeline is the number
// given to Consume. judged may be called concurrently.
func NewEngine(files *slo.Set, options EngineOptions, judged func(j Judged, pipeline int)) *Engine {
	if options.Now == nil {
		options.Now = time.Now
	}
	e := &Engine{files: files, judged: judged, now: options.Now, waiting: newWaitingRuns()}
	extractor := convention.New(files.AttributeNames()...)
	extractor.Likeness = files.Names("no_progress")
	extractor.Searches = func(tool string) bool { return slo.SearchTool(tool) || files.RetrievalTool(tool) }
	e.assembler = run.New(
		run.Settings{Runs: files.Runs(), MaxBytes: options.MaxBytes, Shards: options.Shards, Sources: options.Sources},
		files, extractor,
		run.Handler{Complete: e.complete, Evaluated: e.evaluated, Marker: marker, Skip: summary.Is},
		options.Now)
	return e
}

// Stats counts what became of spans, runs and evaluations.
func (e *Engine) Stats() *run.Stats { return &e.assembler.Stats }

// Consume reads spans. It does not change them and keeps no reference to them.
func (e *Engine) Consume(td ptrace.Traces, pipeline int) { e.assembler.Consume(td, pipeline) }

// ConsumeLogs reads evaluations from log records.
func (e *Engine) ConsumeLogs(ld plog.Logs) { e.assembler.ConsumeLogs(ld) }

// Tick hands out what is due. Call it every so often.
func (e *Engine) Tick() {
	e.assembler.Tick()
	now := e.now()
	e.handOut(func() (*waitingRun, time.Time) { return e.waiting.due(now), now })
}

// Finish completes every open run and ends every wait: runs that are completed
// by it are handed out with all their verdicts at once.
func (e *Engine) Finish(why run.Completion) {
	e.finishing.Store(true)
	defer e.finishing.Store(false)
	e.assembler.Finish(why)
	e.handOut(func() (*waitingRun, time.Time) { return e.waiting.first(), endOfTime })
}

// endOfTime is past every wait.
var endOfTime = time.Unix(math.MaxInt64/2, 0)

// handOut decides what is over of each waiting run that next takes out of the
// queue, until it takes none.
func (e *Engine) handOut(next func() (w *waitingRun, now time.Time)) {
	for {
		e.mu.Lock()
		w, now := next()
		if w == nil {
			e.mu.Unlock()
			return
		}
		j, ok := w.judge(now)
		e.waiting.put(w)
		e.mu.Unlock()
		if ok {
			e.judged(j, w.Pipeline)
		}
	}
}

// complete judges a run that is over.
func (e *Engine) complete(r *run.Run, file *slo.File, pipeline int) {
	j := Judged{Run: r, File: file, First: true}
	if file == nil {
		e.judged(j, pipeline)
		return
	}
	results, excluded := sli.Evaluate(file, r, e.finishing.Load())
	j.Excluded = excluded
	var pending []string
	j.Results = results[:0]
	for _, x := range results {
		if x.Pending {
			pending = append(pending, x.SLO)
		} else {
			j.Results = append(j.Results, x)
		}
	}
	if len(pending) > 0 {
		e.mu.Lock()
		e.waiting.put(&waitingRun{Run: r, Pending: pending, Since: e.now().Round(0), Pipeline: pipeline, file: file})
		e.mu.Unlock()
	}
	e.judged(j, pipeline)
}

// evaluated adds an evaluation to a run that waits for it.
func (e *Engine) evaluated(id [16]byte, ev convention.Evaluation) {
	e.mu.Lock()
	w := e.waiting.runs[id]
	if w == nil {
		e.mu.Unlock()
		e.assembler.Stats.EvaluationsLate.Add(1)
		return
	}
	// The run was handed out: its slices may be read without the lock.
	r := *w.Run
	r.Evaluations = append(slices.Clip(r.Evaluations), ev)
	w.Run = &r
	j, ok := w.judge(time.Time{})
	e.waiting.put(w)
	pipeline := w.Pipeline
	e.mu.Unlock()
	if ok {
		e.judged(j, pipeline)
	}
}

// marker gives the outcome that the file's own markers say. A marker whose
// expression needs a fact that is not there does not hold.
func marker(file *slo.File, r *run.Run) (slo.Outcome, bool) {
	if len(file.Outcomes) == 0 {
		return slo.OutcomeUnknown, false
	}
	vars := sli.Variables(r)
	for _, m := range file.Outcomes {
		if ok, err := m.When.Eval(vars); err == nil && ok {
			return m.Outcome, true
		}
	}
	return slo.OutcomeUnknown, false
}

// Summary is what the exporter counts of a judged run.
func (j *Judged) Summary() *summary.Summary {
	r := j.Run
	s := &summary.Summary{
		Run: r.ID, TraceID: r.TraceID, RootSpanID: r.RootSpanID, First: j.First,
		Service: r.Service, Environment: r.Environment, Agent: r.Agent,
		Outcome: r.Outcome.String(), Completion: string(r.Completion), Excluded: j.Excluded,
		Start: r.Start, End: r.End, Results: j.Results,
		DurationSeconds: r.Seconds, CostUSD: r.CostUSD, ModelCalls: r.ModelCalls, SamplingProbability: r.Sampling, Biased: r.Biased,
	}
	if j.File == nil {
		return s
	}
	s.Matched = true
	s.Service, s.Agent = j.File.Service, j.File.AgentLabel(r.Agent)
	if j.File.Environment != "" {
		s.Environment = j.File.Environment
	}
	for _, d := range j.File.Dimensions {
		if s.Dimensions == nil {
			s.Dimensions = make(map[string]string, len(j.File.Dimensions))
		}
		s.Dimensions[d.Name] = valueOf(d, r) // "" where the run has none: the sum over values is the whole
	}
	if !j.First {
		return s
	}
	s.ToolCalls = make([]summary.ToolCount, 0, min(len(r.Tools), 8))
	s.Tokens = make([]summary.TokenCount, 0, 5*len(r.Models))
	for i := range r.Tools {
		t := &r.Tools[i]
		if t.Role != run.Evidence && t.Role != run.Counted || t.Unfinished {
			continue
		}
		k := slices.IndexFunc(s.ToolCalls, func(c summary.ToolCount) bool {
			return c.Tool == t.Name && c.Result == t.Class.String()
		})
		if k < 0 {
			s.ToolCalls = append(s.ToolCalls, summary.ToolCount{Tool: t.Name, Result: t.Class.String()})
			k = len(s.ToolCalls) - 1
		}
		s.ToolCalls[k].Count++
	}
	j.failures(s)
	for i := range r.Models {
		m := &r.Models[i]
		for _, c := range [...]struct {
			kind string
			n    int64
		}{
			{"input", m.Usage.Input}, {"cached_input", m.Usage.CachedInput}, {"cache_write", m.Usage.CacheWrite},
			{"output", m.Usage.Output}, {"reasoning", m.Usage.Reasoning},
		} {
			if c.n > 0 {
				s.Tokens = append(s.Tokens, summary.TokenCount{Model: m.Model, Type: c.kind, Count: c.n})
			}
		}
	}
	s.Waste = sli.Wasted(j.File, r)
	s.Failovers = int64(r.Failovers)
	for i := range sli.Signals {
		if n := sli.Signals[i].Count(r); n > 0 {
			s.Signals = append(s.Signals, summary.SignalCount{Signal: sli.Signals[i].Name, Count: int64(n)})
		}
	}
	for i := range r.Faults {
		x := &r.Faults[i]
		k := slices.IndexFunc(s.Faults, func(c summary.FaultCount) bool { return c.Model == x.Model && c.Fault == x.Fault.String() })
		if k < 0 {
			k = len(s.Faults)
			s.Faults = append(s.Faults, summary.FaultCount{Model: x.Model, Fault: x.Fault.String()})
		}
		s.Faults[k].Count++
	}
	return s
}

// valueOf is the run's value of a dimension, or "".
func valueOf(d slo.Dimension, r *run.Run) string {
	attributes := r.Attributes
	if d.Source == slo.FromResource {
		attributes = r.ResourceAttributes
	}
	for _, name := range d.AttributeNames() {
		if v := attributes[name]; v != "" {
			return v
		}
	}
	return ""
}
