package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentslo/agentslo/slo"
)

// A budget over a calendar period counts from the period's start. PromQL cannot
// look back to a time that it has computed, so the count at the start is
// carried along: [windowTotal] is what [State] had as total at the last
// evaluation before the period began, recorded anew at each evaluation.
//
// A first window is partial: it begins when the rules do, and [WindowStart]
// says when.
const (
	// WindowStart is the Unix time in seconds from which an SLO's current calendar
	// window is counted.
	WindowStart = "agentslo:budget_window:start_seconds"
	windowTotal = "agentslo:events:window_start"
	localTime   = "agentslo:budget_window:local_seconds" // wall-clock time, as if it were UTC
	localStart  = "agentslo:budget_window:local_start_seconds"
	localMonth  = "agentslo:budget_window:local_month_seconds"
	aboutStart  = "agentslo:budget_window:about_seconds" // to within a change of the clocks
	periodStart = "agentslo:budget_window:period_seconds"
)

func (s scope) calendar() bool { return s.file.Window.Calendar != "" }

// windowStart are the rules that find the current period's start and carry the
// counts at it. The period is the file's: its records have the name of the
// file's first SLO, for other files of the service may have other windows. From
// when it is counted is each SLO's own.
func (s scope) windowStart() []Rule {
	w := s.file.Window
	first := &s.file.SLOs[0]
	of := func(name string) string { return identity(name, s.file, first).String() }
	record := func(name, expr string) Rule {
		labels := identityLabels(s.file)
		labels[LabelSLO] = first.Name
		return Rule{Record: name, Expr: expr, Labels: labels}
	}
	local, start := of(localTime), of(localStart)
	back := fmt.Sprintf("(day_of_month(%s) - 1) * 86400", local)
	if w.Calendar == "week" { // from Monday on
		back = fmt.Sprintf("(day_of_week(%s) + 6) %% 7 * 86400", local)
	}
	rules := []Rule{record(localTime, "vector(time()"+offset(w, "time()", '+')+")"), record(localStart, fmt.Sprintf("%[1]s - %[1]s %% 86400 - %[2]s", local, back))}
	if w.Calendar == "quarter" {
		month := of(localMonth)
		rules[1].Record = localMonth
		// Back over the months before it in its quarter: none, one or two.
		one := fmt.Sprintf("%[1]s - (month(%[1]s) %% 3 != bool 1) * days_in_month(%[1]s - 86400) * 86400", month)
		rules = append(rules, record(localStart, fmt.Sprintf("%[2]s - (month(%[1]s) %% 3 == bool 0) * days_in_month(%[2]s - 86400) * 86400", month, "("+one+")")))
	}
	// The offset that held at the start; the clocks may have changed since.
	rules = append(rules,
		record(aboutStart, start+offset(w, start, '-')),
		record(periodStart, start+offset(w, of(aboutStart), '-')))

	own := named(identity(WindowStart, s.file, nil), objectives(s.file))
	since := fmt.Sprintf("max by (%s) (%s)", LabelSLO, before(own))
	period := "scalar(" + of(periodStart) + ")"
	// Where the period's start is new though the last evaluation lies behind it,
	// the file's window was changed: what came before is not known to belong to it.
	changed := fmt.Sprintf("max by (%s) (timestamp(%s offset 1ms)) >= %s", LabelSLO, own, period)
	rules = append(rules, Rule{Record: WindowStart, Labels: identityLabels(s.file), Expr: fmt.Sprintf(
		"%[1]s >= %[2]s\nor\n0 * (%[3]s) + time()\nor\n0 * %[1]s + %[2]s\nor\n0 * max by (%[4]s) (%[5]s) + time()",
		since, period, changed, LabelSLO, named(identity("agentslo:objective:ratio", s.file, nil), objectives(s.file)))})

	var totals []string
	for _, total := range s.totals() {
		totals = append(totals, fmt.Sprintf(`max without (%[1]s) (
  (
    %[2]s
    and %[3]s
  )
  or
  (
    max without (%[1]s) (%[4]s)
    unless %[3]s
  )
  or
  0 * max without (%[1]s) (%[5]s)
)`, labelPart, before(atWindowStart(total)), fmt.Sprintf("on (%s) (%s >= %s)", LabelSLO, since, period), before(total), total))
	}
	return append(rules, Rule{Record: windowTotal, Expr: strings.Join(totals, "\nor\n"), Labels: identityLabels(s.file)})
}

// totals select the file's counts in [State].
func (s scope) totals() (all []selector) {
	if s.file.CountsRuns() {
		all = append(all, s.events(State).equal(labelPart, "total"))
	}
	if len(s.ratios()) > 0 {
		all = append(all, named(identity(State, s.file, nil).equal(labelPart, "total"), s.ratios()))
	}
	return all
}

// before is a recorded series as the evaluation before left it, however long
// ago that was.
func before(sel selector) string {
	return fmt.Sprintf("(%[1]s offset 1ms or last_over_time(%[1]s[%[2]s] offset 1ms) or last_over_time(%[1]s[%[3]s] offset 1ms))", sel, lookBack, lookFar)
}

// sinceWindowStart is how many events were counted since the calendar window's
// start.
func sinceWindowStart(total selector) string {
	return fmt.Sprintf("clamp_min(max without (%s) (%s) - %s, 0)", labelPart, total, atWindowStart(total))
}

// atWindowStart selects the counts at the window's start for those of now.
func atWindowStart(total selector) selector {
	at := selector{metric: windowTotal}
	for _, m := range total.matchers {
		if !strings.HasPrefix(m, labelPart) {
			at.matchers = append(at.matchers, m)
		}
	}
	return at
}

// Clock changes within these years are written into the rules.
var firstYear, lastYear = 2025, 2045

// change is a change of the clocks: from a Unix time on, by so many seconds.
type change struct{ at, by int64 }

// clock is a zone's offset from UTC in seconds at the beginning of firstYear,
// and how it changes after.
func clock(w slo.Window) (offset int64, changes []change) {
	zone := w.Location
	if zone == nil {
		zone = time.UTC
	}
	t := time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC)
	_, at := t.In(zone).Zone()
	offset = int64(at)
	for t.Year() <= lastYear {
		_, end := t.In(zone).ZoneBounds()
		if end.IsZero() || end.Year() > lastYear {
			break
		}
		_, after := end.Zone()
		if after != at {
			changes = append(changes, change{end.Unix(), int64(after - at)})
		}
		at = after
		if !end.After(t) { // of some zones' far years
			end = t.Add(24 * time.Hour)
		}
		t = end
	}
	return offset, changes
}

// offset adds the zone's offset from UTC at a time to what stands before it, or
// takes it away: what it is at first, and each change of the clocks as its term.
func offset(w slo.Window, at string, sign rune) string {
	fixed, changes := clock(w)
	var b strings.Builder
	term := func(seconds int64, rest string) {
		if (seconds < 0) != (sign == '-') {
			fmt.Fprintf(&b, " - %d%s", max(seconds, -seconds), rest)
		} else {
			fmt.Fprintf(&b, " + %d%s", max(seconds, -seconds), rest)
		}
	}
	if fixed != 0 {
		term(fixed, "")
	}
	for _, c := range changes {
		term(c.by, fmt.Sprintf(" * (%s >= bool %d)", at, c.at))
	}
	return b.String()
}
