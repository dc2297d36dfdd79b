package page

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

func newCard(v *gate.Verdict, file *slo.File, o *slo.Objective) card {
	c := card{
		ID:   strings.Join([]string{v.Service, v.Environment, v.SLO, splitValue(v)}, "/"),
		Name: v.SLO, Sentence: sentence(o), Status: statusBadge(v.Status), Why: v.Why, Notes: v.Notes,
		NoEvents: v.Good+v.Bad == 0, Silent: v.Good+v.Bad+v.Unknown+v.Excluded == 0,
	}
	if o.SLI != v.SLO {
		c.Kind = o.SLI
	}
	if v.Split != nil {
		c.Split = v.Split.By + " " + v.Split.Value
	}
	if file.Environment == "" && v.Environment != "" {
		c.Split = strings.TrimSpace(v.Environment + " " + c.Split)
	}
	c.Left = percent(v.Remaining.Decimal)
	if !c.NoEvents {
		c.Range = percent(v.Interval[0].Decimal) + " to " + percent(v.Interval[1].Decimal)
		c.Bar = newBar(v)
	}
	for _, t := range []struct {
		class, text string
		n           int64
	}{{"good", "good", v.Good}, {"bad", "bad", v.Bad}, {"unknown", "unknown", v.Unknown}, {"excluded", "excluded", v.Excluded}} {
		c.Tallies = append(c.Tallies, tally{t.class, t.text, count(t.n)})
	}
	c.Events = segments(v)
	for _, b := range v.BurnRate {
		one := burn{Window: b.Window, Rate: times(b.Rate.Decimal), Class: "good"}
		if b.Rate.GreaterThan(decimal.NewFromInt(1)) {
			one.Class = "bad"
		}
		c.Burn = append(c.Burn, one)
	}
	for _, p := range v.Predicted {
		c.Predicted = append(c.Predicted, fmt.Sprintf("%s measured, %s predicted from %s", percent(one.Sub(v.ErrorRatio.Decimal)), percent(p.Success.Decimal), stepWords[p.Scope]))
	}
	if v.ExhaustedIn != nil && *v.ExhaustedIn > 0 {
		c.Exhausted = "used up in " + span(time.Duration(*v.ExhaustedIn)*time.Second) + " at this rate"
	}
	return c
}

var stepWords = map[slo.Scope]string{slo.ScopeTool: "tool calls", slo.ScopeAgent: "sub-agents"}

// silentCard is the card of an SLO before the first run.
func silentCard(file *slo.File, o *slo.Objective) card {
	c := card{
		ID: strings.Join([]string{file.Service, file.Environment, o.Name}, "/"), Name: o.Name, Sentence: sentence(o),
		Status: badge{"dim", "no runs yet"}, NoEvents: true, Silent: true,
	}
	if o.SLI != o.Name {
		c.Kind = o.SLI
	}
	return c
}

// reasons lists the bad events of each SLO of a file by reason, most first.
func (s *Sources) reasons(ctx context.Context, file *slo.File, now time.Time) map[string][]reason {
	list := map[string][]reason{}
	windows := rules.Windows(file)
	for i := range file.SLOs {
		o := &file.SLOs[i]
		found, err := s.Engine.Instant(ctx, rules.Reasons(file, o, windows[len(windows)-1]), now)
		if err != nil || len(found) == 0 {
			continue
		}
		most := found[0].F
		for _, r := range found {
			list[o.Name] = append(list[o.Name], reason{
				Name: words(r.Metric.Get("reason")), Count: count(int64(r.F)), Width: max(2, int(100*r.F/most)),
			})
		}
	}
	return list
}

const badRunsShown = 5

// badRuns lists the traces of the last bad runs, newest first.
func (s *Sources) badRuns(ctx context.Context, file *slo.File, v *gate.Verdict, now time.Time) []badRun {
	if v.Bad == 0 {
		return nil
	}
	equal := func(name, value string) *labels.Matcher {
		return labels.MustNewMatcher(labels.MatchEqual, name, value)
	}
	matchers := []*labels.Matcher{
		equal(model.MetricNameLabel, "agentslo_events_total"),
		equal("slo_service", file.Service), equal("slo", v.SLO), equal("verdict", slo.Bad.String()),
	}
	if v.Environment != "" { // else the SLO counts over all of them
		matchers = append(matchers, equal("environment", v.Environment))
	}
	if v.Split != nil && v.Split.By == "agent" {
		matchers = append(matchers, equal("agent", v.Split.Value))
	}
	found, err := s.Engine.Exemplars(ctx, now.Add(-historyLength), matchers...)
	if err != nil {
		return nil
	}
	type run struct {
		id string
		at int64
	}
	var runs []run
	for _, series := range found {
		for _, e := range series.Exemplars {
			if id := e.Labels.Get("trace_id"); id != "" && !slices.ContainsFunc(runs, func(r run) bool { return r.id == id }) {
				runs = append(runs, run{id, e.Ts})
			}
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return int(b.at - a.at) })
	var list []badRun
	for _, r := range runs[:min(len(runs), badRunsShown)] {
		one := badRun{ID: r.id, Short: r.id, When: ago(now, time.UnixMilli(r.at))}
		if len(r.id) > 16 {
			one.Short = r.id[:8] + "…" + r.id[len(r.id)-4:]
		}
		if s.TraceURL != "" {
			one.URL = strings.ReplaceAll(s.TraceURL, "{trace_id}", r.id)
		}
		list = append(list, one)
	}
	return list
}

// bar is the budget as a bar: full is untouched, empty is used up. Numbers are
// percent of its width.
type bar struct {
	Class           string
	Left            string // filled
	RangeX, RangeTo string // the 95% interval
	Overspent       bool
}

func newBar(v *gate.Verdict) bar {
	clamp := func(d decimal.Decimal) decimal.Decimal { return decimal.Max(decimal.Zero, decimal.Min(d, one)) }
	b := bar{Class: statusBadge(v.Status).Class, Overspent: v.Remaining.Sign() < 0}
	b.Left = clamp(v.Remaining.Decimal).Mul(hundred).StringFixed(2)
	low, high := clamp(v.Interval[0].Decimal), clamp(v.Interval[1].Decimal)
	b.RangeX = low.Mul(hundred).StringFixed(2)
	b.RangeTo = high.Mul(hundred).StringFixed(2)
	return b
}

// segment is a part of the bar of events. Numbers are percent of its width.
type segment struct{ Class, X, Width, Title string }

// segments splits the bar by verdict. Failures among many runs would be
// thinner than a line: what is there is at least wide enough to be seen.
func segments(v *gate.Verdict) []segment {
	counts := []struct {
		class string
		n     int64
	}{{"good", v.Good}, {"bad", v.Bad}, {"unknown", v.Unknown}, {"excluded", v.Excluded}}
	all := v.Good + v.Bad + v.Unknown + v.Excluded
	if all == 0 {
		return nil
	}
	const least = 1.5
	widths, sum := make([]float64, len(counts)), 0.0
	for i, c := range counts {
		if c.n > 0 {
			widths[i] = max(least, 100*float64(c.n)/float64(all))
			sum += widths[i]
		}
	}
	var list []segment
	x := 0.0
	for i, c := range counts {
		if c.n == 0 {
			continue
		}
		w := widths[i] * 100 / sum
		share := decimal.NewFromInt(c.n).Div(decimal.NewFromInt(all))
		list = append(list, segment{c.class, fmt.Sprintf("%.2f", x), fmt.Sprintf("%.2f", w), fmt.Sprintf("%s %s (%s)", count(c.n), c.class, percent(share))})
		x += w
	}
	return list
}
