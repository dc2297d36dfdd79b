package backtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	engine "github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
)

// alertOver hands the alerting rule the vector of each evaluation of a stretch.
func (r *Replay) alertOver(ctx context.Context, id int, one *rule, s span, matrix engine.Matrix) error {
	step, from := r.Step.Milliseconds(), s.from.UnixMilli()
	vectors := make([]engine.Vector, r.steps(s))
	for _, x := range matrix {
		for _, p := range x.Floats {
			i := (p.T - from) / step
			vectors[i] = append(vectors[i], engine.Sample{Metric: x.Metric, T: p.T, F: p.F})
		}
	}
	for i, vector := range vectors {
		if err := r.alert(ctx, id, one, s.from.Add(time.Duration(i)*r.Step), vector); err != nil {
			return fmt.Errorf("alert %s: %w", one.name, err)
		}
	}
	return nil
}

// alert is one evaluation of an alerting rule.
func (r *Replay) alert(ctx context.Context, id int, one *rule, at time.Time, vector engine.Vector) error {
	if one.unchanged(vector) {
		for _, ls := range one.shown {
			v := 1.0
			if ls.Get(model.MetricNameLabel) != "ALERTS" {
				v = float64(one.steady[0].ActiveAt.Unix())
				for _, a := range one.steady {
					if sameAlert(ls, a.Labels) {
						v = float64(a.ActiveAt.Unix())
					}
				}
			}
			r.storage.Append(ls, at.UnixMilli(), v)
		}
		return nil
	}
	answer := func(context.Context, string, time.Time) (engine.Vector, error) { return vector, nil }
	samples, err := one.alerting.Eval(ctx, 0, at, answer, nil, 0)
	if err != nil {
		return err
	}
	shown := make(map[uint64]labels.Labels, len(samples))
	for _, sample := range samples {
		shown[sample.Metric.Hash()] = sample.Metric
		r.storage.Append(sample.Metric, at.UnixMilli(), sample.F)
	}
	for h, ls := range one.shown {
		if _, ok := shown[h]; !ok {
			r.storage.Append(ls, at.UnixMilli(), stale)
		}
	}
	one.shown = shown

	one.steady, one.vector = one.alerting.ActiveAlerts(), vector
	firing := map[uint64]bool{}
	for _, a := range one.steady {
		if a.State != promrules.StateFiring || !a.KeepFiringSince.IsZero() {
			one.vector = nil // on its way
		}
		if a.State != promrules.StateFiring {
			continue
		}
		h := a.Labels.Hash()
		firing[h] = true
		if _, ok := r.active[firingKey{id, h}]; !ok {
			r.active[firingKey{id, h}] = len(r.firings)
			r.firings = append(r.firings, Firing{Labels: a.Labels, Start: at})
		}
	}
	for key, i := range r.active {
		if key.rule == id && !firing[key.hash] {
			r.firings[i].End = at
			delete(r.active, key)
		}
	}
	return nil
}

// unchanged says that an evaluation can only repeat what the one before it
// yielded: nothing, or the same alerts, all of them firing. Expanding templates
// and printing the expression at each of a month's evaluations is most of the
// cost otherwise.
func (one *rule) unchanged(vector engine.Vector) bool {
	if len(vector) != len(one.steady) || len(vector) != len(one.vector) || one.templated {
		return false
	}
	for i := range vector {
		if !labels.Equal(vector[i].Metric, one.vector[i].Metric) {
			return false
		}
	}
	return true
}

// sameAlert compares a recorded series with the labels of its alert.
func sameAlert(series, alert labels.Labels) bool {
	return labels.Equal(series.DropReserved(func(name string) bool { return name == model.MetricNameLabel }), alert)
}

func templated(ls labels.Labels) (found bool) {
	ls.Range(func(l labels.Label) { found = found || strings.Contains(l.Value, "{{") })
	return found
}
