package backtest

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

const oneSLO = "{apiVersion: agentslo/v1, kind: AgentSLO, service: bot, slos: {completion: {objective: 95%}}}"

// outage is twelve hours of a run every five minutes, with three of nothing but
// failures.
func outage() (rows []Row, incident Incident) {
	incident = Incident{day0.Add(6*time.Hour + time.Minute), day0.Add(9*time.Hour + time.Minute)}
	for at := day0; at.Before(day0.Add(15 * time.Hour)); at = at.Add(5 * time.Minute) {
		row := Row{Time: at}
		if at.After(incident.Start) && at.Before(incident.End) {
			row.Counts[1] = 1
		} else {
			row.Counts[0] = 1
		}
		rows = append(rows, row)
	}
	return rows, incident
}

func backtest(t *testing.T, traffic func(*slo.File, *slo.Objective) Traffic, incidents ...Incident) *Report {
	t.Helper()
	set := parse(t, oneSLO)
	f := set.Files[0]
	r, err := Test{Set: set, File: f, Objective: &f.SLOs[0], Traffic: traffic(f, &f.SLOs[0]), Start: day0.Add(-4 * time.Minute), End: day0.Add(15 * time.Hour),
		Step: time.Minute, Workbook: true, Incidents: incidents}.Run(context.Background())
	require.NoError(t, err)
	return r
}

func TestReportOfAnOutage(t *testing.T) {
	rows, incident := outage()
	r := backtest(t, func(f *slo.File, o *slo.Objective) Traffic { return Recorded(f, o, rows, 30*time.Second) }, incident)
	assert.Equal(t, 144.0, r.Good)
	assert.Equal(t, 36.0, r.Bad)
	// 36 of 180 is four times the 5% that may be bad: recorded counts are exact.
	assert.InDelta(t, 4, *r.BudgetSpent, 1e-6)

	own := r.Rules[0].Summary
	require.Equal(t, agentsloRules, r.Rules[0].Rules)
	assert.Equal(t, 1, own.Pages, "one incident, one page")
	assert.Zero(t, *own.FalsePages)
	// Five of the hour's twelve runs are above its threshold of 40%, but only 7.2
	// nats: 5·ln(8.33) + 7·ln(0.583/0.95). The sixth fails after 29 minutes: 9.96.
	assert.InDelta(t, 30, *own.PageAfter/60, 2)
	require.NotNil(t, own.ResetAfter)
	assert.Less(t, *own.ResetAfter, 90*60.0)
	first := r.Rules[0].Alerts[0]
	assert.Equal(t, rules.SeverityPage, first.Severity)
	// By then six of 79 runs were bad.
	assert.InDelta(t, 6.0/79/0.05, *first.BudgetSpent, 0.02)

	workbook := r.Rules[1].Summary
	require.NotNil(t, workbook.PageAfter)
	assert.Greater(t, *workbook.PageAfter, *own.PageAfter, "72% of an hour take longer")
}

func TestPagesWithinTheBudgetAreFalse(t *testing.T) {
	rows, _ := outage()
	elsewhere := Incident{day0.Add(14 * time.Hour), day0.Add(15 * time.Hour)}
	r := backtest(t, func(f *slo.File, o *slo.Objective) Traffic { return Recorded(f, o, rows, 30*time.Second) }, elsewhere)
	assert.Equal(t, 1, *r.Rules[0].Summary.FalsePages)
	r = backtest(t, func(f *slo.File, o *slo.Objective) Traffic { return Recorded(f, o, rows, 30*time.Second) })
	assert.Nil(t, r.Rules[0].Summary.FalsePages, "nobody said when the objective was met")
}

// served answers as a Prometheus that has scraped the storage's series.
type served struct{ storage *Storage }

func (s served) Query(_ context.Context, query string, at time.Time, _ ...promv1.Option) (model.Value, promv1.Warnings, promv1.Infos, error) {
	expr, err := promql.ParseExpr(query)
	if err != nil {
		return nil, nil, nil, err
	}
	selector := expr.(*parser.MatrixSelector)
	q, _ := s.storage.Querier(at.Add(-selector.Range).UnixMilli()+1, at.UnixMilli())
	found := q.Select(context.Background(), true, nil, selector.VectorSelector.(*parser.VectorSelector).LabelMatchers...)
	matrix := model.Matrix{}
	for found.Next() {
		stream := &model.SampleStream{Metric: model.Metric{}}
		for name, value := range found.At().Labels().Map() {
			stream.Metric[model.LabelName(name)] = model.LabelValue(value)
		}
		it := found.At().Iterator(nil)
		for it.Next() != 0 {
			t, v := it.At()
			stream.Values = append(stream.Values, model.SamplePair{Timestamp: model.Time(t), Value: model.SampleValue(v)})
		}
		matrix = append(matrix, stream)
	}
	return matrix, nil, nil, nil
}

