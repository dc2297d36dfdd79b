package series

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentslo/agentslo/processor/summary"
)

var samplingProbability = prometheus.NewDesc("agentslo_sampling_probability",
	"Probability with which spans were kept before they were counted, as they say themselves: the lowest and the highest since the start. Counts are of kept runs.",
	[]string{"slo_service", "environment", "bound"}, nil)

// sampling is what the runs of one service and environment say of the sampler
// before us. Bounds that differ say that rates are not comparable over time.
type sampling struct{ lowest, highest float64 }

func (b *Book) countSampling(s *summary.Summary, service, environment string) {
	p := s.SamplingProbability
	if p == 0 {
		return
	}
	k := [2]string{service, environment}
	seen, ok := b.sampling[k]
	switch {
	case ok:
		b.sampling[k] = sampling{min(seen.lowest, p), max(seen.highest, p)}
	case len(b.sampling) < maxScopes:
		b.sampling[k] = sampling{p, p}
	}
}

func (b *Book) samplingGauges(to []prometheus.Metric) []prometheus.Metric {
	for k, s := range b.sampling {
		to = append(to, gauge(samplingProbability, s.lowest, k[0], k[1], "lowest"),
			gauge(samplingProbability, s.highest, k[0], k[1], "highest"))
	}
	return to
}
