package dashboards

//lint:file-ignore SA1019 Older servers load this schema too; its successor needs a recent one.

import (
	"fmt"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/table"

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
	b.add(graph(what{"What became of failed tool calls", count,
		"Failed tool calls during the hour before each point: recovered (a later same call succeeded), intermittent (only an earlier one had) or permanent."},
		query{rules.FailuresByPersistence(f, window), "{{persistence}}"}).Min(0), 8, 8)
	b.add(bars(what{"First step that went wrong, last 24 hours", count,
		"Runs of the last 24 hours by the first of their steps that went wrong, the ten with the most: where to begin to look."},
		query{rules.FirstWrong(f, 24*time.Hour), "{{what}} {{tool}}"}).
		Thresholds(steps(red)).ColorScheme(byThreshold()), 8, 8)
	b.add(bars(what{"Blocked runs, last 24 hours", count,
		"Runs of the last 24 hours with a permanent failure that no other call got round, by its tool and by how they ended, the ten with the most."},
		query{rules.BlockedRuns(f, 24*time.Hour), "{{tool}} {{outcome}}"}).
		Thresholds(steps(red)).ColorScheme(byThreshold()), 8, 8)
	b.add(graph(what{"Tool calls of a run", count,
		"Mean number of tool calls of runs that completed during the hour before each point."},
		query{rules.RunToolCalls(f, window), "mean"}).Min(0), 24, 6)
	predicted(b, f)
	for _, d := range f.Dimensions {
		b.add(worst(f, d.Name), 12, 8)
		b.add(graph(what{"Bad events by " + d.Name, count,
			fmt.Sprintf("Bad events during the hour before each point by SLO and %s (%s), the twenty with the most. The newest %d values are kept, others are folded into %s.", d.Name, source(d), d.Keep, slo.OverflowValue)},
			query{rules.BadBy(f, d.Name, window), "{{slo}} {{" + d.Name + "}}"}).Min(0), 12, 8)
	}
	if f.HasScope(slo.ScopeTool) {
		b.add(worst(f, slo.DimensionTool), 24, 8)
	}
}

// source is where a dimension's values come from, in words.
func source(d slo.Dimension) string {
	kind := map[slo.Source]string{slo.FromAttribute: "attribute", slo.FromBaggage: "baggage", slo.FromResource: "resource attribute"}[d.Source]
	return kind + " " + d.Attribute
}

// worstShown is how many values a table of the worst ones shows.
const worstShown = 10

// worst is a table of the values of a dimension that certainly overspend, with
// the numbers that say so.
func worst(f *slo.File, dimension string) *table.PanelBuilder {
	const window = 24 * time.Hour
	columns := []struct {
		name, unit, expression string
	}{
		{"Error ratio", ratio, rules.WorstSegments(f, nil, dimension, window, worstShown)},
		{"Bad", count, rules.SegmentBad(f, nil, dimension, window)},
		{"Events", count, rules.SegmentEvents(f, nil, dimension, window)},
		{"Evidence", nats, rules.SegmentEvidence(f, nil, dimension, window)},
	}
	rename := map[string]string{"slo": "SLO", dimension: "By " + dimension}
	var queries []query
	for i, c := range columns {
		queries = append(queries, query{c.expression, ""})
		rename["Value #"+refID(i)] = c.name
	}
	p := list(what{"Worst by " + dimension + ", last 24 hours", "none",
		fmt.Sprintf("The values of %s that spend an error budget too fast, at most %d, the highest error ratio first: only those with at least two bad events and evidence of %s nats, because one bad run of one is 100%% and proves nothing. An empty table is good news.", dimension, worstShown, rules.EvidenceNeeded)},
		queries...).
		WithTransformation(dashboard.DataTransformerConfig{Id: "filterFieldsByName", Options: map[string]any{
			"exclude": map[string]any{"names": []string{"Time", "__name__"}}}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: map[string]any{}}).
		WithTransformation(dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
			"indexByName": map[string]int{"slo": 0, dimension: 1}, "renameByName": rename,
		}}).
		// Only the first column knows which values are the worst.
		WithTransformation(dashboard.DataTransformerConfig{Id: "filterByValue", Options: map[string]any{
			"type": "include", "match": "all",
			"filters": []any{map[string]any{"fieldName": "Error ratio", "config": map[string]any{"id": "isNotNull", "options": map[string]any{}}}},
		}}).
		SortBy([]cogSort{common.NewTableSortByFieldStateBuilder().DisplayName("Error ratio").Desc(true)}).
		NoValue("none is proven")
	for _, c := range columns {
		p.OverrideByName(c.name, []dashboard.DynamicConfigValue{property("unit", c.unit), property("custom.align", "right")})
	}
	return p
}

// predicted holds the completion of runs against that of their steps.
func predicted(b *board, f *slo.File) {
	scopes, o := rules.StepScopes(f), rules.Completion(f)
	if len(scopes) == 0 {
		return
	}
	window := day(f)
	queries := []query{{rules.SuccessRatio(f, o, window), "measured" + agentSuffix(f)}}
	for _, scope := range scopes {
		queries = append(queries, query{rules.Predicted(f, scope, window), "predicted from " + map[slo.Scope]string{slo.ScopeTool: "tool calls", slo.ScopeAgent: "sub-agents"}[scope]})
	}
	b.add(graph(what{"Completion, measured and predicted from steps", ratio,
		fmt.Sprintf("Share of runs that came to a good end during the %s before each point, and what their steps alone would make of it: the product of (1 − error ratio) ^ (calls a run) over all tools, or sub-agents. It takes steps to fail independently and each failure to fail the run. Measured above predicted is what retries win back; below it, runs fail for other reasons than their steps.", rules.Duration(window))},
		queries...).Max(1).OverrideByRegexp("/^predicted/", dashed()), 24, 8)
}
