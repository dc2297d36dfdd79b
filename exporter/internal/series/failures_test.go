package series

import (
	"testing"

	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

// What failed in runs is counted from the first summary of each, once.
func TestSeriesAboutFailures(t *testing.T) {
	b, _ := newBook()
	seconds, usd := 2.0, 0.03
	failing := func(s *summary.Summary) {
		s.Outcome = "limit_reached"
		s.ToolFailures = []summary.FailureCount{{Tool: "deploy", Class: "auth", Persistence: "permanent", Count: 3},
			{Tool: "search", Class: "transient", Persistence: "recovered", Count: 1}}
		s.DuplicateEffects = []summary.EffectCount{{Tool: "refund", Count: 2}}
		s.FirstWrong = &summary.FirstWrong{What: "failed_call", Name: "deploy", Class: "auth", Step: 2}
		s.Blocker = &summary.Blocker{Tool: "deploy", Class: "auth", Steps: 9, Seconds: &seconds, USD: &usd}
	}
	first := verdict("completion", slo.Bad, "limit_reached", failing)
	b.Count(first)
	b.Count(first) // sent again
	b.Count(verdict("completion", slo.Bad, "limit_reached", failing, func(s *summary.Summary) { s.Blocker.USD = nil }))
	later := verdict("correctness", slo.Good, "", failing, func(s *summary.Summary) { s.First = false })
	b.Count(later)
	b.Count(verdict("completion", slo.Bad, "error", func(s *summary.Summary) {
		s.FirstWrong = &summary.FirstWrong{What: "failed_model_call", Name: "gpt-5", Class: "transient", Step: 1}
	}))
	b.Count(verdict("completion", slo.Good, "")) // nothing went wrong

	f := gather(t, b)
	const run = "environment=prod"
	wantValues(t, f["agentslo_tool_failures_total"], map[string]float64{
		"agent=triage class=auth " + run + " persistence=permanent slo_service=support tool=deploy":      6,
		"agent=triage class=transient " + run + " persistence=recovered slo_service=support tool=search": 2,
	})
	wantValues(t, f["agentslo_duplicate_effects_total"], map[string]float64{"agent=triage " + run + " slo_service=support tool=refund": 4})
	wantValues(t, f["agentslo_first_wrong_total"], map[string]float64{
		"agent=triage " + run + " slo_service=support tool=deploy what=failed_call": 2,
		"agent=triage " + run + " slo_service=support tool= what=failed_model_call": 1,
	})
	wantValues(t, f["agentslo_blocked_runs_total"], map[string]float64{
		"agent=triage class=auth " + run + " outcome=limit_reached slo_service=support tool=deploy": 2,
	})
	if h := f["agentslo_blocked_run_steps"].GetMetric()[0].GetHistogram(); h.GetSampleCount() != 2 || h.GetSampleSum() != 18 {
		t.Errorf("steps: %d runs, %v in all; want 2 and 18", h.GetSampleCount(), h.GetSampleSum())
	}
	if h := f["agentslo_blocked_run_cost_usd"].GetMetric()[0].GetHistogram(); h.GetSampleCount() != 1 || h.GetSampleSum() != 0.03 {
		t.Errorf("money: %d runs, %v in all; want the one whose cost is known", h.GetSampleCount(), h.GetSampleSum())
	}
}
