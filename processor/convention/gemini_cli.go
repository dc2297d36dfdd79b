package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// geminiCLIVocabulary is Gemini CLI, whose operation words are not
// OpenTelemetry's but stand under the same key.
var geminiCLIVocabulary = vocabulary{
	name:   "gemini_cli",
	scopes: []string{"gemini-cli*", "gemini_cli*"},
	keys:   []key{{"gen_ai.prompt.name", slotRunID, 0}},
	read: func(r *reading, f *Facts, _ ptrace.Span) {
		// Elsewhere the key names a template; here it is <session>########<n>.
		if id := r.textFrom(geminiCLI, slotRunID); strings.Contains(id, "########") {
			f.RunID = id
		}
	},
}
