package engine

import (
	"encoding/binary"
	"math"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// sample is one value of one series as a scrape of the text format would
// have found it.
type sample struct {
	name              string
	pairs             []*dto.LabelPair
	bound, boundValue string // le or quantile; "" for others
	value             float64
	created           int64 // Unix milliseconds when the counter was zero; 0 not known
	exemplar          *exemplar.Exemplar
}

// appendKey appends a key that no other series has: every part is preceded by
// its length.
func (s *sample) appendKey(b []byte) []byte {
	part := func(p string) {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	part(s.name)
	part(s.bound)
	part(s.boundValue)
	for _, p := range s.pairs {
		part(p.GetName())
		part(p.GetValue())
	}
	return b
}

// labels builds the series' label set, with the job and instance of the process.
func (s *sample) labels(b *labels.ScratchBuilder) labels.Labels {
	b.Reset()
	b.Add(model.MetricNameLabel, s.name)
	b.Add(model.JobLabel, Job)
	b.Add(model.InstanceLabel, Instance)
	for _, p := range s.pairs {
		if p.GetValue() == "" {
			continue // in Prometheus, an empty label is no label
		}
		b.Add(p.GetName(), p.GetValue())
	}
	if s.bound != "" {
		b.Add(s.bound, s.boundValue)
	}
	b.Sort()
	return b.Labels()
}

// familySamples hands every sample of a metric family to add.
func familySamples(family *dto.MetricFamily, add func(sample)) {
	name := family.GetName()
	for _, m := range family.GetMetric() {
		switch {
		case m.Counter != nil:
			add(sample{
				name: name, pairs: m.Label, value: m.Counter.GetValue(),
				created: milliseconds(m.Counter.CreatedTimestamp), exemplar: toExemplar(m.Counter.Exemplar),
			})
		case m.Gauge != nil:
			add(sample{name: name, pairs: m.Label, value: m.Gauge.GetValue()})
		case m.Untyped != nil:
			add(sample{name: name, pairs: m.Label, value: m.Untyped.GetValue()})
		case m.Histogram != nil:
			histogramSamples(name, m, add)
		case m.Summary != nil:
			created := milliseconds(m.Summary.CreatedTimestamp)
			for _, q := range m.Summary.GetQuantile() {
				add(sample{
					name: name, pairs: m.Label, value: q.GetValue(),
					bound: model.QuantileLabel, boundValue: labels.FormatOpenMetricsFloat(q.GetQuantile()),
				})
			}
			add(sample{name: name + "_sum", pairs: m.Label, value: m.Summary.GetSampleSum(), created: created})
			add(sample{name: name + "_count", pairs: m.Label, value: float64(m.Summary.GetSampleCount()), created: created})
		}
	}
}

func histogramSamples(name string, m *dto.Metric, add func(sample)) {
	h := m.Histogram
	created := milliseconds(h.CreatedTimestamp)
	bucket := func(bound, count float64, e *dto.Exemplar) {
		add(sample{
			name: name + "_bucket", pairs: m.Label, value: count, created: created,
			bound: model.BucketLabel, boundValue: labels.FormatOpenMetricsFloat(bound), exemplar: toExemplar(e),
		})
	}
	last := math.Inf(-1)
	for _, b := range h.GetBucket() {
		last = b.GetUpperBound()
		bucket(last, float64(b.GetCumulativeCount()), b.Exemplar)
	}
	if !math.IsInf(last, 1) {
		bucket(math.Inf(1), float64(h.GetSampleCount()), nil)
	}
	add(sample{name: name + "_sum", pairs: m.Label, value: h.GetSampleSum(), created: created})
	add(sample{name: name + "_count", pairs: m.Label, value: float64(h.GetSampleCount()), created: created})
}

func milliseconds(t *timestamppb.Timestamp) int64 {
	if t == nil {
		return 0
	}
	return t.AsTime().UnixMilli()
}

func toExemplar(e *dto.Exemplar) *exemplar.Exemplar {
	if e == nil {
		return nil
	}
	pairs := make([]string, 0, 2*len(e.Label))
	for _, p := range e.Label {
		pairs = append(pairs, p.GetName(), p.GetValue())
	}
	x := &exemplar.Exemplar{Labels: labels.FromStrings(pairs...), Value: e.GetValue(), HasTs: true, Ts: math.MaxInt64}
	if e.Timestamp != nil {
		x.Ts = e.Timestamp.AsTime().UnixMilli()
	}
	return x
}

func familyMetadata(family *dto.MetricFamily) metadata.Metadata {
	return metadata.Metadata{
		Type: model.MetricType(strings.ToLower(family.GetType().String())),
		Help: family.GetHelp(),
		Unit: family.GetUnit(),
	}
}
