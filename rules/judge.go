package rules

import (
	"fmt"
	"maps"
	"time"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// An SLO with a judge has rules of its own for what the judge's mistakes
// change: its error ratio is corrected, and its evidence is weighed against the
// share that would be judged bad if the budget were just used.

// judged are the file's SLOs with a judge.
func (s scope) judged() (all []*slo.Objective) {
	for i := range s.file.SLOs {
		if s.file.SLOs[i].Judge != nil {
			all = append(all, &s.file.SLOs[i])
		}
	}
	return all
}

// unjudged leaves them out of a selector.
func (s scope) unjudged(sel selector) selector {
	var names []string
	for _, o := range s.judged() {
		names = append(names, o.Name)
	}
	if len(names) == 0 {
		return sel
	}
	return sel.noneOf(LabelSLO, names)
}

// ofOne is a recording rule of one SLO.
func (s scope) ofOne(o *slo.Objective, record, expr string) Rule {
	labels := maps.Clone(fileLabels(s.file))
	labels[LabelSLO] = o.Name // promtool refuses rules that differ in their expression only
	return Rule{Record: record, Expr: expr, Labels: labels}
}

func (s scope) count(o *slo.Objective, v slo.Verdict, window time.Duration) string {
	return s.one(identity(recordIncrease(s.file, window), s.file, o).equal(LabelVerdict, v.String()))
}

// judgedRatio is bad over good and bad as the judge has it.
func (s scope) judgedRatio(o *slo.Objective, window time.Duration) string {
	return fmt.Sprintf("%[1]s / clamp_min(%[1]s + %[2]s, 1)", s.count(o, slo.Bad, window), s.count(o, slo.Good, window))
}

// judgedErrorRatio is Rogan and Gladen's estimate; see [slo.Judge.Corrected].
func (s scope) judgedErrorRatio(o *slo.Objective, window time.Duration) string {
	return fmt.Sprintf("clamp(\n  (%s - %s) / %s,\n  0, 1\n)", s.judgedRatio(o, window), o.Judge.FalseAlarms(), o.Judge.Gain())
}

func (s scope) judgedEvidence(o *slo.Objective, window time.Duration) string {
	budget := o.JudgedBudget()
	return fmt.Sprintf(`clamp_min(
  %[1]s * ln(clamp_min((%[3]s) / %[4]s, 1))
  +
  %[2]s * ln(clamp_max(clamp_min(1 - (%[3]s), 1e-18) / %[5]s, 1)),
  0
)`, s.count(o, slo.Bad, window), s.count(o, slo.Good, window), s.judgedRatio(o, window), budget, decimal.NewFromInt(1).Sub(budget))
}
