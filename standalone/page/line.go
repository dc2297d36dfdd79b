package page

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// line is the budget left over time, in a box of 300 by 48.
type line struct {
	Paths      []string // points of polylines: one for each stretch without a gap
	Areas      []string
	ZeroY      string // where the budget is used up; "" if outside the box
	From       string
	Top, Floor string // what the box's edges mean
}

const (
	lineWidth, lineHeight = 300.0, 48.0
	linePoints            = 120
	// lineFloor bounds the picture of an overspent budget.
	lineFloor = -1.0
)

// lines draws the budget of every SLO of a file, by [keyOf] its card.
func (s *Sources) lines(ctx context.Context, file *slo.File, now time.Time) map[string]line {
	drawn := map[string]line{}
	first, ok := s.Engine.Since()
	if !ok {
		return drawn
	}
	windows := rules.Windows(file)
	from := now.Add(-windows[len(windows)-1])
	if first.After(from) {
		from = first
	}
	length := now.Sub(from)
	if length < 10*time.Second {
		return drawn
	}
	step := max(length/linePoints, time.Second).Truncate(time.Millisecond)
	found, err := s.Engine.Range(ctx, rules.BudgetRemaining(file, nil), from, now, step)
	if err != nil {
		return drawn
	}
	// The rules may be younger than the oldest sample: the picture begins with them.
	begin := now
	for _, series := range found {
		if len(series.Floats) > 0 {
			begin = earlier(begin, time.UnixMilli(series.Floats[0].T))
		}
	}
	if begin.Sub(from) > 2*step {
		from, length = begin, now.Sub(begin)
	}
	for _, series := range found {
		l := series.Metric
		one := draw(series.Floats, from, now, step)
		one.From = span(length) + " ago"
		drawn[keyOf(file.Service, l.Get("environment"), l.Get("slo"), l.Get("agent"))] = one
	}
	return drawn
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func draw(points []promql.FPoint, from, to time.Time, step time.Duration) line {
	low := 0.0
	for _, p := range points {
		if !math.IsNaN(p.F) {
			low = min(low, p.F)
		}
	}
	low = max(low, lineFloor)
	l := line{Top: "100%", Floor: percentFloat(low)}
	y := func(v float64) float64 {
		v = max(low, min(v, 1))
		return 1 + (lineHeight-2)*(1-v)/(1-low)
	}
	x := func(ms int64) float64 {
		return lineWidth * float64(ms-from.UnixMilli()) / float64(max(1, to.Sub(from).Milliseconds()))
	}
	if low < 0 {
		l.ZeroY = fmt.Sprintf("%.1f", y(0))
	}
	var stretch []string
	var firstX, lastX float64
	var lastT int64
	finish := func() {
		if len(stretch) > 1 {
			path := strings.Join(stretch, " ")
			l.Paths = append(l.Paths, path)
			base := y(0)
			l.Areas = append(l.Areas, fmt.Sprintf("%.1f,%.1f %s %.1f,%.1f", firstX, base, path, lastX, base))
		}
		stretch = nil
	}
	for _, p := range points {
		if math.IsNaN(p.F) {
			finish()
			continue
		}
		if len(stretch) > 0 && p.T-lastT > 2*step.Milliseconds() {
			finish()
		}
		if len(stretch) == 0 {
			firstX = x(p.T)
		}
		lastX, lastT = x(p.T), p.T
		stretch = append(stretch, fmt.Sprintf("%.1f,%.1f", lastX, y(p.F)))
	}
	finish()
	return l
}

func percentFloat(v float64) string { return minus(fmt.Sprintf("%.0f%%", 100*v)) }
