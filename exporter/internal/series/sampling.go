package series

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/agentslo/agentslo/processor/summary"
)

var (
	samplingProbability = prometheus.NewDesc("agentslo_sampling_probability",
		"Probability with which spans were kept before they were counted, as they say themselves: the lowest and the highest since the start. Counts are of kept runs.",
		[]string{"slo_service", "environment", "bound"}, nil)
	biasedRuns = prometheus.NewDesc("agentslo_biased_runs_total",
		"Runs since the start whose spans were kept with different probabilities, or by a tail sampler: they are no fair sample.",
		[]string{"slo_service", "environment"}, nil)
)

// sampling is what the runs of one service and environment say of the sampler
// before us. Bounds that differ say that rates are not comparable over time.
type sampling struct {
	lowest, highest float64 // 0: not said
	biased          float64 // runs
}

func (b *Book) countSampling(s *summary.Summary, service, environment string) {
	p := s.SamplingProbability
	if p == 0 && !s.Biased {
		return
	}
	k := [2]string{service, environment}
	seen, ok := b.sampling[k]
	if !ok && len(b.sampling) >= maxScopes {
		return
	}
	if p > 0 {
		if seen.highest == 0 {
			seen.lowest = p
		}
		seen.lowest, seen.highest = min(seen.lowest, p), max(seen.highest, p)
	}
	if s.Biased && s.First {
		seen.biased++
	}
	b.sampling[k] = seen
}

func (b *Book) samplingGauges(to []prometheus.Metric) []prometheus.Metric {
	for k, s := range b.sampling {
		if s.highest > 0 {
			to = append(to, gauge(samplingProbability, s.lowest, k[0], k[1], "lowest"),
				gauge(samplingProbability, s.highest, k[0], k[1], "highest"))
		}
		if s.biased > 0 {
			to = append(to, prometheus.MustNewConstMetric(biasedRuns, prometheus.CounterValue, s.biased, k[0], k[1]))
		}
	}
	return to
}
