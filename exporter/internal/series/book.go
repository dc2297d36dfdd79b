package series

import (
	"iter"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentslo/agentslo/exporter/internal/seen"
	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

// Options configure a [Book].
type Options struct {
	BirthHold time.Duration // how long a new label set shows 0 at least; 0: it does not
	Limit     int           // label sets of each metric family
	Seen      int           // span ids that are remembered
	// Keep is how many values of a dimension are kept; 0: not known.
	Keep func(service, environment, dimension string) int
	// LateAfter is how long after its run's end a verdict on an SLO is late; three
	// hours when nil.
	LateAfter func(service, environment, objective string) time.Duration
	Now       func() time.Time // time.Now when nil
}

// Book counts summaries. It is a [prometheus.Collector], and safe for
// concurrent use: a summary is counted, and the book is read, under one lock,
// so that no reader sees half of a summary.
type Book struct {
	options Options

	mu         sync.Mutex
	hold       time.Duration
	seen       *seen.Set
	events     *counters
	late       *counters
	reasons    *counters
	runs       *counters
	tools      *counters
	tokens     *counters
	failures   *counters
	effects    *counters
	wrong      *counters
	blocked    *counters
	faults     *counters
	failovers  *counters
	signals    *counters
	waste      waste
	unmatched  *counters
	duration   *histograms
	cost       *histograms
	calls      *histograms
	lag        *histograms
	stuckSteps *histograms
	stuckUSD   *histograms
	dimensions map[string]*dimension
	sampling   map[[2]string]sampling // by service and environment
}

// Counted says what became of a summary.
type Counted uint8

const (
	New       Counted = iota
	Duplicate         // its span id was counted before
)

const maxDimensions = 32 // further ones are not counted

// NewBook returns an empty book. Series without labels are born with it.
func NewBook(o Options) *Book {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Keep == nil {
		o.Keep = func(string, string, string) int { return 0 }
	}
	if o.LateAfter == nil {
		o.LateAfter = func(_, _, _ string) time.Duration { return 3 * time.Hour }
	}
	b := &Book{options: o, hold: o.BirthHold, seen: seen.New(o.Seen), dimensions: map[string]*dimension{}, sampling: map[[2]string]sampling{}}
	run := []string{"slo_service", "environment", "agent"}
	with := func(more ...string) []string { return append(run[:len(run):len(run)], more...) }
	b.events = newCounters("agentslo_events_total", "Verdicts on runs. Good and bad are the events of the error budget.", o.Limit, true,
		with("slo"), []string{"agent", "environment", "slo_service", "slo"})
	b.late = newCounters("agentslo_late_bad_events_total", "Bad verdicts counted so long after their run's end that nobody is paged for them.", o.Limit, false,
		with("slo"), []string{"agent", "environment", "slo_service", "slo"})
	b.reasons = newCounters("agentslo_reasons_total", "Verdicts on runs by their reason; a plain good has none.", o.Limit, false,
		with("slo", "verdict", "reason"), []string{"agent", "reason", "environment", "slo_service", "slo", "verdict"})
	b.runs = newCounters("agentslo_runs_total", "Runs by how they ended.", o.Limit, false,
		with("outcome"), []string{"agent", "environment", "slo_service", "outcome"})
	b.tools = newCounters("agentslo_tool_calls_total", "Tool calls by result: ok or the class of the failure.", o.Limit, false,
		with("tool", "result"), []string{"tool", "agent", "environment", "slo_service", "result"})
	b.tokens = newCounters("agentslo_tokens_total", "Model tokens. input includes cached_input and cache_write, output includes reasoning.", o.Limit, false,
		with("model", "type"), []string{"model", "agent", "environment", "slo_service", "type"})
	b.newFailures()
	b.faults = newCounters("agentslo_provider_faults_total", "Model calls that failed for trouble at the provider.", o.Limit, false,
		with("model", "fault"), []string{"model", "agent", "environment", "slo_service", "fault"})
	b.failovers = newCounters("agentslo_failovers_total", "Provider faults after which the agent went to another model or provider.", o.Limit, false,
		run, []string{"agent", "environment", "slo_service"})
	b.signals = newCounters("agentslo_signals_total", "What else happened in runs.", o.Limit, false,
		with("signal"), []string{"agent", "environment", "slo_service", "signal"})
	b.waste = newWaste(o.Limit, with)
	b.unmatched = newCounters("agentslo_unmatched_runs_total", "Runs that no SLO file matches.", o.Limit, false, nil, nil)
	folding := []string{"agent", "environment", "slo_service"}
	b.duration = newHistograms("agentslo_run_duration_seconds", "Root start to root end, less waits for a person.", o.Limit,
		[]float64{.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 14400}, run, folding)
	b.cost = newHistograms("agentslo_run_cost_usd", "Cost of runs in US dollars, where it is known.", o.Limit,
		[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25}, run, folding)
	b.calls = newHistograms("agentslo_run_tool_calls", "Tool calls of runs.", o.Limit,
		[]float64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 100}, run, folding)
	b.lag = newHistograms("agentslo_count_lag_seconds", "From a run's end to the counting of its first verdicts.", o.Limit,
		[]float64{1, 2.5, 5, 10, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200, 21600, 86400}, nil, nil)
	now := o.Now()
	b.unmatched.at(now)
	b.lag.at(now)
	return b
}

