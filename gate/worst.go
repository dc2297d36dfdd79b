package gate

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// WorstFirst sorts the parts that each SLO's budget was split into: first those
// whose error ratio is proven to be the highest. A ratio alone is no order,
// as a tenant with one run, and that one bad, has the highest there is. So it
// is the lower end of the error ratio's interval that counts, see
// [Budget.AtLeast]; then how many were bad.
//
// With most above 0 only so many parts of each SLO are left, and a note on the
// last of them says how many are not shown.
func WorstFirst(budgets []Budget, most int) []Budget {
	var out []Budget
	for len(budgets) > 0 {
		n := 1
		for n < len(budgets) && sameSLO(&budgets[n], &budgets[0]) {
			n++
		}
		part := slices.Clone(budgets[:n])
		budgets = budgets[n:]
		compareAll(part)
		slices.SortStableFunc(part, func(a, b Budget) int {
			return cmp.Or(least(&b).Cmp(least(&a)), cmp.Compare(b.Bad, a.Bad), cmp.Compare(value(&a), value(&b)))
		})
		if hidden := n - most; most > 0 && hidden > 0 {
			last := &part[most-1]
			last.Notes = append(slices.Clip(last.Notes), fmt.Sprintf("%s: %s of %s not shown, none of them worse", last.SLO, countOf(int64(hidden), "more value"), last.Split.By))
			part = part[:most]
		}
		out = append(out, part...)
	}
	return out
}

func sameSLO(a, b *Budget) bool {
	return a.Split != nil && b.Split != nil && a.Service == b.Service && a.Environment == b.Environment && a.SLO == b.SLO
}

func least(b *Budget) slo.Decimal {
	if b.AtLeast == nil {
		return slo.Decimal{}
	}
	return b.AtLeast.Decimal
}

func value(b *Budget) string {
	if b.Split == nil {
		return ""
	}
	return b.Split.Value
}

// compareAll works out what is proven of each part, at [confidence] over all of
// them: among a hundred tenants one that had bad luck is always to be found
// (Bonferroni's correction).
func compareAll(part []Budget) {
	compared := 0
	for i := range part {
		if part[i].Good+part[i].Bad > 0 {
			compared++
		}
	}
	for i := range part {
		if b := &part[i]; b.Split != nil {
			least := rounded(b.account().atLeast(b.objective, compared), ratioDigits)
			b.AtLeast = &least
		}
	}
}

// atLeast is the error ratio that the true one is above with [confidence] when
// so many accounts are compared: the lower one-sided Clopper-Pearson bound. One
// failure alone proves nothing.
func (a account) atLeast(o *slo.Objective, compared int) float64 {
	if a.bad < 2 {
		return 0
	}
	low, _ := slo.ClopperPearson(float64(a.bad), float64(a.events()), 1-2*(1-confidence)/float64(max(compared, 1)))
	return o.Judge.Corrected(decimal.NewFromFloat(low)).InexactFloat64()
}

// overflowNote says that a split does not tell all values apart.
func overflowNote(by string, events int64) string {
	remedy := "raise its keep"
	if by == slo.DimensionTool {
		remedy = fmt.Sprintf("only the newest %d are", slo.ToolsKept)
	} else if by == "agent" {
		remedy = "raise max_label_sets of the exporter"
	}
	return fmt.Sprintf("%s are of values of %s that are not told apart (%s): %s", countOf(events, "event"), by, slo.OverflowValue, remedy)
}
