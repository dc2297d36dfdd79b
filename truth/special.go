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
	{"", "guardrail", func(r *ExpectedRun) {
		r.acceptOutcome("error", "the refusal is an exception like any other to the emitter")
	}},
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
