package rules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	promrules "github.com/prometheus/prometheus/rules"

	"github.com/agentslo/agentslo/rules"
)

func calendarSLO(period, zone string) string {
	return fmt.Sprintf("%swindow: {calendar: %s, timezone: %s}\n", oneSLO, period, zone)
}

// The start of the current period by Go's calendar, at times that the clock
// changes and leap years make hard, beside what the rules compute.
func TestPeriodStart(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia", "America/Sao_Paulo", "Africa/Casablanca"} {
		location, err := time.LoadLocation(zone)
		require.NoError(t, err)
		for _, period := range []string{"week", "month", "quarter"} {
			w := newWorld(t, calendarSLO(period, zone))
			w.keep("agentslo:budget_window:period_seconds")
			// In order of time: records of the future would be found by those before.
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for range 40 {
				at = at.Add(time.Duration(rng.Int64N(int64(20 * 24 * time.Hour)))).Truncate(time.Minute)
				if rng.IntN(3) == 0 { // right round a start
					y, m, _ := at.In(location).Date()
					if start := time.Date(y, m+1, 1, 0, 0, 0, 0, location); start.After(at) {
						at = start.Add(time.Duration(rng.IntN(3)-1) * time.Second)
					}
				}
				w.now = at
				w.evaluate()
				require.Equal(t, float64(startOf(period, at.In(location)).Unix()), w.number("agentslo:budget_window:period_seconds"), "%s %s at %s", period, zone, at.In(location))
			}
		}
	}
}

func startOf(period string, t time.Time) time.Time {
	y, m, d := t.Date()
	switch period {
	case "week":
		for t.Weekday() != time.Monday {
			d--
			t = time.Date(y, m, d, 0, 0, 0, 0, t.Location())
		}
	case "month":
		d = 1
	case "quarter":
		d, m = 1, (m-1)/3*3+1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

// A week's budget is new on Monday, in the file's own time zone, and exact
// before and after, through missed evaluations. The first week is partial and
// says since when it counts.
func TestCalendarBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, calendarSLO("week", "Europe/Berlin"))
	w.keepRules(func(r promrules.Rule) bool {
		return r.Name() == "agentslo:budget_remaining:ratio" || r.Name() == "agentslo:events:increaseweek"
	})
	e := w.target()
	// start is a Monday, 00:00 UTC, 01:00 in Berlin. The next week begins there at
	// 23:00 UTC on Sunday.
	w.now = start.Add(6*24*time.Hour + 21*time.Hour)
	e.born("a", "completion")
	w.run(10*time.Minute, nil)
	require.InDelta(t, w.now.Add(-10*time.Minute).Unix(), w.number(rules.WindowStart), 60, "partial: since the rules began")
	e.add("a", "completion", "good", 297)
	e.add("a", "completion", "bad", 3)
	w.run(100*time.Minute, nil)
	require.Equal(t, 3.0, w.increase("completion", "bad", "week"))
	require.InDelta(t, 0, w.number("agentslo:budget_remaining:ratio"), 1e-9)

	// Evaluation stops over the change, and goes on in the new week.
	w.evaluates = false
	w.run(15*time.Minute, nil)
	w.evaluates = true
	w.run(5*time.Minute, nil)
	require.Equal(t, float64(start.Add(6*24*time.Hour+23*time.Hour).Unix()), w.number(rules.WindowStart))
	require.Equal(t, 0.0, w.increase("completion", "bad", "week"))
	require.Equal(t, 1.0, w.number("agentslo:budget_remaining:ratio"))
	e.add("a", "completion", "good", 99)
	e.add("a", "completion", "bad", 1)
	w.run(3*time.Minute, nil)
	require.Equal(t, 1.0, w.increase("completion", "bad", "week"))
	require.InDelta(t, 0, w.number("agentslo:budget_remaining:ratio"), 1e-9)

	// An SLO's second agent, first seen within the week, counts whole.
	e.born("b", "completion")
	w.run(3*time.Minute, nil)
	e.add("b", "completion", "bad", 1)
	w.run(3*time.Minute, nil)
	require.Equal(t, 2.0, w.increase("completion", "bad", "week"))
}

