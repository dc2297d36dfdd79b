package backtest

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	engine "github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// Traffic is what the exporters of the simulated time show.
type Traffic interface {
	// Scrape appends what a Prometheus has scraped after from, up to and
	// including to. It is called for consecutive stretches of time.
	Scrape(ctx context.Context, from, to time.Time, into *Storage) error
}

// Firing is one alert from its first firing evaluation to the first that no
// longer had it.
type Firing struct {
	Labels     labels.Labels
	Start, End time.Time // End is zero if it still fires at the end of the replay
}

// Replay evaluates rule groups over traffic in simulated time.
type Replay struct {
	Groups     []rules.Group
	Traffic    Traffic
	Start, End time.Time     // the first and the last evaluation
	Step       time.Duration // between evaluations
	Wanted     []string      // PromQL whose recorded series are kept for [Replay.Query]
	// Progress, if set, is told the time up to which everything is evaluated.
	Progress func(time.Time)
	// Until, if set, ends the replay early when it is true for what fired so far.
	Until func([]Firing) bool

	stretch time.Duration
	plan    *plan
	storage *Storage
	engine  *engine.Engine
	active  map[firingKey]int // into firings
	firings []Firing
}

type firingKey struct {
	rule int
	hash uint64
}

// defaultStretch is how much time is evaluated at once.
const defaultStretch = 24 * time.Hour

// Run evaluates the rules and returns what fired, in order of time. Its error
// is that of the traffic, of a rule that cannot be evaluated, or the context's.
func (r *Replay) Run(ctx context.Context) ([]Firing, error) {
	var err error
	if r.plan, err = newPlan(r.Groups, r.Wanted); err != nil {
		return nil, err
	}
	if r.stretch == 0 {
		r.stretch = defaultStretch
	}
	r.storage = NewStorage()
	r.active = map[firingKey]int{}
	r.engine = newEngine()
	defer func() { _ = r.engine.Close() }()

	// Rules with a memory are stepped ahead of those that only read.
	split := 0
	for i, b := range r.plan.blocks {
		if b.stepped {
			split = i + 1
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ahead := make(chan span, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(ahead)
		scraped := r.Start.Add(-time.Minute)
		for from := r.Start; !from.After(r.End); from = from.Add(r.stretch) {
			s := span{from, minTime(from.Add(r.stretch-r.Step), r.End)}
			if err := r.Traffic.Scrape(ctx, scraped, s.to, r.storage); err != nil {
				cancel(err)
				return
			}
			scraped = s.to
			for i := range split {
				if err := r.evaluate(ctx, i, s); err != nil {
					cancel(err)
					return
				}
			}
			select {
			case ahead <- s:
			case <-ctx.Done():
				return
			}
		}
	})
	for s := range ahead {
		for i := split; i < len(r.plan.blocks) && err == nil; i++ {
			err = r.evaluate(ctx, i, s)
		}
		if err != nil {
			cancel(err)
			break
		}
		for name, back := range r.plan.keep {
			if back != always {
				r.storage.forget(name, s.to.Add(-back-time.Hour).UnixMilli())
			}
		}
		if r.Progress != nil {
			r.Progress(s.to)
		}
		if r.Until != nil && r.Until(r.firings) {
			cancel(errEnough)
			break
		}
	}
	wait.Wait()
	if cause := context.Cause(ctx); cause != nil && cause != errEnough {
		return nil, cause
	}
	return r.firings, nil
}

var errEnough = fmt.Errorf("enough")

func newEngine() *engine.Engine {
	return engine.NewEngine(engine.EngineOpts{
		MaxSamples: 1 << 40, Timeout: 24 * time.Hour, LookbackDelta: lookback, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() }, Parser: promql,
	})
}

