package dashboards

//lint:file-ignore SA1019 Older servers load this schema too; its successor needs a recent one.

import (
	"fmt"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

type cogSort = cog.Builder[common.TableSortByFieldState]

// Service is the dashboard of one service of the set: what its runs did, and a
// section for each SLO. Files of one service with different environments stand
// below each other. It is an error if the set has no such service.
func Service(set *slo.Set, service string) (dashboard.Dashboard, error) {
	own := &slo.Set{}
	for _, f := range set.Files {
		if f.Service == service {
			own.Files = append(own.Files, f)
		}
	}
	if len(own.Files) == 0 {
		return dashboard.Dashboard{}, fmt.Errorf("no SLO file for service %q", service)
	}
	firing := each(own, func(f *slo.File) string { return rules.FiringAlerts(f, nil) })
	b := newBoard(ServiceUID(service), "Agent SLOs / "+service, "Error budgets, reasons and runs of "+service+".", "now-24h", firing)
	b.builder.Tags([]string{tag, serviceTag}).
		Link(dashboard.NewDashboardLinkBuilder("All agents").Type(dashboard.DashboardLinkTypeLink).Url("/d/" + OverviewUID).Icon("dashboard").KeepTime(true).IncludeVars(true)).
		Link(dashboard.NewDashboardLinkBuilder("Services").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{serviceTag}).AsDropdown(true).KeepTime(true).IncludeVars(true))

	b.add(alerts(firing, "Alerts of this service that fire now."), 24, 4)
	b.add(budgets(own), 24, 8)
	for _, f := range own.Files {
		for i := range f.SLOs {
			objective(b, f, &f.SLOs[i], len(own.Files) > 1)
		}
		activity(b, f, len(own.Files) > 1)
	}
	return b.build()
}

// section is a row's title, with the environment where there are several.
func section(title string, f *slo.File, several bool) string {
	if !several {
		return title
	}
	if f.Environment == "" {
		return title + " (any environment)"
	}
	return title + " (" + f.Environment + ")"
}

// activity shows what the runs did, whatever the SLOs make of it.
func activity(b *board, f *slo.File, several bool) {
	const window = time.Hour
	b.row(section("Runs, tools and tokens", f, several))
	b.add(graph(what{"Runs by outcome", count,
		"Completed runs during the hour before each point, by how they ended."},
		query{rules.Runs(f, window), "{{outcome}}"}).Min(0), 8, 8)
	b.add(graph(what{"Duration of runs", seconds,
		"Median and 95th percentile of the duration of runs that completed during the hour before each point, as exact as the histogram's buckets."},
		query{rules.RunDuration(f, 0.5, window), "median"}, query{rules.RunDuration(f, 0.95, window), "95th percentile"}).Min(0), 8, 8)
	b.add(graph(what{"Cost of a run", dollars,
		"Mean cost of runs that completed during the hour before each point and whose cost is known."},
		query{rules.RunCost(f, window), "mean"}).Min(0), 8, 8)
	b.add(graph(what{"Tool calls by result", count,
		"Tool calls during the hour before each point: ok, or the class of the failure."},
		query{rules.ToolCalls(f, window), "{{result}}"}).Min(0).
		OverrideByName("ok", []dashboard.DynamicConfigValue{fixed(green)}), 8, 8)
	b.add(bars(what{"Failing tools, last 24 hours", count,
		"The ten tools and failure classes with the most failed calls during the last 24 hours."},
		query{rules.FailedToolCalls(f, 24*time.Hour), "{{tool}} {{result}}"}).
		Thresholds(steps(red)).ColorScheme(byThreshold()), 8, 8)
	b.add(graph(what{"Tokens by model and type", count,
		"Tokens during the hour before each point. Cached input and cache writes are parts of input, reasoning is part of output."},
		query{rules.Tokens(f, window), "{{model}} {{type}}"}).Min(0), 8, 8)
	b.add(graph(what{"Tool calls of a run", count,
		"Mean number of tool calls of runs that completed during the hour before each point."},
		query{rules.RunToolCalls(f, window), "mean"}).Min(0), 24, 6)
	for _, d := range f.Dimensions {
		b.add(graph(what{"Bad events by " + d.Name, count,
			fmt.Sprintf("Bad events during the hour before each point by SLO and %s (attribute %s), the twenty with the most. The newest %d values are kept, others are folded into %s.", d.Name, d.Attribute, d.Keep, slo.OverflowValue)},
			query{rules.BadBy(f, d.Name, window), "{{slo}} {{" + d.Name + "}}"}).Min(0), 24, 8)
	}
}
