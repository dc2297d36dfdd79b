package slo

import (
	"math"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"
	"gonum.org/v1/gonum/mathext"
)

// Judge says how often an automatic judge is right, as measured against people
// on a sample of the same kind of runs. A nil Judge is always right.
type Judge struct {
	Sensitivity Decimal // share of truly bad runs that it calls bad, above 0 and at most 1
	Specificity Decimal // share of truly good runs that it calls good, above 0 and at most 1
}

// Corrected is the share of truly bad runs where a share of them was judged
// bad: (judged + specificity − 1) / (sensitivity + specificity − 1), within 0
// and 1 (Rogan and Gladen 1978, Estimating prevalence from the results of a
// screening test). It takes sensitivity and specificity as known exactly.
func (j *Judge) Corrected(judged Decimal) Decimal {
	if j == nil {
		return judged
	}
	share := judged.Sub(j.FalseAlarms()).DivRound(j.Gain(), 12)
	return decimal.Max(decimal.Zero, decimal.Min(one, share))
}

// Judged is the share that the judge calls bad where a share of the runs truly
// is: the inverse of [Judge.Corrected].
func (j *Judge) Judged(bad Decimal) Decimal {
	if j == nil {
		return bad
	}
	return j.FalseAlarms().Add(bad.Mul(j.Gain()))
}

// FalseAlarms is the share of good runs that the judge calls bad.
func (j *Judge) FalseAlarms() Decimal { return one.Sub(j.Specificity) }

// Gain is by how much the judged share grows with the true one, above 0 and at
// most 1: sensitivity + specificity − 1, Youden's index.
func (j *Judge) Gain() Decimal { return j.Sensitivity.Add(j.Specificity).Sub(one) }

// JudgedBudget is the share of runs that may be judged bad: the budget, and what
// the judge gets wrong.
func (o *Objective) JudgedBudget() Decimal { return o.Judge.Judged(o.Budget()) }

// ErrorRatio is the share of truly bad events, from 0 to 1, where so many were
// counted, judged by the SLO's judge; NaN when there are none.
func (o *Objective) ErrorRatio(good, bad float64) float64 {
	if o.Judge == nil || good+bad <= 0 {
		return ErrorRatio(good, bad)
	}
	return o.Judge.Corrected(decimal.NewFromFloat(bad / (good + bad))).InexactFloat64()
}

// Evidence is how strongly counted events speak against the SLO's budget, in
// nats; see [Evidence]. A judge's mistakes are part of what is expected.
func (o *Objective) Evidence(good, bad float64) float64 {
	return Evidence(good, bad, o.JudgedBudget().InexactFloat64())
}

// SmallestSample is the number of events without a single failure that show the
// objective with a confidence above 0 and below 1, such as 299 for 99% and 95%.
// In fewer even a service that misses its objective is likely to show no
// failure, so they are no evidence that it meets it.
//
// A judge that errs shows failures where there are none. Then it is also the
// number in which its errors alone move the judged share by less than the
// budget does, with the same confidence (normal approximation).
func (o *Objective) SmallestSample(confidence float64) int64 {
	n := ZeroFailureSample(o.Budget().InexactFloat64(), confidence)
	if o.Judge != nil {
		judged, z := o.JudgedBudget().InexactFloat64(), mathext.NormalQuantile(confidence)
		by := o.Judge.Gain().Mul(o.Budget()).InexactFloat64()
		n = max(n, math.Ceil(z*z*judged*(1-judged)/(by*by)))
	}
	return int64(n)
}

const judgeExample = "{sensitivity: 92%, specificity: 97%}"

func (r *reader) judge(n *yaml.Node, what string) *Judge {
	j := &Judge{Sensitivity: one, Specificity: one}
	share := func(to *Decimal) func(*yaml.Node, string) {
		return func(v *yaml.Node, what string) {
			if d, ok := r.ratio(v, what, positiveShare); ok {
				*to = d
			}
		}
	}
	before := len(r.faults)
	found := r.mapping(n, what, judgeExample, []key{{"sensitivity", share(&j.Sensitivity)}, {"specificity", share(&j.Specificity)}})
	if found == nil || len(r.faults) > before {
		return nil
	}
	if len(found) != 2 {
		r.fault(n, "%s has sensitivity and specificity, both: %s", what, judgeExample)
		return nil
	}
	if !j.Gain().IsPositive() {
		r.fault(n, "%s: sensitivity and specificity add up to %s; at 100%% or less it is no better than a coin, and nothing can be told from it", what, FormatRatio(j.Sensitivity.Add(j.Specificity)))
		return nil
	}
	return j
}
