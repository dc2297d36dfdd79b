package backtest

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// WriteQuality writes measured qualities, as [MeasureQuality] orders them, as
// Markdown tables: pages, workbook → generated rules, and what else the
// generated rules do. Estimates that miss the bar are bold.
func WriteQuality(w io.Writer, all []Quality) error {
	var b strings.Builder
	b.WriteString("| objective, runs | false pages in 30 d at exactly the budget | at half the budget | minutes to page at 100% failing | theory, bar | at 50% failing | theory, bar | meets the bar |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|\n")
	for i := 0; i+1 < len(all); i += 2 {
		b.WriteString(QualityRow(all[i], all[i+1]) + "\n")
	}
	fmt.Fprintf(&b, "\n| objective, runs | false tickets in 30 d at exactly the budget | at half the budget | days to a ticket at %g× the budget | of the month's budget spent by then | an outage pages | minutes from its end until nothing pages |\n", SlowBurn)
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for i := 0; i+1 < len(all); i += 2 {
		b.WriteString(TicketRow(all[i]) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// QualityRow is the row of one cell.
func QualityRow(own, workbook Quality) string {
	c := own.Cell
	meets := "yes"
	if !own.Meets() {
		meets = "**no**"
	}
	return fmt.Sprintf("| %s | %s → %s | %s | %s → %s | %s, %s | %s → %s | %s, %s | %s |", c,
		alarms(workbook.AtBudget, math.Inf(1)), alarms(own.AtBudget, MostFalsePages),
		alarms(own.AtHalf, MostFalsePagesAtHalf),
		detection(workbook.All, Never), detection(own.All, c.Bar(1)), minutes(c.Theory(1)), minutes(c.Bar(1)),
		detection(workbook.Half, Never), detection(own.Half, c.Bar(0.5)), minutes(c.Theory(0.5)), minutes(c.Bar(0.5)), meets)
}

// TicketRow is what else the generated rules do in a cell: tickets, and what
// becomes of a page.
func TicketRow(q Quality) string {
	days := func(d time.Duration) string {
		if d == Never {
			return "never"
		}
		return fmt.Sprintf("%.1f", d.Hours()/24)
	}
	slow, spent := fmt.Sprintf("%s (%s–%s)", days(q.Slow.Median), days(q.Slow.Low), days(q.Slow.High)), "all of it"
	if q.Slow.Median != Never {
		spent = fmt.Sprintf("%.0f%%", 100*float64(q.Slow.Median)/float64(slowFor))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %.1f times | %s |", q.Cell, alarms(q.TicketsAtBudget, math.Inf(1)), alarms(q.TicketsAtHalf, math.Inf(1)),
		slow, spent, q.Recovery.Pages, minutes(q.Recovery.Reset))
}

func alarms(f False, most float64) string {
	return bold(fmt.Sprintf("%.2f", f.PerMonth()), f.PerMonth() > most) + fmt.Sprintf(" (%.2f–%.2f)", f.Low, f.High)
}

func detection(d Detection, bar time.Duration) string {
	text := bold(minutes(d.Median), d.Median > bar) + fmt.Sprintf(" (%s–%s)", minutes(d.Low), minutes(d.High))
	if d.Missed > 0 {
		text += fmt.Sprintf(", %d of %d never", d.Missed, d.Repetitions)
	}
	return text
}

func bold(text string, yes bool) string {
	if yes {
		return "**" + text + "**"
	}
	return text
}

func minutes(d time.Duration) string {
	if d == Never {
		return "never"
	}
	if d < 10*time.Minute {
		return fmt.Sprintf("%.1f", d.Minutes())
	}
	return fmt.Sprintf("%.0f", d.Minutes())
}
