package backtest

import (
	"context"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentslo/agentslo/rules"
)

// The chart's size in pixels.
const (
	chartWidth  = 1200
	marginLeft  = 150
	marginRight = 20
	panelHeight = 220
	rowHeight   = 22
)

// chart draws panels below each other over one axis of time.
type chart struct {
	strings.Builder
	from, to time.Time
	y        float64 // the top of the next panel
}

func (c *chart) x(at time.Time) float64 {
	share := float64(at.Sub(c.from)) / float64(c.to.Sub(c.from))
	return marginLeft + min(max(share, 0), 1)*(chartWidth-marginLeft-marginRight)
}

func (c *chart) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

func (c *chart) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

const chartStyle = `<style>
svg { --ink: #1f2328; --dim: #59636e; --grid: #d8dee4; --paper: #ffffff; --shade: #f3d9d6;
  --s0: #0b6bcb; --s1: #b35900; --s2: #6f42c1; --s3: #1a7f5a; --page: #c62828; --ticket: #b07800; --good: #1a7f5a;
  font: 13px system-ui, sans-serif; background: var(--paper); }
@media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --dim: #9198a1; --grid: #30363d; --paper: #0d1117; --shade: #4a2523;
  --s0: #58a6ff; --s1: #f0a35e; --s2: #bc8cff; --s3: #4cc38a; --page: #ff6b64; --ticket: #e3b341; --good: #4cc38a; } }
text { fill: var(--ink); } .dim { fill: var(--dim); font-size: 12px; } .title { font-size: 17px; font-weight: 600; } .head { font-weight: 600; }
.grid { stroke: var(--grid); } .shade { fill: var(--shade); } .zero { stroke: var(--dim); }
.c0, .c1, .c2, .c3 { fill: none; stroke-width: 1.6; } .t0, .t1, .t2, .t3 { stroke-dasharray: 6 4; stroke-width: 1.2; }
.c0, .t0 { stroke: var(--s0); } .c1, .t1 { stroke: var(--s1); } .c2, .t2 { stroke: var(--s2); } .c3, .t3 { stroke: var(--s3); }
.k0 { fill: var(--s0); } .k1 { fill: var(--s1); } .k2 { fill: var(--s2); } .k3 { fill: var(--s3); }
.budget { fill: none; stroke: var(--good); stroke-width: 1.8; } .page { fill: var(--page); } .ticket { fill: var(--ticket); }
.false { fill-opacity: 0.35; stroke-width: 1.5; } .page.false { stroke: var(--page); } .ticket.false { stroke: var(--ticket); }
</style>
`

// WriteSVG draws the error ratio of each long window with its thresholds, the
// budget that is left, and the alerts.
func (r *Report) WriteSVG(ctx context.Context, w io.Writer) error {
	c := &chart{from: r.From, to: r.To, y: 64}
	f, o := r.test.File, r.test.Objective
	if err := c.ratios(ctx, r); err != nil {
		return err
	}
	left, err := r.replay.Query(ctx, rules.BudgetRemaining(f, o), r.test.Step)
	if err != nil {
		return err
	}
	c.budget(r, left)
	c.alerts(r)
	c.axis()

	height := c.y + 16
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" width="%d" height="%.0f" role="img" aria-label="Backtest of %s">`+"\n",
		chartWidth, height, chartWidth, height, html.EscapeString(r.name()))
	out.WriteString(chartStyle)
	fmt.Fprintf(&out, `<rect width="%d" height="%.0f" fill="var(--paper)"/>`+"\n", chartWidth, height)
	fmt.Fprintf(&out, `<text x="16" y="28" class="title">%s</text>`+"\n", html.EscapeString(r.name()+": "+rules.Sentence(o)))
	spent := "unknown"
	if r.BudgetSpent != nil {
		spent = percentText(*r.BudgetSpent)
	}
	fmt.Fprintf(&out, `<text x="16" y="48" class="dim">%s</text>`+"\n", html.EscapeString(fmt.Sprintf("%s to %s UTC · %.0f runs, %.0f bad · %s of the budget of %s spent at the end",
		r.From.Format("2006-01-02 15:04"), r.To.Format("2006-01-02 15:04"), r.Good+r.Bad, r.Bad, spent, r.Window)))
	out.WriteString(c.String())
	out.WriteString("</svg>\n")
	_, err = io.WriteString(w, out.String())
	return err
}

