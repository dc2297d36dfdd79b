package backtest

import (
	"context"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// Storage holds samples as plain slices: the query engine reads it as it reads
// a TSDB, without decoding chunks. Samples of a series must be appended in the
// order of their time. It is safe for concurrent use.
type Storage struct {
	mu       sync.RWMutex
	byHash   map[uint64][]*series
	byName   map[string][]*series // sorted by labels
	selected map[string][]*series // by matchers; dropped when a series is born
}

type series struct {
	labels labels.Labels
	times  []int64 // milliseconds since the Unix epoch, ascending
	values []float64
}

// NewStorage returns an empty storage.
func NewStorage() *Storage {
	return &Storage{byHash: map[uint64][]*series{}, byName: map[string][]*series{}, selected: map[string][]*series{}}
}

// Append adds a sample; t is in milliseconds since the Unix epoch. A sample
// that is not newer than the last of its series is dropped.
func (s *Storage) Append(ls labels.Labels, t int64, v float64) {
	s.mu.Lock()
	s.of(ls).append(t, v)
	s.mu.Unlock()
}

// appendTo adds samples to one series.
func (s *Storage) appendTo(ls labels.Labels, times []int64, values []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.of(ls)
	for i, t := range times {
		x.append(t, values[i])
	}
}

// replace puts samples in the place of what a series has from t on. Readers of
// earlier samples may go on.
func (s *Storage) replace(ls labels.Labels, t int64, times []int64, values []float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.of(ls)
	i, _ := slices.BinarySearch(x.times, t)
	x.times, x.values = append(x.times[:i], times...), append(x.values[:i], values...)
}

func (x *series) append(t int64, v float64) {
	if n := len(x.times); n > 0 && x.times[n-1] >= t {
		return
	}
	x.times, x.values = append(x.times, t), append(x.values, v)
}

func (s *Storage) of(ls labels.Labels) *series {
	h := ls.Hash()
	for _, x := range s.byHash[h] {
		if labels.Equal(x.labels, ls) {
			return x
		}
	}
	x := &series{labels: ls}
	s.byHash[h] = append(s.byHash[h], x)
	name := ls.Get(model.MetricNameLabel)
	all := s.byName[name]
	i := sort.Search(len(all), func(i int) bool { return labels.Compare(all[i].labels, ls) > 0 })
	s.byName[name] = slices.Insert(slices.Clone(all), i, x)
	clear(s.selected)
	return x
}

// last is the newest value of a series.
func (s *Storage) last(ls labels.Labels) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.of(ls)
	if len(x.values) == 0 {
		return 0
	}
	return x.values[len(x.values)-1]
}

// forget drops what a metric has before t.
func (s *Storage) forget(name string, t int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.byName[name] {
		// Readers may hold the old slices, and half of a slice is worth the copy.
		if i, _ := slices.BinarySearch(x.times, t); i > 0 && i >= len(x.times)/2 {
			x.times, x.values = slices.Clone(x.times[i:]), slices.Clone(x.values[i:])
		}
	}
}

// Querier implements [storage.Queryable].
func (s *Storage) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{s, mint, maxt}, nil
}

type querier struct {
	storage    *Storage
	mint, maxt int64
}

func (q *querier) Close() error { return nil }

func (q *querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (q *querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Select implements [storage.Querier]; what it returns is always sorted.
func (q *querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	key, name := selectionKey(matchers)
	s := q.storage
	s.mu.RLock()
	found, ok := s.selected[key]
	if !ok {
		s.mu.RUnlock()
		s.mu.Lock()
		candidates := s.byName[name]
		if name == "" {
			for _, all := range s.byName {
				candidates = append(candidates[:len(candidates):len(candidates)], all...)
			}
			slices.SortFunc(candidates, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
		}
		for _, x := range candidates {
			if matches(x.labels, matchers) {
				found = append(found, x)
			}
		}
		s.selected[key] = found
		s.mu.Unlock()
		s.mu.RLock()
	}
	set := &seriesSet{at: -1, series: make([]view, 0, len(found))}
	for _, x := range found {
		from, _ := slices.BinarySearch(x.times, q.mint)
		to, _ := slices.BinarySearch(x.times, q.maxt+1)
		if from < to {
			set.series = append(set.series, view{x.labels, x.times[from:to:to], x.values[from:to:to]})
		}
	}
	s.mu.RUnlock()
	return set
}

func selectionKey(matchers []*labels.Matcher) (key, name string) {
	var b strings.Builder
	for _, m := range matchers {
		if m.Name == model.MetricNameLabel && m.Type == labels.MatchEqual {
			name = m.Value
		}
		b.WriteString(m.Name)
		b.WriteByte(byte(m.Type))
		b.WriteString(m.Value)
		b.WriteByte(0)
	}
	return b.String(), name
}

func matches(ls labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(ls.Get(m.Name)) {
			return false
		}
	}
	return true
}

// view is a part of a series that no longer changes.
type view struct {
	labels labels.Labels
	times  []int64
	values []float64
}

func (v *view) Labels() labels.Labels { return v.labels }

func (v *view) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	own, ok := it.(*iterator)
	if !ok {
		own = new(iterator)
	}
	*own = iterator{times: v.times, values: v.values, at: -1}
	return own
}

type seriesSet struct {
	series []view
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return &s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

type iterator struct {
	times  []int64
	values []float64
	at     int
}

func (it *iterator) Next() chunkenc.ValueType {
	it.at++
	return it.kind()
}

func (it *iterator) kind() chunkenc.ValueType {
	if it.at >= len(it.times) {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

// millis are milliseconds since the Unix epoch. The alias tells go vet that Seek
// below is not meant to be an io.Seeker's.
type millis = int64

// Seek gallops: the next sample wanted is nearly always close.
func (it *iterator) Seek(t millis) chunkenc.ValueType {
	low := max(it.at, 0)
	if low >= len(it.times) {
		return chunkenc.ValNone
	}
	if it.times[low] >= t {
		it.at = low
		return chunkenc.ValFloat
	}
	step := 1
	high := low + 1
	for high < len(it.times) && it.times[high] < t {
		low, step = high, step*2
		high += step
	}
	high = min(high, len(it.times))
	i, _ := slices.BinarySearch(it.times[low:high], t)
	it.at = low + i
	return it.kind()
}

func (it *iterator) At() (int64, float64) { return it.times[it.at], it.values[it.at] }
func (it *iterator) AtT() int64           { return it.times[it.at] }
func (it *iterator) AtST() int64          { return 0 }
func (it *iterator) Err() error           { return nil }

func (it *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	return 0, nil
}

func (it *iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}

var stale = math.Float64frombits(value.StaleNaN)
