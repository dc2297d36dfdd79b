package convention

import "go.opentelemetry.io/collector/pdata/ptrace"

// langSmithVocabulary is LangSmith's OpenTelemetry exporter.
var langSmithVocabulary = vocabulary{
	name:   "langsmith",
	scopes: []string{"langsmith*"},
	keys: []key{
		{"langsmith.span.kind", slotKind, 0},
		{"langsmith.trace.name", slotMark, 0},
		{"langsmith.trace.session_name", slotMark, 0},
		{"gen_ai.prompt", slotArgs, 0},
		{"gen_ai.completion", slotResult, 0},
	},
	kinds: map[string]Kind{
		"llm": Model, "tool": Tool, "retriever": Retrieval, "chain": Chain, "agent": Agent,
		"prompt": Step, "parser": Step, "embedding": Step,
	},
	read: readLangSmith,
}

func readLangSmith(r *reading, f *Facts, s ptrace.Span) {
	switch r.textFrom(langSmith, slotKind) {
	case "retriever":
		// Its operation says embeddings.
		f.Kind = Retrieval
		if out := r.textFrom(langSmith, slotResult); out != "" && !redacted(out) {
			f.Documents = documentsIn(out)
		}
	case "tool":
		if f.ToolName == "" {
			f.ToolName = s.Name()
		}
	}
}