// WriteHTML is a page with the chart and a table of the alerts.
func (r *Report) WriteHTML(ctx context.Context, w io.Writer) error {
	var svg, page strings.Builder
	if err := r.WriteSVG(ctx, &svg); err != nil {
		return err
	}
	fmt.Fprintf(&page, `<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Backtest of %s</title>
<style>:root { color-scheme: light dark } body { font: 14px system-ui, sans-serif; margin: 24px; } svg { max-width: 100%%; height: auto }
table { border-collapse: collapse; margin-top: 16px } th, td { text-align: left; padding: 4px 14px 4px 0; border-bottom: 1px solid #8884 } td { font-variant-numeric: tabular-nums }</style>
`, html.EscapeString(r.name()))
	page.WriteString(svg.String())
	page.WriteString("<table><tr><th>Rules<th>Alert<th>Severity<th>Start (UTC)<th>Lasted<th>Budget spent<th></tr>\n")
	for _, rs := range r.Rules {
		for _, a := range rs.Alerts {
			verdict := ""
			if a.False != nil && *a.False {
				verdict = "false"
			}
			fmt.Fprintf(&page, "<tr><td>%s<td>%s<td>%s<td>%s<td>%s<td>%s<td>%s</tr>\n", rs.Rules, html.EscapeString(a.Name()), html.EscapeString(a.Severity),
				a.Start.Format("2006-01-02 15:04"), a.Lasted(r.To), a.Spent(), verdict)
		}
	}
	page.WriteString("</table></html>\n")
	_, err := io.WriteString(w, page.String())
	return err
}

func (r *Report) name() string {
	name := r.Service + " " + r.SLO
	if r.Environment != "" {
		name += " (" + r.Environment + ")"
	}
	return name
}

// Name is the alert's tier, or its name where it has none.
func (a Alert) Name() string {
	name := a.Tier
	if name == "" {
		name = a.Alert
	}
	if a.Agent != "" && a.Agent != defaultAgent {
		name += " " + a.Agent
	}
	return name
}

// Lasted says how long it fired, up to the end of the backtest.
func (a Alert) Lasted(end time.Time) string {
	if a.End == nil {
		return durationText(end.Sub(a.Start)) + ", still firing"
	}
	return durationText(a.End.Sub(a.Start))
}

// Spent says what was spent when it began and when it ended.
func (a Alert) Spent() string {
	if a.BudgetSpent == nil || a.BudgetSpentAtEnd == nil {
		return ""
	}
	return percentText(*a.BudgetSpent) + " → " + percentText(*a.BudgetSpentAtEnd)
}

func percentText(share float64) string {
	p := share * 100
	if math.Abs(p) < 9.95 {
		return fmt.Sprintf("%.1f%%", p)
	}
	return fmt.Sprintf("%.0f%%", p)
}

func durationText(d time.Duration) string {
	d = d.Round(time.Minute)
	days, hours, minutes := int(d/(24*time.Hour)), int(d/time.Hour)%24, int(d/time.Minute)%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd %dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh %dm", hours, minutes)
	}
	return fmt.Sprintf("%dm", minutes)
}

