package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// pydanticAIVocabulary is Pydantic AI and Logfire, beside OpenTelemetry's.
var pydanticAIVocabulary = vocabulary{
	name:   "pydantic_ai",
	scopes: []string{"pydantic-ai*", "pydantic_ai*", "logfire.feedback", "logfire.openai_agents*", "logfire.openai", "logfire.anthropic"},
	keys: []key{
		{"gen_ai.agent.call.id", slotRunID, 0},
		{"agent_name", slotAgentName, 0},
		{"model_name", slotModel, 0},
		{"gen_ai.aggregated_usage.input_tokens", slotInput, 0},
		{"gen_ai.aggregated_usage.output_tokens", slotOutput, 0},
		{"gen_ai.aggregated_usage.cache_read.input_tokens", slotCacheRead, 0},
		{"gen_ai.aggregated_usage.cache_creation.input_tokens", slotCacheWrite, 0},
		{"gen_ai.aggregated_usage.cache_write.input_tokens", slotCacheWrite, 1},
		{"gen_ai.usage.details.cache_read_tokens", slotCacheRead, 1},
		{"gen_ai.usage.details.cache_write_tokens", slotCacheWrite, 2},
		{"gen_ai.usage.details.reasoning_tokens", slotReasoning, 0},
		{"operation.cost", slotCost, 0},
		{"final_result", slotResult, 0},
		{"pydantic_ai.all_messages", slotMark, 0},
		{"all_messages_events", slotMark, 0},
		{"model_request_parameters", slotRequest, 0},
		{"tool_arguments", slotArgs, 0},
		{"tool_response", slotResult, 1},
		{"pydantic_ai.tool.failure_stage", slotToolStatus, 0},
		{"pydantic_ai.tool.deferral.name", slotDeferral, 0},
		{"logfire.span_type", slotSpanType, 0},
		{"logfire.feedback.name", slotFeedback, 0},
		{"agent_trace_id", slotMark, 0},
	},
	named: pydanticKind,
	read:  readPydantic,
}

// pydanticKind knows the span names of older versions and of Logfire's OpenAI
// Agents integration.
func pydanticKind(name string, scoped bool) Kind {
	switch {
	case !scoped: // names and keys that anybody may use
	case name == "agent run", strings.HasSuffix(name, " run"),
		strings.HasPrefix(name, "OpenAI Agents trace: "), strings.HasPrefix(name, "Agent run: "):
		return Agent
	case strings.HasPrefix(name, "running tool"), strings.HasPrefix(name, "Function: "):
		if strings.HasPrefix(name, "running tools") || strings.HasPrefix(name, "running 1 tool") {
			return Step
		}
		return Tool
	case strings.HasPrefix(name, "running ") && strings.Contains(name, " tool"):
		return Step
	case strings.HasPrefix(name, "chat "), strings.HasPrefix(name, "Responses API"),
		strings.HasPrefix(name, "Chat completion with "):
		return Model
	}
	return Other
}

func readPydantic(r *reading, f *Facts, s ptrace.Span) {
	switch f.Kind {
	case Agent:
		if name, ok := strings.CutPrefix(s.Name(), "Agent run: "); ok && f.AgentName == "" {
			f.AgentName = strings.Trim(name, "'\"")
		}
	case Tool:
		if name, ok := strings.CutPrefix(s.Name(), "Function: "); ok && f.ToolName == "" {
			f.ToolName = name
		}
		if stage := r.textFrom(pydanticAI, slotToolStatus); stage != "" {
			f.Failed = true
			f.Failure = max(f.Failure, FailureError)
			if stage == "validation" {
				f.Class = BadArgs
			} else {
				f.Class = max(f.Class, Unclassified)
			}
		}
		if deferral := r.textFrom(pydanticAI, slotDeferral); deferral != "" {
			// Approval or an execution elsewhere: not done yet, and no failure.
			f.Failed, f.Class, f.Failure = false, ClassNone, FailurePaused
			f.ClientSide = deferral == "CallDeferred"
		}
	}
}
