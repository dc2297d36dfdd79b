package convention

import "testing"

// The ADK in Go: its first versions give the total as output, newer ones the
// output with its thoughts; arguments that were never filled in are no arguments.
func TestADKInGo(t *testing.T) {
	generate := func(finish string, more a) *Facts {
		attributes := a{"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini-2.0-flash",
			"gcp.vertex.agent.invocation_id": "e-1", "gen_ai.response.finish_reasons": []any{finish},
			"gen_ai.usage.input_tokens": 200, "gen_ai.usage.output_tokens": 218}
		for k, v := range more {
			attributes[k] = v
		}
		return made{scope: "gcp.vertex.agent", name: "generate_content gemini-2.0-flash", attributes: attributes}.facts(t)
	}
	for name, c := range map[string]struct {
		facts *Facts
		want  int64
	}{
		"total for output":     {generate("STOP", nil), Unknown},
		"with thoughts":        {generate("STOP", a{"gen_ai.usage.reasoning.output_tokens": 16}), 218},
		"in the spec's words":  {generate("stop", nil), 218},
		"no finish reason yet": {generate("", nil), 218},
	} {
		if got := c.facts.Usage; got.Input != 200 || got.Output != c.want {
			t.Errorf("%s: input %d, output %d, want 200 and %d", name, got.Input, got.Output, c.want)
		}
	}
	tool := made{scope: "gcp.vertex.agent", name: "execute_tool get_order_status", attributes: a{"gen_ai.operation.name": "execute_tool",
		"gcp.vertex.agent.tool_call_args": "null", "gcp.vertex.agent.tool_response": `{"status":"shipped"}`}}.facts(t)
	if tool.HasArgs || !tool.HasResult || tool.Kind != Tool {
		t.Errorf("arguments %v, result %v", tool.HasArgs, tool.HasResult)
	}
}

// A stream that the caller leaves between two pieces ends the span on a piece.
func TestPartOfAReplyIsNoReply(t *testing.T) {
	for _, c := range []struct {
		why, reply string
		want       Finish
	}{
		{"a piece", `{"content":{"parts":[{"text":" with"}],"role":"model"},"partial":true}`, FinishCancelled},
		{"the whole", `{"content":{"parts":[{"text":"with DHL"}],"role":"model"},"partial":false}`, FinishNone},
		{"the last piece", `{"content":{"parts":[{"text":" DHL"}],"role":"model"},"finishReason":"STOP","partial":true}`, FinishStop},
		{"text that says so", `{"content":{"parts":[{"text":"{\"partial\":true}"}],"role":"model"}}`, FinishNone},
		{"a tool's argument", `{"content":{"parts":[{"functionCall":{"name":"f","args":{"partial":true}}}],"role":"model"}}`, FinishNone},
	} {
		f := made{scope: "gcp.vertex.agent", name: "call_llm", attributes: a{"gcp.vertex.agent.llm_response": c.reply}}.facts(t)
		equal(t, c.why, f.Finish, c.want)
	}
}

// The ADK counts calls against the limit inside the model call's span; nobody
// else begins a call that it may not make.
func TestStubAtLimit(t *testing.T) {
	for _, c := range []struct {
		why  string
		made made
		want bool
	}{
		{"call_llm", made{scope: "gcp.vertex.agent", name: "call_llm", attributes: a{"gcp.vertex.agent.invocation_id": "e-1"}}, true},
		{"the stub itself", made{scope: "gcp.vertex.agent", name: "call_llm"}, true},
		{"its newer form", made{scope: "gcp.vertex.agent", name: "generate_content gemini-2.0-flash",
			attributes: a{"gen_ai.operation.name": "generate_content"}}, true},
		{"a tool", made{scope: "gcp.vertex.agent", name: "execute_tool f"}, false},
		{"another's model call", made{scope: "x", name: "chat", attributes: a{"gen_ai.operation.name": "chat"}}, false},
	} {
		equal(t, c.why, c.made.facts(t).StubAtLimit, c.want)
	}
}
