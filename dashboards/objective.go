package dashboards

import (
	"fmt"
	"strings"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// objective is the section of one SLO.
func objective(b *board, f *slo.File, o *slo.Objective, several bool) {
	window := budgetWindow(f)
	title := fmt.Sprintf("%s: %s%% over %s", o.Name, o.Target.Shift(2), f.Window.Name)
	b.row(section(title, f, several))

	target, _ := o.Target.Float64()
	tolerated, _ := o.Budget().Float64()
	b.add(number(what{"Measured", ratio,
		fmt.Sprintf("Good events over good and bad ones during the last %s. The objective: %s.", rules.Duration(window), rules.Sentence(o))},
		query{rules.EachObjective(f, o), "objective" + agentSuffix(f)},
		query{rules.SuccessRatio(f, o, window), "measured" + agentSuffix(f)}).
		Decimals(2).Thresholds(steps(red, step{target, green})).ColorScheme(byThreshold()).
		OverrideByRegexp("/^objective/", []dashboard.DynamicConfigValue{fixed(grey)}), 6, 5)
	b.add(number(what{"Budget left", ratio,
		fmt.Sprintf("Share of the error budget that is left: %s of the events of %s may be bad. Below 0%% it is overspent.", percent(tolerated), rules.Duration(window))},
		query{rules.BudgetRemaining(f, o), "left" + agentSuffix(f)}).
		Decimals(1).Thresholds(budgetSteps()).ColorScheme(byThreshold()), 6, 5)
	b.add(number(what{"Events", count,
		fmt.Sprintf("Good and bad events during the last %s, and during the last %s. Below about %s events one failure more or less moves the measured ratio past the objective.",
			rules.Duration(window), rules.Duration(hour(f)), few(tolerated))},
		query{rules.Counted(f, o, window), rules.Duration(window) + agentSuffix(f)},
		query{rules.Counted(f, o, hour(f)), rules.Duration(hour(f)) + agentSuffix(f)}).
		Thresholds(steps(orange, step{1 / tolerated, blue})).ColorScheme(byThreshold()), 6, 5)
	b.add(alerts(rules.FiringAlerts(f, o), "Alerts of this SLO that fire now. "+alertText(o), "slo_service", "environment", "slo", "alertname"), 6, 5)

	b.add(graph(what{"Budget burn-down", ratio,
		"Share of the error budget that was left at each point, over the budget's window. A rise is bad events leaving the window."},
		query{rules.BudgetRemaining(f, o), "left" + agentSuffix(f)}).
		TimeFrom(rules.Duration(window)).Max(1).AxisSoftMin(0).
		Thresholds(budgetSteps()).ThresholdsStyle(style(common.GraphThresholdsStyleModeLine)), 12, 8)
	b.add(burnRates(f, o), 12, 8)

	b.add(graph(what{"Verdicts", count,
		fmt.Sprintf("Runs during the %s before each point by verdict. Good and bad make the ratio; unknown should count but lacks evidence; excluded does not apply.", rules.Duration(hour(f)))},
		verdicts(f, o)...).
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal)).FillOpacity(40).Min(0).
		OverrideByRegexp("/^good/", []dashboard.DynamicConfigValue{fixed(green)}).
		OverrideByRegexp("/^bad/", []dashboard.DynamicConfigValue{fixed(red)}).
		OverrideByRegexp("/^unknown/", []dashboard.DynamicConfigValue{fixed(yellow)}).
		OverrideByRegexp("/^excluded/", []dashboard.DynamicConfigValue{fixed(grey)}), 8, 8)
	b.add(bars(what{"Reasons", count,
		fmt.Sprintf("Why runs were not good during the last %s: the largest reasons of bad, unknown and excluded verdicts.", rules.Duration(window))},
		query{rules.EveryReason(f, o, window), "{{verdict}}: {{reason}}"}).
		Thresholds(steps(grey)).ColorScheme(byThreshold()).
		OverrideByRegexp("/^bad/", []dashboard.DynamicConfigValue{fixed(red)}).
		OverrideByRegexp("/^unknown/", []dashboard.DynamicConfigValue{fixed(yellow)}), 8, 8)
	b.add(evidence(f, o), 8, 8)
}

