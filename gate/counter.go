package gate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// reader reads counters exactly: no rate, no extrapolation.
//
// A month of raw samples at a 15 s scrape is 172,800 samples a series: cheap to
// scan, too many to ship. So the server is asked for three numbers a stretch of
// time: the last value, the minimum, and how often the counter was reset.
// Without a reset the minimum is the first value, and the increase follows. A
// stretch with a reset is asked again by the hour, and an hour with one for its
// raw samples.
//
// Cost: the server scans each sample of the window three times. The answer of a
// 30 day window has 3 × 99 numbers a series, and for each hour in which one of
// the service's series was reset up to that hour's raw samples of them all. The
// seven SLOs of one agent, a month at 15 s, take between one and two seconds on
// one core.
type reader struct {
	api Prometheus
}

// series is one exported series: its labels, and its stretches that hold
// samples in order of time.
type series struct {
	labels    model.Metric
	stretches []stretch
	older     bool // it was there before the window
}

// stretch is one series over one stretch of time.
type stretch struct {
	end         time.Time
	step        time.Duration
	first, last float64
	rise        float64 // from first to last, resets added up
	reset       bool    // rise and first are not known yet: it was reset inside
	increase    int64   // from the sample before the stretch to last
}

func (s stretch) start() time.Time { return s.end.Add(-s.step) }

// join is the rise of a counter between two successive samples. After a reset
// it began again at 0.
func join(before, after float64) float64 {
	if after < before {
		return after
	}
	return after - before
}

// history is what the server holds of some counters over a window.
type history struct {
	series []*series
	// kept is when the server's samples begin, where its retention is shorter
	// than the window; else the zero time.
	kept      time.Time
	retention time.Duration
}

// firstSeen is no later than the oldest sample of an SLO, and within its
// stretch; the zero time where it has none, or some from before the window.
func (h history) firstSeen(objective string) (t time.Time) {
	for _, s := range h.series {
		if name, ok := s.labels["slo"]; ok && string(name) != objective { // a ratio's counters have none
			continue
		}
		if s.older {
			return time.Time{}
		}
		if at := s.stretches[0].start(); t.IsZero() || at.Before(t) {
			t = at
		}
	}
	return t
}

// lastSeen is about when the newest sample is: the end of its stretch.
func (h history) lastSeen() (t time.Time) {
	for _, s := range h.series {
		t = later(t, s.stretches[len(s.stretches)-1].end)
	}
	return t
}

// read reads the series of a selector that have samples in the grids, which
// adjoin and stand in order of time.
func (r reader) read(ctx context.Context, sel selector, grids []grid) (history, error) {
	all, err := r.resolved(ctx, sel, grids)
	if err != nil || len(all) == 0 {
		return history{}, err
	}
	start := grids[0].start()
	before, err := r.vector(ctx, fmt.Sprintf("last_over_time(%s[%s])", sel, promDuration(lookback)), start)
	if err != nil {
		return history{}, err
	}
	h := history{series: all}
	if len(before) == 0 {
		h.retention = r.retention(ctx)
		kept := time.Now().Add(-h.retention)
		if h.retention > 0 && kept.After(start) && kept.Before(grids[len(grids)-1].last) {
			h.kept = kept
		}
		if err := ctx.Err(); err != nil {
			return history{}, readError(err)
		}
	}
	begun, err := r.begun(ctx, sel, h, before, grids[len(grids)-1].last)
	if err != nil {
		return history{}, err
	}
	for _, s := range all {
		previous, known := before[s.labels.Fingerprint()]
		s.older = known
		if !known {
			previous = begun[s]
		}
		for i := range s.stretches {
			st := &s.stretches[i]
			st.increase = int64(math.Round(join(previous, st.first) + st.rise))
			previous = st.last
		}
	}
	return h, nil
}

// retention is how long the server keeps samples; 0 when it does not say.
func (r reader) retention(ctx context.Context) time.Duration {
	info, err := r.api.Runtimeinfo(ctx)
	if err != nil {
		return 0 // only Prometheus itself answers this
	}
	for _, part := range strings.Split(info.StorageRetention, " or ") { // 15d or 50GB
		if d, err := model.ParseDuration(strings.TrimSpace(part)); err == nil {
			return time.Duration(d)
		}
	}
	return 0
}

