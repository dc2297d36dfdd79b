package convention

// anyAgentVocabulary is Mozilla's any-agent, beside OpenTelemetry's.
var anyAgentVocabulary = vocabulary{
	name:   "any_agent",
	scopes: []string{"any_agent*"},
	keys: []key{
		{"gen_ai.tool.args", slotArgs, 0},
		{"gen_ai.output", slotResult, 0},
		{"gen_ai.usage.input_cost", slotCostInput, 0},
		{"gen_ai.usage.output_cost", slotCostOutput, 0},
		{"any_agent.version", slotMark, 0},
	},
}
