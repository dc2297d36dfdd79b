package explain

import (
	"math"
	"time"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// Traffic is how a tier behaves at an even number of runs an hour: an agent
// that was good begins to fail every run, later recovers, and its runs go on
// coming.
type Traffic struct {
	RunsPerHour int `json:"runs_per_hour"`
	// Detect is the time in seconds from the first failure on until the alert
	// can fire; nil: this traffic never brings the evidence.
	Detect *int64 `json:"detect_seconds"`
	// Reset is the time in seconds from the recovery on until it stops.
	Reset *int64 `json:"reset_seconds"`
}

// traffic works out the two times from counts. The rules are evaluated about
// every minute on what was scraped, which comes on top.
func traffic(t rules.Tier, o *slo.Objective, perHour int) Traffic {
	out := Traffic{RunsPerHour: perHour}
	failures, ok := failuresToFire(t, o, perHour)
	if !ok {
		return out
	}
	gap := time.Hour / time.Duration(perHour)
	detect, reset := seconds(time.Duration(failures)*gap), seconds(time.Duration(goodsToReset(t, o, perHour))*gap+t.KeepFiring)
	out.Detect, out.Reset = &detect, &reset
	return out
}

func seconds(d time.Duration) int64 { return int64(math.Round(d.Seconds())) }

// held is how many runs a window holds.
func held(window time.Duration, perHour int) int {
	return int(math.Floor(window.Hours()*float64(perHour) + 1e-9))
}

// newest is how many runs the short window holds, or the first of those that
// stand in for it while it holds none.
func newest(t rules.Tier, perHour int) int {
	for _, w := range append([]time.Duration{t.Short}, t.Grow...) {
		if n := held(w, perHour); n > 0 {
			return n
		}
	}
	return 0
}

// failuresToFire is the least number of failures in a row after good runs with
// which all conditions of the tier hold.
func failuresToFire(t rules.Tier, o *slo.Objective, perHour int) (int, bool) {
	long, short := held(t.Long, perHour), newest(t, perHour)
	limit, evidence := t.Threshold.InexactFloat64(), t.Evidence.InexactFloat64()
	for bad := 1; bad <= long; bad++ {
		if o.ErrorRatio(float64(long-bad), float64(bad)) > limit &&
			o.Evidence(float64(long-bad), float64(bad)) > evidence &&
			t.StillFailing(o, float64(short-min(bad, short)), float64(min(bad, short))) {
			return bad, true
		}
	}
	return 0, false
}

// goodsToReset is the least number of good runs in a row after failures only
// with which the short window no longer holds. The alert goes on for
// KeepFiring after that.
func goodsToReset(t rules.Tier, o *slo.Objective, perHour int) int {
	short := newest(t, perHour)
	for good := 1; good <= short; good++ {
		if !t.StillFailing(o, float64(good), float64(short-good)) {
			return good
		}
	}
	return short
}

// At is how the tier of that name behaves at a number of runs an hour; nil when
// the SLO has no such tier.
func At(f *slo.File, o *slo.Objective, tier string, perHour int) *Traffic {
	for _, t := range rules.Tiers(f, o) {
		if t.Name == tier {
			at := traffic(t, o, perHour)
			return &at
		}
	}
	return nil
}