func TestHistoryIsWhatWasScraped(t *testing.T) {
	rows, incident := outage()
	set := parse(t, oneSLO)
	f := set.Files[0]
	scraped := NewStorage()
	require.NoError(t, Recorded(f, &f.SLOs[0], rows, 30*time.Second).Scrape(context.Background(), day0, day0.Add(15*time.Hour), scraped))
	want := backtest(t, func(f *slo.File, o *slo.Objective) Traffic { return Recorded(f, o, rows, 30*time.Second) }, incident)
	got := backtest(t, func(f *slo.File, o *slo.Objective) Traffic {
		h, err := History(served{scraped}, Groups(&slo.Set{Files: []*slo.File{f}}, f, o), o)
		require.NoError(t, err)
		return h
	}, incident)
	assert.Equal(t, want.Rules, got.Rules)
	assert.Equal(t, want.Good, got.Good)
}

func TestCSV(t *testing.T) {
	rows, err := ReadCSV(strings.NewReader("2026-03-02T00:05:00Z,3,1\n1772409600,2,0\n"))
	require.NoError(t, err)
	require.Len(t, rows, 2)
	assert.Equal(t, day0, rows[0].Time, "rows may come in any order")
	assert.Equal(t, [4]float64{3, 1}, rows[1].Counts)
	rows, err = ReadCSV(strings.NewReader("\uFEFFtimestamp, excluded, bad, note, good\n2026-03-02T00:05:00Z, 7, 1, x, 3\n"))
	require.NoError(t, err)
	assert.Equal(t, [4]float64{3, 1, 0, 7}, rows[0].Counts)

	for text, want := range map[string]string{
		"":                                "no rows",
		"time,good,bad\n":                 "no rows",
		"time,good,bad\nyesterday,1,2\n":  `line 2: time "yesterday"`,
		"time,good,bad\n1772409600,1\n":   "line 2: 2 columns in place of 3",
		"time,good,bad\n1772409600,1,x\n": `line 2: bad is "x"`,
		"1772409600,1,-2\n":               `line 1: bad is "-2"`,
		"1772409600,1,0.5\n":              "whole number",
		"good,total\n1,2\n":               "must name the columns",
	} {
		_, err := ReadCSV(strings.NewReader(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestChartIsWellFormed(t *testing.T) {
	rows, incident := outage()
	r := backtest(t, func(f *slo.File, o *slo.Objective) Traffic { return Recorded(f, o, rows, 30*time.Second) }, incident)
	var svg bytes.Buffer
	require.NoError(t, r.WriteSVG(context.Background(), &svg))
	assert.NotContains(t, svg.String(), "NaN")
	paths := 0
	for d := xml.NewDecoder(&svg); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "path" {
			paths++
		}
	}
	assert.Equal(t, 5, paths, "four windows and the budget")
	var page strings.Builder
	require.NoError(t, r.WriteHTML(context.Background(), &page))
	assert.Contains(t, page.String(), "<td>page_fast")
}

func TestScenarios(t *testing.T) {
	set := parse(t, oneSLO)
	f := set.Files[0]
	for _, shapes := range [][]string{nil, {ShapeDaily}, {ShapeBursts}, {ShapeNightly}, {ShapeClumped}, {ShapeDaily, ShapeClumped}, {ShapeBursts, ShapeClumped}} {
		t.Run(strings.Join(shapes, ","), func(t *testing.T) {
			s := Scenario{Shapes: shapes, PerHour: 100, ErrorRatio: 0.05, Seed: 1, Start: day0, Scrape: 30 * time.Second}
			require.NoError(t, s.Check())
			count := func() (good, bad float64) {
				g := s.traffic(f, &f.SLOs[0], "a")
				require.NoError(t, g.Scrape(context.Background(), day0, day0.Add(30*24*time.Hour), NewStorage()))
				return g.agent.values[0], g.agent.values[1]
			}
			good, bad := count()
			// 72,000 runs: bursts of 20 make their standard deviation about 6 times 268.
			assert.InEpsilon(t, 72000, good+bad, 0.07)
			// Clumps of 5 make that of the share about 3 times 0.0008.
			assert.InDelta(t, 0.05, bad/(good+bad), 0.01)
			again, badAgain := count()
			assert.Equal(t, []float64{good, bad}, []float64{again, badAgain}, "the same seed, the same runs")
		})
	}
	assert.ErrorContains(t, Scenario{Shapes: []string{"wave"}, PerHour: 1}.Check(), "it is made of poisson")
	assert.ErrorContains(t, Scenario{Shapes: []string{ShapeDaily, ShapeBursts}, PerHour: 1}.Check(), "both say the traffic")
	assert.Error(t, Scenario{}.Check(), "no runs")
}
