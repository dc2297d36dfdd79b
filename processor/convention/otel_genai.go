package convention

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// otelGenAIVocabulary is OpenTelemetry's GenAI convention, its current names
// and the deprecated ones that are still emitted. Many frameworks speak it
// with an accent: see their own files.
var otelGenAIVocabulary = vocabulary{
	name: "otel_genai",
	keys: []key{
		{"gen_ai.operation.name", slotKind, 0},
		{"gen_ai.agent.name", slotAgentName, 0},
		{"gen_ai.workflow.name", slotWorkflowName, 0},
		{"gen_ai.invocation.is_nested", slotNested, 0},

		{"gen_ai.response.model", slotModel, 0},
		{"gen_ai.request.model", slotRequested, 0},
		{"gen_ai.provider.name", slotProvider, 0},
		{"gen_ai.system", slotProvider, 1},
		{"gen_ai.response.id", slotResponseID, 0},
		{"gen_ai.usage.input_tokens", slotInput, 0},
		{"gen_ai.usage.prompt_tokens", slotInput, 1},
		{"gen_ai.usage.cache_read.input_tokens", slotCacheRead, 0},
		{"gen_ai.usage.cache_read_input_tokens", slotCacheRead, 1},
		{"gen_ai.usage.input_tokens.cached", slotCacheRead, 2},
		{"gen_ai.usage.cache_write.input_tokens", slotCacheWrite, 0},
		{"gen_ai.usage.cache_creation.input_tokens", slotCacheWrite, 1},
		{"gen_ai.usage.cache_creation_input_tokens", slotCacheWrite, 2},
		{"gen_ai.usage.cache_write_input_tokens", slotCacheWrite, 3},
		{"gen_ai.usage.output_tokens", slotOutput, 0},
		{"gen_ai.usage.completion_tokens", slotOutput, 1},
		{"gen_ai.usage.reasoning.output_tokens", slotReasoning, 0},
		{"gen_ai.usage.reasoning_tokens", slotReasoning, 1},
		{"llm.usage.reasoning_tokens", slotReasoning, 2},
		{"gen_ai.usage.total_tokens", slotTotal, 0},
		{"llm.usage.total_tokens", slotTotal, 1},
		{"gen_ai.usage.cost.amount", slotCost, 0},
		{"gen_ai.usage.cost", slotCost, 1},
		{"gen_ai.usage.total_cost", slotCost, 2},
		{"gen_ai.usage.cost.currency", slotCostCurrency, 0},
		{"gen_ai.response.time_to_first_chunk", slotFirstToken, 0},
		{"gen_ai.client.operation.time_to_first_chunk", slotFirstToken, 1},
		{"gen_ai.server.time_to_first_token", slotFirstToken, 2},
		{"gen_ai.response.finish_reasons", slotFinish, 0},
		{"gen_ai.response.finish_reason", slotFinish, 1},
		{"gen_ai.response.stop_reason", slotFinish, 2},
		{"gen_ai.response.status", slotFinish, 3},
		{"gen_ai.output.messages", slotReply, 0},
		{"gen_ai.input.messages", slotPrompt, 0},
		{"gen_ai.tool.definitions", slotTools, 0},
		{"gen_ai.request.tools", slotTools, 1},

		{"gen_ai.tool.name", slotToolName, 0},
		{"gen_ai.tool.call.id", slotCallID, 0},
		{"gen_ai.tool.call_id", slotCallID, 1},
		{"gen_ai.tool.call.arguments", slotArgs, 0},
		{"gen_ai.tool.call.result", slotResult, 0},
		{"gen_ai.retrieval.documents", slotDocuments, 0},
		{"gen_ai.guardrail.triggered", slotTriggered, 0},
		{"gen_ai.agent.resumed_from.type", slotResumed, 0},
		{"gen_ai.agent.resumed_from.id", slotResumedFrom, 0},
	},
	prefixes: []prefix{
		{"gen_ai.completion.", readCompletion},
		{"gen_ai.prompt.", readPrompt},
		{"evaluations.", readNumberedEvaluation(targetSpan, ofEvaluations)},
	},
	kinds: map[string]Kind{
		"invoke_agent": Agent, "invoke_workflow": Agent, "handle_conversation_turn": Agent,
		"invoke_swarm": Agent, "invoke_graph": Agent,
		"chat": Model, "generate_content": Model, "text_completion": Model, "fetch_response": Model,
		"completion": Model, "call_llm": Model, "realtime_inference": Model,
		"execute_tool": Tool, "agent_handoff": Tool,
		"retrieval": Retrieval, "vector_db_retrieve": Retrieval,
		"guardrail_check": Guardrail, "evaluate": Evaluator, "evaluation": Evaluator,
		"chain":             Chain,
		"orchestrate_tools": Chain, // of Microsoft.Extensions.AI
		"embeddings":        Step, "plan": Step, "turn": Step, "task": Step, "agent_step": Step, "execute_node": Step,
		"execute_event_loop_cycle": Step, "execute_agent_loop_cycle": Step, "user_speech": Step, "unknown": Step,
		"search_memory": Step, "create_memory": Step, "update_memory": Step, "upsert_memory": Step,
		"delete_memory": Step, "create_memory_store": Step, "delete_memory_store": Step,
		"prompt": Step, "parser": Step,
		"create_agent": Ignore,
		// Semantic Kernel's words.
		"chat.completions": Model, "chat.streaming_completions": Model,
		"text.completions": Model, "text.streaming_completions": Model,
		// Gemini CLI's words.
		"user_prompt": Agent, "agent_call": Agent, "llm_call": Model, "tool_call": Tool,
		"system_prompt": Step, "schedule_tool_calls": Step,
	},
	read: readOTel,
}