// resolved reads the series of a selector with first, last and rise of each stretch.
func (r reader) resolved(ctx context.Context, sel selector, grids []grid) ([]*series, error) {
	found := map[model.Fingerprint]*series{}
	for _, g := range grids {
		if err := r.scan(ctx, sel, g, found); err != nil {
			return nil, err
		}
	}
	all := make([]*series, 0, len(found))
	for _, s := range found {
		slices.SortFunc(s.stretches, func(a, b stretch) int { return a.end.Compare(b.end) })
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *series) int { return strings.Compare(a.labels.String(), b.labels.String()) })
	return all, r.resolveResets(ctx, sel, all)
}

// partLabel tells the parts of one answer apart.
const partLabel = "agentslo_part"

// scan adds what the server says about the stretches of one grid.
func (r reader) scan(ctx context.Context, sel selector, g grid, found map[model.Fingerprint]*series) error {
	var parts []string
	for _, function := range []string{"last_over_time", "min_over_time", "resets"} {
		parts = append(parts, fmt.Sprintf(`label_replace(%s(%s[%s]),"%s","%s","","")`, function, sel, promDuration(g.step), partLabel, function))
	}
	// One query sees one state of the database, even while samples come in.
	matrix, err := r.matrix(ctx, strings.Join(parts, " or "), g)
	if err != nil {
		return err
	}
	type place struct {
		series model.Fingerprint
		end    model.Time
	}
	answer := map[place]map[string]float64{}
	for _, stream := range matrix {
		part := string(stream.Metric[partLabel])
		labels := identity(stream.Metric)
		key := labels.Fingerprint()
		if found[key] == nil {
			found[key] = &series{labels: labels}
		}
		for _, p := range stream.Values {
			at := place{key, p.Timestamp}
			if answer[at] == nil {
				answer[at] = make(map[string]float64, 3)
			}
			answer[at][part] = float64(p.Value)
		}
	}
	for at, parts := range answer {
		s := found[at.series]
		if len(parts) != 3 {
			return fmt.Errorf("Prometheus' answer is not whole: it lacks values of %s at %s", s.labels, at.end.Time().UTC().Format(time.RFC3339))
		}
		last, first, resets := parts["last_over_time"], parts["min_over_time"], parts["resets"]
		if !finite(last) || !finite(first) || !finite(resets) {
			return fmt.Errorf("the counter %s is not a number at %s", s.labels, at.end.Time().UTC().Format(time.RFC3339))
		}
		s.stretches = append(s.stretches, stretch{
			end: at.end.Time(), step: g.step, first: first, last: last, rise: last - first, reset: resets > 0,
		})
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// resolveResets reads again, closer, the stretches in which some series was reset.
func (r reader) resolveResets(ctx context.Context, sel selector, all []*series) error {
	type place struct {
		end  int64
		step time.Duration
	}
	closer := map[place]map[model.Fingerprint]stretch{}
	for _, s := range all {
		for i := range s.stretches {
			st := &s.stretches[i]
			if !st.reset {
				continue
			}
			at := place{st.end.UnixMilli(), st.step}
			if closer[at] == nil {
				var err error
				if closer[at], err = r.closer(ctx, sel, st.end, st.step); err != nil {
					return err
				}
			}
			seen, ok := closer[at][s.labels.Fingerprint()]
			if !ok {
				return fmt.Errorf("Prometheus' answers contradict each other about %s at %s", s.labels, st.end.UTC().Format(time.RFC3339))
			}
			st.first, st.rise, st.reset = seen.first, seen.rise, false
		}
	}
	return nil
}

// closer reads the stretch (end−step, end] of each series at a finer resolution.
func (r reader) closer(ctx context.Context, sel selector, end time.Time, step time.Duration) (map[model.Fingerprint]stretch, error) {
	if step <= fine {
		return r.raw(ctx, sel, end, step)
	}
	all, err := r.resolved(ctx, sel, partition(end.Add(-step), end, fine))
	if err != nil {
		return nil, err
	}
	out := make(map[model.Fingerprint]stretch, len(all))
	for _, s := range all {
		whole := s.stretches[0]
		for _, next := range s.stretches[1:] {
			whole.rise += join(whole.last, next.first) + next.rise
			whole.last = next.last
		}
		out[s.labels.Fingerprint()] = whole
	}
	return out, nil
}

// raw adds up a stretch from its raw samples.
func (r reader) raw(ctx context.Context, sel selector, end time.Time, step time.Duration) (map[model.Fingerprint]stretch, error) {
	value, err := r.ask(func() (model.Value, promv1.Warnings, error) {
		v, w, _, err := r.api.Query(ctx, fmt.Sprintf("%s[%s]", sel, promDuration(step)), end)
		return v, w, err
	})
	if err != nil {
		return nil, err
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, unexpected(value)
	}
	out := make(map[model.Fingerprint]stretch, len(matrix))
	for _, stream := range matrix {
		var st stretch
		for i, p := range stream.Values {
			v := float64(p.Value)
			if i == 0 {
				st.first = v
			} else {
				st.rise += join(st.last, v)
			}
			st.last = v
		}
		out[identity(stream.Metric).Fingerprint()] = st
	}
	return out, nil
}

// vector evaluates an instant query, by series.
func (r reader) vector(ctx context.Context, query string, at time.Time) (map[model.Fingerprint]float64, error) {
	value, err := r.ask(func() (model.Value, promv1.Warnings, error) {
		v, w, _, err := r.api.Query(ctx, query, at)
		return v, w, err
	})
	if err != nil {
		return nil, err
	}
	vector, ok := value.(model.Vector)
	if !ok {
		return nil, unexpected(value)
	}
	out := make(map[model.Fingerprint]float64, len(vector))
	for _, sample := range vector {
		if !finite(float64(sample.Value)) {
			return nil, fmt.Errorf("the counter %s is not a number", sample.Metric)
		}
		out[identity(sample.Metric).Fingerprint()] = float64(sample.Value)
	}
	return out, nil
}

var errSteps = errors.New("the server moves the steps of range queries, as Thanos' query frontend does by default; point --prometheus at one that answers as asked, such as the querier behind it")

// matrix evaluates a range query over the ends of a grid's stretches.
func (r reader) matrix(ctx context.Context, query string, g grid) (model.Matrix, error) {
	value, err := r.ask(func() (model.Value, promv1.Warnings, error) {
		v, w, _, err := r.api.QueryRange(ctx, query, promv1.Range{Start: g.first, End: g.last, Step: g.step})
		return v, w, err
	})
	if err != nil {
		return nil, err
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, unexpected(value)
	}
	for _, stream := range matrix {
		for _, p := range stream.Values {
			if off := p.Timestamp.Time().Sub(g.first); off < 0 || off%g.step != 0 || p.Timestamp.Time().After(g.last) {
				return nil, errSteps
			}
		}
	}
	return matrix, nil
}

// ask puts one question. A partial answer is no answer: what is missing could
// be the failures.
func (r reader) ask(question func() (model.Value, promv1.Warnings, error)) (model.Value, error) {
	value, warnings, err := question()
	if err != nil {
		return nil, readError(err)
	}
	if len(warnings) > 0 {
		return nil, fmt.Errorf("Prometheus' answer may be partial: %s", firstLine(strings.Join(warnings, "; ")))
	}
	if value == nil {
		return nil, errors.New("Prometheus' answer is empty; is --prometheus right?")
	}
	return value, nil
}

func unexpected(v model.Value) error {
	return fmt.Errorf("Prometheus answered with a %s; is --prometheus right?", v.Type())
}

// identity is a series' labels: without the name, which some functions drop,
// and without the part.
func identity(m model.Metric) model.Metric {
	out := make(model.Metric, len(m))
	for name, value := range m {
		if name != model.MetricNameLabel && name != partLabel {
			out[name] = value
		}
	}
	return out
}

// promDuration writes a duration so that every Prometheus reads it exactly.
func promDuration(d time.Duration) string {
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