// panel draws a frame with a scale from low to high and gives the place of a value.
func (c *chart) panel(r *Report, title string, low, high float64, ticks []float64, scale func(float64) float64) func(float64) float64 {
	top, bottom := c.y+26, c.y+26+panelHeight
	c.text(16, c.y+14, "head", "start", title)
	c.days(top, bottom)
	for _, i := range r.test.Incidents {
		a, b := c.x(i.Start), c.x(i.End)
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" class="shade"><title>incident</title></rect>`+"\n", a, top, max(b-a, 1), panelHeight)
	}
	place := func(v float64) float64 {
		return bottom - (scale(min(max(v, low), high))-scale(low))/(scale(high)-scale(low))*panelHeight
	}
	for _, v := range ticks {
		if v < low || v > high {
			continue
		}
		c.line(marginLeft, place(v), chartWidth-marginRight, place(v), "grid")
		c.text(marginLeft-8, place(v)+4, "dim", "end", fmt.Sprintf("%.4g%%", math.Round(v*1e4)/1e2))
	}
	c.y = bottom + 18
	return place
}

func identity(v float64) float64 { return v }

// even are round values from low to high, 0 among them.
func even(low, high float64) (ticks []float64) {
	step := niceStep((high - low) / 5)
	for i := math.Ceil(low / step); i*step <= high*(1+1e-9); i++ {
		ticks = append(ticks, i*step+0) // not -0
	}
	return ticks
}

func niceStep(rough float64) float64 {
	size := math.Pow(10, math.Floor(math.Log10(rough)))
	for _, m := range []float64{1, 2, 5} {
		if m*size >= rough {
			return m * size
		}
	}
	return 10 * size
}

// path joins points, at most one pixel apart: of those that share a pixel, the
// least and the largest.
func (c *chart) path(points []Point, place func(float64) float64, class string) {
	var b strings.Builder
	command := "M"
	for i := 0; i < len(points); {
		x := math.Floor(c.x(points[i].Time))
		low, high, last := math.Inf(1), math.Inf(-1), 0.0
		for ; i < len(points) && math.Floor(c.x(points[i].Time)) == x; i++ {
			low, high, last = min(low, points[i].Value), max(high, points[i].Value), points[i].Value
		}
		values := []float64{low, high, last}
		for _, v := range slices.Compact(values) {
			fmt.Fprintf(&b, "%s%.0f %.1f", command, x, place(v))
			command = "L"
		}
	}
	if b.Len() > 0 {
		fmt.Fprintf(c, `<path d="%s" class="%s"/>`+"\n", b.String(), class)
	}
}