// Expect makes the label set of an SLO that is known before its first run.
func (b *Book) Expect(service, environment, agent, objective string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.eventsOf(b.options.Now(), label(service), label(environment), label(agent), label(objective))
}

// eventsOf is the label set of an SLO. That of its late events is born with it.
func (b *Book) eventsOf(now time.Time, service, environment, agent, objective string) *counter {
	g, isNew := b.events.at(now, service, environment, agent, objective)
	if isNew {
		b.late.at(now, service, environment, agent, objective)
	}
	return g
}

// Count counts a summary, once however often it comes.
func (b *Book) Count(s *summary.Summary) Counted {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.seen.Add(spanKey(s)) {
		return Duplicate
	}
	now := b.options.Now()
	if !s.Matched {
		b.unmatched.add(now, 1)
		return New
	}
	service, environment, agent := label(s.Service), label(s.Environment), label(s.Agent)
	for e := range events(s) {
		b.eventsOf(now, service, environment, e.agent, e.objective).count(e.verdict, e.count, s.TraceID, now)
		if e.verdict == slo.Bad && s.End != 0 && now.Sub(time.Unix(0, int64(s.End))) > b.options.LateAfter(service, environment, e.objective) {
			b.late.add(now, e.count, service, environment, e.agent, e.objective)
		}
		if e.reason != "" {
			b.reasons.add(now, e.count, service, environment, e.agent, e.objective, e.verdict.String(), e.reason)
		}
		if e.tool != "" {
			d := b.dimension(slo.DimensionTool)
			d.at(now, service, environment, e.agent, e.objective, e.tool).count(e.verdict, e.count, s.TraceID, now)
		}
	}
	for name, value := range s.Dimensions {
		if !isLabelName(name) {
			continue
		}
		d := b.dimension(name)
		if d == nil {
			continue
		}
		value = label(value)
		for e := range events(s) {
			d.at(now, service, environment, e.agent, e.objective, value).count(e.verdict, e.count, s.TraceID, now)
		}
	}
	if s.First {
		b.countRun(s, now, service, environment, agent)
	}
	return New
}

// event is a number of events that are counted alike.
type event struct {
	objective, agent, tool, reason string
	verdict                        slo.Verdict
	count                          uint64
}

// events are what a summary counts: the verdict of an SLO of runs, or each step
// of one of steps.
func events(s *summary.Summary) iter.Seq[event] {
	return func(yield func(event) bool) {
		for i := range s.Results {
			r := &s.Results[i]
			objective := label(r.SLO)
			if r.Steps == nil {
				if !yield(event{objective, label(s.Agent), "", label(r.Reason), r.Verdict, 1}) {
					return
				}
				continue
			}
			for k := range r.Steps {
				step := &r.Steps[k]
				if !yield(event{objective, label(step.Agent), label(step.Tool), label(step.Reason), step.Verdict, uint64(step.Count)}) {
					return
				}
			}
		}
	}
}

