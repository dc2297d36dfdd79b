package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
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

// worst has a table for each dimension of the file that has events: what
// [rules.WorstSegments] would say, from one look at the counters.
func (s *Sources) worst(ctx context.Context, file *slo.File, now time.Time) (tables []worst) {
	names := make([]string, 0, len(file.Dimensions)+1)
	for _, d := range file.Dimensions {
		names = append(names, d.Name)
	}
	if file.HasScope(slo.ScopeTool) {
		names = append(names, slo.DimensionTool)
	}
	for _, name := range names {
		found, err := s.Engine.Instant(ctx, rules.SegmentVerdicts(file, nil, name, worstWindow), now)
		if err != nil || len(found) == 0 {
			continue
		}
		tables = append(tables, worst{By: name, Rows: worstOf(file, name, found)})
	}
	return tables
}

// part is the events of one value of a dimension.
type part struct {
	objective *slo.Objective
	value     string
	good, bad float64
}

func (p *part) ratio() float64 { return p.bad / (p.good + p.bad) }

func worstOf(file *slo.File, dimension string, found promql.Vector) (rows []worstRow) {
	parts := map[[2]string]*part{}
	for _, x := range found {
		o, value := file.Objective(x.Metric.Get(rules.LabelSLO)), x.Metric.Get(dimension)
		if o == nil {
			continue
		}
		p := parts[[2]string{o.Name, value}]
		if p == nil {
			p = &part{objective: o, value: value}
			parts[[2]string{o.Name, value}] = p
		}
		if x.Metric.Get(rules.LabelVerdict) == slo.Bad.String() {
			p.bad += x.F
		} else {
			p.good += x.F
		}
	}
	var list []*part
	for _, p := range parts {
		if rules.Proven(p.objective, p.good, p.bad) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *part) int {
		return cmp.Or(cmp.Compare(b.ratio(), a.ratio()), cmp.Compare(b.bad, a.bad), strings.Compare(a.objective.Name, b.objective.Name), strings.Compare(a.value, b.value))
	})
	for _, p := range list[:min(len(list), worstRows)] {
		rows = append(rows, worstRow{
			SLO: p.objective.Name, Value: segmentName(p.value), Ratio: percent(decimal.NewFromFloat(p.ratio())),
			Counts: fmt.Sprintf("%s of %s", count(int64(p.bad)), count(int64(p.good+p.bad))), Width: max(2, int(100*p.ratio())),
		})
	}
	return rows
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
