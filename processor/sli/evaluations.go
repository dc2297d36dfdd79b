package sli

import (
	"math"
	"slices"
	"strings"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// judgement is what an SLO's evaluations say together.
type judgement struct {
	said    bool     // some evaluation gave a verdict
	good    bool     // valid when said
	value   *float64 // score of the evaluation that decided
	missing string   // reason when nothing was said
	// decided: no evaluation that is still to come may change it.
	decided bool
}

func (j judgement) result() Result {
	if j.good {
		return goodRun().value(j.value).pendingIf(!j.decided)
	}
	return badFor(JudgedBad).value(j.value).pendingIf(!j.decided)
}

// opinion is the latest verdict of one named evaluator.
type opinion struct {
	said, good bool
	by         *convention.Evaluation
}

// judgeEvaluations combines the latest verdict of each evaluator that the SLO
// names. A failed evaluator, or one without a score or label that the SLO asks
// for, gives no verdict and may still be repeated.
func judgeEvaluations(o *slo.Objective, all []convention.Evaluation) judgement {
	j := judgement{missing: NoEvaluation}
	var decisive *convention.Evaluation
	opinions := 0
	for i := range o.Evaluations {
		op, missing := latest(&o.Evaluations[i], all)
		if !op.said {
			if missing != NoEvaluation {
				j.missing = missing
			}
			continue
		}
		opinions++
		if decisive == nil || outweighs(o.Combine, op, opinion{true, j.good, decisive}) {
			j.said, j.good, decisive = true, op.good, op.by
		}
	}
	if decisive != nil && !math.IsNaN(decisive.Score) {
		score := decisive.Score
		j.value = &score
	}
	j.decided = opinions == len(o.Evaluations) || j.said && settles(o.Combine, j.good)
	return j
}

// outweighs says whether a decides rather than b, which is named before it.
func outweighs(c slo.Combine, a, b opinion) bool {
	switch c {
	case slo.CombineFirst:
		return a.by.Time < b.by.Time
	case slo.CombineAny:
		return a.good && !b.good
	default:
		return !a.good && b.good
	}
}

// settles says whether such a verdict stands whatever the other evaluators say.
func settles(c slo.Combine, good bool) bool {
	switch c {
	case slo.CombineFirst:
		return true
	case slo.CombineAny:
		return good
	default:
		return !good
	}
}

// latest is the named evaluator's verdict with the latest event time; of two
// at the same time the failing one, in whatever order they came.
func latest(named *slo.Evaluation, all []convention.Evaluation) (op opinion, missing string) {
	missing = NoEvaluation
	for i := range all {
		e := &all[i]
		if e.Name != named.Name {
			continue
		}
		if e.Failed {
			if missing == NoEvaluation {
				missing = EvaluatorFailed
			}
			continue
		}
		good, said := passes(named, e)
		if !said {
			missing = NoVerdict
			continue
		}
		if !op.said || e.Time > op.by.Time || e.Time == op.by.Time && !good {
			op = opinion{true, good, e}
		}
	}
	return op, missing
}

// passes says whether the result meets every condition for which it carries
// something, and whether there is any such condition.
func passes(named *slo.Evaluation, e *convention.Evaluation) (good, said bool) {
	good = true
	if !math.IsNaN(e.Score) {
		if named.MinScore != nil {
			said = true
			good = good && e.Score >= float(*named.MinScore)
		}
		if named.MaxScore != nil {
			said = true
			good = good && e.Score <= float(*named.MaxScore)
		}
	}
	if e.Label != "" {
		isGood, isBad := hasLabel(named.GoodLabels, e.Label), hasLabel(named.BadLabels, e.Label)
		switch {
		case isBad:
			said, good = true, false
		case isGood:
			said = true
		case len(named.GoodLabels) > 0 && len(named.BadLabels) == 0:
			said, good = true, false
		case len(named.BadLabels) > 0 && len(named.GoodLabels) == 0:
			said = true
		}
	}
	return good && said, said
}

func hasLabel(labels []string, label string) bool {
	return slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, label) })
}

// sampledJudging says that only a sample of the runs is meant to be evaluated.
// The runs outside it are then excluded, and no rule that looks at every run
// may be mixed in.
func sampledJudging(o *slo.Objective) bool {
	return o.ExpectedCoverage.IsPositive() && float(o.ExpectedCoverage) < 1
}
