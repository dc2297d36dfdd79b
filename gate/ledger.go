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

func newLedger(all []*series) ledger {
	by := map[int64]account{}
	for _, s := range all {
		v, ok := slo.ParseVerdict(string(s.labels["verdict"]))
		if !ok {
			continue
		}
		for _, st := range s.stretches {
			if st.increase != 0 {
				a := by[st.end.UnixMilli()]
				a.add(v, st.increase)
				by[st.end.UnixMilli()] = a
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

// sum is the account of the stretches that end after start, up to end.
func (l ledger) sum(start, end time.Time) account {
	return l.before(end).minus(l.before(start))
}

// before is everything counted up to a time.
func (l ledger) before(t time.Time) account {
	i := sort.Search(len(l.ends), func(i int) bool { return l.ends[i].After(t) })
	if i == 0 {
		return account{}
	}
	return l.upTo[i-1]
}
