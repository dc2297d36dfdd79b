package gate

import (
	"slices"
	"sort"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// ledger is the running account of one budget: what was counted up to the end
// of each stretch of time in which something was.
type ledger struct {
	ends []time.Time
	upTo []account
}

// counted is a series and what each of its events means to the account.
type counted struct {
	*series
	event account
}

// verdicts are the exporter's series by what their label says.
func verdicts(all []*series) (out []counted) {
	for _, s := range all {
		if v, ok := slo.ParseVerdict(string(s.labels["verdict"])); ok {
			var event account
			event.add(v, 1)
			out = append(out, counted{s, event})
		}
	}
	return out
}

func newLedger(all []counted) ledger {
	by := map[int64]account{}
	for _, c := range all {
		for _, st := range c.stretches {
			if st.increase != 0 {
				end := st.end.UnixMilli()
				by[end] = by[end].plus(c.event.times(st.increase))
			}
		}
	}
	ends := make([]int64, 0, len(by))
	for end := range by {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	var l ledger
	var sum account
	for _, end := range ends {
		sum = sum.plus(by[end])
		l.ends = append(l.ends, time.UnixMilli(end))
		l.upTo = append(l.upTo, sum)
	}
	return l
}

// sum is the account of the stretches that end after start, up to end. Counters
// that were scraped at different moments may disagree by an event or two; none
// is below 0.
func (l ledger) sum(start, end time.Time) account {
	a := l.before(end).minus(l.before(start))
	return account{max(a.good, 0), max(a.bad, 0), max(a.unknown, 0), max(a.excluded, 0)}
}

// before is everything counted up to a time.
func (l ledger) before(t time.Time) account {
	i := sort.Search(len(l.ends), func(i int) bool { return l.ends[i].After(t) })
	if i == 0 {
		return account{}
	}
	return l.upTo[i-1]
}
