package slo

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Evidence is how strongly a window's events speak for its own error ratio
// against the budgeted one, in nats: the log-likelihood ratio
//
//	bad·ln(r/budget) + good·ln((1−r)/(1−budget)), r = bad/(good+bad)
//
// with x·ln 0 = 0, and 0 when r ≤ budget or there are no events. It equals the
// number of events times the Kullback–Leibler divergence of the two ratios,
// and is half of the G statistic of the likelihood-ratio test (Wilks 1938).
func Evidence(good, bad, budget float64) float64 {
	n := good + bad
	if n <= 0 || bad <= 0 || !(budget > 0 && budget < 1) {
		return 0
	}
	r := bad / n
	if r <= budget {
		return 0
	}
	e := bad * math.Log(r/budget)
	if good > 0 {
		e += good * math.Log((1-r)/(1-budget))
	}
	return max(e, 0)
}

// EventsForEvidence is the least number of events of which a share r must be
// bad to bring that much evidence in nats against the budget; +Inf when r is
// not above the budget.
func EventsForEvidence(evidence, r, budget float64) float64 {
	each := Evidence(1-r, r, budget)
	if each <= 0 {
		return math.Inf(1)
	}
	// A tiny excess of the division is no further event.
	return math.Ceil(evidence/each - 1e-9)
}

// ClopperPearson is the exact two-sided confidence interval of a share of bad
// events (Clopper and Pearson 1934): it covers the true share with at least
// the confidence, above 0 and below 1, such as 0.95. Without events it is all
// of [0, 1].
func ClopperPearson(bad, total, confidence float64) (low, high float64) {
	if !(total > 0) {
		return 0, 1
	}
	bad = min(max(bad, 0), total)
	tail := (1 - confidence) / 2
	low, high = 0, 1
	if bad > 0 {
		low = mathext.InvRegIncBeta(bad, total-bad+1, tail)
	}
	if bad < total {
		high = mathext.InvRegIncBeta(bad+1, total-bad, 1-tail)
	}
	return low, high
}

// Wilson is the two-sided score interval of a share of bad events (Wilson
// 1927, without continuity correction): closer than [ClopperPearson], and on
// average, not at least, as sure as the confidence. Without events it is all of
// [0, 1].
func Wilson(bad, total, confidence float64) (low, high float64) {
	if !(total > 0) {
		return 0, 1
	}
	p := min(max(bad/total, 0), 1)
	z := mathext.NormalQuantile(1 - (1-confidence)/2)
	zz := z * z / total
	centre := (p + zz/2) / (1 + zz)
	half := z / (1 + zz) * math.Sqrt(p*(1-p)/total+zz/(4*total))
	low, high = max(centre-half, 0), min(centre+half, 1)
	// Exact at the ends, where rounding would leave a trace of a share.
	if p == 0 {
		low = 0
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// ZeroFailureSample is the least number of events, all of them good, that shows
// with the confidence that the share of bad ones is at most the budget:
// ln(1−confidence) / ln(1−budget), rounded up. At 95% it is about 3/budget,
// the rule of three. +Inf for a budget of 0.
func ZeroFailureSample(budget, confidence float64) float64 {
	if budget <= 0 {
		return math.Inf(1)
	}
	if budget >= 1 {
		return 1
	}
	// A tiny excess of the division is no further event.
	return math.Ceil(math.Log(1-confidence)/math.Log1p(-budget) - 1e-9)
}
