package engine

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// Since is the time of the oldest sample; false if there is none.
func (e *Engine) Since() (time.Time, bool) {
	ms, err := e.db.StartTime()
	if err != nil || ms <= 0 || time.UnixMilli(ms).After(time.Now().Add(24*time.Hour)) {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}

// Instant evaluates an expression that gives a vector. It is copied and stays valid.
func (e *Engine) Instant(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := e.queries.NewInstantQuery(ctx, e.db, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	v, err := q.Exec(ctx).Vector()
	if err != nil {
		return nil, err
	}
	return append(promql.Vector(nil), v...), nil
}

// Range evaluates an expression at every step from start to end. It is copied
// and stays valid.
func (e *Engine) Range(ctx context.Context, expr string, start, end time.Time, step time.Duration) (promql.Matrix, error) {
	q, err := e.queries.NewRangeQuery(ctx, e.db, nil, expr, start, end, step)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	m, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, err
	}
	copied := make(promql.Matrix, len(m))
	for i, s := range m {
		copied[i] = promql.Series{Metric: s.Metric, Floats: append([]promql.FPoint(nil), s.Floats...)}
	}
	return copied, nil
}

// Exemplars returns the exemplars of the series that match, oldest first per series.
func (e *Engine) Exemplars(ctx context.Context, since time.Time, matchers ...*labels.Matcher) ([]exemplar.QueryResult, error) {
	q, err := e.db.ExemplarQuerier(ctx)
	if err != nil {
		return nil, err
	}
	return q.Select(since.UnixMilli(), maxMillis, matchers)
}

const maxMillis = int64(1) << 52 // beyond any time a clock tells

// Interval is a time during which a series had samples.
type Interval struct {
	Labels     labels.Labels
	Start, End time.Time // first and last sample
	Open       bool      // it had not ended by the last sample
}

// Intervals returns when the matching series had samples, such as when an
// alert was firing. A gap ends at a staleness marker, or when it is longer
// than the lookback.
func (e *Engine) Intervals(ctx context.Context, from, to time.Time, matchers ...*labels.Matcher) ([]Interval, error) {
	q, err := e.db.Querier(from.UnixMilli(), to.UnixMilli())
	if err != nil {
		return nil, err
	}
	defer func() { _ = q.Close() }()
	set := q.Select(ctx, true, nil, matchers...)
	var all []Interval
	var it chunkenc.Iterator
	for set.Next() {
		s := set.At()
		it = s.Iterator(it)
		var current *Interval
		finish := func() {
			if current != nil {
				all = append(all, *current)
				current = nil
			}
		}
		for it.Next() == chunkenc.ValFloat {
			ms, v := it.At()
			at := time.UnixMilli(ms)
			if value.IsStaleNaN(v) {
				finish()
				continue
			}
			if current != nil && at.Sub(current.End) > Lookback {
				finish()
			}
			if current == nil {
				current = &Interval{Labels: s.Labels(), Start: at}
			}
			current.End = at
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		if current != nil {
			current.Open = to.Sub(current.End) <= Lookback
		}
		finish()
	}
	return all, set.Err()
}
