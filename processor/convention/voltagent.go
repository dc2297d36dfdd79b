package convention

import (
	"cmp"
	"math"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// voltAgentVocabulary is VoltAgent, with bare attribute names. Every span says
// whose it is (entity.type), and its name begins with what it is; only the
// agent's own span is named freely.
var voltAgentVocabulary = vocabulary{
	name:   "voltagent",
	scopes: []string{"@voltagent/*", "voltagent*"},
	keys: []key{
		{"entity.type", slotKind, 0},
		{"subagent.name", slotAgentName, 0}, // entity.name is then its caller's
		{"entity.name", slotAgentName, 1},
		{"workflow.execution.id", slotRunID, 0},
		{"voltagent.is_subagent", slotNested, 0},
		{"voltagent.operation_id", slotMark, 0},
		{"input", slotArgs, 0},
		{"output", slotResult, 0},
		{"tool.call.id", slotCallID, 0},
		{"ai.model.name", slotModel, 0},
		{"usage.prompt_tokens", slotInput, 0},
		{"usage.completion_tokens", slotOutput, 0},
		{"usage.cached_tokens", slotCacheRead, 0},
		{"usage.reasoning_tokens", slotReasoning, 0},
		{"ai.response.finish_reason", slotFinish, 0},
		{"agent.state", slotState, 0},
		{"workflow.state", slotState, 1},
		{"voltagent.stopped_by_max_steps", slotLevel, 0},
		{"guardrail.action", slotTriggered, 0},
		{"eval.scorer.score", slotScore, 0},
		{"eval.scorer.name", slotScorer, 0},
		{"eval.trace.id", slotTargetTrace, 0},
		{"eval.source.span_id", slotTargetSpan, 0},
	},
	kind: voltAgentKind,
	read: readVoltAgent,
}

// voltAgentKind reads the kind from the name. One llm span holds all model
// calls of a run, and only the last one's tokens: it is a step, not a call.
func voltAgentKind(r *reading, word string) Kind {
	if word != "agent" && word != "workflow" || r.scope.emits&(1<<voltAgent) == 0 && r.mask[slotState]&(1<<voltAgent) == 0 &&
		!strings.HasPrefix(r.name, "llm:") && !strings.HasPrefix(r.name, "tool.execution:") {
		return Other // many others have an entity.type
	}
	if r.mask[slotState]&(1<<voltAgent) != 0 {
		return Agent
	}
	prefix, _, _ := strings.Cut(r.name, ":")
	prefix, _, _ = strings.Cut(prefix, ".")
	switch {
	case strings.HasPrefix(r.name, "tool.execution:"):
		return Tool
	case r.name == "retriever.search":
		return Retrieval
	case prefix == "guardrail":
		return Guardrail
	case prefix == "memory":
		return Ignore
	case strings.HasPrefix(r.name, "eval.scorer."):
		return Evaluator
	}
	return Step
}

func readVoltAgent(r *reading, f *Facts, s ptrace.Span) {
	if r.own != 1<<voltAgent {
		return
	}
	switch f.Kind {
	case Agent:
		f.ModelName = r.textFrom(voltAgent, slotModel) // of the usage that it carries
		name := cmp.Or(f.AgentName, s.Name())
		if r.textFrom(voltAgent, slotKind) == "workflow" {
			f.AgentName, f.WorkflowName = "", name
		}
		limit, ok := r.from(voltAgent, slotLevel)
		switch state := r.textFrom(voltAgent, slotState); {
		case state == "cancelled":
			f.Failure = FailureCancelled
			f.setFinish(FinishCancelled)
		case state == "suspended":
			f.Failure = FailurePaused
			f.setFinish(FinishHuman)
		case ok && truth(limit):
			f.setFinish(FinishLimit)
		case state == "completed" && finishWord(r.textFrom(voltAgent, slotFinish)) == FinishTool:
			// Not at the limit, and yet a tool call is left open: for a person's
			// approval, or for the caller to execute.
			f.setFinish(FinishHuman)
		}
	case Tool:
		f.AgentName = ""
		if f.ToolName == "" {
			f.ToolName = strings.TrimPrefix(s.Name(), "tool.execution:")
		}
	case Guardrail:
		f.AgentName = ""
		if r.textFrom(voltAgent, slotTriggered) == "block" {
			f.Failure = FailureGuardrail
		}
	case Evaluator:
		f.AgentName = ""
		if v, ok := r.from(voltAgent, slotScore); ok && !math.IsNaN(number(v)) {
			f.Evaluations = append(f.Evaluations, Evaluation{
				Name: r.textFrom(voltAgent, slotScorer), Score: number(v), Time: uint64(s.EndTimestamp()),
				TargetTrace: traceID(r.textFrom(voltAgent, slotTargetTrace)), TargetSpan: spanID(r.textFrom(voltAgent, slotTargetSpan)),
			})
		}
	default:
		f.AgentName = ""
	}
}
