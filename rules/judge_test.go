package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
)

const judgedSLOs = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
slos:
  correctness: {objective: 95%, evaluations: [{name: e, min_score: 1}], judge: {sensitivity: 92%, specificity: 97%}}
  plain: {sli: correctness, objective: 95%, evaluations: [{name: e, min_score: 1}]}
`

// A judge that calls 3% of the good runs bad and misses 8% of the bad ones. By
// hand: 149 of 2000 are 7.45%, which is just what a service at its objective
// looks like to it. Taken as it is, that is an error ratio of 7.45%, half of the
// budget overspent, and 2000·(0.0745·ln 1.49 + 0.9255·ln 0.9742) = 11 nats.
func TestJudgedRatios(t *testing.T) {
	t.Parallel()
	w := newWorld(t, judgedSLOs)
	e := w.target()
	for _, name := range []string{"correctness", "plain"} {
		e.born("a", name)
	}
	w.run(2*time.Minute, nil)
	for _, name := range []string{"correctness", "plain"} {
		e.add("a", name, "good", 1851)
		e.add("a", name, "bad", 149)
	}
	w.run(2*time.Minute, nil)
	is := func(expr string, want, within float64) {
		t.Helper()
		require.InDelta(t, want, w.number(expr), within, expr)
	}
	is(`agentslo:error_ratio:1h{slo="correctness"}`, 0.05, 1e-6)
	is(`agentslo:error_ratio:1h{slo="plain"}`, 0.0745, 1e-6)
	is(`agentslo:burn_rate:1h{slo="correctness"}`, 1, 1e-5)
	is(`agentslo:burn_rate:1h{slo="plain"}`, 1.49, 1e-5)
	is(`agentslo:budget_remaining:ratio{slo="correctness"}`, 0, 1e-5)
	is(`agentslo:budget_remaining:ratio{slo="plain"}`, -0.49, 1e-5)
	is(`agentslo:evidence:1h{slo="correctness"}`, 0, 1e-6)
	is(`agentslo:evidence:1h{slo="plain"}`, 11.0, 0.2)
	// Everything is judged bad, 92% of which is as bad as it can look.
	e.add("a", "correctness", "bad", 1e6)
	w.run(time.Minute, nil)
	is(`agentslo:error_ratio:1h{slo="correctness"}`, 1, 1e-9)
	require.NotEmpty(t, keep(w.firing(rules.AlertBudgetBurn), "correctness"))
	// And nothing.
	w = newWorld(t, judgedSLOs)
	w.target().born("a", "correctness")
	w.run(2*time.Minute, nil)
	is(`agentslo:error_ratio:1h{slo="correctness"}`, 0, 0)
	is(`agentslo:evidence:1h{slo="correctness"}`, 0, 0)
}
