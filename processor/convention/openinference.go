package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// openInferenceVocabulary is Arize's OpenInference.
var openInferenceVocabulary = vocabulary{
	name:   "openinference",
	scopes: []string{"openinference.*", "@arizeai/openinference-*"},
	keys: []key{
		{"openinference.span.kind", slotKind, 0},
		{"agent.name", slotAgentName, 0},
		{"graph.node.name", slotAgentName, 1},
		{"graph.node.id", slotAgentName, 2},

		{"llm.model_name", slotModel, 0},
		{"embedding.model_name", slotModel, 1},
		{"llm.provider", slotProvider, 0},
		{"llm.system", slotProvider, 1},
		{"llm.token_count.prompt", slotInput, 0},
		{"llm.token_count.prompt_details.cache_read", slotCacheRead, 0},
		{"llm.token_count.prompt_details.cache_input", slotCacheRead, 1},
		{"llm.token_count.prompt_details.cache_write", slotCacheWrite, 0},
		{"llm.token_count.completion", slotOutput, 0},
		{"llm.token_count.completion_details.reasoning", slotReasoning, 0},
		{"llm.token_count.total", slotTotal, 0},
		{"llm.cost.total", slotCost, 0},
		{"llm.cost.prompt", slotCostInput, 0},
		{"llm.cost.completion", slotCostOutput, 0},
		{"llm.finish_reason", slotFinish, 0},
		{"smolagents.tools_names", slotTools, 0},
		{"smolagents.max_steps", slotMaxSteps, 0},

		{"tool.name", slotToolName, 0},
		{"tool.id", slotCallID, 0},
		{"tool_call.id", slotCallID, 1},
		{"input.value", slotArgs, 0},
		{"output.value", slotResult, 0},
		{"tool.parameters", slotParameters, 0},
	},
	prefixes: []prefix{
		{"llm.output_messages.", readOutputMessage},
		{"llm.tools.", func(r *reading, _ string, _ value) { r.offered = true }},
		{"retrieval.documents.", readDocument},
		{"reranker.output_documents.", readDocument},
		{"annotations.", readNumberedEvaluation(targetSpan, ofAnnotations)},
		{"trace.evaluations.", readNumberedEvaluation(targetTrace, ofEvaluations)},
		{"trace.annotations.", readNumberedEvaluation(targetTrace, ofAnnotations)},
		{"session.evaluations.", readNumberedEvaluation(targetNone, ofEvaluations)},
		{"session.annotations.", readNumberedEvaluation(targetNone, ofAnnotations)},
	},
	kinds: map[string]Kind{
		"AGENT": Agent, "CHAIN": Chain, "LLM": Model, "TOOL": Tool, "RETRIEVER": Retrieval, "RERANKER": Step,
		"EMBEDDING": Step, "PROMPT": Step, "GUARDRAIL": Guardrail, "EVALUATOR": Evaluator,
		// As some emitters write them.
		"agent": Agent, "chain": Chain, "llm": Model, "tool": Tool, "retriever": Retrieval, "reranker": Step,
		"embedding": Step, "prompt": Step, "guardrail": Guardrail, "evaluator": Evaluator,
	},
	read: readOpenInference,
}

func readOpenInference(r *reading, f *Facts, s ptrace.Span) {
	if v, ok := r.from(openInference, slotMaxSteps); ok && f.Kind == Agent {
		f.MaxSteps = max(count(v), 0)
	}
	if v, ok := r.from(openInference, slotParameters); ok && f.Kind == Tool && !f.HasArgs && !(v.Type() == pcommon.ValueTypeStr && schema(v.Str())) {
		f.setArgs(v) // in some packages; in others it is the tool's schema
	}
	if f.Kind == Retrieval && f.Documents == Unknown {
		// A retriever that found nothing has no numbered documents.
		if out := r.textFrom(openInference, slotResult); out != "" && !redacted(out) {
			f.Documents = documentsIn(out)
		}
	}
}

// schema says whether JSON is a schema of arguments and not the arguments: an
// object schema, or an object of which every member is a schema.
func schema(raw string) bool {
	all := false
	for m := membersOf(raw); m.next(); {
		switch {
		case m.key == "properties", m.key == "$schema":
			return true
		case m.key == "type" && text(m.value) == "object":
			return true
		case m.value[0] == '{' && member(m.value, "type") != "":
			all = true
		default:
			return false
		}
	}
	return all
}

// claudeQuery recognises the Claude Agent SDK's span by its name, where a
// pipeline lost the scope: its input tokens leave out the cached ones.
func claudeQuery(r *reading) bool {
	return r.own == 1<<openInference && (strings.HasPrefix(r.name, "ClaudeAgentSDK.") || r.name == "ClaudeAgent.query")
}

// readOutputMessage reads the flattened reply of a model, llm.output_messages.N.….
func readOutputMessage(r *reading, rest string, v value) {
	r.seen |= 1 << openInference
	n, field := cutNumber(rest)
	field, ok := strings.CutPrefix(field, "message.")
	if n < 0 || !ok {
		return
	}
	r.replySeen = true
	switch {
	case strings.HasPrefix(field, "tool_calls."):
		r.askNumbered(field[len("tool_calls."):], v)
	case field == "content", strings.HasPrefix(field, "content."),
		strings.HasPrefix(field, "contents.") && strings.HasSuffix(field, ".message_content.text"):
		if text := v.Str(); !blank(text) && !redacted(text) {
			r.replyText = true
		}
	}
}

// readDocument counts numbered documents.
func readDocument(r *reading, rest string, _ value) {
	r.seen |= 1 << openInference
	if n, _ := cutNumber(rest); n >= 0 {
		r.documents = max(r.documents, int64(n)+1)
	}
}
