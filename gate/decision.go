package gate

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// Decision is the answer to: may the release go ahead?
type Decision string

const (
	Pass                 Decision = "pass"
	Block                Decision = "block"
	InsufficientEvidence Decision = "insufficient"
)

// Policy is what a gate went by.
type Policy struct {
	FreezeBelow    Number
	ResumeAbove    Number
	MaxExcluded    Number
	Confidence     Number
	OnInsufficient Decision // pass or block; "": insufficient stays insufficient
	Override       string   // reason to pass whatever the budgets say; "": none
}

// MarshalJSON writes the policy's object.
func (p Policy) MarshalJSON() ([]byte, error) {
	var o object
	o.field("freeze_below", p.FreezeBelow)
	o.field("resume_above", p.ResumeAbove)
	o.field("max_excluded", p.MaxExcluded)
	o.field("confidence", p.Confidence)
	if p.OnInsufficient != "" {
		o.field("on_insufficient", p.OnInsufficient)
	}
	if p.Override != "" {
		o.field("override", p.Override)
	}
	return o.close()
}

// Verdict is the decision about one budget.
type Verdict struct {
	Budget
	Decision Decision
	Why      string
	policy   *Policy // where the files' policies differ
}

// MarshalJSON writes the budget's object with decision and why.
func (v Verdict) MarshalJSON() ([]byte, error) {
	var o object
	v.fields(&o)
	o.field("decision", v.Decision)
	o.field("why", v.Why)
	if v.policy != nil {
		o.field("policy", v.policy)
	}
	return o.close()
}

// Report is the decision about all budgets: block if one blocks, else
// insufficient if one is, else pass.
type Report struct {
	Decision Decision  `json:"decision"`
	SLOs     []Verdict `json:"slos"`
	Policy   Policy    `json:"policy"`
}

// Terms are what the caller adds to the files' policies.
type Terms struct {
	OnInsufficient Decision // pass or block; "": neither
	Override       string
}

// Decide judges budgets by the policies of their files. It reads the history of
// those between freeze_below and resume_above: such a budget is frozen if it
// came from below, so the policy has hysteresis without keeping any state.
func Decide(ctx context.Context, api Prometheus, set *slo.Set, budgets []Budget, terms Terms) (Report, error) {
	report := Report{Decision: Pass, SLOs: []Verdict{}}
	policies := map[string]bool{}
	for i, b := range budgets {
		v, err := reader{api}.decide(ctx, set, b)
		if err != nil {
			return Report{}, err
		}
		p := policyOf(b.file, terms)
		if i == 0 {
			report.Policy = p
		}
		key, _ := json.Marshal(p)
		policies[string(key)] = true
		v.policy = &p
		if v.Decision == InsufficientEvidence && terms.OnInsufficient != "" {
			v.Decision = terms.OnInsufficient
			v.Why += fmt.Sprintf(" (--on-insufficient %s)", terms.OnInsufficient)
		}
		report.SLOs = append(report.SLOs, v)
		switch {
		case v.Decision == Block:
			report.Decision = Block
		case v.Decision == InsufficientEvidence && report.Decision == Pass:
			report.Decision = InsufficientEvidence
		}
	}
	if len(policies) <= 1 {
		for i := range report.SLOs {
			report.SLOs[i].policy = nil
		}
	}
	if terms.Override != "" {
		report.Decision = Pass
	}
	return report, nil
}

func policyOf(f *slo.File, terms Terms) Policy {
	return Policy{
		FreezeBelow: Number{f.Policy.FreezeBelow}, ResumeAbove: Number{f.Policy.ResumeAbove},
		MaxExcluded: Number{f.MaxExcluded}, Confidence: rounded(confidence, ratioDigits),
		OnInsufficient: terms.OnInsufficient, Override: terms.Override,
	}
}

// standing is how an account stands to a policy.
type standing int

const (
	clear   standing = iota // at or above resume_above
	between                 // history decides
	frozen                  // below freeze_below, or nothing left
	tooFew                  // too few runs to show anything
	unseen                  // too many runs without a verdict
)

// judge weighs an account. A sample smaller than [smallestSample] can only ever
// freeze, and only when it is sure; failures among runs without a verdict are
// assumed away before an account that hides too many of them may freeze.
func judge(a account, o *slo.Objective, f *slo.File) standing {
	hidden := unseenOf(a, o).GreaterThan(mostUnseen(f, o))
	least := a
	if hidden {
		least.good += least.unknown
	}
	enough := smallestSample(o)
	spent := func(a account) bool {
		left := a.remaining(o)
		nothing := left.Sign() <= 0 && f.Policy.FreezeBelow.Sign() >= 0
		return nothing || left.LessThan(f.Policy.FreezeBelow)
	}
	limit := o.Budget().Mul(whole(1).Sub(f.Policy.FreezeBelow))
	if spent(least) && (least.events() >= enough || least.surelyAbove(o, limit)) {
		return frozen
	}
	switch {
	case hidden:
		return unseen
	case a.events() < enough:
		return tooFew
	case a.remaining(o).GreaterThanOrEqual(f.Policy.ResumeAbove):
		return clear
	}
	return between
}

// unseenOf is the share of runs that gave no verdict. Those that an SLO about
// something rare is not about hide nothing, however many they are.
func unseenOf(a account, o *slo.Objective) slo.Decimal {
	if o.Conditional() {
		a.excluded = 0
	}
	return a.unseen()
}

