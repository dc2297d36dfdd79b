package series

import "time"

// birth is when a label set was first counted, and how far scrapers know of
// it. Prometheus does not see an increase from nothing to 1: a new label set
// shows 0 first, so that its first event is one.
type birth struct {
	at        time.Time // the created timestamp; kept across restarts
	collected bool      // it was collected at 0
	shown     bool      // its value is visible, and stays so
}

// visible says at a collection whether the value is to be shown: once the set
// was collected at 0, and its hold is over for other scrapers to see it too.
func (b *birth) visible(now time.Time, hold time.Duration) bool {
	if !b.shown && (hold <= 0 || b.collected && now.Sub(b.at) >= hold) {
		b.shown = true
	}
	b.collected = true
	return b.shown
}

// restored is the birth of a label set that an earlier process counted. Where
// scrapers know it, its value goes on at once: another 0 would be a reset.
func restored(at int64, collected bool) birth {
	return birth{at: time.Unix(0, at), collected: collected, shown: collected}
}