func (c *chart) ratios(ctx context.Context, r *Report) error {
	f, o := r.test.File, r.test.Objective
	budget, _ := o.Budget().Float64()
	windows := longWindows(f, o)
	lines := make([][]Line, len(windows))
	highest := budget * 1.2
	for i, w := range windows {
		var err error
		if lines[i], err = r.replay.Query(ctx, rules.ErrorRatio(f, o, w), r.test.Step); err != nil {
			return err
		}
		for _, l := range lines[i] {
			for _, p := range l.Points {
				highest = max(highest, p.Value)
			}
		}
	}
	tiers := rules.Tiers(f, o)
	for _, t := range tiers {
		v, _ := t.Threshold.Float64()
		highest = max(highest, min(v*1.1, 1))
	}
	// The root of the ratio, so that the thresholds of slow tiers are not all one line.
	place := c.panel(r, "Error ratio", 0, min(highest*1.02, 1), []float64{0, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1}, math.Sqrt)
	for i := range windows {
		for _, l := range lines[i] {
			c.path(l.Points, place, fmt.Sprintf("c%d", i%4))
		}
	}
	c.text(marginLeft, place(0)-panelHeight-12, "dim", "start", "by window; dashed: the threshold of its tier")
	x := float64(chartWidth - marginRight)
	for i := len(windows) - 1; i >= 0; i-- {
		label := rules.Duration(windows[i])
		for _, t := range tiers {
			if t.Long == windows[i] {
				v, _ := t.Threshold.Float64()
				c.line(marginLeft, place(v), chartWidth-marginRight, place(v), fmt.Sprintf("t%d", i%4))
				label += fmt.Sprintf(" (%s, %s%%)", t.Name, t.Threshold.Shift(2))
			}
		}
		x -= float64(len(label))*6.7 + 10
		top := place(0) - panelHeight - 12
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="10" height="10" class="k%d"/>`+"\n", x, top-9, i%4)
		c.text(x+14, top, "dim", "start", label)
		x -= 18
	}
	return nil
}

func (c *chart) budget(r *Report, left []Line) {
	low := 0.0
	for _, l := range left {
		for _, p := range l.Points {
			low = min(low, p.Value)
		}
	}
	low = max(low*1.05, -20)
	place := c.panel(r, "Error budget left", low, 1, even(low, 1), identity)
	c.line(marginLeft, place(0), chartWidth-marginRight, place(0), "zero")
	for _, l := range left {
		c.path(l.Points, place, "budget")
	}
}

func (c *chart) alerts(r *Report) {
	c.text(16, c.y+14, "head", "start", "Alerts")
	c.text(marginLeft, c.y+14, "dim", "start", "red: page; yellow: ticket; pale: the objective was met")
	c.y += 26
	for _, rs := range r.Rules {
		rows := []string{}
		for _, a := range rs.Alerts {
			if !slices.Contains(rows, a.Severity+"\x00"+a.Name()) {
				rows = append(rows, a.Severity+"\x00"+a.Name())
			}
		}
		slices.Sort(rows)
		if len(rows) == 0 {
			c.text(marginLeft-8, c.y+15, "dim", "end", rs.Rules)
			c.text(marginLeft, c.y+15, "dim", "start", "none")
			c.y += rowHeight
		}
		for _, row := range rows {
			severity, name, _ := strings.Cut(row, "\x00")
			label := name
			if rs.Rules == workbookRules {
				label = "workbook " + name
			}
			c.text(marginLeft-8, c.y+15, "dim", "end", label)
			c.line(marginLeft, c.y+rowHeight, chartWidth-marginRight, c.y+rowHeight, "grid")
			for _, a := range rs.Alerts {
				if a.Name() != name || a.Severity != severity {
					continue
				}
				end := r.To
				if a.End != nil {
					end = *a.End
				}
				class := "ticket"
				if severity == rules.SeverityPage {
					class = "page"
				}
				if a.False != nil && *a.False {
					class += " false"
				}
				fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" class="%s"><title>%s</title></rect>`+"\n", c.x(a.Start), c.y+4, max(c.x(end)-c.x(a.Start), 2), rowHeight-8, class,
					html.EscapeString(fmt.Sprintf("%s from %s for %s, budget spent %s", name, a.Start.Format("2006-01-02 15:04"), a.Lasted(r.To), a.Spent())))
			}
			c.y += rowHeight
		}
	}
	c.y += 6
}

// axis labels the bottom.
func (c *chart) axis() {
	every, layout := c.every()
	for at := c.first(every); !at.After(c.to); at = at.Add(every) {
		c.text(c.x(at), c.y+16, "dim", "middle", at.Format(layout))
	}
	c.y += 22
}

// days draws the times that the axis names.
func (c *chart) days(top, bottom float64) {
	every, _ := c.every()
	for at := c.first(every); !at.After(c.to); at = at.Add(every) {
		c.line(c.x(at), top, c.x(at), bottom, "grid")
	}
}

func (c *chart) first(every time.Duration) time.Time {
	at := c.from.Truncate(every)
	if at.Before(c.from) {
		at = at.Add(every)
	}
	return at
}

// every is the distance of labels that leaves room for them.
func (c *chart) every() (d time.Duration, layout string) {
	for _, d = range []time.Duration{time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 120 * time.Hour, 240 * time.Hour, 720 * time.Hour} {
		if c.to.Sub(c.from)/d <= 14 {
			break
		}
	}
	if d < 24*time.Hour {
		return d, "Jan 2 15:04"
	}
	return d, "Jan 2"
}
