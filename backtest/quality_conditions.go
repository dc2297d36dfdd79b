package backtest

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
)

// Condition is traffic that is not what the arithmetic of evidence assumes:
// independent runs at an even rate, and verdicts that are always right.
type Condition struct {
	Name           string
	Scenario       Scenario // its shapes and error ratio
	alerting, keys string   // of the SLO file, and of its SLO
	// Pages and Tickets while the objective is just met.
	Pages, Tickets False
}

// Conditions are measured at 95% and 10 runs an hour.
func Conditions() (Cell, []Condition) {
	c := cells("95% 10")[0]
	atBudget := func(shapes ...string) Scenario { return Scenario{Shapes: shapes, ErrorRatio: c.budget()} }
	// A judge that is wrong in 5% of the runs, good or bad, calls 9.5% bad where 5% are.
	const judge = ", sli: correctness, evaluations: [{name: e, min_score: 1}]"
	judged := Scenario{ErrorRatio: 0.95*c.budget() + 0.05*(1-c.budget())}
	return c, []Condition{
		{Name: "independent, even rate", Scenario: atBudget()},
		{Name: "a day's cycle: nearly nothing at night", Scenario: atBudget(ShapeDaily)},
		{Name: "bursts of 20 within five minutes", Scenario: atBudget(ShapeBursts)},
		{Name: "all of a day's runs at 02:00", Scenario: atBudget(ShapeNightly)},
		{Name: "failures in clumps of 5", Scenario: atBudget(ShapeClumped)},
		{Name: "the same, `dispersion: 9`", Scenario: atBudget(ShapeClumped), alerting: "dispersion: 9"},
		{Name: "a judge that is wrong in 5%", Scenario: judged, keys: judge},
		{Name: "the same, `judge: {sensitivity: 95%, specificity: 95%}`", Scenario: judged, keys: judge + ", judge: {sensitivity: 95%, specificity: 95%}"},
	}
}

// MeasureConditions counts the alerts of the generated rules in each condition.
func MeasureConditions(ctx context.Context, o QualityOptions) ([]Condition, error) {
	o = o.defaults()
	c, all := Conditions()
	for i := range all {
		x := &all[i]
		o.alerting, o.keys = x.alerting, x.keys
		var err error
		if x.Pages, x.Tickets, err = o.alarms(ctx, c, agentsloRules, x.Scenario, true); err != nil {
			return nil, fmt.Errorf("%s: %w", x.Name, err)
		}
	}
	return all, nil
}

// WriteConditions writes them as a Markdown table.
func WriteConditions(w io.Writer, all []Condition) error {
	var b strings.Builder
	c, _ := Conditions()
	fmt.Fprintf(&b, "| %s, exactly at the budget | pages in 30 d | tickets in 30 d |\n|---|---|---|\n", c)
	for _, x := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", x.Name, alarms(x.Pages, math.Inf(1)), alarms(x.Tickets, math.Inf(1)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
