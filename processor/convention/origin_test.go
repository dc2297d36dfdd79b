package convention

import (
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestOrigins(t *testing.T) {
	type a = map[string]any
	for _, x := range []struct {
		name  string
		span  made
		field Field
		want  string // attributes, comma separated
	}{
		{"a kind word", made{name: "x", attributes: a{"gen_ai.operation.name": "chat"}}, FieldKind, "gen_ai.operation.name"},
		{"a kind by name, of a scope", made{scope: "gcp.vertex.agent", name: "invocation"}, FieldKind, "scope name,span name"},
		{"of two names of a count the one that is read",
			made{attributes: a{"gen_ai.operation.name": "chat", "gen_ai.usage.prompt_tokens": 7, "gen_ai.usage.input_tokens": 7}}, FieldInput, "gen_ai.usage.input_tokens"},
		{"of two that differ too",
			made{attributes: a{"gen_ai.operation.name": "chat", "gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.input_tokens": 7}}, FieldInput, "gen_ai.usage.input_tokens"},
		{"of two vocabularies the span's own",
			made{attributes: a{"openinference.span.kind": "LLM", "gen_ai.usage.input_tokens": 7, "llm.token_count.prompt": 7}}, FieldInput, "llm.token_count.prompt"},
		{"input that leaves cached tokens out needs both",
			made{attributes: a{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 4, "gen_ai.usage.cache_read.input_tokens": 100}},
			FieldInput, "gen_ai.usage.cache_read.input_tokens,gen_ai.usage.input_tokens"},
		{"an event", made{scope: "strands-agents", attributes: a{"gen_ai.operation.name": "chat"},
			events: []madeEvent{{"other", 0, nil}, {"gen_ai.choice", 0, a{"finish_reason": "end_turn", "message": `[{"text":"hi"}]`}}}}, FieldFinish, "event gen_ai.choice"},
		{"the status", made{attributes: a{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "f"}, status: ptrace.StatusCodeError, message: "403 Forbidden"},
			FieldFailure, "span status"},
		{"a tool's name in the span's", made{scope: "gcp.vertex.agent", name: "execute_tool f", attributes: a{"gen_ai.operation.name": "execute_tool"}}, FieldTool, "scope name,span name"},
		{"a numbered key", made{attributes: a{"openinference.span.kind": "LLM", "llm.output_messages.0.message.content": "hi"}}, FieldOutputText,
			"llm.output_messages.0.message.content"},
		{"JSON that holds several facts", made{name: "x", scope: "langfuse-sdk", attributes: a{"langfuse.observation.type": "generation",
			"langfuse.observation.usage_details": `{"input":3,"output":4}`}}, FieldOutput, "langfuse.observation.usage_details"},
		{"what is not there comes from nowhere", made{attributes: a{"gen_ai.operation.name": "chat"}}, FieldOutput, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			scope := pcommon.NewInstrumentationScope()
			scope.SetName(x.span.scope)
			var got []string
			for _, o := range New().Probe(scope, x.span.span(t)).Origins(x.field) {
				got = append(got, o.Attribute)
			}
			slices.Sort(got)
			if text := strings.Join(got, ","); text != x.want {
				t.Errorf("from %q, want %q", text, x.want)
			}
		})
	}
}

func TestKeysLookedFor(t *testing.T) {
	for _, x := range []struct {
		field      Field
		convention string
		first      string
	}{
		{FieldInput, "otel_genai", "gen_ai.usage.input_tokens"},
		{FieldInput, "openinference", "llm.token_count.prompt"},
		{FieldInput, "strands", "gen_ai.usage.input_tokens"}, // an accent
		{FieldInput, "langfuse", "langfuse.observation.usage_details"},
		{FieldFailure, "otel_genai", "span status"},
	} {
		if keys := Keys(x.field, x.convention); len(keys) == 0 || keys[0] != x.first {
			t.Errorf("%v of %s: %v", x.field, x.convention, keys)
		}
	}
}
