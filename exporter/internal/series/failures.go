package series

import (
	"time"

	"github.com/agentslo/agentslo/processor/summary"
)

// newFailures makes the families about what failed in runs and what their
// agents did about it.
func (b *Book) newFailures() {
	run := []string{"slo_service", "environment", "agent"}
	with := func(more ...string) []string { return append(run[:len(run):len(run)], more...) }
	limit := b.options.Limit
	b.failures = newCounters("agentslo_tool_failures_total", "Failed tool calls by class, and by what became of them over their run.", limit, false,
		with("tool", "class", "persistence"), []string{"tool", "agent", "environment", "slo_service", "class", "persistence"})
	b.effects = newCounters("agentslo_duplicate_effects_total", "Calls of write tools that did again what an earlier one of their run had done.", limit, false,
		with("tool"), []string{"tool", "agent", "environment", "slo_service"})
	b.wrong = newCounters("agentslo_first_wrong_total", "Runs by the first step that went wrong. tool is empty for model calls.", limit, false,
		with("what", "tool"), []string{"tool", "agent", "environment", "slo_service", "what"})
	b.blocked = newCounters("agentslo_blocked_runs_total", "Runs with a permanent failure that no other call got round, by its tool and by how they ended.", limit, false,
		with("tool", "class", "outcome"), []string{"tool", "agent", "environment", "slo_service", "class", "outcome"})
	folding := []string{"agent", "environment", "slo_service"}
	b.stuckSteps = newHistograms("agentslo_blocked_run_steps", "Model and tool calls after the blocker of blocked runs.", limit,
		[]float64{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 100}, run, folding)
	b.stuckUSD = newHistograms("agentslo_blocked_run_cost_usd", "US dollars spent after the blocker of blocked runs, where that is known.", limit,
		[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25}, run, folding)
}

// countFailures counts what a run's first summary says of its failures.
func (b *Book) countFailures(s *summary.Summary, now time.Time, service, environment, agent string) {
	for _, c := range s.ToolFailures {
		b.failures.add(now, uint64(c.Count), service, environment, agent, label(c.Tool), label(c.Class), label(c.Persistence))
	}
	for _, c := range s.DuplicateEffects {
		b.effects.add(now, uint64(c.Count), service, environment, agent, label(c.Tool))
	}
	if x := s.FirstWrong; x != nil {
		tool := x.Name
		if x.What == "failed_model_call" {
			tool = ""
		}
		b.wrong.add(now, 1, service, environment, agent, label(x.What), label(tool))
	}
	if x := s.Blocker; x != nil {
		b.blocked.add(now, 1, service, environment, agent, label(x.Tool), label(x.Class), label(s.Outcome))
		b.stuckSteps.observe(now, float64(x.Steps), service, environment, agent)
		if x.USD != nil {
			b.stuckUSD.observe(now, *x.USD, service, environment, agent)
		}
	}
}
