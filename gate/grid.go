package gate

import "time"

// grid is a row of adjoining stretches of time of equal length: the one that
// ends at first, …, the one that ends at last. A stretch holds the samples
// after its start and up to its end.
type grid struct {
	first, last time.Time
	step        time.Duration
}

func (g grid) start() time.Time { return g.first.Add(-g.step) }

// partition covers (from, to] with stretches of step that end at to, and one
// shorter stretch at the beginning for what is left.
func partition(from, to time.Time, step time.Duration) []grid {
	if !from.Before(to) {
		return nil
	}
	whole := to.Sub(from) / step
	middle := to.Add(-whole * step)
	var grids []grid
	if rest := middle.Sub(from); rest > 0 {
		grids = append(grids, grid{first: middle, last: middle, step: rest})
	}
	if whole > 0 {
		grids = append(grids, grid{first: middle.Add(step), last: to, step: step})
	}
	return grids
}

const (
	// fine is the resolution of the last days, which burn rates look at: every
	// burn window is a multiple of it.
	fine     = time.Hour
	fineSpan = 72 * time.Hour
	// coarse is the resolution of the rest of a budget window.
	coarse = 24 * time.Hour
	// lookback is how far before a window its value at the start is searched: a
	// counter that came back from a checkpoint after a long weekend was not born.
	lookback = 7 * 24 * time.Hour
)

// grids covers the time since reach, so that every hour of the last three days
// counted back from to, and the window that begins at from, begin with a stretch.
func grids(reach, from, to time.Time) []grid {
	recent := to.Add(-fineSpan)
	if !recent.After(reach) {
		recent = reach
	}
	if !from.After(recent) {
		all := partition(reach, from, coarse)
		all = append(all, partition(from, recent, coarse)...)
		return append(all, partition(recent, to, fine)...)
	}
	// The window begins within one of the hours: that hour is split.
	hour := to.Add(-to.Sub(from) / fine * fine)
	all := partition(reach, recent, coarse)
	if hour.Equal(from) {
		all = append(all, partition(recent, hour, fine)...)
	} else {
		all = append(all, partition(recent, hour.Add(-fine), fine)...)
		all = append(all, partition(later(recent, hour.Add(-fine)), from, fine)...)
		all = append(all, partition(from, hour, fine)...)
	}
	return append(all, partition(hour, to, fine)...)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
