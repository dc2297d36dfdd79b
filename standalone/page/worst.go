package page

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// worst are the values of one dimension that certainly spend an error budget
// too fast, so that one number cannot hide the customer who waits.
type worst struct {
	By   string
	Rows []worstRow // the highest error ratio first
}

type worstRow struct {
	SLO, Value, Ratio, Counts string
	Width                     int // of 100
}

const (
	worstWindow = 24 * time.Hour
	worstRows   = 10
)

// worst has a table for each dimension of the file that has events.
func (s *Sources) worst(ctx context.Context, file *slo.File, now time.Time) (tables []worst) {
	names := make([]string, 0, len(file.Dimensions)+1)
	for _, d := range file.Dimensions {
		names = append(names, d.Name)
	}
	if file.HasScope(slo.ScopeTool) {
		names = append(names, slo.DimensionTool)
	}
	for _, name := range names {
		ask := func(query string) promql.Vector {
			v, err := s.Engine.Instant(ctx, query, now)
			if err != nil {
				return nil
			}
			return v
		}
		all := ask(rules.SegmentEvents(file, nil, name, worstWindow))
		if len(all) == 0 {
			continue
		}
		key := func(x promql.Sample) string { return keyOf(x.Metric.Get(rules.LabelSLO), x.Metric.Get(name)) }
		events, bad := map[string]int64{}, map[string]int64{}
		for _, x := range all {
			events[key(x)] = int64(x.F)
		}
		for _, x := range ask(rules.SegmentBad(file, nil, name, worstWindow)) {
			bad[key(x)] = int64(x.F)
		}
		table := worst{By: name}
		for _, x := range ask(rules.WorstSegments(file, nil, name, worstWindow, worstRows)) {
			table.Rows = append(table.Rows, worstRow{
				SLO: x.Metric.Get(rules.LabelSLO), Value: segmentName(x.Metric.Get(name)), Ratio: percent(decimal.NewFromFloat(x.F)),
				Counts: fmt.Sprintf("%s of %s", count(bad[key(x)]), count(events[key(x)])), Width: max(2, int(100*x.F)),
			})
		}
		tables = append(tables, table)
	}
	return tables
}

// segmentName is a dimension's value as people read it.
func segmentName(value string) string {
	switch value {
	case "":
		return "(none)"
	case slo.OverflowValue:
		return "(others, not told apart)"
	}
	return value
}
