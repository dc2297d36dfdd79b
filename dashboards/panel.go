package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/bargauge"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Units that the panels show.
const (
	ratio   = "percentunit" // 0 to 1
	count   = "short"
	seconds = "s"
	dollars = "currencyUSD"
	times   = "suffix:×" // of the tolerated rate
	nats    = "none"     // log-likelihood ratio
)

// Colours, by what they mean.
const (
	green, yellow, orange, red, blue, grey = "green", "yellow", "orange", "red", "blue", "#8e8e8e"
)

// what is a panel's title, unit and description: none has one without the others.
type what struct {
	title, unit, description string
}

// query is one PromQL expression and how its series are called.
type query struct {
	expr, legend string
}

func datasource() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// targets are the queries over the dashboard's time range.
func targets(queries []query) []cog.Builder[variants.Dataquery] {
	return numbered(queries, func(q *prometheus.DataqueryBuilder) { q.Range().Format(prometheus.PromQueryFormatTimeSeries) })
}

// instant are the queries at the end of the dashboard's time range.
func instant(queries []query, format prometheus.PromQueryFormat) []cog.Builder[variants.Dataquery] {
	return numbered(queries, func(q *prometheus.DataqueryBuilder) { q.Instant().Format(format) })
}

func numbered(queries []query, kind func(*prometheus.DataqueryBuilder)) []cog.Builder[variants.Dataquery] {
	var list []cog.Builder[variants.Dataquery]
	for i, q := range queries {
		target := prometheus.NewDataqueryBuilder().RefId(refID(i)).Datasource(datasource()).Expr(q.expr).LegendFormat(q.legend).EditorMode(prometheus.QueryEditorModeCode)
		kind(target)
		list = append(list, target)
	}
	return list
}

func refID(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return fmt.Sprintf("%s%d", refID(i%26), i/26)
}

// graph is a chart over time.
func graph(w what, queries ...query) *timeseries.PanelBuilder {
	return timeseries.NewPanelBuilder().
		Title(w.title).Description(w.description).Unit(w.unit).
		Datasource(datasource()).Targets(targets(queries)).
		LineWidth(2).FillOpacity(8).SpanNulls(common.BoolOrFloat64{Bool: cog.ToPtr(false)}).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
}

// number shows the newest value of each series.
func number(w what, queries ...query) *stat.PanelBuilder {
	return stat.NewPanelBuilder().
		Title(w.title).Description(w.description).Unit(w.unit).
		Datasource(datasource()).Targets(instant(queries, prometheus.PromQueryFormatTimeSeries)).
		ReduceOptions(newest()).TextMode(common.BigValueTextModeAuto).ColorMode(common.BigValueColorModeValue).
		GraphMode(common.BigValueGraphModeNone).NoValue("no data")
}

// bars shows the newest value of each series as a bar.
func bars(w what, queries ...query) *bargauge.PanelBuilder {
	return bargauge.NewPanelBuilder().
		Title(w.title).Description(w.description).Unit(w.unit).
		Datasource(datasource()).Targets(instant(queries, prometheus.PromQueryFormatTimeSeries)).
		ReduceOptions(newest()).Orientation(common.VizOrientationHorizontal).DisplayMode(common.BarGaugeDisplayModeBasic).
		Min(0).NoValue("none")
}

// list is a table of the newest values, a row for each label set.
func list(w what, queries ...query) *table.PanelBuilder {
	return table.NewPanelBuilder().
		Title(w.title).Description(w.description).Unit(w.unit).
		Datasource(datasource()).Targets(instant(queries, prometheus.PromQueryFormatTable)).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{"sum"})).
		NoValue("none")
}

func newest() *common.ReduceDataOptionsBuilder {
	return common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}).Values(false)
}

// steps colours values: the first colour from -∞ on, each further one from its
// value on.
func steps(base string, further ...step) *dashboard.ThresholdsConfigBuilder {
	all := []dashboard.Threshold{{Color: base}}
	for _, s := range further {
		all = append(all, dashboard.Threshold{Value: cog.ToPtr(s.from), Color: s.colour})
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(all)
}

type step struct {
	from   float64
	colour string
}

// budgetSteps: overspent, nearly spent, fine.
func budgetSteps() *dashboard.ThresholdsConfigBuilder {
	return steps(red, step{0, orange}, step{0.25, yellow}, step{0.5, green})
}

// byThreshold takes a value's colour from the panel's thresholds.
func byThreshold() *dashboard.FieldColorBuilder {
	return dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)
}

// fixed is one colour for a series, as an override's property.
func fixed(colour string) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: "color", Value: map[string]any{"mode": "fixed", "fixedColor": colour}}
}

// dashed draws a series as a limit rather than a measurement.
func dashed() []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{
		{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 8}}},
		{Id: "custom.fillOpacity", Value: 0},
		{Id: "custom.lineWidth", Value: 1},
	}
}

// property is one property of an override.
func property(id string, value any) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: id, Value: value}
}
