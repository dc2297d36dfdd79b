package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// agentOpsVocabulary is the SDK of AgentOps: its decorators, beside
// OpenTelemetry's attributes of model calls.
var agentOpsVocabulary = vocabulary{
	name: "agentops",
	keys: []key{
		{"agentops.span.kind", slotKind, 0},
		{"agentops.tool.input", slotArgs, 0},
		{"agentops.entity.input", slotArgs, 1},
		{"agentops.tool.output", slotResult, 0},
		{"agentops.agent.output", slotResult, 1},
		{"agentops.workflow.output", slotResult, 2},
		{"agentops.session.output", slotResult, 3},
		{"agentops.entity.output", slotResult, 4},
	},
	kinds: map[string]Kind{
		"session": Chain, "chain": Chain, "workflow": Agent, "agent": Agent, "tool": Tool, "llm": Model,
		"task": Step, "operation": Step, "text": Step, "unknown": Step, "guardrail": Guardrail,
	},
	read: func(r *reading, f *Facts, s ptrace.Span) {
		name := ""
		if r.own == 1<<agentOps {
			name = mapText(s.Attributes(), "operation.name") // of what is decorated
		}
		switch {
		case name == "":
		case f.Kind == Agent && f.AgentName == "":
			f.AgentName, f.Placeholder = name, placeholder(name)
		case f.Kind == Tool && f.ToolName == "":
			f.ToolName = name
		}
	},
}
