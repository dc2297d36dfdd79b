package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// springAIVocabulary is Spring AI, whose own spans all have the operation
// "framework"; its model spans speak OpenTelemetry's.
var springAIVocabulary = vocabulary{
	name: "spring_ai",
	keys: []key{
		{"spring.ai.kind", slotKind, 0},
		{"spring.ai.tool.definition.name", slotToolName, 0},
		{"spring.ai.tool.call.id", slotCallID, 0},
		{"spring.ai.tool.call.arguments", slotArgs, 0},
		{"spring.ai.tool.call.result", slotResult, 0},
		{"spring.ai.mcp.server.tool.call.arguments", slotArgs, 1},
		{"spring.ai.mcp.server.tool.call.result", slotResult, 1},
		{"spring.ai.model.request.tool.names", slotTools, 0},
		{"spring.ai.chat.client.tool.names", slotTools, 1},
	},
	kinds: map[string]Kind{
		"chat_client": Chain, "advisor": Step, "tool_call": Tool, "mcp_server_tool_call": Tool, "vector_store": Retrieval,
	},
	read: func(r *reading, f *Facts, s ptrace.Span) {
		if f.Kind == Retrieval && r.own == 1<<springAI && r.text(slotStoreCall) != "query" {
			f.Kind = Step // it adds documents, or deletes them
		}
	},
}
