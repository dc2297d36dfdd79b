package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// claudeCodeVocabulary is Claude Code's own spans, with bare attribute names.
var claudeCodeVocabulary = vocabulary{
	name:   "claude_code",
	scopes: []string{"com.anthropic.claude_code*", "claude_code*"},
	keys: []key{
		{"span.type", slotKind, 0},
		{"prompt.id", slotRunID, 0},
		{"agent_id", slotAgentName, 0},
		{"parent_agent_id", slotNested, 0},
		{"subagent_type", slotWorkflowName, 0},
		{"model", slotModel, 0},
		{"input_tokens", slotInput, 0},
		{"output_tokens", slotOutput, 0},
		{"cache_read_tokens", slotCacheRead, 0},
		{"cache_creation_tokens", slotCacheWrite, 0},
		{"cost_usd", slotCost, 0},
		{"ttft_ms", slotFirstTokenMillis, 0},
		{"stop_reason", slotFinish, 0},
		{"tool_name", slotToolName, 0},
		{"tool_use_id", slotCallID, 0},
		{"tool_input", slotArgs, 0},
		{"success", slotState, 0},
		{"error", slotErrorText, 0},
		{"error_class", slotErrorType, 0},
		{"decision", slotDeferral, 0},
		{"source", slotToolStatus, 0},
	},
	kind: func(r *reading, _ string) Kind {
		if strings.HasPrefix(r.name, "claude_code.") {
			return claudeKind(r.name, true)
		}
		return Other // many others have a span.type
	},
	named: claudeKind,
	read:  readClaudeCode,
}

func claudeKind(name string, _ bool) Kind {
	switch name {
	case "claude_code.interaction":
		return Agent
	case "claude_code.llm_request":
		return Model
	case "claude_code.tool":
		return Tool
	case "claude_code.tool.execution", "claude_code.tool.blocked_on_user":
		return Step
	}
	return Other
}

func readClaudeCode(r *reading, f *Facts, s ptrace.Span) {
	if sub := r.textFrom(claudeCode, slotWorkflowName); sub != "" && s.Name() == "claude_code.tool" {
		// The call of a sub-agent, which has no span of its own: its model and
		// tool spans are right below.
		f.Kind, f.AgentName, f.WorkflowName, f.Nested = Agent, sub, "", true
		f.ToolName, f.CallID, f.Placeholder = "", 0, true // it is not the run's name
		return
	}
	if f.Convention != "claude_code" {
		return
	}
	f.Nested = f.Kind == Agent && r.textFrom(claudeCode, slotNested) != ""
	if f.Kind == Model {
		// Input leaves out cached tokens; without their number it is not known.
		u := &f.Usage
		if u.CachedInput == Unknown || u.CacheWrite == Unknown {
			u.Input = Unknown
		} else if u.Input != Unknown && !r.proved {
			u.Input += u.CachedInput + u.CacheWrite
		}
	}
	if v, ok := r.from(claudeCode, slotState); ok && !truth(v) {
		f.fail(r.text(slotErrorText))
	}
	if f.Kind == Step {
		f.CallID = identity(r.text(slotCallID)) // of the call that this is a part of
	}
	if s.Name() == "claude_code.tool.blocked_on_user" {
		f.Failure, f.WaitsForPerson = FailureNone, true
		switch r.textFrom(claudeCode, slotToolStatus) {
		case "user_abort", "user_reject":
			f.Failure = FailureCancelled
		}
	}
}

// claudeEvent reads what a tool gave back, where the user lets that be told.
func claudeEvent(r *reading, f *Facts, e ptrace.SpanEvent) {
	if f.Kind != Tool || e.Name() != "tool.output" {
		return
	}
	if v, ok := e.Attributes().Get("output"); ok && v.Type() == pcommon.ValueTypeStr {
		r.result, r.hasResult = v.Str(), true
	}
}
