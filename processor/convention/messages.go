package convention

import (
	"strings"
	"unsafe"
)

// Some emitters see the model client only, or lose the span of a function that
// throws. What became of the calls that a reply asked for then shows in one
// place: among the messages that the next model call is given.

// clientScopes instrument a model client and nothing round it.
var clientScopes = []string{
	"opentelemetry.instrumentation.openai", "opentelemetry.instrumentation.openai.*", "opentelemetry.instrumentation.openai_v2*",
	"opentelemetry.instrumentation.anthropic*", "opentelemetry.instrumentation.bedrock*", "opentelemetry.instrumentation.vertexai*",
	"opentelemetry.instrumentation.google_genai*", "opentelemetry.instrumentation.google_generativeai*",
	"opentelemetry.instrumentation.mistralai*", "opentelemetry.instrumentation.cohere*", "opentelemetry.instrumentation.ollama*",
	"opentelemetry.instrumentation.groq*", "opentelemetry.instrumentation.together*",
	"@opentelemetry/instrumentation-openai", "@traceloop/*",
	"openinference.instrumentation.openai", "openinference.instrumentation.anthropic", "openinference.instrumentation.groq",
	"openinference.instrumentation.mistralai", "openinference.instrumentation.bedrock",
	"@arizeai/openinference-instrumentation-openai", "@arizeai/openinference-instrumentation-anthropic",
	"@arizeai/openinference-instrumentation-bedrock",
}

// byMessage says whether the span's emitter may have no span for a tool call.
func (r *reading) byMessage() bool {
	return r.scope.client || r.own == 1<<langfuse || r.scope.emits&(1<<traceloop) != 0
}

// readReturned reads the results of tool calls that the model call was given.
func (f *Facts) readReturned(r *reading) {
	f.ByMessage, r.hashArgs = true, true
	prompt := r.text(slotPrompt)
	if prompt == "" && (r.own == 1<<langfuse || r.own == 1<<openInference) {
		prompt = r.text(slotArgs) // the whole request
	}
	f.Returned = r.returnedCalls(prompt, f.Returned)
	for i := range r.prompts {
		if p := &r.prompts[i]; p.id != "" && len(f.Returned) < maxAsked {
			c := ReturnedCall{CallID: identity(p.id)}
			c.set(r, p.content)
			f.Returned = append(f.Returned, c)
		}
	}
}

// numberedPrompt is one message of the numbered form.
type numberedPrompt struct {
	n           int
	id, content string
}

// readPrompt reads the numbered form gen_ai.prompt.N.…: of the messages that
// are results, the last ones.
func readPrompt(r *reading, rest string, v value) {
	r.seen |= 1 << otelGenAI
	if !r.scope.client {
		return
	}
	n, field := cutNumber(rest)
	if n < 0 || field != "tool_call_id" && field != "content" {
		return
	}
	for len(r.prompts) <= n%maxAsked {
		r.prompts = append(r.prompts, numberedPrompt{n: -1})
	}
	p := &r.prompts[n%maxAsked]
	if n < p.n {
		return
	}
	if n > p.n {
		*p = numberedPrompt{n: n}
	}
	if field == "content" {
		p.content = v.Str()
	} else {
		p.id = v.Str()
	}
}

// returnedCalls reads the results that stand behind the model's last message,
// whatever form the messages have: OpenAI's, Anthropic's or OpenTelemetry's.
func (r *reading) returnedCalls(prompt string, out []ReturnedCall) []ReturnedCall {
	if len(prompt) > 8*maxScan {
		prompt = prompt[len(prompt)-8*maxScan:]
	}
	// Most prompts have no results: that is seen as fast as memory can be read.
	if !strings.Contains(prompt, `_id"`) && !strings.Contains(prompt, `_response"`) && !strings.Contains(prompt, `CallId"`) {
		return out
	}
	var list elements
	if i := behindLastReply(prompt); i >= 0 {
		list = elements{s: prompt, i: i}
	} else {
		list = elementsOf(messagesIn(prompt))
	}
	for list.next() {
		out = r.returnedIn(list.value, 0, out)
	}
	return out
}

// messagesIn is the list of messages in a request, raw JSON.
func messagesIn(request string) string {
	for m := membersOf(request); m.next(); {
		switch m.key {
		case "messages", "input", "contents":
			return m.value
		}
	}
	return request
}

