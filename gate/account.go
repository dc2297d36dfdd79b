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

// errorRatio is bad over good and bad, less what the SLO's judge gets wrong.
func (a account) errorRatio(o *slo.Objective) *Number {
	if a.events() == 0 {
		return nil
	}
	n := quotient(whole(a.bad), whole(a.events()), ratioDigits)
	if o.Judge != nil {
		n = Number{o.Judge.Corrected(whole(a.bad).DivRound(whole(a.events()), 2*ratioDigits)).Round(ratioDigits)}
	}
	return &n
}

// spent is the share of the error budget that is used up, 0 with no events.
func (a account) spent(o *slo.Objective, digits int32) Number {
	switch {
	case a.events() == 0:
		return Number{}
	case o.Judge != nil:
		return quotient(o.Judge.Corrected(whole(a.bad).DivRound(whole(a.events()), 2*ratioDigits)), o.Budget(), digits)
	}
	return quotient(whole(a.bad), o.Budget().Mul(whole(a.events())), digits)
}

// remaining is the share of the error budget that is left: 1 with no events.
func (a account) remaining(o *slo.Objective) slo.Decimal {
	return whole(1).Sub(a.spent(o, ratioDigits).Decimal)
}

// burn is the error ratio over the budgeted one; 0 with no events.
func (a account) burn(o *slo.Objective) Number { return a.spent(o, burnDigits) }

// interval is what is left of the budget at the two ends of the 95%
// Clopper-Pearson interval of the error ratio.
func (a account) interval(o *slo.Objective) [2]Number {
	low, high := slo.ClopperPearson(float64(a.bad), float64(a.events()), confidence)
	at := func(ratio float64) Number {
		return Number{whole(1).Sub(o.Judge.Corrected(decimal.NewFromFloat(ratio)).Div(o.Budget())).Round(burnDigits)}
	}
	return [2]Number{at(high), at(low)}
}

// tolerated is how many runs may be counted bad among the events: what the
// budget allows, and what the judge gets wrong.
func (a account) tolerated(o *slo.Objective) slo.Decimal {
	return o.JudgedBudget().Mul(whole(a.events()))
}

// unseen is the share of all runs that are unknown or excluded.
func (a account) unseen() slo.Decimal {
	all := a.events() + a.unknown + a.excluded
	if all == 0 {
		return decimal.Zero
	}
	return whole(a.unknown+a.excluded).DivRound(whole(all), ratioDigits)
}

// smallestSample is the number of runs that the gate asks for.
func smallestSample(o *slo.Objective) int64 { return o.SmallestSample(confidence) }

// surelyAbove says that the true error ratio is above the limit with 95%
// confidence, however few the runs: the lower one-sided Clopper-Pearson bound.
func (a account) surelyAbove(o *slo.Objective, limit slo.Decimal) bool {
	if a.bad == 0 {
		return false
	}
	low, _ := slo.ClopperPearson(float64(a.bad), float64(a.events()), 2*confidence-1)
	return low > o.Judge.Judged(limit).InexactFloat64()
}
