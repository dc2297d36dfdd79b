package convention

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		text string
		want Class
	}{
		// as recorded
		{"invalid order id '1001': expected format A-NNNN", BadArgs},
		{"order service timed out after 300 ms", Transient},
		{"order service returned HTTP 500", Transient},
		{"Rate limit reached for gpt-4o-mini", Transient},
		{"The server had an error while processing your request", Transient},
		{"ETIMEDOUT", Transient},
		{"HTTP_500", Transient},
		{"INVALID_ARGUMENT", BadArgs},
		{"Tool 'lookup_shipment' not found in registry", BadArgs},
		{"NOT_FOUND: Tool lookup_shipment not found", BadArgs},
		{"RateLimitError", Transient},
		{"InternalServerError", Transient},
		{"TimeoutError", Transient},
		{"ModelThrottledError", Transient},
		{"UpstreamError", Unclassified},
		{"unknown", Unclassified},
		// codes
		{"429", Transient}, {"503", Transient}, {"500", Transient}, {"408", Transient},
		{"400", BadArgs}, {"422", BadArgs}, {"401", Auth}, {"403", Auth}, {"404", Unrecoverable}, {"410", Unrecoverable},
		{"Request failed with status code 404", Unrecoverable},
		{"HTTP/1.1 401", Auth},
		{"error code: 503", Transient},
		// numbers that are no codes
		{"500 ms passed", Unclassified},
		{"order 404 lost", Unclassified},
		{"5000", Unclassified},
		{"v4.404", Unclassified},
		// the exact goes before the general
		{"429 You exceeded your current quota, please check your plan and billing details", Unrecoverable},
		{"insufficient_quota", Unrecoverable},
		{"400 Invalid API key provided", Auth},
		{"PERMISSION_DENIED: no access", Auth},
		{"Unauthorized", Auth},
		{"connect ECONNREFUSED 127.0.0.1:80", Transient},
		{"socket hang up", Transient},
		{"context deadline exceeded", Transient},
		{"1 validation error for GetOrder", BadArgs},
		{"missing required parameter order_id", BadArgs},
		{"order A-1 not found", Unrecoverable},
		{"ENOENT: no such file or directory", Unrecoverable},
		{"not implemented", Unrecoverable},
		{"", Unclassified},
		{"it broke", Unclassified},
	} {
		if got := classify(c.text, errorWords.find(c.text)); got != c.want {
			t.Errorf("%q: got %v, want %v", c.text, got, c.want)
		}
	}
}

func TestFailureOf(t *testing.T) {
	for _, c := range []struct {
		text string
		want Failure
	}{
		{"Max turns exceeded: {'max_turns': 10}", FailureLimit},
		{"MaxTurnsExceeded", FailureLimit},
		{"Claude Code returned an error result: Reached maximum number of turns (6)", FailureLimit},
		{"Result error: error_max_budget_usd", FailureLimit},
		{"Recursion limit of 12 reached without hitting a stop condition.", FailureLimit},
		{"langgraph.errors.GraphRecursionError", FailureLimit},
		{"ABORTED: Exceeded maximum tool call iterations (5)", FailureLimit},
		{"UsageLimitExceeded", FailureLimit},
		{"LlmCallsLimitExceededError", FailureLimit},
		{"Model reached maximum token limit. This is an unrecoverable state", FailureLimit},
		{"AbortError", FailureCancelled},
		{"This operation was aborted", FailureCancelled},
		{"UNKNOWN: Request was aborted.", FailureCancelled},
		{"Abort\n\nError: Abort\n    at listener", FailureCancelled},
		{"Agent invocation cancelled", FailureCancelled},
		{"aborted", FailureCancelled},
		{"Abandoned", FailureCancelled},
		{"asyncio.exceptions.CancelledError", FailureCancelled},
		{"context canceled", FailureCancelled},
		{"order A-1 was cancelled last week", FailureNone}, // what a tool says of its own world
		{"the abandoned cart is empty", FailureNone},
		{"InputGuardrailTripwireTriggered", FailureGuardrail},
		{"GraphInterrupt: []", FailurePaused},
		{"UserInputRequiredException", FailurePaused},
		{"loop detected", FailureNoProgress},
		{"order service timed out", FailureNone},
	} {
		if got := failureOf(c.text, errorWords.find(c.text)); got != c.want {
			t.Errorf("%q: got %v, want %v", c.text, got, c.want)
		}
	}
}

