package dashboards

//lint:file-ignore SA1019 Older servers load this schema too; its successor needs a recent one.

import (
	"slices"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// Overview is the dashboard over all files of the set: which alerts fire, what
// is left of each budget, how fast it goes, and on how many events that rests.
func Overview(set *slo.Set) (dashboard.Dashboard, error) {
	b := newBoard(OverviewUID, "Agent SLOs", "Error budgets of all AI agents: what is left, how fast it goes and on how many runs that rests.", "now-7d",
		each(set, func(f *slo.File) string { return rules.FiringAlerts(f, nil) }))
	b.builder.Tags([]string{tag}).
		Link(dashboard.NewDashboardLinkBuilder("Services").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{serviceTag}).AsDropdown(true).KeepTime(true).IncludeVars(true))

	b.add(alerts(each(set, func(f *slo.File) string { return rules.FiringAlerts(f, nil) }),
		"Alerts of all SLOs that fire now. Empty is good, unless a no-data alert is missing because nothing is scraped."), 24, 5)
	b.add(budgets(set), 24, 12)

	remaining := each(set, func(f *slo.File) string { return rules.BudgetRemaining(f, nil) })
	b.add(graph(what{"Error budget left", ratio,
		"Share of each error budget that is left over its window: 100% untouched, below 0% overspent. An agent without runs keeps all of it."},
		query{remaining, sloLegend}).Max(1).AxisSoftMin(0).
		Thresholds(steps("transparent", step{0, "transparent"})), 12, 9)
	b.add(graph(what{"Burn rate, last hour", times,
		"How many times faster than tolerated each budget was spent during the last hour. At 1 it lasts exactly for its window. One failure among few runs looks big here; the alerts also ask for evidence."},
		query{each(set, func(f *slo.File) string { return rules.BurnRate(f, nil, hour(f)) }), sloLegend}).Min(0), 12, 9)
	b.add(graph(what{"Events counted, last hour", count,
		"Good and bad events of each SLO during the last hour: the sample that every ratio on this page rests on."},
		query{each(set, func(f *slo.File) string { return rules.Counted(f, nil, hour(f)) }), sloLegend}).Min(0), 12, 9)
	b.add(graph(what{"Not counted", ratio,
		"Share of runs over the budget's window that an SLO could not count (unknown) or does not apply to (excluded). Failures must not hide here: above max_excluded there is an alert."},
		query{each(set, func(f *slo.File) string { return rules.Uncounted(f, nil, budgetWindow(f)) }), sloLegend}).Min(0).Max(1), 12, 9)
	return b.build()
}

const sloLegend = "{{slo_service}} {{environment}} {{slo}} {{agent}}"

// each is one expression over all files of the set.
func each(set *slo.Set, expression func(*slo.File) string) string {
	var all []string
	for _, f := range set.Files {
		all = append(all, expression(f))
	}
	return rules.Union(all...)
}

// budgetWindow is the window of the file's error budget, the longest that is recorded.
func budgetWindow(f *slo.File) time.Duration {
	windows := rules.Windows(f)
	return windows[len(windows)-1]
}

// hour is the recorded window nearest to one hour, which short budgets may not
// have; day likewise.
func hour(f *slo.File) time.Duration { return nearest(f, time.Hour) }
func day(f *slo.File) time.Duration  { return nearest(f, 24*time.Hour) }

func nearest(f *slo.File, length time.Duration) time.Duration {
	windows := rules.Windows(f)
	distance := func(d time.Duration) time.Duration { return (d - length).Abs() }
	return slices.MinFunc(windows, func(a, b time.Duration) int { return int(distance(a) - distance(b)) })
}

