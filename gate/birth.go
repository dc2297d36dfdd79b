package gate

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/prometheus/common/model"
)

// begun says at which value each series without a sample before the window
// began. That is 0 for one that was born inside, but
//
//   - the first value, where the server does not keep what came before;
//   - the last value of a series that it goes on from: an exporter that comes
//     back from its checkpoint under another instance or pod name goes on
//     counting, and its runs must not count twice. Counters of other programs
//     are not restored.
func (r reader) begun(ctx context.Context, sel selector, h history, before map[model.Fingerprint]float64, end time.Time) (map[*series]float64, error) {
	begun := map[*series]float64{}
	var late []*series // first seen above 0
	for _, s := range h.series {
		_, known := before[s.labels.Fingerprint()]
		switch first := s.stretches[0]; {
		case known || first.first == 0:
		case first.start().Before(h.kept):
			begun[s] = first.first
		case !sel.foreign:
			late = append(late, s)
		}
	}
	if len(late) == 0 {
		return begun, nil
	}
	alive, err := r.vector(ctx, sel.String(), end)
	if err != nil {
		return nil, err
	}
	gone := map[model.Fingerprint][]*series{}
	for _, s := range h.series {
		if _, ok := alive[s.labels.Fingerprint()]; !ok {
			key := exported(s.labels, sel)
			gone[key] = append(gone[key], s)
		}
	}
	slices.SortStableFunc(late, func(a, b *series) int { return a.stretches[0].end.Compare(b.stretches[0].end) })
	for _, s := range late {
		key := exported(s.labels, sel)
		candidates := slices.DeleteFunc(slices.Clone(gone[key]), func(p *series) bool { return p == s || !p.goesOn(s) })
		if len(candidates) == 0 {
			continue
		}
		p := slices.MaxFunc(candidates, func(a, b *series) int { return cmp.Compare(a.last(), b.last()) })
		begun[s] = p.last()
		gone[key] = slices.DeleteFunc(gone[key], func(g *series) bool { return g == p })
	}
	return begun, nil
}

// goesOn says that a series may be what a gone one became: it ended before, as
// far as stretches tell, at no higher value.
func (s *series) goesOn(next *series) bool {
	return !s.stretches[len(s.stretches)-1].end.After(next.stretches[0].end) && s.last() <= next.stretches[0].first
}

func (s *series) last() float64 { return s.stretches[len(s.stretches)-1].last }

// exported identifies what a series counts by the labels that the exporter
// gives it, without those of its target.
func exported(m model.Metric, sel selector) model.Fingerprint {
	own := model.Metric{}
	for _, name := range append([]string{"slo_service", "environment", "agent", "slo", "verdict"}, sel.dimension) {
		if v, ok := m[model.LabelName(name)]; ok {
			own[model.LabelName(name)] = v
		}
	}
	return own.Fingerprint()
}
