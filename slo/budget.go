package slo

import (
	"math"
	"time"
)

// ErrorRatio is the share of bad events, from 0 to 1; NaN when there are none.
func ErrorRatio(good, bad float64) float64 {
	if good+bad <= 0 {
		return math.NaN()
	}
	return bad / (good + bad)
}

// BudgetRemaining is the share of the error budget that is left: 1 when
// nothing was spent or there were no events, 0 when all of it was, negative
// beyond. budget is 1 − objective, above 0 and below 1.
//
// 1 − bad / (budget · (good + bad)): Beyer et al., The Site Reliability
// Workbook, chapter 5, with events in place of time.
func BudgetRemaining(good, bad, budget float64) float64 {
	if good+bad <= 0 {
		return 1
	}
	return 1 - bad/(budget*(good+bad))
}

// BurnRate is how many times faster than tolerated the budget is being spent:
// the error ratio over the budget, 0 when there were no events. At 1 the
// budget lasts exactly for its window; at most it is 1/budget.
func BurnRate(good, bad, budget float64) float64 {
	if good+bad <= 0 {
		return 0
	}
	return bad / (good + bad) / budget
}

// ExhaustedIn is how long the budget lasts if it goes on burning at this rate
// and traffic stays as it is: remaining · window / burn. It is 0 when nothing
// is left. ok is false when the budget does not run out: burn is 0, or so low
// that it takes more than a hundred years.
func ExhaustedIn(remaining, burn float64, window time.Duration) (d time.Duration, ok bool) {
	switch {
	case remaining <= 0:
		return 0, true
	case burn <= 0 || math.IsNaN(burn) || math.IsNaN(remaining):
		return 0, false
	}
	left := remaining / burn * float64(window)
	if left > float64(100*365*day) {
		return 0, false
	}
	return time.Duration(left), true
}
