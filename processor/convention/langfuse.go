package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// langfuseVocabulary is the Langfuse SDK, whose span status is always unset.
var langfuseVocabulary = vocabulary{
	name:   "langfuse",
	scopes: []string{"langfuse-sdk*", "langfuse*", "@langfuse/*"},
	keys: []key{
		{"langfuse.observation.type", slotKind, 0},
		{"langfuse.observation.input", slotArgs, 0},
		{"langfuse.observation.output", slotResult, 0},
		{"langfuse.trace.output", slotResult, 1},
		{"langfuse.observation.level", slotLevel, 0},
		{"langfuse.observation.status_message", slotErrorText, 0},
		{"langfuse.observation.model.name", slotModel, 0},
		{"langfuse.observation.usage_details", slotUsageJSON, 0},
		{"langfuse.observation.cost_details", slotCostJSON, 0},
		{"langfuse.observation.completion_start_time", slotFirstTokenTime, 0},
		{"langfuse.trace.name", slotMark, 0},
		{"langfuse.internal.is_app_root", slotMark, 0},
		{"langfuse.internal.as_root", slotMark, 0},
	},
	kinds: map[string]Kind{
		"agent": Agent, "generation": Model, "tool": Tool, "retriever": Retrieval, "chain": Chain,
		"guardrail": Guardrail, "evaluator": Evaluator, "embedding": Step, "span": Chain, "event": Ignore,
	},
	read: readLangfuse,
}

func readLangfuse(r *reading, f *Facts, s ptrace.Span) {
	if r.own != 1<<langfuse {
		return
	}
	switch f.Kind {
	case Agent:
		f.AgentName = s.Name()
		f.Placeholder = placeholder(f.AgentName)
	case Tool:
		f.ToolName = s.Name()
	case Model:
		if details := r.textFrom(langfuse, slotUsageJSON); details != "" {
			f.Usage = langfuseUsage(details)
		}
		if in := r.textFrom(langfuse, slotArgs); in != "" && f.ToolsOffered == 0 {
			f.ToolsOffered = toolsIn(in)
		}
	case Retrieval:
		if out := r.textFrom(langfuse, slotResult); out != "" && !redacted(out) {
			f.Documents = documentsIn(out)
		}
	case Evaluator:
		f.evaluateJSON(r.textFrom(langfuse, slotResult), s.Name(), s)
	}
}

// langfuseUsage reads usage_details: buckets that add up. input leaves out
// what has a bucket of its own (input_cached_tokens), output likewise.
func langfuseUsage(details string) Usage {
	u := UnknownUsage
	total, in, out := Unknown, int64(0), int64(0) // the sums of the further buckets
	m := membersOf(details)
	for m.next() {
		n := countText(m.value)
		if n == Unknown {
			continue
		}
		switch m.key {
		case "input", "input_tokens", "promptTokens":
			u.Input = n
			continue
		case "output", "output_tokens", "completionTokens":
			u.Output = n
			continue
		case "total", "total_tokens", "totalTokens":
			total = n
			continue
		case "input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "input_cached":
			u.CachedInput = n
		case "input_cache_creation", "cache_creation_input_tokens", "input_cache_write":
			u.CacheWrite = n
		case "output_reasoning_tokens", "output_reasoning", "reasoning_tokens":
			u.Reasoning = n
		}
		switch {
		case strings.HasPrefix(m.key, "input_"), strings.HasPrefix(m.key, "cache_"):
			in = min(in+n, maxCount)
		case strings.HasPrefix(m.key, "output_"), m.key == "reasoning_tokens":
			out = min(out+n, maxCount)
		}
	}
	if total != Unknown && u.Input != Unknown && u.Output != Unknown && u.Input+u.Output == total {
		return u // the buckets are parts here
	}
	if u.Input != Unknown {
		u.Input += in
	}
	if u.Output != Unknown {
		u.Output += out
	}
	return u
}
