package gate

import (
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// confidence is how sure the gate must be: that a sample is large enough to
// have shown the objective missed, or that a small one shows it missed already.
const confidence = 0.95

// account is what a window held: runs by verdict.
type account struct{ good, bad, unknown, excluded int64 }

func (a *account) add(v slo.Verdict, n int64) {
	switch v {
	case slo.Good:
		a.good += n
	case slo.Bad:
		a.bad += n
	case slo.Unknown:
		a.unknown += n
	case slo.Excluded:
		a.excluded += n
	}
}

func (a account) plus(b account) account {
	return account{a.good + b.good, a.bad + b.bad, a.unknown + b.unknown, a.excluded + b.excluded}
}

func (a account) minus(b account) account {
	return account{a.good - b.good, a.bad - b.bad, a.unknown - b.unknown, a.excluded - b.excluded}
}

func (a account) times(n int64) account {
	return account{a.good * n, a.bad * n, a.unknown * n, a.excluded * n}
}

// events is the denominator: the runs that were good or bad.
func (a account) events() int64 { return a.good + a.bad }

func (a account) errorRatio() *Number {
	if a.events() == 0 {
		return nil
	}
	n := quotient(whole(a.bad), whole(a.events()), ratioDigits)
	return &n
}

// remaining is the share of the error budget that is left: 1 with no events.
func (a account) remaining(budget slo.Decimal) slo.Decimal {
	if a.events() == 0 {
		return whole(1)
	}
	return whole(1).Sub(whole(a.bad).DivRound(budget.Mul(whole(a.events())), ratioDigits))
}

// burn is the error ratio over the budgeted one; 0 with no events.
func (a account) burn(budget slo.Decimal) Number {
	if a.events() == 0 {
		return Number{}
	}
	return quotient(whole(a.bad), budget.Mul(whole(a.events())), burnDigits)
}

// interval is what is left of the budget at the two ends of the 95%
// Clopper-Pearson interval of the error ratio.
func (a account) interval(budget slo.Decimal) [2]Number {
	low, high := slo.ClopperPearson(float64(a.bad), float64(a.events()), confidence)
	at := func(ratio float64) Number {
		return Number{whole(1).Sub(decimal.NewFromFloat(ratio).Div(budget)).Round(burnDigits)}
	}
	return [2]Number{at(high), at(low)}
}

// tolerated is how many bad runs the budget allows among the events.
func (a account) tolerated(budget slo.Decimal) slo.Decimal { return budget.Mul(whole(a.events())) }

// unseen is the share of all runs that are unknown or excluded.
func (a account) unseen() slo.Decimal {
	all := a.events() + a.unknown + a.excluded
	if all == 0 {
		return decimal.Zero
	}
	return whole(a.unknown+a.excluded).DivRound(whole(all), ratioDigits)
}

// smallestSample is the number of runs without a single failure that show an
// objective with [confidence], such as 299 for 99%. In fewer runs even a service
// that misses its objective is likely to show no failure, so they are no
// evidence that it meets it.
func smallestSample(o *slo.Objective) int64 {
	return int64(slo.ZeroFailureSample(o.Budget().InexactFloat64(), confidence))
}

// surelyAbove says that the true error ratio is above the limit with 95%
// confidence, however few the runs: the lower one-sided Clopper-Pearson bound.
func (a account) surelyAbove(limit slo.Decimal) bool {
	if a.bad == 0 {
		return false
	}
	low, _ := slo.ClopperPearson(float64(a.bad), float64(a.events()), 2*confidence-1)
	return low > limit.InexactFloat64()
}
