package convention

import "strings"

// agentFrameworkVocabulary is Microsoft's Agent Framework, whose workflows
// have names of their own beside OpenTelemetry's.
var agentFrameworkVocabulary = vocabulary{
	name:   "agent_framework",
	scopes: []string{"agent_framework*", "agent-framework*", "Microsoft.Agents*", "Experimental.Microsoft.Agents*"},
	keys: []key{
		{"workflow.name", slotWorkflowName, 0},
		{"workflow.id", slotMark, 0},
		{"executor.id", slotMark, 0},
	},
	named: func(name string, scoped bool) Kind {
		switch {
		case !scoped:
		case name == "workflow.run", strings.HasPrefix(name, "workflow_invoke"):
			return Agent
		case name == "workflow.build", strings.HasPrefix(name, "message.send"):
			return Ignore
		case strings.HasPrefix(name, "executor.process"), strings.HasPrefix(name, "edge_group.process"):
			return Step
		}
		return Other
	},
}