// span is a stretch of evaluations, both ends included.
type span struct{ from, to time.Time }

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (r *Replay) evaluate(ctx context.Context, index int, s span) error {
	b := r.plan.blocks[index]
	if !b.stepped {
		for i, one := range b.rules {
			if err := r.over(ctx, index<<16|i, one, s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(b.rules) == 1 && b.rules[0].alerting == nil {
		return r.settle(ctx, index, b.rules[0], s)
	}
	return r.step(ctx, index, s)
}

// step evaluates a block instant by instant.
func (r *Replay) step(ctx context.Context, index int, s span) error {
	b := r.plan.blocks[index]
	for at := s.from; !at.After(s.to); at = at.Add(r.Step) {
		for i, one := range b.rules {
			if err := r.once(ctx, index<<16|i, one, at); err != nil {
				return fmt.Errorf("rule %s at %s: %w", one.name, at.Format(time.RFC3339), err)
			}
		}
	}
	return nil
}

// once evaluates a rule at an instant.
func (r *Replay) once(ctx context.Context, id int, one *rule, at time.Time) error {
	q, err := r.engine.NewInstantQuery(ctx, r.storage, nil, one.text, at)
	if err != nil {
		return err
	}
	defer q.Close()
	vector, err := q.Exec(ctx).Vector()
	if err != nil {
		return err
	}
	if one.alerting != nil {
		return r.alert(ctx, id, one, at, vector)
	}
	shown := make(map[uint64]labels.Labels, len(vector))
	for _, sample := range vector {
		ls := one.output(sample.Metric)
		h := ls.Hash()
		if _, twice := shown[h]; twice {
			return promrules.ErrDuplicateRecordingLabelSet
		}
		shown[h] = ls
		r.storage.Append(ls, at.UnixMilli(), sample.F)
	}
	for h, ls := range one.shown {
		if _, ok := shown[h]; !ok {
			r.storage.Append(ls, at.UnixMilli(), stale)
		}
	}
	one.shown = shown
	return nil
}

// output is the recorded series for one of the expression's.
func (one *rule) output(metric labels.Labels) labels.Labels {
	h := metric.Hash()
	if ls, ok := one.outputs[h]; ok {
		return ls
	}
	b := labels.NewBuilder(metric)
	b.Set(model.MetricNameLabel, one.name)
	one.labels.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
	ls := b.Labels()
	one.outputs[h] = ls
	return ls
}

// Line is one series over the whole replay.
type Line struct {
	Labels labels.Labels
	Points []Point
}

// Point is the value of a series at a time.
type Point struct {
	Time  time.Time
	Value float64
}

// Query evaluates one of the wanted expressions over the whole replay, after
// it has run.
func (r *Replay) Query(ctx context.Context, expr string, step time.Duration) ([]Line, error) {
	e := newEngine()
	defer func() { _ = e.Close() }()
	q, err := e.NewRangeQuery(ctx, r.storage, nil, expr, r.Start, r.End, step)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	matrix, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(matrix))
	for i, x := range matrix {
		lines[i] = Line{x.Metric, make([]Point, len(x.Floats))}
		for j, p := range x.Floats {
			lines[i].Points[j] = Point{time.UnixMilli(p.T).UTC(), p.F}
		}
	}
	return lines, nil
}

// Counted adds up what the exporters counted of a verdict, resets included.
func (r *Replay) Counted(v slo.Verdict) (n float64) {
	r.storage.mu.RLock()
	defer r.storage.mu.RUnlock()
	for _, x := range r.storage.byName[eventsMetric] {
		if x.labels.Get(rules.LabelVerdict) != v.String() {
			continue
		}
		for i := 1; i < len(x.values); i++ {
			now, before := x.values[i], x.values[i-1]
			switch {
			case math.IsNaN(now) || math.IsNaN(before):
			case now < before:
				n += now
			default:
				n += now - before
			}
		}
	}
	return n
}

const (
	eventsMetric = "agentslo_events_total"
	aliveMetric  = "agentslo_unmatched_runs_total"
)
