package slo

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// Divergence is the Kullback–Leibler divergence in nats of the error ratio r
// from the budgeted one, both from 0 to 1: what one event tells on average
// when r is the truth and budget the alternative. With x·ln 0 = 0; +Inf where
// the budget rules out what happens.
func Divergence(r, budget float64) float64 {
	d := 0.0
	if r > 0 {
		d += r * math.Log(r/budget)
	}
	if r < 1 {
		d += (1 - r) * math.Log((1-r)/(1-budget))
	}
	return d
}

// EventsToDetect is how many events pass, on average and at least, until any
// rule can notice that the error ratio has gone from budget to failing, if the
// rule gives falseAlarms false alarms an event, above 0 and below 1:
// ln(1/falseAlarms) / [Divergence] (Lorden 1971, Procedures for reacting to a
// change in distribution; exact in the limit of rare false alarms).
func EventsToDetect(falseAlarms, failing, budget float64) float64 {
	d := Divergence(failing, budget)
	if d <= 0 {
		return math.Inf(1)
	}
	return math.Log(1/falseAlarms) / d
}

// PoissonInterval is the exact two-sided confidence interval of the mean of a
// Poisson count (Garwood 1936): it covers the mean with at least the
// confidence, above 0 and below 1, such as 0.95.
func PoissonInterval(count, confidence float64) (low, high float64) {
	tail := (1 - confidence) / 2
	if count > 0 {
		low = mathext.GammaIncRegInv(count, tail)
	}
	return low, mathext.GammaIncRegInv(count+1, 1-tail)
}

// QuantileRanks are the ranks, 1 to n, of the order statistics of a sample of n
// between which the quantile q, above 0 and below 1, lies with at least the
// confidence, whatever the distribution. ok is false when the sample is too
// small for that; the ranks are then 1 and n.
func QuantileRanks(n int, q, confidence float64) (low, high int, ok bool) {
	if n <= 0 {
		return 0, 0, false
	}
	tail := (1 - confidence) / 2
	// The quantile is below the k-th order statistic when fewer than k values are
	// below it: a binomial count.
	low, high = 1, n
	below := 0.0
	first := true
	for k := 0; k <= n; k++ {
		below += binomial(n, k, q) // P(count ≤ k)
		if below <= tail {
			low = k + 1
		}
		if first && below >= 1-tail {
			high, first = k+1, false
		}
	}
	ok = high <= n && binomial(n, 0, q) <= tail
	return low, min(high, n), ok
}

func binomial(n, k int, p float64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
