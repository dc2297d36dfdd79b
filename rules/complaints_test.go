package rules_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
)

// What users of SLO generators report again and again, and where it is held
// here. Those that no other test is about are below.
//
//   - quiet nights page on a few failures: TestOneFailureAtFourRunsAnHour, TestAlertQualityInShort (backtest)
//   - blind at a low rate, or paging for hours after: TestSparseAgentIsNeitherBlindNorStuck, TestOutagePagesAndResets
//   - means of ratios instead of counts; increase() misses the first failure: TestCountsAreExact, TestFirstFailureEver
//   - the budget forgets or doubles at restarts, outages, replicas: TestMissedEvaluationsHeal, TestServerOutage, TestReplicaComesAndGoes
//   - 30-day windows that time out: BenchmarkEvaluate, README's samples an evaluation
//   - calendar windows: TestCalendarBudget, TestPeriodStart
//   - a changed label breaks the budget: TestFileLabelsMayChange
//   - duplicate rules and series; names that clash: TestNoRuleIsThereTwice, TestRatioKeepsCountersApart, TestPromtool
//   - float noise in thresholds: TestDecimalsAreExact
//   - burn rates that hold error ratios: TestRecordedNames
//   - no stable tier label, so no inhibition: TestWhatSilencesWhat, TestAmtool
//   - "no data" before the first failure; a selector that matches nothing reads 100%: TestBudgetOfAnIdleAgent, TestRatioAlerts
//   - an objective of 100%, a typo, an error without a line: package slo

// Whatever is absent, idle or changed, no record is ever NaN or infinite.
func TestNothingIsEverNaN(t *testing.T) {
	t.Parallel()
	const text = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
window: {calendar: month}
slos:
  completion: {objective: %s}
  judged: {sli: correctness, objective: 95%%, evaluations: [{name: e, min_score: 1}], judge: {sensitivity: 92%%, specificity: 97%%}}
  api: {sli: ratio, objective: 99%%, events: {bad: ['errors_total'], total: ['requests_total']}}
`
	w := newWorld(t, fmt.Sprintf(text, "99%"))
	check := func() {
		t.Helper()
		require.NotEmpty(t, w.query(`agentslo:budget_remaining:ratio`))
		for name, v := range w.query(`label_replace({__name__=~"agentslo:.+"}, "record", "$1", "__name__", "(.+)")`) {
			require.False(t, math.IsNaN(v) || math.IsInf(v, 0), "%s is %g at %s", name, v, w.now.Sub(start))
		}
	}
	w.run(3*time.Minute, nil) // nothing there at all
	check()
	e := w.target()
	for _, name := range []string{"completion", "judged"} {
		e.born("a", name)
	}
	w.run(3*time.Minute, nil) // nothing happened yet
	check()
	for _, verdict := range []string{"bad", "good", "unknown"} { // only failures, then both, and some that are neither
		e.add("a", "completion", verdict, 5)
		e.add("a", "judged", verdict, 5)
		w.run(2*time.Minute, nil)
		check()
	}
	w.load(fmt.Sprintf(text, "99.9%")) // another objective
	w.run(2*time.Minute, nil)
	check()
	e.up = false // and gone
	w.run(20*time.Minute, nil)
	check()
}

// Every run fails for days, one every six hours. No page's window ever holds
// two, but the second one raises a ticket: two are 2 · ln 100 = 9.2 nats.
func TestLowRateOutageIsSeen(t *testing.T) {
	f := set(t, oneSLO).Files[0]
	o := f.Objective("completion")
	var fired []string
	for _, tier := range rules.Tiers(f, o) {
		if tier.Burns(o, func(w time.Duration) (good, bad float64) {
			return 0, min(2, 1+math.Floor(w.Hours()/6.1)) // now, and six hours ago
		}) {
			fired = append(fired, tier.Name)
		}
	}
	require.Equal(t, []string{"ticket_fast", "ticket_slow"}, fired)
}

// Prometheus 3 writes le="1.0" where version 2 wrote le="1".
func TestWholeBoundsAreFoundInBothSpellings(t *testing.T) {
	for _, asked := range []string{"1", "1.0"} {
		text := fmt.Sprintf("service: api\nslos: {latency: {sli: ratio, objective: 95%%, events: {good: ['d_bucket{le=\"%s\"}'], total: ['d_count{le=\"0.5\"}']}}}\n", asked)
		found := 0
		for _, g := range rules.Groups(set(t, text)) {
			for _, r := range g.Rules {
				if r.Record == rules.State {
					found++
					require.Contains(t, r.Expr, `d_bucket{le=~"1|1\\.0"}`)
					require.Contains(t, r.Expr, `d_count{le="0.5"}`)
				}
			}
		}
		require.Equal(t, 1, found)
	}
}