// mostUnseen is the share of runs that may be unknown or excluded: where
// evaluations are sampled on purpose, what is outside the sample comes on top.
func mostUnseen(f *slo.File, o *slo.Objective) slo.Decimal {
	if !o.ExpectedCoverage.IsPositive() {
		return f.MaxExcluded
	}
	return whole(1).Sub(o.ExpectedCoverage.Mul(whole(1).Sub(f.MaxExcluded)))
}

func (r reader) decide(ctx context.Context, set *slo.Set, b Budget) (Verdict, error) {
	v := Verdict{Budget: b}
	a, f, o := b.account(), b.file, b.objective
	counts := fmt.Sprintf("%s of %s", countOf(a.bad, "bad "+o.EventName()), group3(a.events()))
	allowed := fmt.Sprintf("%s tolerates %s", percent(o.Target), short(a.tolerated(o)))
	left := percentOf(b.Remaining.Decimal)
	switch judge(a, o, f) {
	case frozen:
		v.Decision = Block
		switch {
		case b.Remaining.Sign() < 0:
			v.Why = fmt.Sprintf("the budget is overspent: %s, where %s", counts, allowed)
		case b.Remaining.Sign() == 0:
			v.Why = fmt.Sprintf("the budget is used up: %s, and %s", counts, allowed)
		default:
			v.Why = fmt.Sprintf("%s of the budget is left, less than freeze_below %s: %s, where %s", left, percent(f.Policy.FreezeBelow), counts, allowed)
		}
		return v, nil
	case tooFew:
		v.Decision = InsufficientEvidence
		if v.Why = fewWhy(a, o); b.nameless != "" {
			v.Why = b.nameless + "; " + v.Why
		}
		return v, nil
	case unseen:
		v.Decision = InsufficientEvidence
		if o.Conditional() {
			v.Why = fmt.Sprintf("%s of the runs that it is about have no verdict (%s unknown), more than the %s that may be (max_excluded): failures could hide there",
				percentOf(unseenOf(a, o)), group3(a.unknown), percent(mostUnseen(f, o)))
			return v, nil
		}
		v.Why = fmt.Sprintf("%s of the %ss have no verdict (%s unknown, %s excluded), more than the %s that may be (max_excluded): failures could hide there",
			percentOf(a.unseen()), o.EventName(), group3(a.unknown), group3(a.excluded), percent(mostUnseen(f, o)))
		return v, nil
	case between:
		since, err := r.frozenSince(ctx, set, b)
		if err != nil {
			return v, err
		}
		if !since.IsZero() {
			v.Decision = Block
			v.Why = fmt.Sprintf("%s of the budget is left, and after it fell below freeze_below %s (last at %s) releases resume at resume_above %s: %s, where %s", left,
				percent(f.Policy.FreezeBelow), since.UTC().Format(moment), percent(f.Policy.ResumeAbove), counts, allowed)
			return v, nil
		}
	}
	if len(b.doubts) > 0 {
		v.Decision = InsufficientEvidence
		v.Why = strings.Join(b.doubts, "; ")
		return v, nil
	}
	v.Decision = Pass
	v.Why = fmt.Sprintf("%s of the budget is left: %s, where %s", left, counts, allowed)
	return v, nil
}

func fewWhy(a account, o *slo.Objective) string {
	need := group3(smallestSample(o))
	switch {
	case a.events() == 0 && a.unknown+a.excluded > 0:
		return fmt.Sprintf("no %s was good or bad (%s unknown, %s excluded); it takes %s to show %s", o.EventName(), group3(a.unknown), group3(a.excluded), need, percent(o.Target))
	case a.events() == 0:
		return fmt.Sprintf("no %ss in the window; it takes %s to show %s", o.EventName(), need, percent(o.Target))
	case a.bad == 0:
		return fmt.Sprintf("%s without a failure cannot show %s; it takes %s", countOf(a.events(), o.EventName()), percent(o.Target), need)
	}
	return fmt.Sprintf("%s of %s may be chance: too few %ss to tell whether %s is met; it takes %s to pass, and more failures would block", countOf(a.bad, "bad "+o.EventName()), group3(a.events()), o.EventName(), percent(o.Target), need)
}

// frozenSince looks back for the last time the budget was not between
// freeze_below and resume_above. It returns that time if the budget was frozen
// then, and the zero time if it was clear or nothing older is known.
func (r reader) frozenSince(ctx context.Context, set *slo.Set, b Budget) (time.Time, error) {
	rolling := b.file.Window.Calendar == ""
	reach := b.from
	if rolling {
		reach = b.from.Add(-b.file.Window.Rolling)
	}
	l, err := r.ledgerOf(ctx, set, b, partition(reach, b.at, fine))
	if err != nil {
		return time.Time{}, err
	}
	for t := b.at.Add(-fine); t.After(b.from); t = t.Add(-fine) {
		start := b.from
		if rolling {
			start = t.Add(-b.file.Window.Rolling)
		}
		switch judge(l.sum(start, t), b.objective, b.file) {
		case frozen:
			return t, nil
		case clear:
			return time.Time{}, nil
		}
	}
	return time.Time{}, nil
}

// ledgerOf reads one budget's events again, over other stretches.
func (r reader) ledgerOf(ctx context.Context, set *slo.Set, b Budget, over []grid) (ledger, error) {
	if !b.objective.CountsRuns() {
		all, _, err := r.ratioEvents(ctx, b.objective.Events, over)
		return newLedger(all), err
	}
	by := ""
	if b.Split != nil {
		by = b.Split.By
	}
	sel := counters(set, b.file, []*slo.Objective{b.objective}, by)
	if by != "" {
		sel = sel.equal(by, b.Split.Value)
	}
	h, err := r.read(ctx, sel, over)
	return newLedger(verdicts(h.series)), err
}
