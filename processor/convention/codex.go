package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// codexVocabulary is Codex CLI: one span a turn with a roll-up of its tokens. Its
// model and tool calls are log records: see log.go.
var codexVocabulary = vocabulary{
	name:   "codex",
	scopes: []string{"codex*"},
	keys: []key{
		{"turn.id", slotRunID, 0},
		{"codex.turn.token_usage.input_tokens", slotInput, 0},
		{"codex.turn.token_usage.cached_input_tokens", slotCacheRead, 0},
		{"codex.turn.token_usage.output_tokens", slotOutput, 0},
		{"codex.turn.token_usage.reasoning_output_tokens", slotReasoning, 0},
		{"codex.turn.token_usage.total_tokens", slotTotal, 0},
	},
	named: func(name string, scoped bool) Kind {
		switch name {
		case "session_task.turn":
			return Agent
		case "handle_responses":
			if scoped {
				return Step
			}
		}
		return Other
	},
	read: func(r *reading, f *Facts, s ptrace.Span) {
		switch {
		case r.own != 1<<codex:
		case f.Kind == Step:
			f.Usage = UnknownUsage // the turn's roll-up once more
		case f.Kind == Agent:
			f.ModelName = mapText(s.Attributes(), "model")
		}
	},
}
