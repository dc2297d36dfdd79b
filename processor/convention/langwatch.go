package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// langWatchVocabulary is the SDK of LangWatch. It also puts its span type on the
// spans of others, whose own words come first.
var langWatchVocabulary = vocabulary{
	name: "langwatch",
	keys: []key{
		{"langwatch.span.type", slotKind, 0},
		{"langwatch.input", slotArgs, 0},
		{"langwatch.output", slotResult, 0},
		{"langwatch.metrics", slotUsageJSON, 0},
		{"langwatch.timestamps", slotMark, 0},
	},
	kinds: map[string]Kind{
		"agent": Agent, "workflow": Agent, "chain": Chain, "llm": Model, "tool": Tool, "rag": Retrieval,
		"guardrail": Guardrail, "evaluation": Evaluator,
		"span": Step, "task": Step, "component": Step, "module": Step, "prompt": Step,
	},
	read: func(r *reading, f *Facts, s ptrace.Span) {
		if r.own != 1<<langWatch {
			return
		}
		switch f.Kind {
		case Agent:
			if f.AgentName == "" {
				f.AgentName, f.Placeholder = s.Name(), placeholder(s.Name())
			}
		case Tool:
			if f.ToolName == "" {
				f.ToolName = s.Name()
			}
		}
		// {"type": "json", "value": {…}}
		for m := membersOf(member(r.textFrom(langWatch, slotUsageJSON), "value")); m.next(); {
			switch m.key {
			case "promptTokens", "prompt_tokens":
				f.Usage.Input = countText(m.value)
			case "completionTokens", "completion_tokens":
				f.Usage.Output = countText(m.value)
			case "reasoningTokens", "reasoning_tokens":
				f.Usage.Reasoning = countText(m.value)
			case "cost":
				f.CostUSD = positiveText(m.value, maxUSD)
			}
		}
	},
}
