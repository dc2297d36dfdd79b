package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// A model's reply comes in many shapes: OpenTelemetry's messages with parts,
// OpenAI's message with tool_calls, Gemini's content with functionCall, Strands'
// list with toolUse, Genkit's toolRequest, plain text. One walk reads them all:
// what matters is whether there is text and which tools are asked for.

// reply reads a model's reply.
func (r *reading) reply(v value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		r.replyFrom(v.Str())
	case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
		r.replyValue(v, "", 0)
	}
}

func (r *reading) replyFrom(s string) {
	s = strings.TrimSpace(s)
	if s == "" || redacted(s) || s == "{}" || s == "null" {
		return
	}
	r.replySeen = true
	if len(s) > maxScan {
		s = s[:maxScan]
	}
	switch s[0] {
	case '{':
		if !r.replyObject(s, 0) && !r.replyText && !r.replyCalls {
			r.replyText = true // a structured answer
		}
	case '[':
		if e := elementsOf(s); !e.next() && len(s) > 2 {
			r.replyText = true // text that begins with a bracket
			return
		}
		r.replyArray(s, 0)
	case '"':
		r.replyText = r.replyText || !hollow(s)
	default:
		r.replyText = true
	}
}

const maxReplyDepth = 8

func (r *reading) replyArray(s string, depth int) {
	if depth > maxReplyDepth {
		return
	}
	for e := elementsOf(s); e.next(); {
		switch e.value[0] {
		case '{':
			r.replyObject(e.value, depth+1)
		case '[':
			r.replyArray(e.value, depth+1)
		case '"':
			r.replyText = r.replyText || !hollow(e.value)
		}
	}
}

// asks are the type words of a part that asks for a tool.
func asks(word string) bool {
	switch word {
	case "tool_call", "tool-call", "toolUse", "tool_use", "function_call", "server_tool_call", "toolCall", "functionCall":
		return true
	}
	return false
}

// replyObject reads one message, part or response. It reports false for an
// object that is none of these.
func (r *reading) replyObject(s string, depth int) (known bool) {
	if depth > maxReplyDepth {
		return true
	}
	var kind, role, name, id, content string
	call, response := false, false
	for m := membersOf(s); m.next(); {
		v := m.value
		known = known || replyKey(m.key)
		switch m.key {
		case "type":
			kind = text(v)
		case "role":
			role = text(v)
		case "name", "toolName", "tool.name":
			name = text(v)
			call = call || m.key != "name"
		case "id", "toolCallId", "toolUseId", "tool_call_id", "ref", "call_id":
			if id == "" || m.key != "id" {
				id = text(v)
			}
		case "function":
			if n := member(v, "name"); n != "" {
				name, call = text(n), true
			}
		case "tool_calls", "toolCalls":
			if v[0] == '[' {
				r.replyArray(v, depth+1)
			}
		case "toolUse", "functionCall", "function_call", "toolRequest":
			if v[0] == '{' {
				r.ask(text(member(v, "name")), text(firstMember(v, "id", "toolUseId", "ref", "call_id")))
			}
		case "finish_reason", "finishReason", "stop_reason", "stopReason":
			if finish := finishWord(text(v)); v[0] == '"' && finish != FinishNone {
				r.finish = finish
			}
		case "toolResult", "toolResponse", "functionResponse", "function_response", "tool_call_response":
			response = true
		case "text", "content", "output_text", "parts", "message", "messages", "kwargs", "candidates", "choices",
			"generations", "output", "refusal", "json":
			switch v[0] {
			case '"':
				if content == "" && !hollow(v) && m.key != "refusal" {
					content = v
				}
			case '{':
				r.replyObject(v, depth+1)
			case '[':
				r.replyArray(v, depth+1)
			}
		}
	}
	switch {
	case response, strings.HasSuffix(kind, "_response"), role == "user", role == "system", role == "tool":
	case asks(kind), call && kind != "tool" && kind != "text":
		r.ask(name, id)
	case kind == "reasoning", kind == "thinking":
	case content != "" && !redacted(text(content)):
		r.replyText = true
	}
	return known
}

// replyKey says whether a key is one of a message's own.
func replyKey(key string) bool {
	switch key {
	case "role", "content", "parts", "message", "messages", "kwargs", "candidates", "choices", "generations", "tool_calls",
		"toolCalls", "toolUse", "functionCall", "function_call", "toolRequest", "finish_reason", "finishReason", "refusal",
		"output_text":
		return true
	}
	return false
}

func firstMember(raw string, keys ...string) string {
	for _, k := range keys {
		if v := member(raw, k); v != "" {
			return v
		}
	}
	return ""
}

// ask notes a tool call that the reply asks for.
func (r *reading) ask(name, id string) {
	r.replyCalls = true
	if len(r.asked) < maxAsked {
		r.asked = append(r.asked, AskedCall{Name: name, CallID: identity(id)})
	}
}

