package series

import "github.com/prometheus/client_golang/prometheus"

// What the caps are, and how much was asked for: whoever finds a value of
// __overflow__ learns here what the cap would have to be.
var (
	setsWanted = prometheus.NewDesc("agentslo_label_sets_wanted", "Distinct label sets asked for, by metric family; an estimate above 1024.", []string{"family"}, nil)
	setsLimit  = prometheus.NewDesc("agentslo_label_sets_limit", "Label sets of a metric family that are kept apart; further ones are folded into __overflow__.", []string{"family"}, nil)

	valuesWanted = prometheus.NewDesc("agentslo_dimension_values_wanted", "Distinct values of a dimension asked for; an estimate above 1024.", []string{"slo_service", "environment", "dimension"}, nil)
	valuesLimit  = prometheus.NewDesc("agentslo_dimension_values_limit", "Values of a dimension that are kept apart, the newest ones; the others are folded into __overflow__.", []string{"slo_service", "environment", "dimension"}, nil)
)

func gauge(desc *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, v, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

func (b *Book) capacity(to []prometheus.Metric) []prometheus.Metric {
	limit := float64(b.options.Limit)
	for _, f := range b.counterFamilies() {
		if f != b.unmatched {
			to = append(to, gauge(setsWanted, f.wanted.count(), f.name), gauge(setsLimit, limit, f.name))
		}
	}
	for _, f := range b.histogramFamilies() {
		if f != b.lag {
			to = append(to, gauge(setsWanted, f.wanted.count(), f.name), gauge(setsLimit, limit, f.name))
		}
	}
	for name, d := range b.dimensions {
		for _, s := range d.scope {
			to = append(to, gauge(valuesWanted, s.wanted.count(), s.labels[0], s.labels[1], name),
				gauge(valuesLimit, float64(max(d.keep(s.labels[0], s.labels[1]), 1)), s.labels[0], s.labels[1], name))
		}
	}
	return to
}
