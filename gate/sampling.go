package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"

	"github.com/agentslo/agentslo/slo"
)

const (
	biasedMetric      = "agentslo_biased_runs_total"
	probabilityMetric = "agentslo_sampling_probability"
)

// samplingDoubts says why a file's runs are no fair sample of what happened:
// their spans were kept with different probabilities, or by what they hold.
func (r reader) samplingDoubts(ctx context.Context, set *slo.Set, f *slo.File, over []grid, from, at time.Time) ([]string, error) {
	h, err := r.read(ctx, ofFile(set, f, biasedMetric), over)
	if err != nil {
		return nil, err
	}
	biased := int64(0)
	for _, s := range h.series {
		for _, st := range s.stretches {
			if st.end.After(from) {
				biased += st.increase
			}
		}
	}
	var doubts []string
	if biased > 0 {
		doubts = append(doubts, fmt.Sprintf("%s sampled unevenly or by a tail sampler: the counts are no fair sample", countOf(biased, "run")+map[bool]string{true: " was", false: " were"}[biased == 1]))
	}
	// One number for each label value, whatever the replicas.
	window := promDuration(at.Sub(from))
	bound := func(name string) string {
		return fmt.Sprintf("%s_over_time(%s[%s])", map[string]string{"lowest": "min", "highest": "max"}[name], ofFile(set, f, probabilityMetric).equal("bound", name), window)
	}
	bounds, err := r.vector(ctx, fmt.Sprintf("min by (bound) (%s) or max by (bound) (%s)", bound("lowest"), bound("highest")), at)
	if err != nil {
		return nil, err
	}
	low, some := bounds[model.Metric{"bound": "lowest"}.Fingerprint()]
	high := bounds[model.Metric{"bound": "highest"}.Fingerprint()]
	if some && low != high {
		doubts = append(doubts, fmt.Sprintf("runs were sampled with different probabilities, from %s to %s: the counts are no fair sample",
			percentOf(rounded(low, ratioDigits).Decimal), percentOf(rounded(high, ratioDigits).Decimal)))
	}
	return doubts, nil
}
