package backtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// AlertWorkbook is the alert of [Workbook].
const AlertWorkbook = "WorkbookErrorBudgetBurn"

// workbookTiers are the multi-window, multi-burn-rate alerts of the SRE
// workbook, chapter 5, for a window of 30 days.
var workbookTiers = []struct {
	name, severity string
	long, short    time.Duration
	factor         string
}{
	{"14.4x", rules.SeverityPage, time.Hour, 5 * time.Minute, "14.4"},
	{"6x", rules.SeverityPage, 6 * time.Hour, 30 * time.Minute, "6"},
	{"3x", rules.SeverityTicket, 24 * time.Hour, 2 * time.Hour, "3"},
	{"1x", rules.SeverityTicket, 72 * time.Hour, 6 * time.Hour, "1"},
}

// Workbook are the rules that generators of the field write for an SLO, in the
// shape of Sloth's default plug-ins: error ratios from rate() over the
// counters, and an alert where both windows are above the factor times the
// budget. They are what the generated rules are compared with.
func Workbook(f *slo.File, o *slo.Objective) []rules.Group {
	by := ""
	if slices.Contains(f.By, rules.LabelAgent) {
		by = " by (" + rules.LabelAgent + ")"
	}
	events := func(verdicts string, w time.Duration) string {
		matchers := []string{fmt.Sprintf("slo_service=%q", f.Service), fmt.Sprintf("slo=%q", o.Name), fmt.Sprintf("verdict=~%q", verdicts)}
		if f.Environment != "" {
			matchers = append(matchers, fmt.Sprintf("environment=%q", f.Environment))
		}
		return fmt.Sprintf("sum%s (rate(agentslo_events_total{%s}[%s]))", by, strings.Join(matchers, ","), rules.Duration(w))
	}
	id := map[string]string{"slo_service": f.Service, "slo": o.Name}
	if f.Environment != "" {
		id["environment"] = f.Environment
	}
	g := rules.Group{Name: "workbook-" + f.Service + "-" + o.Name, Interval: model.Duration(rules.Interval)}
	record := func(w time.Duration) string { return "slo:sli_error:ratio_rate" + rules.Duration(w) }
	above := func(w time.Duration, threshold decimal.Decimal) string {
		return fmt.Sprintf("%s{slo_service=%q,slo=%q} > %s", record(w), f.Service, o.Name, threshold)
	}
	var alerts []rules.Rule
	for _, t := range workbookTiers {
		for _, w := range []time.Duration{t.short, t.long} {
			g.Rules = append(g.Rules, rules.Rule{Record: record(w), Labels: id, Expr: events("bad", w) + " / " + events("good|bad", w)})
		}
		threshold := decimal.RequireFromString(t.factor).Mul(o.Budget())
		labels := map[string]string{"severity": t.severity, "tier": t.name}
		for k, v := range id {
			labels[k] = v
		}
		alerts = append(alerts, rules.Rule{Alert: AlertWorkbook, Labels: labels, Expr: above(t.short, threshold) + " and " + above(t.long, threshold)})
	}
	g.Rules = append(g.Rules, alerts...)
	return []rules.Group{g}
}