// behindLastReply is the index behind the last message of the model's, or -1. A
// quote inside a JSON string has a backslash before it, so that the pattern
// cannot stand in what somebody wrote.
func behindLastReply(s string) int {
	const word = `"assistant"`
	last := -1
	for at := 0; ; {
		i := strings.Index(s[at:], word)
		if i < 0 {
			break
		}
		before := trim(s[max(0, at+i-16) : at+i])
		if at += i + len(word); strings.HasSuffix(before, ":") && strings.HasSuffix(trim(before[:len(before)-1]), `"role"`) {
			last = at
		}
	}
	if last < 0 {
		return -1
	}
	rest := members{s: s, i: last} // of that message
	for rest.next() {
	}
	if i := skipSpace(s, rest.i); i < len(s) && s[i] == '}' {
		return i + 1
	}
	return -1
}

// returnedIn reads one message, or one part of it.
func (r *reading) returnedIn(raw string, depth int, out []ReturnedCall) []ReturnedCall {
	if len(out) >= maxAsked {
		return out
	}
	var id, result, parts, kind, role string
	failed := false
	for m := membersOf(raw); m.next(); {
		switch m.key {
		case "tool_call_id", "tool_use_id", "toolCallId", "toolUseId", "call_id":
			id = text(m.value)
		case "id":
			if id == "" {
				id = text(m.value)
			}
		case "type":
			kind = text(m.value)
		case "role":
			role = text(m.value)
		case "is_error", "isError":
			failed = m.value == "true"
		case "parts", "content", "response", "result", "output":
			result = m.value
			if m.value[0] == '[' {
				parts = m.value
			}
		}
	}
	if before := len(out); parts != "" && depth < 3 {
		for e := elementsOf(parts); e.next(); {
			out = r.returnedIn(e.value, depth+1, out)
		}
		if len(out) > before {
			return out
		}
	}
	switch kind {
	case "tool_call_response", "tool_result", "tool-result", "function_call_output":
	default:
		if role != "tool" {
			return out
		}
	}
	c := ReturnedCall{CallID: identity(id)}
	if c.CallID == 0 {
		return out
	}
	c.set(r, result)
	if failed && !c.Error {
		c.fail(text(result))
	}
	return append(out, c)
}

// set reads the result, raw JSON or text.
func (c *ReturnedCall) set(r *reading, result string) {
	if said := text(result); result == "" || redacted(said) || redactedWithin(said) {
		return
	}
	v := r.canonicalRaw(result)
	c.HasResult, c.ResultHash, c.ResultEmpty = true, v.hash, v.empty
	if r.likeness {
		r.likeResult(&c.Like, meant(result), c.ResultHash)
	}
	if said, failed := errorResult(result); failed {
		c.fail(said)
	} else if v.error {
		c.fail(v.said)
	}
}

// fail marks the call as failed, by a text that says so.
func (c *ReturnedCall) fail(said string) {
	said = said[:min(len(said), maxErrorText)]
	found := errorWords.find(said)
	c.Error, c.Class, c.Refused = true, classify(said, found), unknownTool(found)
	c.Like.Error = short(errorHash(said))
}

// canonicalRaw hashes a raw JSON value as an attribute with that value would
// hash: a string by what it stands for, which may be JSON again.
func (r *reading) canonicalRaw(raw string) canonical {
	if len(raw) < 2 || raw[0] != '"' {
		return canonicalText(raw)
	}
	s := raw[1 : len(raw)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return canonicalText(s)
	}
	if r.unescaped = appendUnescaped(r.unescaped[:0], s); len(r.unescaped) == 0 {
		return canonicalText("")
	}
	// The hash is all that is kept; what the value says of a failure is read
	// before the memory is used again.
	return canonicalText(unsafe.String(&r.unescaped[0], len(r.unescaped)))
}

// errorResult says whether a tool's result, raw JSON, is an error, and what it
// says: an object with an error, also as text, or text that begins so.
func errorResult(raw string) (said string, failed bool) {
	said = trim(text(raw)) // escapes do not matter to what follows
	switch {
	case strings.HasPrefix(said, `{\"error\":`):
		failed = !hollow(strings.TrimSuffix(said[len(`{\"error\":`):], "}"))
	case strings.HasPrefix(said, "{"):
		m := membersOf(said)
		failed = m.next() && m.key == "error" && !hollow(m.value)
		said = m.value
	default:
		failed = hasFolded(said, "error")
	}
	return said, failed
}
