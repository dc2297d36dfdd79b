package rules

import (
	"time"

	"github.com/agentslo/agentslo/slo"
)

// FailuresByPersistence is the number of failed tool calls within the window by
// what became of them over their runs: recovered, intermittent or permanent.
func FailuresByPersistence(f *slo.File, window time.Duration) string {
	return increased(raw("agentslo_tool_failures_total", f, nil), window, "persistence")
}

// FirstWrong is the number of runs within the window by the first step that went
// wrong, at most the ten with the most.
func FirstWrong(f *slo.File, window time.Duration) string {
	return "topk(10, " + increased(raw("agentslo_first_wrong_total", f, nil), window, "what", "tool") + " > 0)"
}

// BlockedRuns is the number of runs within the window that had a permanent
// failure which no other call got round, by its tool and by how they ended, at
// most the ten with the most.
func BlockedRuns(f *slo.File, window time.Duration) string {
	return "topk(10, " + increased(raw("agentslo_blocked_runs_total", f, nil), window, "tool", "outcome") + " > 0)"
}
