package gate

import (
	"context"
	"fmt"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// ratioBudget reads the budget of an SLO over counters of other programs.
func (r reader) ratioBudget(ctx context.Context, f *slo.File, o *slo.Objective, over []grid, from, at time.Time) (Budget, error) {
	all, h, err := r.ratioEvents(ctx, o.Events, over)
	if err != nil {
		return Budget{}, err
	}
	b := newBudget(f, o, group{slo: o.Name}, "", newLedger(all), from, at)
	b.notes(h.history, "counters", h.missing)
	return b, nil
}

// ratioHistory is what the server holds of a ratio's counters.
type ratioHistory struct {
	history
	missing []string // selectors that match nothing, in words
}

// ratioEvents reads the two kinds of counters that an SLO names. The third
// follows from them: where total and bad are counted, an event of total is a
// good one, and one of bad takes it back.
func (r reader) ratioEvents(ctx context.Context, events *slo.Events, over []grid) ([]counted, ratioHistory, error) {
	meaning := map[slo.Role]account{slo.RoleGood: {good: 1}, slo.RoleBad: {bad: 1}}
	switch {
	case len(events.Good) == 0:
		meaning[slo.RoleTotal], meaning[slo.RoleBad] = account{good: 1}, account{good: -1, bad: 1}
	case len(events.Bad) == 0:
		meaning[slo.RoleTotal], meaning[slo.RoleGood] = account{bad: 1}, account{good: 1, bad: -1}
	}
	var all []counted
	var h ratioHistory
	for _, role := range slo.Roles {
		seen := map[string]bool{} // a series that several selectors of a role match counts once
		for _, s := range events.Of(role) {
			sel := selector{metric: s.Metric, foreign: true}
			for _, m := range s.Matchers {
				sel = sel.with(m.String())
			}
			one, err := r.read(ctx, sel, over)
			if err != nil {
				return nil, h, err
			}
			if len(one.series) == 0 {
				// No failure yet is no mistake; a counter that nothing has may be one.
				known, err := r.vector(ctx, fmt.Sprintf("count(last_over_time(%s[%s]))", s.Metric, promDuration(lookback)), over[len(over)-1].last)
				if err != nil {
					return nil, h, err
				}
				if len(known) == 0 {
					h.missing = append(h.missing, fmt.Sprintf("no series matches %s", s))
				}
			}
			for _, series := range one.series {
				if key := s.Metric + series.labels.String(); !seen[key] {
					seen[key] = true
					h.series = append(h.series, series)
					all = append(all, counted{series, meaning[role]})
				}
			}
			if one.kept.After(h.kept) {
				h.kept, h.retention = one.kept, one.retention
			}
		}
	}
	return all, h, nil
}