// Every row of the tables can be reached, whatever its case.
func TestErrorWordsAreLowerAndFound(t *testing.T) {
	check := func(text string) {
		if text != strings.ToLower(text) || len(text) < 2 {
			t.Errorf("%q can never match", text)
		}
		m := errorWords.find("x" + strings.ToUpper(text) + "x")
		if int(m.class) == len(classRules) && int(m.failure) == len(failureRules) && !m.tool {
			t.Errorf("%q is not found", text)
		}
	}
	for _, rule := range classRules {
		for _, w := range rule.words {
			check(w)
		}
	}
	for _, rule := range failureRules {
		for _, w := range rule.words {
			check(w)
		}
	}
}

func TestFailures(t *testing.T) {
	tool := a{"gen_ai.operation.name": "execute_tool"}
	exception := func(typ, message string) []madeEvent {
		return []madeEvent{{name: "exception", attributes: a{"exception.type": typ, "exception.message": message}}}
	}
	for _, c := range []struct {
		why     string
		made    made
		failed  bool
		class   Class
		failure Failure
	}{
		{"status without text", made{status: ptrace.StatusCodeError, attributes: tool}, true, Unclassified, FailureError},
		{"type before prose", made{status: ptrace.StatusCodeError, message: "invalid", attributes: tool, events: exception("TimeoutError", "invalid")},
			true, Transient, FailureError},
		{"prose where the type says nothing", made{status: ptrace.StatusCodeError, attributes: tool, events: exception("Error", "401 Unauthorized")},
			true, Auth, FailureError},
		{"an exception that was handled", made{status: ptrace.StatusCodeOk, attributes: tool, events: exception("TimeoutError", "")},
			false, ClassNone, FailureNone},
		{"an interrupt that was handled", made{status: ptrace.StatusCodeOk, attributes: tool, events: exception("GraphInterrupt", "")},
			false, ClassNone, FailurePaused},
		{"an interrupt whose value is long", made{status: ptrace.StatusCodeError, attributes: tool,
			message: "[{\"value\":\"" + strings.Repeat("x", 5000) + "\"}]\n\nGraphInterrupt: []"}, false, ClassNone, FailurePaused},
		{"control that is passed on", made{status: ptrace.StatusCodeError, attributes: tool, events: exception("ParentCommand", "")},
			false, ClassNone, FailureNone},
		{"a limit whatever its code", made{status: ptrace.StatusCodeError, attributes: tool, events: exception("409", "ABORTED: Exceeded maximum tool call iterations (5)")},
			true, Unclassified, FailureLimit},
		{"Langfuse's level", made{attributes: a{"langfuse.observation.type": "tool", "langfuse.observation.level": "ERROR",
			"langfuse.observation.status_message": "timed out"}}, true, Transient, FailureError},
		{"Genkit's state, in Go", made{attributes: a{"genkit:metadata:subtype": "tool.v2", "genkit:state": "error"}}, true, Unclassified, FailureError},
		{"Genkit's state", made{attributes: a{"genkit:metadata:subtype": "tool", "genkit:state": "error"}}, true, Unclassified, FailureError},
		{"Claude Code's success", made{name: "claude_code.tool", scope: "com.anthropic.claude_code", attributes: a{"success": false, "error": "timed out"}},
			true, Transient, FailureError},
		{"and as text", made{name: "claude_code.tool", scope: "com.anthropic.claude_code", attributes: a{"success": "true"}}, false, ClassNone, FailureNone},
		{"a guardrail", made{attributes: a{"gen_ai.operation.name": "guardrail_check", "gen_ai.guardrail.triggered": true}}, false, ClassNone, FailureGuardrail},
		{"no agent's work", made{status: ptrace.StatusCodeError, message: "MaxTurnsExceeded", attributes: a{"http.request.method": "GET"}},
			false, ClassNone, FailureNone},
		{"LangChain's message says error", made{attributes: a{"openinference.span.kind": "TOOL",
			"output.value": `{"content":"Error: timed out","type":"tool","tool_call_id":"c","status":"error"}`}}, true, Transient, FailureError},
		{"Strands' mark", made{scope: "strands.telemetry.tracer", attributes: a{"gen_ai.operation.name": "invoke_agent",
			"strands.cancellation.type": "CancelledError"}}, false, ClassNone, FailureCancelled},
		{"on a span that failed", made{scope: "strands.telemetry.tracer", status: ptrace.StatusCodeError, attributes: a{"gen_ai.operation.name": "chat",
			"strands.cancellation.type": "KeyboardInterrupt"}}, true, Unclassified, FailureCancelled},
		{"MCP's result", made{attributes: a{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": `{"isError":true,"content":[{"type":"text","text":"rate limit exceeded"}]}`}}, true, Transient, FailureError},
		{"with more beside it", made{attributes: a{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": `{"_meta":{"unauthorized":1},"content":[{"type":"image"},{"type":"text","text":"503 try later"}],"structuredContent":null,"isError":true}`}},
			true, Transient, FailureError},
		{"structured", made{attributes: a{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": a{"isError": true, "content": []any{a{"type": "text", "text": "403 Forbidden"}}}}}, true, Auth, FailureError},
		{"and without text", made{attributes: a{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": `{"isError":true,"content":[]}`}},
			true, Unclassified, FailureError},
		{"and no error", made{attributes: a{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": `{"isError":false,"content":[{"type":"text","text":"rate limit exceeded"}]}`}}, false, ClassNone, FailureNone},
		{"a tool's text does not speak of the run", made{attributes: a{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.result": `{"isError":true,"content":[{"type":"text","text":"the solver reached max iterations"}]}`}}, true, Unclassified, FailureError},
	} {
		f := c.made.facts(t)
		if f.Failed != c.failed || f.Class != c.class || f.Failure != c.failure {
			t.Errorf("%s: failed %v class %v failure %d, want %v %v %d", c.why, f.Failed, f.Class, f.Failure, c.failed, c.class, c.failure)
		}
	}
}

func TestFinish(t *testing.T) {
	for _, c := range []struct {
		reason any
		want   Finish
	}{
		{"stop", FinishStop}, {"end_turn", FinishStop}, {"endTurn", FinishStop}, {"STOP", FinishStop}, {"stop_sequence", FinishStop},
		{"tool_calls", FinishTool}, {"tool-calls", FinishTool}, {"tool_call", FinishTool}, {"tool_use", FinishTool}, {"toolUse", FinishTool},
		{"function_call", FinishTool}, {"length", FinishLength}, {"MAX_TOKENS", FinishLength}, {"max_output_tokens", FinishLength},
		{"content_filter", FinishFiltered}, {"content-filter", FinishFiltered}, {"SAFETY", FinishFiltered}, {"guardrail_intervened", FinishFiltered},
		{"refusal", FinishRefusal}, {"cancelled", FinishCancelled}, {"ABORTED", FinishCancelled}, {"interrupt", FinishHuman},
		{"limitTurns", FinishLimit}, {"limitSomethingNew", FinishLimit}, {"MAX_TURNS", FinishLimit}, {"TIMEOUT", FinishLimit}, {"error_max_turns", FinishLimit},
		{"error", FinishError}, {"other", FinishOther}, {"a word of tomorrow", FinishOther}, {"", FinishNone}, {"in_progress", FinishNone},
		{[]any{"stop"}, FinishStop}, {[]any{}, FinishNone}, {`["stop"]`, FinishStop}, {`["tool-calls"]`, FinishTool}, {`"stop"`, FinishStop},
		{[]any{"tool_calls", "stop"}, FinishTool}, {7, FinishNone}, {true, FinishNone},
	} {
		f := made{attributes: a{"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": c.reason}}.facts(t)
		if f.Finish != c.want {
			t.Errorf("%v: got %d, want %d", c.reason, f.Finish, c.want)
		}
	}
}
