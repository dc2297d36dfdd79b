package truth

// telemetryMode names recordings made with another instrumentation than their
// folder's, by the row that describes it.
var telemetryMode = map[string]string{
	"vercel-ai-v7/legacy-ok-tool": "vercel-ai-v6", // LegacyOpenTelemetry emits the ai.* shape
}

// reader corrects the expectation of single recordings by what their spans were
// found to hold.
type reader struct {
	framework string // "" is any
	scenario  string // or variant
	read      func(*ExpectedRun)
}

func (s *reader) applies(e *Entry) bool {
	return (s.framework == "" || s.framework == e.Framework) && (s.scenario == e.Scenario || s.scenario == e.Variant)
}

const estimated = "the first call has no usage, and the second one's is an estimate of the instrumentation, not a count"

var tokenFacts = []string{"tokens.input", "tokens.cached_input", "tokens.output", "tokens.reasoning"}

// special holds one reading a row.
var special = []reader{
	{"vercel-ai-v6", "aborted", func(r *ExpectedRun) {
		r.accept("1", "the interrupted doStream span is never exported", "model_calls")
	}},
	{"google-adk-js", "aborted", func(r *ExpectedRun) {
		r.accept("1", "the interrupted call_llm span is never exported", "model_calls")
	}},
	// chat, tool and chat hang on a parent that was never exported: the decorated
	// function rejected. The second chat even says stop, with half an answer.
	{"openllmetry-js", "aborted", func(r *ExpectedRun) {
		const why = "neither workflow nor agent span was exported: three spans without a root"
		r.acceptOutcome("lost", why)
		r.Fact("completion").Want = "idle_timeout|end_of_input"
		r.accept(Null, why, "duration_seconds")
		for _, name := range tokenFacts {
			r.Fact(name).Accept = nil
		}
		r.accept(Null, estimated, tokenFacts...)
	}},
	// Streamed without include_usage, the instrumentation counts words itself:
	// 58/20 for the second call where the server counted 275/40, none for the first.
	{"openllmetry-js", "streaming", func(r *ExpectedRun) {
		r.accept(Null, estimated, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", estimated, "slo.cost")
	}},
	// MaxTokensError: the chat span has no usage, and the root says 0, which is not so.
	{"strands-ts", "truncated", func(r *ExpectedRun) {
		const why = "the failed chat span carries no usage, and the root's zeros are no count"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}},
	// The only emitter with a span for a tool that does not exist: OK, with
	// gen_ai.tool.status=error. To the application nothing was executed.
	{"strands-ts", "unknown-tool", func(r *ExpectedRun) {
		const why = "the emitter gives the tool that does not exist a failed execute_tool span of its own"
		r.accept("1", why, "tool_calls.failed")
		r.Facts = append(r.Facts, Fact{Name: "tool_calls.class", Want: "", Accept: []Accept{
			{Value: "bad_args:1", Why: why}, {Value: "unrecoverable:1", Why: why}, {Value: "unclassified:1", Why: why}}})
	}},
	// The inner graph is a CHAIN like every step of the outer one.
	{"openinference-langchain", "subagent", func(r *ExpectedRun) {
		r.accept("2", "no span names the inner graph as an agent: its tool looks like any tool", "tool_calls.ok")
	}},
	// A seventh call_llm of 0 ms without attributes: refused by maxLlmCalls before it reached the server.
	{"google-adk-js", "loop", func(r *ExpectedRun) {
		r.accept("7", "the call that the limit refused has a span too", "model_calls")
	}},
	{"google-adk-js", "limit", func(r *ExpectedRun) {
		r.accept(Null, "the model did not think, and says so by leaving the count out", "tokens.reasoning")
		r.accept("5", "the call that the limit refused has a span too", "model_calls")
		r.acceptOutcome("error", "only its time tells a call that the limit refused from one that a server refused, and a busy machine takes its time")
	}},
	{"google-adk-js", "run-error-500", silentFailure},
	{"google-adk-js", "run-error-429", silentFailure},
	// A generation has no finish reason; "length" is in the application's own return value only.
	{"langfuse-js", "truncated", func(r *ExpectedRun) {
		r.acceptOutcome("answered", "no attribute holds the finish reason")
		r.acceptOutcome("unknown", "no attribute holds the finish reason")
	}},
	// The mask turns every value into ***, the answers too.
	{"langfuse-js", "nocontent-ok-tool", func(r *ExpectedRun) {
		r.acceptOutcome("unknown", "every text is masked, and no attribute holds a finish reason")
	}},
	{"langfuse-js", "rag", typedRetriever},
	{"langfuse-js", "rag-ungrounded", typedRetriever},
	// A tool, in it a flow's generate like the outer one.
	{"genkit-js", "subagent", func(r *ExpectedRun) {
		r.accept("2", "no span names the inner flow as an agent: its tool looks like any tool", "tool_calls.ok")
	}},
	// Its tokens are written when the run ends well.
	{"openllmetry-js", "nocontent-tool-all-failed-answer", func(r *ExpectedRun) {
		const why = "a failed tool has no span, and with content off its result stands nowhere either"
		r.accept("unknown", why, "slo.tool_free")
		r.accept("calls_not_seen", why, "slo.tool_free.reason")
		r.accept(Null, why, "tool_calls.ok")
	}},
	{"vercel-ai-v7", "aborted-in-tool-stream", abortedCall},
	{"voltagent", "aborted-in-tool", voltAgentCutShort},
	{"voltagent", "run-error-after-tool", voltAgentCutShort},
	{"voltagent", "subagent", func(r *ExpectedRun) {
		const why = "both agents carry tokens, and nothing says whether the outer's include the inner's"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}},
	{"openai-agents-laminar", "chat-ok-tool", func(r *ExpectedRun) {
		const why = "the span of a chat completion carries no tokens"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}},
	{"openai-agents-laminar", "loop", laminarError},
	{"openai-agents-laminar", "truncated", laminarError},
	{"openai-agents-laminar", "aborted-in-tool", laminarError},
	{"openai-agents-laminar", "guardrail", func(r *ExpectedRun) {
		r.accept(Null, "there is no model span", "model_calls")
	}},
	// The process outlives the application that gave it up, and asks the model again.
	{"claude-native", "aborted-in-tool", func(r *ExpectedRun) {
		const why = "the spans show a whole answer after the interrupted call"
		r.acceptOutcome("answered", why)
		r.accept("0", "the call was interrupted before a result was received", "tool_calls.ok")
		r.accept("bad", "an answer without a result of its only call", "slo.tool_free")
	}},
	{"openllmetry-langchain-workflow", "aborted-in-tool", abortedCall},
	{"openinference-langchain", "aborted-in-tool", abortedCall},
	{"genkit-go", "streaming", func(r *ExpectedRun) {
		const why = "a stream carries usage only if it is asked for it, and Genkit for Go does not ask"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}},
	{"openinference-langchain", "streaming-nousage", func(r *ExpectedRun) {
		const why = "the server sent no usage"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}},
	{"vercel-ai-v6", "aborted-in-tool-stream", func(r *ExpectedRun) {
		const why = "the interrupted stream's first doStream span is never exported either"
		r.accept(Null, why, append(tokenFacts, "cost_usd", "model_calls")...)
	}},
	{"claude-agent-sdk-openinference", "aborted-in-tool", abortedCall},
	{"claude-agent-sdk-openinference", "conversation", func(r *ExpectedRun) {
		cost := r.Fact("cost_usd")
		cost.Accept = append(cost.Accept, Accept{Within: &Interval{cost.Within.Low, 0.01},
			Why: "the cost that the SDK gives is the session's, with the turns before this one"})
	}},
	// Arguments stand in log records only.
	{"claude-native", "loop-then-answer", argumentsNotCaptured},
	{"claude-native", "polling", argumentsNotCaptured},
	{"claude-native", "multi-lookup", argumentsNotCaptured},
	{"mastra", "aborted-in-tool", func(r *ExpectedRun) {
		const why = "an empty chat follows the tool that the client aborted"
		r.accept("2", why, "model_calls")
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
	}},
	{"mastra", "interrupt", func(r *ExpectedRun) {
		const why = "the chat that ends in a pause carries no usage"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}},
	{"mastra", "guardrail", func(r *ExpectedRun) {
		r.accept(Null, "there is no model span", "model_calls")
	}},
	{"claude-native", "aborted", func(r *ExpectedRun) {
		r.accept("1", "the interrupted llm_request is never exported", "model_calls")
	}},
	{"", "guardrail", func(r *ExpectedRun) {
		r.acceptOutcome("error", "the refusal is an exception like any other to the emitter")
	}},
}

func voltAgentCutShort(r *ExpectedRun) {
	const why = "the tokens of a run are written when it ends well"
	r.accept(Null, why, append(tokenFacts, "cost_usd")...)
	r.accept("unknown", why, "slo.cost")
}

// abortedCall: the tool itself went on to its end, unseen.
func abortedCall(r *ExpectedRun) {
	const why = "the call was given up by its caller before it ended"
	r.accept("0", why, "tool_calls.ok")
	r.accept("1", why, "tool_calls.failed")
}

func argumentsNotCaptured(r *ExpectedRun) {
	r.accept("unknown", "the spans carry results, but no arguments", "slo.no_progress")
}

// laminarError: the SDK's own exception does not reach the spans.
func laminarError(r *ExpectedRun) {
	r.acceptOutcome("error", `every span that failed says "Error in agent run" and no more`)
}

// silentFailure: the failed call_llm has no attributes and no status, and
// nothing else says how the run ended.
func silentFailure(r *ExpectedRun) {
	r.acceptOutcome("unknown", "no span has a status, an exception or an attribute that says it failed")
}

// typedRetriever: the application told the instrumentation that its search tool
// is a retriever, so that no span is a tool.
func typedRetriever(r *ExpectedRun) {
	r.accept("0", "the search tool's observation has the type retriever", "tool_calls.ok")
}
