package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// braintrustVocabulary is the SDKs of Braintrust, which put JSON into attributes.
var braintrustVocabulary = vocabulary{
	name: "braintrust",
	keys: []key{
		{"braintrust.span_attributes.type", slotKind, 0},
		{"braintrust.span_attributes", slotKind, 1},
		{"braintrust.input_json", slotArgs, 0},
		{"braintrust.input", slotArgs, 1},
		{"braintrust.output_json", slotResult, 0},
		{"braintrust.output", slotResult, 1},
		{"braintrust.metrics", slotUsageJSON, 0},
		{"braintrust.metrics.prompt_tokens", slotInput, 0},
		{"braintrust.metrics.completion_tokens", slotOutput, 0},
		{"braintrust.metrics.prompt_cached_tokens", slotCacheRead, 0},
		{"braintrust.metrics.completion_reasoning_tokens", slotReasoning, 0},
		{"braintrust.metadata", slotRequest, 0},
	},
	kind: func(r *reading, word string) Kind {
		if word != "" && word[0] == '{' {
			word = text(member(word, "type"))
		}
		switch word {
		case "llm":
			return Model
		case "tool":
			return Tool
		case "task", "function", "eval":
			return Chain
		case "score":
			return Evaluator
		}
		return Other
	},
	read: func(r *reading, f *Facts, s ptrace.Span) {
		if r.own != 1<<braintrust {
			return
		}
		if f.Kind == Tool && f.ToolName == "" {
			f.ToolName = s.Name()
		}
		if f.Kind != Model {
			return
		}
		if model := text(member(r.textFrom(braintrust, slotRequest), "model")); f.ModelName == "" {
			f.ModelName = model
		}
		for m := membersOf(r.textFrom(braintrust, slotUsageJSON)); m.next(); {
			switch m.key {
			case "prompt_tokens":
				f.Usage.Input = countText(m.value)
			case "completion_tokens":
				f.Usage.Output = countText(m.value)
			case "prompt_cached_tokens":
				f.Usage.CachedInput = countText(m.value)
			case "prompt_cache_creation_tokens":
				f.Usage.CacheWrite = countText(m.value)
			case "completion_reasoning_tokens":
				f.Usage.Reasoning = countText(m.value)
			}
		}
	},
}
