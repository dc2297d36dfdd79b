package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// strandsVocabulary is AWS Strands Agents. It speaks OpenTelemetry's, with the
// content in span events.
var strandsVocabulary = vocabulary{
	name:   "strands",
	scopes: []string{"strands-agents*", "strands.*", "strands"},
	keys: []key{
		{"agent_loop.cycle_id", slotKind, 0},
		{"event_loop.cycle_id", slotKind, 1},
		{"gen_ai.tool.status", slotToolStatus, 0},
		{"tool.status", slotToolStatus, 1},
		{"gen_ai.agent.tools", slotTools, 0},
		{"gen_ai.event.start_time", slotMark, 0},
		{"gen_ai.agent.status", slotState, 0},
		{"strands.cancellation.type", slotCancelled, 0},
	},
	kind: func(*reading, string) Kind { return Step },
	read: readStrands,
}

func readStrands(r *reading, f *Facts, s ptrace.Span) {
	if r.textFrom(strands, slotCancelled) != "" && f.IsAI() {
		f.Failure = FailureCancelled
	}
	switch f.Kind {
	case Agent, Step:
		// The total of the Agent object's life: of all runs so far.
		f.Lifetime = true
	case Tool:
		if r.textFrom(strands, slotToolStatus) == "error" {
			f.fail(r.result)
		}
	case Model:
		// Bedrock and Anthropic count input without the cached part, and Strands
		// passes their numbers on.
		if m := f.ModelName; strings.Contains(m, "anthropic") || strings.Contains(m, "claude") || strings.Contains(m, "amazon.") {
			if f.Usage.Input != Unknown && !r.proved {
				f.Usage.Input += max(f.Usage.CachedInput, 0) + max(f.Usage.CacheWrite, 0)
			}
		}
	}
}