// The generated unit tests pass under promtool where a month begins in the
// middle of them: in the Azores it does an hour after the tests begin. A judge
// and the other keys of alerts are in the same file.
func TestCalendarUnderPromtool(t *testing.T) {
	t.Parallel()
	underPromtool(t, `service: bot
environment: prod
window: {calendar: month, timezone: Atlantic/Azores}
alerting: {expected_every: 10m, dispersion: 2}
slos:
  correctness: {objective: 95%, evaluations: [{name: e, min_score: 1}], judge: {sensitivity: 92%, specificity: 97%}}
`)
	if !long() {
		return
	}
	for _, text := range []string{calendarSLO("month", "UTC"), calendarSLO("month", "Asia/Kolkata"), calendarSLO("quarter", "America/Noronha"), calendarSLO("week", "Atlantic/Azores"), judgedSLOs} {
		underPromtool(t, text)
	}
}

// Two files of one service each have their own week, and one's judge is not
// undone by the other's rules.
func TestCalendarsOfTwoFiles(t *testing.T) {
	t.Parallel()
	const text = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
agents: [a]
labels: {team: x}
window: {calendar: week}
slos: {completion: {objective: 99%}}
---
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
agents: [b]
labels: {team: y}
window: {calendar: week, timezone: Asia/Kolkata}
slos: {correctness: {objective: 95%, evaluations: [{name: e, min_score: 1}], judge: {sensitivity: 92%, specificity: 97%}}}
`
	w := newWorld(t, text)
	w.keep("agentslo:budget_remaining:ratio", "agentslo:events:increaseweek", "agentslo:evidence:week")
	w.now = start.Add(6*24*time.Hour + 18*time.Hour) // in Kolkata the week ends half an hour later
	e := w.target()
	e.born("a", "completion")
	e.born("b", "correctness")
	w.run(4*time.Minute, nil)
	e.add("a", "completion", "bad", 5)
	e.add("b", "correctness", "good", 1851)
	e.add("b", "correctness", "bad", 149)
	w.run(4*time.Minute, nil)
	require.Equal(t, 5.0, w.increase("completion", "bad", "week"))
	require.Equal(t, 149.0, w.increase("correctness", "bad", "week"))
	require.InDelta(t, 0, w.number(`agentslo:budget_remaining:ratio{slo="correctness"}`), 1e-5)
	w.run(30*time.Minute, nil)
	require.Equal(t, 5.0, w.increase("completion", "bad", "week"))
	require.Equal(t, 0.0, w.increase("correctness", "bad", "week"))
	w.run(5*time.Hour+30*time.Minute, nil) // past midnight in London
	require.Equal(t, 0.0, w.increase("completion", "bad", "week"))
	e.add("b", "correctness", "bad", 1)
	w.run(2*time.Minute, nil)
	require.Equal(t, 1.0, w.increase("correctness", "bad", "week"))

	// Another window that holds all that was counted: it goes on, partial.
	began := start.Add(6*24*time.Hour + 18*time.Hour + 30*time.Minute)
	w.load(strings.ReplaceAll(text, "week", "month"))
	w.run(3*time.Minute, nil)
	require.Equal(t, float64(began.Unix()), w.number(rules.WindowStart+`{slo="correctness"}`))
	// One that began in between: what was counted is not known to belong to it.
	w.load(strings.ReplaceAll(text, "Asia/Kolkata", "UTC"))
	w.run(3*time.Minute, nil)
	require.InDelta(t, w.now.Unix(), w.number(rules.WindowStart+`{slo="correctness"}`), 240)
	require.Equal(t, 0.0, w.increase("correctness", "bad", "week"))
}
