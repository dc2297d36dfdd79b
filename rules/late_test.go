package rules_test

import (
	"strings"
	"testing"
	"time"

	promrules "github.com/prometheus/prometheus/rules"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
)

// The labels of a week come on Monday, a third of them bad: a ticket, and no
// page, while the live verdicts go on being good. An outage the day after pages.
func TestLateVerdictsTicket(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO)
	e := w.target()
	e.born("a", "completion")
	w.run(2*time.Hour, every(w, e, 6*time.Minute, "good"))
	paged := func() {
		if len(w.query(`ALERTS{severity="page",alertstate="firing"}`)) > 0 {
			t.Errorf("paged at %s", w.now)
		}
	}
	w.each = paged
	e.add("a", "completion", "good", 200)
	e.add("a", "completion", "bad", 100)
	e.late["a/completion"] = 100
	w.run(7*time.Hour, every(w, e, 6*time.Minute, "good"))
	require.Equal(t, []string{`{severity="ticket", slo="completion", tier="ticket_slow"}`}, keep(w.firing(rules.AlertBudgetBurn), "ticket_slow"))
	require.Equal(t, 100.0, w.increase("completion", "bad", "30d"))

	w.each = nil
	began := w.now
	w.run(90*time.Minute, func() {
		if len(w.query(`ALERTS{severity="page",alertstate="firing"}`)) == 0 {
			every(w, e, 6*time.Minute, "bad")()
		}
	})
	require.NotEmpty(t, w.query(`ALERTS{severity="page",alertstate="firing"}`), "an outage since %s", began)
}

func keep(all []string, part string) (kept []string) {
	for _, s := range all {
		if strings.Contains(s, part) {
			kept = append(kept, s)
		}
	}
	return kept
}

// An agent that runs once a night is missed when it did not, and not before.
func TestExpectedRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO+"alerting: {expected_every: 4h}\n")
	w.keepRules(func(r promrules.Rule) bool { return r.Name() == rules.AlertNoData })
	e := w.target()
	e.born("a", "completion")
	missing := func() int {
		return len(w.query(`ALERTS{alertname="AgentSLONoData",tier="no_runs",alertstate="firing"}`))
	}
	w.run(time.Hour, nil)
	require.Zero(t, missing(), "the rules have not run for long enough to know")
	for range 3 {
		e.add("a", "completion", "good", 1)
		w.run(4*time.Hour+10*time.Minute, nil)
		require.Zero(t, missing(), "a little late is no matter")
	}
	w.run(15*time.Minute, nil)
	require.Equal(t, 1, missing(), "4h and a tenth after the last run")
	e.add("a", "completion", "excluded", 1)
	w.run(2*time.Minute, nil)
	require.Zero(t, missing(), "any run will do")
}

// By agent, each is missed for itself and by its name; one that was given up, for
// no longer than the budget's window. Verdicts of evaluations are no runs.
func TestExpectedRunsByAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneSLO+"  correctness: {objective: 95%, evaluations: [{name: e, min_score: 1}], wait: 6h}\nby: [agent]\nwindow: 12h\nalerting: {expected_every: 2h}\n")
	w.keepRules(func(r promrules.Rule) bool { return r.Name() == rules.AlertNoData })
	e := w.target()
	for _, agent := range []string{"busy", "gone"} {
		e.born(agent, "completion")
		e.born(agent, "correctness")
	}
	missing := func() (agents []string) {
		for ls := range w.query(`sum by (agent) (ALERTS{alertname="AgentSLONoData",tier="no_runs",alertstate="firing"})`) {
			agents = append(agents, ls)
		}
		return agents
	}
	w.run(3*time.Minute, nil)
	e.add("gone", "completion", "good", 1)
	e.add("busy", "completion", "good", 1)
	busy := func() {
		if w.now.Sub(start)%time.Hour == 0 {
			e.add("busy", "completion", "good", 1)
			e.add("gone", "correctness", "good", 1) // labels of earlier runs
		}
	}
	w.run(2*time.Hour, busy)
	require.Empty(t, missing())
	w.run(30*time.Minute, busy)
	require.Equal(t, []string{`{agent="gone"}`}, missing())
	w.run(10*time.Hour, busy)
	require.Empty(t, missing(), "12 hours after its last run it is no longer expected")
}