// replyValue reads a structured attribute.
func (r *reading) replyValue(v value, key string, depth int) {
	if depth > maxReplyDepth {
		return
	}
	r.replySeen = true
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		s := v.Slice()
		for i := range s.Len() {
			r.replyValue(s.At(i), key, depth+1)
		}
	case pcommon.ValueTypeStr:
		switch key {
		case "", "text", "content", "output_text":
			if !blank(v.Str()) && !redacted(v.Str()) {
				r.replyText = true
			}
		}
	case pcommon.ValueTypeMap:
		m := v.Map()
		kind, role := mapText(m, "type"), mapText(m, "role")
		if strings.HasSuffix(kind, "_response") || role == "user" || role == "system" || role == "tool" ||
			kind == "reasoning" || kind == "thinking" {
			return
		}
		function, isFunction := m.Get("function")
		if asks(kind) || isFunction {
			name, id := mapText(m, "name"), mapText(m, "id")
			if isFunction && function.Type() == pcommon.ValueTypeMap {
				name = mapText(function.Map(), "name")
			}
			r.ask(name, id)
			return
		}
		for k, e := range m.All() {
			switch k {
			case "text", "content", "parts", "message", "messages", "tool_calls", "toolCalls", "choices", "output":
				r.replyValue(e, k, depth+1)
			}
		}
	}
}

func mapText(m pcommon.Map, key string) string {
	if v, ok := m.Get(key); ok {
		return v.Str()
	}
	return ""
}

// answers says whether what a root carries as its output is an answer.
func answers(v value) bool {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		return answersText(v.Str())
	case pcommon.ValueTypeMap:
		return v.Map().Len() > 0
	case pcommon.ValueTypeSlice:
		return v.Slice().Len() > 0
	case pcommon.ValueTypeInt, pcommon.ValueTypeDouble, pcommon.ValueTypeBool:
		return true
	}
	return false
}

func answersText(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" || redacted(s) || hollow(s) || len(s) > maxAnswer && s[0] != '{' && s[0] != '[' {
		return len(s) > maxAnswer
	}
	switch s[0] {
	case '{':
		return answersObject(s, 0)
	case '[':
		return answersArray(s, 0)
	}
	return true
}

const maxAnswer = 4096

// answersObject: one of the usual names of an answer decides; without any, the
// object itself is the answer.
func answersObject(s string, depth int) bool {
	if depth > maxReplyDepth || hollow(s) {
		return false
	}
	named, filled, any := false, false, false
	typ, calls := "", false
	for m := membersOf(s); m.next(); {
		any = true
		switch m.key {
		case "type":
			typ = text(m.value)
		case "tool_calls", "toolCalls":
			calls = calls || !hollow(m.value)
		case "lc", "id", "constructor":
		case "messages":
			return answersLast(m.value, depth+1)
		case "kwargs":
			return answersObject(m.value, depth+1)
		case "answer", "text", "output", "content", "response", "result", "message", "final_output", "finalOutput",
			"output_text", "final_answer", "object", "reply", "parts":
			named = true
			filled = filled || answersRaw(m.value, depth+1)
		}
	}
	switch {
	case typ == "human", typ == "tool", typ == "system", asks(typ):
		return false
	case typ == "ai" && calls:
		return false
	case named:
		return filled && !(calls && typ == "ai")
	}
	return any
}

func answersRaw(raw string, depth int) bool {
	switch {
	case raw == "" || hollow(raw):
		return false
	case raw[0] == '{':
		return answersObject(raw, depth)
	case raw[0] == '[':
		return answersArray(raw, depth)
	}
	return !redacted(text(raw))
}

// answersLast: of a list of messages, the last one tells.
func answersLast(raw string, depth int) bool {
	if raw == "" || raw[0] != '[' {
		return answersRaw(raw, depth)
	}
	last := ""
	for e := elementsOf(raw); e.next(); {
		last = e.value
	}
	if last == "" || last[0] != '{' {
		return answersRaw(last, depth)
	}
	if role := text(member(last, "role")); role == "user" || role == "tool" || role == "system" || role == "human" {
		return false
	}
	if id := member(last, "id"); strings.HasPrefix(id, "[") && member(last, "lc") != "" {
		if !strings.Contains(id, `"AIMessage`) {
			return false
		}
		kwargs := member(last, "kwargs")
		return hollow(member(kwargs, "tool_calls")) && answersRaw(member(kwargs, "content"), depth+1)
	}
	if !hollow(member(last, "tool_calls")) {
		return false
	}
	return answersObject(last, depth)
}

func answersArray(raw string, depth int) bool {
	if depth > maxReplyDepth {
		return false
	}
	for e := elementsOf(raw); e.next(); {
		if answersRaw(e.value, depth+1) {
			return true
		}
	}
	// Not an array of JSON but text in brackets.
	return !strings.HasSuffix(raw, "]")
}