func readOTel(r *reading, f *Facts, s ptrace.Span) {
	if f.Kind == Guardrail {
		if v, ok := r.from(otelGenAI, slotTriggered); ok && truth(v) {
			f.Failure = FailureGuardrail
		}
	}
	// Version 7 of the Vercel AI SDK, which always says how a call ended.
	f.Outspoken = f.Kind == Step && r.textFrom(otelGenAI, slotKind) == "agent_step"
	if f.Kind != Tool {
		return
	}
	// A handoff passes control on: it is no work of a tool.
	if f.ToolName == "" && r.textFrom(otelGenAI, slotKind) == "agent_handoff" {
		f.ToolName = "agent_handoff"
	}
}

// otelEvent reads span events: the older way to carry messages, and evaluation
// results of the first version of that convention.
func otelEvent(r *reading, f *Facts, e ptrace.SpanEvent) {
	switch e.Name() {
	case "gen_ai.choice":
		otelChoice(r, f, e.Attributes())
	case "gen_ai.tool.message":
		if f.Kind == Tool {
			if v, ok := e.Attributes().Get("content"); ok {
				r.args, r.hasArgs = v.Str(), v.Type() == pcommon.ValueTypeStr
			}
		}
	case "gen_ai.client.inference.operation.details":
		if v, ok := e.Attributes().Get("gen_ai.output.messages"); ok {
			r.hasAnswer = true
			r.reply(v)
		}
		if v, ok := e.Attributes().Get("gen_ai.response.finish_reasons"); ok && r.finish == FinishNone {
			r.finish = finishOf(v)
		}
		if _, ok := e.Attributes().Get("gen_ai.tool.definitions"); ok {
			r.offered = true
		}
	case "gen_ai.content.completion":
		if v, ok := e.Attributes().Get("gen_ai.completion"); ok {
			r.reply(v)
		}
	case "First Token Stream Event", "llm.content.completion.chunk", "gen_ai.first_token":
		if t := uint64(e.Timestamp()); r.firstToken == 0 || t < r.firstToken {
			r.firstToken = t
		}
	}
}

// otelChoice reads the attributes of a choice: Strands' message and
// finish_reason, or the content of earlier conventions.
func otelChoice(r *reading, f *Facts, a pcommon.Map) {
	if v, ok := a.Get("finish_reason"); ok {
		if finish := finishOf(v); finish != FinishNone {
			r.finish = finish
		}
	}
	v, ok := a.Get("message")
	if !ok {
		if v, ok = a.Get("content"); !ok {
			if v, ok = a.Get("gen_ai.event.content"); !ok {
				return
			}
		}
	}
	if f.Kind == Tool {
		r.result, r.hasResult = v.Str(), v.Type() == pcommon.ValueTypeStr
		return
	}
	r.hasAnswer = true
	r.reply(v)
}

// readCompletion reads the numbered form gen_ai.completion.N.….
func readCompletion(r *reading, rest string, v value) {
	r.seen |= 1 << otelGenAI
	_, field := cutNumber(rest)
	switch {
	case field == "finish_reason":
		r.finish = finishOf(v)
	case field == "content":
		r.replySeen = true
		if text := v.Str(); text != "" && !redacted(text) {
			r.replyText = true
		}
	case len(field) > len("tool_calls.") && field[:len("tool_calls.")] == "tool_calls.":
		r.askNumbered(field[len("tool_calls."):], v)
	}
}

// askNumbered reads N.id and N.name of numbered tool calls.
func (r *reading) askNumbered(rest string, v value) {
	r.replySeen, r.replyCalls = true, true
	n, field := cutNumber(rest)
	if n < 0 || n >= maxAsked {
		return
	}
	switch field {
	case "id", "tool_call.id":
		r.askedAt(n).CallID = identity(v.Str())
	case "name", "function.name", "tool_call.function.name":
		r.askedAt(n).Name = v.Str()
	case "arguments", "function.arguments", "tool_call.function.arguments":
		if r.scope.client {
			r.askedAt(n).setArgs(r, v.Str())
		}
	}
}

// maxAsked bounds the calls kept of one reply.
const maxAsked = 64

func (r *reading) askedAt(n int) *AskedCall {
	for len(r.asked) <= n {
		r.asked = append(r.asked, AskedCall{})
	}
	return &r.asked[n]
}

// cutNumber splits "12.rest" into 12 and "rest"; -1 when there is no number.
func cutNumber(s string) (n int, rest string) {
	i := 0
	for i < len(s) && i < 6 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if i == 0 || i == len(s) || s[i] != '.' {
		return -1, s
	}
	return n, s[i+1:]
}
