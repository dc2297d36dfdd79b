package backtest

import (
	"context"
	"fmt"
	"math"

	"time"

	"github.com/prometheus/prometheus/model/labels"
	engine "github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
)

// column is one series over a stretch: a value for each evaluation, and
// whether there was one.
type column struct {
	labels labels.Labels
	values []float64
	there  []bool
}

func newColumn(ls labels.Labels, n int) *column {
	return &column{ls, make([]float64, n), make([]bool, n)}
}

// columns are the series that a rule records over a stretch, by their hash.
type columns map[uint64]*column

func (r *Replay) steps(s span) int { return int(s.to.Sub(s.from)/r.Step) + 1 }

// over evaluates a rule without a memory over a stretch of time.
func (r *Replay) over(ctx context.Context, id int, one *rule, s span) error {
	matrix, err := r.matrix(ctx, one, s)
	if err != nil {
		return err
	}
	if one.alerting != nil {
		return r.alertOver(ctx, id, one, s, matrix)
	}
	columns, err := r.columns(one, s, matrix)
	if err != nil {
		return err
	}
	r.record(one, s, columns)
	return nil
}

func (r *Replay) matrix(ctx context.Context, one *rule, s span) (engine.Matrix, error) {
	q, err := r.engine.NewRangeQuery(ctx, r.storage, nil, one.text, s.from, s.to, r.Step)
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", one.name, err)
	}
	defer q.Close()
	matrix, err := q.Exec(ctx).Matrix()
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", one.name, err)
	}
	// The engine takes the points back when the query is closed.
	out := make(engine.Matrix, len(matrix))
	for i, x := range matrix {
		out[i] = engine.Series{Metric: x.Metric, Floats: append([]engine.FPoint(nil), x.Floats...)}
	}
	return out, nil
}

// columns has the matrix as the rule records it, and empty columns for series
// that were there before.
func (r *Replay) columns(one *rule, s span, matrix engine.Matrix) (columns, error) {
	step, from, n := r.Step.Milliseconds(), s.from.UnixMilli(), r.steps(s)
	out := make(columns, len(matrix))
	for _, x := range matrix {
		ls := one.output(x.Metric)
		h := ls.Hash()
		c := out[h]
		if c == nil {
			c = newColumn(ls, n)
			out[h] = c
		}
		for _, p := range x.Floats {
			i := int((p.T - from) / step)
			if c.there[i] {
				return nil, fmt.Errorf("rule %s: %w", one.name, promrules.ErrDuplicateRecordingLabelSet)
			}
			c.values[i], c.there[i] = p.F, true
		}
	}
	for h, ls := range one.shown {
		if out[h] == nil {
			out[h] = newColumn(ls, n)
		}
	}
	return out, nil
}

// record writes columns over whatever there is in the stretch, with a stale
// marker where a series ends.
func (r *Replay) record(one *rule, s span, all columns) {
	shown := make(map[uint64]labels.Labels, len(all))
	for h, c := range all {
		r.write(one, s, h, c)
		if c.there[len(c.there)-1] {
			shown[h] = c.labels
		}
	}
	one.shown = shown
}

func (r *Replay) write(one *rule, s span, h uint64, c *column) {
	step, from := r.Step.Milliseconds(), s.from.UnixMilli()
	_, before := one.shown[h]
	times, values := make([]int64, 0, len(c.there)), make([]float64, 0, len(c.there))
	for i, there := range c.there {
		switch {
		case there:
			times, values = append(times, from+int64(i)*step), append(values, c.values[i])
		case before:
			times, values = append(times, from+int64(i)*step), append(values, stale)
		}
		before = there
	}
	r.storage.replace(c.labels, from, times, values)
}

// settle evaluates a rule with a memory over a stretch without stepping. It
// guesses what the rule will have recorded and evaluates over the guess: what
// comes out at a step is right if the guess is right before that step, for
// nothing else is read. So where guess and outcome are the same throughout,
// both are what stepping yields; else they are up to their first difference,
// and the rest is guessed anew. Counting rules take two or three rounds.
func (r *Replay) settle(ctx context.Context, index int, one *rule, s span) error {
	const rounds = 8
	for round := 0; ; round++ {
		guess := columns{}
		for h, ls := range one.shown { // nothing changes
			c := newColumn(ls, r.steps(s))
			last := r.storage.last(ls)
			for i := range c.there {
				c.values[i], c.there[i] = last, true
			}
			guess[h] = c
		}
		right, outcome := 0, columns(nil)
		for try := range rounds {
			for h, c := range guess {
				r.write(one, s, h, c)
			}
			matrix, err := r.matrix(ctx, one, s)
			if err != nil {
				return err
			}
			if outcome, err = r.columns(one, s, matrix); err != nil {
				return err
			}
			right = r.steps(s)
			for h, c := range outcome {
				right = min(right, difference(c, guess[h]))
			}
			for h, c := range guess {
				if outcome[h] == nil {
					outcome[h] = newColumn(c.labels, r.steps(s))
					right = min(right, difference(c, outcome[h]))
				}
			}
			if right == r.steps(s) {
				r.record(one, s, outcome)
				return nil
			}
			guess = better(guess, outcome, try)
		}
		// The outcome is right at the first difference too.
		done := span{s.from, s.from.Add(time.Duration(right) * r.Step)}
		for _, c := range outcome {
			c.values, c.there = c.values[:right+1], c.there[:right+1]
		}
		r.record(one, done, outcome)
		s.from = done.to.Add(r.Step)
		if right < 60 { // guesses do not help here
			some := span{s.from, minTime(s.from.Add(time.Hour), s.to)}
			if some.from.After(s.to) {
				return nil
			}
			if err := r.step(ctx, index, some); err != nil {
				return err
			}
			s.from = some.to.Add(r.Step)
		}
		if s.from.After(s.to) {
			return nil
		}
	}
}

// difference is the first step at which two columns are not the same.
func difference(a, b *column) int {
	for i := range a.there {
		if b == nil {
			if a.there[i] {
				return i
			}
			continue
		}
		if a.there[i] != b.there[i] || a.there[i] && math.Float64bits(a.values[i]) != math.Float64bits(b.values[i]) {
			return i
		}
	}
	return len(a.there)
}

// better is the next guess: first the outcome itself, which is right for what
// does not add up; then, for series that still differ, the sum of the outcome's
// steps beyond the guess.
func better(guess, outcome columns, try int) columns {
	out := make(columns, len(outcome))
	for h, c := range outcome {
		out[h] = c
		g := guess[h]
		if try%2 == 0 || g == nil || difference(c, g) == len(c.there) {
			continue
		}
		sum := newColumn(c.labels, len(c.there))
		copy(sum.there, c.there)
		for i := range sum.values {
			if i == 0 || !g.there[i-1] || !c.there[i-1] {
				sum.values[i] = c.values[i]
			} else {
				sum.values[i] = sum.values[i-1] + (c.values[i] - g.values[i-1])
			}
		}
		out[h] = sum
	}
	return out
}
