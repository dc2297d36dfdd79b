package series

import (
	"sort"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// histogram is one label set of a histogram family.
type histogram struct {
	birth
	labels  []string
	buckets []uint64 // observations in each bucket, not added up; the last is +Inf
	sum     float64
}

type histograms struct {
	table[histogram]
	name   string
	desc   *prometheus.Desc
	bounds []float64
}

func newHistograms(name, help string, limit int, bounds []float64, labels, folding []string) *histograms {
	return &histograms{
		name: name, desc: prometheus.NewDesc(name, help, labels, nil), bounds: bounds,
		table: newTable(len(labels), limit, positions(labels, folding), func(labels []string, now time.Time) *histogram {
			return &histogram{birth: birth{at: now}, labels: labels, buckets: make([]uint64, len(bounds)+1)}
		}),
	}
}

func (h *histograms) observe(now time.Time, v float64, labels ...string) {
	g, _ := h.at(now, labels...)
	g.buckets[sort.SearchFloat64s(h.bounds, v)]++
	g.sum += v
}

// distribution is a copy of one histogram, taken under the lock.
type distribution struct {
	of      *histograms
	labels  []string
	buckets []uint64
	sum     float64
	born    time.Time
}

func (h *histograms) snapshot(to []distribution, now time.Time, hold time.Duration) []distribution {
	for _, g := range h.sets {
		d := distribution{of: h, labels: g.labels, born: g.at, buckets: make([]uint64, len(g.buckets))}
		if g.visible(now, hold) {
			copy(d.buckets, g.buckets)
			d.sum = g.sum
		}
		to = append(to, d)
	}
	return to
}

func (d *distribution) metric() prometheus.Metric {
	buckets := make(map[float64]uint64, len(d.of.bounds))
	var count uint64
	for i, n := range d.buckets {
		count += n
		if i < len(d.of.bounds) {
			buckets[d.of.bounds[i]] = count
		}
	}
	m, err := prometheus.NewConstHistogramWithCreatedTimestamp(d.of.desc, count, d.sum, buckets, d.born, d.labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(d.of.desc, err)
	}
	return m
}