// burnRates has a line for each window that an alert judges, and the rate
// above which it may fire.
func burnRates(f *slo.File, o *slo.Objective) *timeseries.PanelBuilder {
	var queries []query
	for _, w := range judged(f, o) {
		queries = append(queries, query{rules.BurnRate(f, o, w), rules.Duration(w) + agentSuffix(f)})
	}
	description := "How many times faster than tolerated the budget was spent, over each window that an alert judges. At 1 it lasts exactly for its window."
	if thresholds := rules.Thresholds(f, o); thresholds != "" {
		queries = append(queries, query{thresholds, "{{tier}} fires above"})
		description += " Dashed: the rate above which each tier fires, provided the evidence is strong enough too."
	}
	p := graph(what{"Burn rates", times, description}, queries...).Min(0).
		OverrideByRegexp("/fires above$/", dashed())
	for i, t := range rules.Tiers(f, o) {
		colour := []dashboard.DynamicConfigValue{fixed(tierColours[i%len(tierColours)])}
		p.OverrideByName(t.Name+" fires above", colour).
			OverrideByRegexp("/^"+rules.Duration(t.Long)+"( |$)/", colour)
	}
	return p
}

var tierColours = []string{red, orange, yellow, blue, "purple", "dark-green"}

// evidence has a line for each window that an alert judges, and what it needs.
func evidence(f *slo.File, o *slo.Objective) *timeseries.PanelBuilder {
	var queries []query
	for _, w := range judged(f, o) {
		queries = append(queries, query{rules.Evidence(f, o, w), rules.Duration(w) + agentSuffix(f)})
	}
	description := "How strongly each window's events speak against the objective: the log-likelihood ratio of the measured error ratio over the tolerated one, in nats. One failure among few runs is weak evidence, however high the burn rate."
	p := graph(what{"Evidence", nats, description}, queries...).Min(0)
	if tiers := rules.Tiers(f, o); len(tiers) > 0 {
		needed, _ := tiers[0].Evidence.Float64()
		p.AxisSoftMax(needed).Thresholds(steps("transparent", step{needed, red})).ThresholdsStyle(style(common.GraphThresholdsStyleModeDashed))
	}
	for i, t := range rules.Tiers(f, o) {
		p.OverrideByRegexp("/^"+rules.Duration(t.Long)+"( |$)/", []dashboard.DynamicConfigValue{fixed(tierColours[i%len(tierColours)])})
	}
	return p
}

// judged lists the windows whose events the SLO's alerts judge; of an SLO
// without alerts, the hour and the budget's window.
func judged(f *slo.File, o *slo.Objective) []time.Duration {
	var windows []time.Duration
	for _, t := range rules.Tiers(f, o) {
		windows = append(windows, t.Long)
	}
	if len(windows) == 0 {
		windows = append(windows, hour(f), budgetWindow(f))
	}
	return windows
}

func verdicts(f *slo.File, o *slo.Objective) []query {
	var queries []query
	for _, v := range slo.Verdicts {
		queries = append(queries, query{rules.Events(f, o, v, hour(f)), v.String() + agentSuffix(f)})
	}
	return queries
}

// agentSuffix names the agent where budgets are kept per agent.
func agentSuffix(f *slo.File) string {
	if len(f.By) == 0 {
		return ""
	}
	var labels []string
	for _, by := range f.By {
		labels = append(labels, "{{"+by+"}}")
	}
	return " " + strings.Join(labels, " ")
}

func alertText(o *slo.Objective) string {
	switch o.Alert {
	case slo.AlertTicket:
		return "It opens tickets and never pages."
	case slo.AlertNone:
		return "It never alerts."
	}
	return ""
}

func style(mode common.GraphThresholdsStyleMode) *common.GraphThresholdsStyleConfigBuilder {
	return common.NewGraphThresholdsStyleConfigBuilder().Mode(mode)
}

func percent(x float64) string { return fmt.Sprintf("%.4g%%", 100*x) }

// few is how many events hold one tolerated failure.
func few(tolerated float64) string { return fmt.Sprintf("%.0f", 1/tolerated) }