// alerts is a table of firing alerts, without the columns of those labels.
func alerts(firing, description string, without ...string) *table.PanelBuilder {
	hidden := map[string]bool{"Time": true, "Value": true, "__name__": true, "alertstate": true}
	for _, label := range without {
		hidden[label] = true
	}
	return list(what{"Firing alerts", "none", description}, query{firing, ""}).
		NoValue("nothing fires").
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
			"excludeByName": hidden,
			"indexByName":   map[string]int{"severity": 0, "alertname": 1, "slo_service": 2, "environment": 3, "slo": 4, "agent": 5, "tier": 6},
			"renameByName":  map[string]string{"alertname": "Alert", "severity": "Severity", "slo_service": "Service", "environment": "Environment", "slo": "SLO", "tier": "Tier", "agent": "Agent"},
		}}).
		OverrideByName("Severity", []dashboard.DynamicConfigValue{
			property("custom.cellOptions", map[string]any{"type": "color-background"}),
			property("mappings", []any{map[string]any{"type": "value", "options": map[string]any{
				rules.SeverityPage:   map[string]any{"color": red, "index": 0},
				rules.SeverityTicket: map[string]any{"color": orange, "index": 1},
			}}}),
		})
}

// budgets is a table with a row for each SLO.
func budgets(set *slo.Set) *table.PanelBuilder {
	columns := []struct {
		name, unit string
		expression func(*slo.File) string
	}{
		{"Objective", ratio, func(f *slo.File) string { return rules.EachObjective(f, nil) }},
		{"Measured", ratio, func(f *slo.File) string { return rules.SuccessRatio(f, nil, budgetWindow(f)) }},
		{"Budget left", ratio, func(f *slo.File) string { return rules.BudgetRemaining(f, nil) }},
		{"Burn rate, last hour", times, func(f *slo.File) string { return rules.BurnRate(f, nil, hour(f)) }},
		{"Events", count, func(f *slo.File) string { return rules.Counted(f, nil, budgetWindow(f)) }},
		{"Not counted", ratio, func(f *slo.File) string { return rules.Uncounted(f, nil, budgetWindow(f)) }},
	}
	var queries []query
	rename := map[string]string{"slo_service": "Service", "environment": "Environment", "slo": "SLO", "agent": "Agent"}
	for i, c := range columns {
		queries = append(queries, query{each(set, func(f *slo.File) string { return rules.AnyEnvironment(c.expression(f)) }), ""})
		rename["Value #"+refID(i)] = c.name
	}
	p := list(what{"Error budgets", ratio,
		"One line for each SLO over its own window. Measured is good events over good and bad ones; Events is how many those were: with few of them, neither a good nor a bad number says much. Not counted is the share of runs that are unknown or excluded."},
		queries...).
		// Rows of different queries meet on equal labels, so the metrics' names go first.
		WithTransformation(dashboard.DataTransformerConfig{Id: "filterFieldsByName", Options: map[string]any{
			"exclude": map[string]any{"names": []string{"Time", "__name__"}}}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
			"indexByName":  map[string]int{"slo_service": 0, "environment": 1, "slo": 2, "agent": 3},
			"renameByName": rename,
		}}).
		SortBy([]cogSort{common.NewTableSortByFieldStateBuilder().DisplayName("Budget left").Desc(false)})
	for _, c := range columns {
		p.OverrideByName(c.name, []dashboard.DynamicConfigValue{property("unit", c.unit), property("custom.align", "right")})
	}
	p.OverrideByName("Objective", []dashboard.DynamicConfigValue{property("decimals", 2)}).
		OverrideByName("Measured", []dashboard.DynamicConfigValue{property("decimals", 2)}).
		OverrideByName("Budget left", []dashboard.DynamicConfigValue{
			property("custom.cellOptions", map[string]any{"type": "color-background", "mode": "basic"}),
			property("thresholds", map[string]any{"mode": "absolute", "steps": []any{
				map[string]any{"value": nil, "color": red}, map[string]any{"value": 0, "color": orange},
				map[string]any{"value": 0.25, "color": yellow}, map[string]any{"value": 0.5, "color": green}}}),
		})
	if rowLinks(set) {
		p.OverrideByName("Service", []dashboard.DynamicConfigValue{property("links", []any{map[string]any{
			"title": "Dashboard of ${__value.text}", "url": "/d/agentslo-${__value.text}?${datasource:queryparam}&${__url_time_range}"}})})
	}
	return p
}

// rowLinks says whether each service's name is part of its dashboard's
// identity, so that a table can link to it.
func rowLinks(set *slo.Set) bool {
	return !slices.ContainsFunc(Services(set), func(service string) bool { return ServiceUID(service) != "agentslo-"+service })
}