// countRun counts what is of the run as a whole.
func (b *Book) countRun(s *summary.Summary, now time.Time, service, environment, agent string) {
	b.countSampling(s, service, environment)
	b.runs.add(now, 1, service, environment, agent, label(s.Outcome))
	var calls int64
	for _, c := range s.ToolCalls {
		calls += c.Count
		b.tools.add(now, uint64(c.Count), service, environment, agent, label(c.Tool), label(c.Result))
	}
	b.calls.observe(now, float64(calls), service, environment, agent)
	for _, c := range s.Tokens {
		b.tokens.add(now, uint64(c.Count), service, environment, agent, label(c.Model), label(c.Type))
	}
	b.countFailures(s, now, service, environment, agent)
	for _, c := range s.Faults {
		b.faults.add(now, uint64(c.Count), service, environment, agent, label(c.Model), label(c.Fault))
	}
	if s.Failovers > 0 {
		b.failovers.add(now, uint64(s.Failovers), service, environment, agent)
	}
	for _, c := range s.Signals {
		b.signals.add(now, uint64(c.Count), service, environment, agent, label(c.Signal))
	}
	for i := range s.Waste {
		b.waste.count(&s.Waste[i], now, service, environment, agent)
	}
	if s.DurationSeconds != nil {
		b.duration.observe(now, *s.DurationSeconds, service, environment, agent)
	}
	if s.CostUSD != nil {
		b.cost.observe(now, *s.CostUSD, service, environment, agent)
	}
	if s.End != 0 {
		// An agent's clock may be ahead of ours.
		b.lag.observe(now, max(now.Sub(time.Unix(0, int64(s.End))).Seconds(), 0))
	}
}

func (b *Book) dimension(name string) *dimension {
	d, ok := b.dimensions[name]
	if !ok {
		if name != slo.DimensionTool && (len(b.dimensions) >= maxDimensions || !isLabelName(name)) {
			return nil
		}
		d = newDimension(name, b.options.Limit, func(service, environment string) int {
			if name == slo.DimensionTool {
				return slo.ToolsKept
			}
			if keep := b.options.Keep(service, environment, name); keep > 0 {
				return keep
			}
			return defaultKeep
		})
		b.dimensions[name] = d
	}
	return d
}

// isLabelName says whether a name that came over the wire can be a label
// beside the others.
func isLabelName(name string) bool {
	switch name {
	case "", "slo_service", "environment", "agent", "slo", "verdict", slo.DimensionTool:
		return false
	}
	if strings.HasPrefix(name, "__") || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for _, c := range []byte(name) {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// maxLabel is the length in bytes at which a label value is cut.
const maxLabel = 256

func label(s string) string {
	if len(s) <= maxLabel {
		return s
	}
	cut := maxLabel
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}

// Release shows everything that is held, from now on.
func (b *Book) Release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hold = 0
}

func (b *Book) counterFamilies() []*counters {
	families := []*counters{b.events, b.late, b.reasons, b.runs, b.tools, b.tokens, b.failures, b.effects, b.wrong, b.blocked,
		b.faults, b.failovers, b.signals, b.waste.calls, b.waste.tokens, b.waste.usd, b.waste.seconds, b.unmatched}
	for _, d := range b.dimensions {
		families = append(families, d.counters)
	}
	return families
}

func (b *Book) histogramFamilies() []*histograms {
	return []*histograms{b.duration, b.cost, b.calls, b.lag, b.stuckSteps, b.stuckUSD}
}

// Describe implements [prometheus.Collector]. It describes nothing: families
// of dimensions come with the summaries that have them.
func (b *Book) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (b *Book) Collect(ch chan<- prometheus.Metric) {
	var (
		samples       []sample
		distributions []distribution
		gauges        []prometheus.Metric
	)
	b.mu.Lock()
	now := b.options.Now()
	for _, f := range b.counterFamilies() {
		samples = f.snapshot(samples, now, b.hold)
	}
	for _, f := range b.histogramFamilies() {
		distributions = f.snapshot(distributions, now, b.hold)
	}
	gauges = b.samplingGauges(b.capacity(gauges))
	b.mu.Unlock()

	for i := range samples {
		ch <- samples[i].metric()
	}
	for i := range distributions {
		ch <- distributions[i].metric()
	}
	for _, m := range gauges {
		ch <- m
	}
}
