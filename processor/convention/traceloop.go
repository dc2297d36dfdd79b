package convention

import (
	"cmp"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// traceloopVocabulary is OpenLLMetry's own part; its model spans speak
// OpenTelemetry's.
var traceloopVocabulary = vocabulary{
	name:   "traceloop",
	scopes: []string{"@traceloop/*", "traceloop*", "opentelemetry.instrumentation.openai_agents*"},
	keys: []key{
		{"traceloop.span.kind", slotKind, 0},
		{"traceloop.entity.name", slotToolName, 0},
		{"traceloop.workflow.name", slotWorkflowName, 0},
		{"traceloop.entity.path", slotMark, 0},
		{"traceloop.entity.input", slotArgs, 0},
		{"traceloop.entity.output", slotResult, 0},
		{"mcp.request.argument", slotArgs, 1},
		{"mcp.response.value", slotResult, 1},
		{"llm.request.functions.0.name", slotTools, 0},
		{"gen_ai.task.status", slotState, 0},
		{"db.query.result.matches_length", slotDocuments, 0},
		{"db.milvus.search.result_count", slotDocuments, 1},
	},
	kinds: map[string]Kind{
		"workflow": Agent, "agent": Agent, "tool": Tool,
		"task": Step, "session": Step, "handoff": Step,
	},
	read: readTraceloop,
}

func readTraceloop(r *reading, f *Facts, s ptrace.Span) {
	kind, entity := r.textFrom(traceloop, slotKind), r.textFrom(traceloop, slotToolName)
	switch {
	case f.Kind == Tool && entity == "DynamicStructuredTool":
		// A class; the tool's own name stands in the message that it returns.
		if name := text(member(member(r.textFrom(traceloop, slotResult), "kwargs"), "name")); name != "" {
			f.ToolName = name
		}
	case f.Kind == Agent && kind == "task":
		// CrewAI calls its tasks agents too.
		f.Kind = Step
	case f.Kind == Agent && kind == "workflow" && entity == "" && r.textFrom(otelGenAI, slotKind) == "workflow":
		readLangChainWorkflow(f, s)
	case f.Kind == Agent && kind == "workflow":
		if entity != "" {
			f.WorkflowName = entity
			f.Placeholder = placeholder(cmp.Or(f.AgentName, entity))
		}
		// withConversation wraps every turn in a workflow named after the
		// conversation, of which there are as many as customers.
		if strings.HasPrefix(entity, "conversation.") && strings.HasPrefix(s.Name(), entity) {
			f.Kind, f.WorkflowName = Step, ""
		}
	case f.Kind == Agent && f.AgentName == "":
		f.AgentName = entity
		f.Placeholder = placeholder(entity)
	}
}

// readLangChainWorkflow reads the JavaScript instrumentation of LangChain, which
// calls every runnable a workflow, by its class, and hangs all of them and the
// calls beside each other below whatever span the application has open. Only a
// graph or an agent among them is a run, and where nothing is open not even
// that: its calls are then in traces of their own, and it says nothing of them.
func readLangChainWorkflow(f *Facts, s ptrace.Span) {
	class := strings.TrimPrefix(s.Name(), "workflow ")
	f.Kind, f.WorkflowName = Chain, ""
	if !f.ParentID.IsEmpty() && (strings.Contains(class, "Graph") || strings.Contains(class, "Agent") || class == "Pregel") {
		f.Kind, f.WorkflowName, f.Placeholder = Agent, class, true
	}
}
