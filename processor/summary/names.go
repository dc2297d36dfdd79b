package summary

import (
	"maps"
	"sync"
	"sync/atomic"
)

// names are the attribute names of one SLO.
type names struct{ verdict, reason, value string }

// known are the names of the SLOs that were summarised so far, so that each is
// put together once. SLOs come from files: they are few.
var known struct {
	sync.Mutex
	bySLO atomic.Pointer[map[string]names]
}

const maxKnown = 1000

func namesOf(slo string) names {
	bySLO := known.bySLO.Load()
	if bySLO != nil {
		if n, ok := (*bySLO)[slo]; ok {
			return n
		}
	}
	n := names{attrVerdict + slo, attrReason + slo, attrValue + slo}
	if bySLO != nil && len(*bySLO) >= maxKnown {
		return n
	}
	known.Lock()
	defer known.Unlock()
	next := map[string]names{}
	if bySLO = known.bySLO.Load(); bySLO != nil {
		next = maps.Clone(*bySLO)
	}
	next[slo] = n
	known.bySLO.Store(&next)
	return n
}
