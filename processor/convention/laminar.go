package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// laminarVocabulary is Laminar's SDK: functions that the application observes,
// and OpenAI's agents. Its model spans speak OpenTelemetry's beside it.
var laminarVocabulary = vocabulary{
	name:   "laminar",
	scopes: []string{"lmnr*", "@lmnr-ai/*"},
	keys: []key{
		{"lmnr.span.type", slotKind, 0},
		{"lmnr.span.path", slotPath, 0},
		{"lmnr.span.input", slotArgs, 0},
		{"lmnr.span.output", slotResult, 0},
		{"openai.agents.guardrail.triggered", slotTriggered, 0},
		{"openai.agents.handoff.to", slotMark, 0},
		{"gen_ai.usage.reasoning_output_tokens", slotReasoning, 0},
	},
	kind: laminarKind,
	read: readLaminar,
}

// laminarKind reads DEFAULT, which any span may be, from where it stands: the
// last part of its path is the name that it began with.
func laminarKind(r *reading, word string) Kind {
	switch word {
	case "LLM":
		return Model
	case "TOOL":
		return Tool
	case "EVALUATOR", "HUMAN_EVALUATOR":
		return Evaluator
	case "EXECUTOR":
		return Agent // what an evaluation runs
	case "EVALUATION", "CACHED":
		return Step
	case "DEFAULT":
	default:
		return Other
	}
	switch at, above := laminarPath(r); {
	case at == "agents.trace":
		return Agent
	case at == "agents.guardrail":
		return Guardrail
	case strings.HasPrefix(at, "agents."):
		return Step
	case above == "agents.task" || above == "agents.turn":
		if member(r.textFrom(laminar, slotArgs), "handoffs") != "" {
			return Agent
		}
		return Step
	}
	return Chain
}

// laminarPath is the last part of the span's path and the one above.
func laminarPath(r *reading) (at, above string) {
	v, ok := r.from(laminar, slotPath)
	if !ok || v.Type() != pcommon.ValueTypeSlice {
		return "", ""
	}
	path := v.Slice()
	if n := path.Len(); n > 0 {
		at = path.At(n - 1).Str()
		if n > 1 {
			above = path.At(n - 2).Str()
		}
	}
	return at, above
}

func readLaminar(r *reading, f *Facts, s ptrace.Span) {
	if f.Kind == Unrecognised && r.mask[slotPath]&(1<<laminar) != 0 {
		// A function that the application observes; only its type is left out.
		f.Kind, f.Convention, r.own = Chain, "laminar", 1<<laminar
		return
	}
	if r.own != 1<<laminar {
		return
	}
	at, _ := laminarPath(r)
	switch f.Kind {
	case Agent:
		if at == "agents.trace" {
			f.WorkflowName = s.Name()
			f.Placeholder = placeholder(f.WorkflowName)
			return
		}
		f.AgentName = s.Name()
	case Tool:
		f.ToolName = s.Name()
		if at == "agents.handoff" {
			f.ToolName = "agent_handoff" // passes control on: no work of a tool
		}
	case Guardrail:
		if v, ok := r.from(laminar, slotTriggered); ok && truth(v) {
			f.Failure = FailureGuardrail
		}
	}
}
