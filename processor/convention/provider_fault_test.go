package convention

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// What SDKs and gateways say when a model call fails, as texts of one failed
// model span: type of the exception, its message.
func TestProviderFault(t *testing.T) {
	for _, c := range []struct {
		typ, message string
		want         ProviderFault
	}{
		{"openai.RateLimitError", "Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4o'}}", RateLimited},
		{"RateLimitError", "429 You exceeded your current quota, please check your plan and billing details", NoFault},
		{"ThrottlingException", "Too many requests, please wait before trying again.", RateLimited},
		{"google.api_core.exceptions.ResourceExhausted", "429 RESOURCE_EXHAUSTED", RateLimited},
		{"anthropic.InternalServerError", "Error code: 529 - {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}", Overloaded},
		{"AI_APICallError", "The model is overloaded. Please try again later.", Overloaded},
		{"ServiceUnavailableException", "Bedrock is at capacity", Overloaded},
		{"openai.APITimeoutError", "Request timed out.", TimedOut},
		{"504", "", TimedOut},
		{"TimeoutError", "no answer within 60 s", TimedOut},
		{"openai.InternalServerError", "Error code: 500 - server had an error", Unavailable},
		{"APIConnectionError", "Connection error.", Unavailable},
		{"Error", "connect ECONNREFUSED 10.0.0.1:443", Unavailable},
		{"503", "Service Unavailable", Unavailable},
		{"BrokenCircuitException", "The circuit is now open and is not allowing calls.", CircuitOpen},
		{"CallNotPermittedException", "CircuitBreaker 'openai' is OPEN and does not permit further calls", CircuitOpen},
		{"Error", "circuit breaker is open for provider azure after 5 timeouts", CircuitOpen},

		{"openai.BadRequestError", "Error code: 400 - Invalid schema for function", NoFault},
		{"openai.AuthenticationError", "Error code: 401 - Incorrect API key provided", NoFault},
		{"NotFoundError", "404 The model gpt-9 does not exist", NoFault},
		{"ContextWindowExceeded", "something odd", NoFault},
		{"AbortError", "This operation was aborted", NoFault},
		{"GraphRecursionError", "Recursion limit of 25 reached after a timeout", NoFault},
	} {
		span := ptrace.NewSpan()
		span.Attributes().PutStr("gen_ai.operation.name", "chat")
		span.Attributes().PutStr("gen_ai.request.model", "gpt-4o")
		span.Status().SetCode(ptrace.StatusCodeError)
		e := span.Events().AppendEmpty()
		e.SetName("exception")
		e.Attributes().PutStr("exception.type", c.typ)
		e.Attributes().PutStr("exception.message", c.message)
		var f Facts
		New().Span(&f, pcommon.NewInstrumentationScope(), span)
		if f.Fault != c.want {
			t.Errorf("%s: %s: %q, should be %q (class %s)", c.typ, c.message, f.Fault, c.want, f.Class)
		}
		// The same failure of a tool is no trouble of the model's provider.
		span.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
		if New().Span(&f, pcommon.NewInstrumentationScope(), span); f.Fault != NoFault {
			t.Errorf("%s: %s: of a tool %q", c.typ, c.message, f.Fault)
		}
	}
}

func TestRequestedModelAndProvider(t *testing.T) {
	facts := func(attributes map[string]string) (f Facts) {
		span := ptrace.NewSpan()
		for k, v := range attributes {
			span.Attributes().PutStr(k, v)
		}
		New().Span(&f, pcommon.NewInstrumentationScope(), span)
		return f
	}
	asked := facts(map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai"})
	answered := facts(map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.response.model": "gpt-4o-2024-08-06", "gen_ai.system": "openai"})
	other := facts(map[string]string{"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "azure.ai.openai"})
	if asked.ModelName != "gpt-4o" || answered.ModelName != "gpt-4o-2024-08-06" {
		t.Errorf("models are %q and %q", asked.ModelName, answered.ModelName)
	}
	if asked.Requested == 0 || asked.Requested != answered.Requested || asked.Provider == 0 || asked.Provider != answered.Provider {
		t.Errorf("the same model of the same provider: %d of %d and %d of %d", asked.Requested, asked.Provider, answered.Requested, answered.Provider)
	}
	if other.Provider == asked.Provider || other.Requested != asked.Requested {
		t.Errorf("the same model of another provider: %d of %d", other.Requested, other.Provider)
	}
	// A key of its own vocabulary before that of another.
	oi := facts(map[string]string{"openinference.span.kind": "LLM", "llm.model_name": "claude-sonnet-4-5", "gen_ai.request.model": "sonnet"})
	if oi.ModelName != "claude-sonnet-4-5" {
		t.Errorf("the model is %q", oi.ModelName)
	}
	if v := facts(map[string]string{"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "gpt-4o-mini", "gen_ai.response.model": "gpt-4o-mini-2024"}); v.ModelName != "gpt-4o-mini" {
		t.Errorf("the model is %q", v.ModelName)
	}
	if none := facts(map[string]string{"gen_ai.operation.name": "chat"}); none.Requested != 0 || none.Provider != 0 {
		t.Errorf("not said: %d of %d", none.Requested, none.Provider)
	}
}
