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
		if known, _ := r.replyObject(s, 0, 0); !known && !r.replyText && !r.replyCalls {
			r.replyText = true // a structured answer
		}
	case '[':
		if r.replyArray(s, 0, 0) == notJSON {
			r.replyText = true // text that begins with a bracket
		}
	case '"':
		r.replyText = r.replyText || !hollow(s)
	default:
		r.replyText = true
	}
}

const (
	maxReplyDepth = 12
	cutOff        = -1 // a value that does not end
	notJSON       = -2
)

// replyAt reads the value at s[i] and gives the index behind it, or a negative
// number. Every byte is looked at once.
func (r *reading) replyAt(s string, i, depth int) int {
	if depth > maxReplyDepth {
		return skipValue(s, i)
	}
	switch s[i] {
	case '{':
		_, end := r.replyObject(s, i, depth)
		return end
	case '[':
		return r.replyArray(s, i, depth)
	case '"':
		end := skipString(s, i)
		r.replyText = r.replyText || spoken(s, i, end)
		return end
	}
	return skipValue(s, i)
}

// spoken says whether the raw string s[i:end] is text that somebody said.
func spoken(s string, i, end int) bool {
	return end > 0 && !blank(s[i+1:end-1]) && !redacted(s[i+1:end-1])
}

func (r *reading) replyArray(s string, i, depth int) int {
	i = skipSpace(s, i+1)
	for first := true; i < len(s); first = false {
		switch c := s[i]; {
		case c == ']':
			return i + 1
		case c == ',' && !first:
			i = skipSpace(s, i+1)
			continue
		case c == '{', c == '[', c == '"', c == '-', c >= '0' && c <= '9', c == 'n', c == 't', c == 'f':
		default:
			if first {
				return notJSON
			}
			return cutOff
		}
		if i = r.replyAt(s, i, depth+1); i < 0 {
			return cutOff
		}
		i = skipSpace(s, i)
	}
	return cutOff
}

// asks are the type words of a part that asks for a tool.
func asks(word string) bool {
	switch word {
	case "tool_call", "tool-call", "toolUse", "tool_use", "function_call", "server_tool_call", "toolCall", "functionCall":
		return true
	}
	return false
}

// replyObject reads the message, part or response at s[i]. known is false for
// an object that is none of these; end is the index behind it, or negative.
func (r *reading) replyObject(s string, i, depth int) (known bool, end int) {
	textBefore, callsBefore, askedBefore := r.replyText, r.replyCalls, len(r.asked)
	var kind, role, name, id, args string
	filled, call, response := false, false, false
	end = cutOff
	i = skipSpace(s, i+1)
	for i < len(s) {
		if s[i] == '}' {
			end = i + 1
			break
		}
		if s[i] == ',' {
			i = skipSpace(s, i+1)
		}
		if i >= len(s) || s[i] != '"' {
			break
		}
		next := skipString(s, i)
		if next < 0 {
			break
		}
		key := s[i+1 : next-1]
		if i = skipSpace(s, next); i >= len(s) || s[i] != ':' {
			break
		}
		if i = skipSpace(s, i+1); i >= len(s) {
			break
		}
		switch key {
		case "type":
			next = skipValue(s, i)
			kind = word(s, i, next)
		case "role":
			next = skipValue(s, i)
			role, known = word(s, i, next), true
		case "name":
			next = skipValue(s, i)
			name = word(s, i, next)
		case "toolName", "tool.name":
			next = skipValue(s, i)
			name, call, known = word(s, i, next), true, true
		case "id":
			next = skipValue(s, i)
			if id == "" {
				id = word(s, i, next)
			}
		case "toolCallId", "toolUseId", "tool_call_id", "ref", "call_id":
			next = skipValue(s, i)
			id = word(s, i, next)
		case "function":
			if next = skipValue(s, i); next > 0 && s[i] == '{' {
				name, call, known = text(member(s[i:next], "name")), true, true
				if r.hashArgs {
					args = member(s[i:next], "arguments")
				}
			}
		case "arguments", "input", "args":
			next = skipValue(s, i)
			if next > 0 {
				args = s[i:next]
			}
		case "toolUse", "functionCall", "function_call", "toolRequest":
			known = true
			if next = skipValue(s, i); next > 0 && s[i] == '{' {
				v := s[i:next]
				asked := r.ask(text(member(v, "name")), text(firstMember(v, "id", "toolUseId", "ref", "call_id")))
				if r.hashArgs {
					asked.setArgs(r, firstMember(v, "input", "args", "arguments"))
				}
			}
		case "finish_reason", "finishReason", "stop_reason", "stopReason":
			known = true
			if next = skipValue(s, i); next > 0 && s[i] == '"' {
				if finish := finishWord(word(s, i, next)); finish != FinishNone {
					r.finish = finish
				}
			}
		case "usage", "usageMetadata", "usage_metadata":
			known = true
			if next = skipValue(s, i); next > 0 && r.replyUsage == "" {
				r.replyUsage = s[i:next]
			}
		case "partial":
			next = skipValue(s, i)
			r.replyPart = r.replyPart || depth == 0 && s[i] == 't'
		case "toolResult", "toolResponse", "functionResponse", "function_response", "tool_call_response":
			response, known = true, true
			next = skipValue(s, i)
		case "content", "parts", "message", "messages", "kwargs", "candidates", "choices", "generations", "tool_calls", "toolCalls",
			"output_text", "text", "output", "json", "value":
			known = known || key != "text" && key != "output" && key != "json" && key != "value"
			if s[i] == '"' {
				next = skipString(s, i)
				filled = filled || spoken(s, i, next)
			} else {
				next = r.replyAt(s, i, depth+1)
			}
		default:
			known = known || key == "refusal"
			next = skipValue(s, i)
		}
		if next < 0 {
			break
		}
		i = skipSpace(s, next)
	}
	switch {
	case response, role == "user", role == "system", role == "tool", strings.HasSuffix(kind, "_response"):
		// Not the model's words, whatever is below.
		r.replyText, r.replyCalls, r.asked = textBefore, callsBefore, r.asked[:askedBefore]
	case asks(kind), call && kind != "tool" && kind != "text":
		r.replyText = textBefore
		if asked := r.ask(name, id); r.hashArgs {
			asked.setArgs(r, args)
		}
	case kind == "reasoning", kind == "thinking":
		r.replyText = textBefore
	case filled:
		r.replyText = true
	}
	return known, end
}

// word is the content of the raw JSON string s[i:end], or "".
func word(s string, i, end int) string {
	if end < 0 || s[i] != '"' {
		return ""
	}
	return s[i+1 : end-1]
}

func firstMember(raw string, keys ...string) string {
	for _, k := range keys {
		if v := member(raw, k); v != "" {
			return v
		}
	}
	return ""
}

// ask notes a tool call that the reply asks for; nil when there are too many.
func (r *reading) ask(name, id string) *AskedCall {
	r.replyCalls = true
	if len(r.asked) >= maxAsked {
		return nil
	}
	r.asked = append(r.asked, AskedCall{Name: name, CallID: identity(id)})
	return &r.asked[len(r.asked)-1]
}

// setArgs reads the arguments, raw JSON or text.
func (c *AskedCall) setArgs(r *reading, raw string) {
	if said := text(raw); c == nil || raw == "" || redacted(said) || redactedWithin(said) {
		return
	}
	v := r.canonicalRaw(raw)
	c.HasArgs, c.ArgsHash, c.ArgsEmpty, c.raw = true, v.hash, v.empty, raw
	if r.likeness {
		r.likeArgs(&c.Like, c.Name, meant(raw), c.ArgsHash)
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
		toolName, isCall := m.Get("toolName")
		if asks(kind) || isFunction || isCall {
			name := mapText(m, "name")
			switch {
			case isFunction && function.Type() == pcommon.ValueTypeMap:
				name = mapText(function.Map(), "name")
			case isCall:
				name = toolName.Str()
			}
			r.ask(name, idIn(m))
			return
		}
		for k, e := range m.All() {
			switch k {
			case "text", "content", "parts", "message", "messages", "tool_calls", "toolCalls", "choices", "candidates", "output":
				r.replyValue(e, k, depth+1)
			case "toolUse", "functionCall", "function_call", "toolRequest":
				if e.Type() == pcommon.ValueTypeMap {
					r.ask(mapText(e.Map(), "name"), idIn(e.Map()))
				}
			case "finish_reason", "finishReason", "stop_reason", "stopReason":
				if finish := finishWord(e.Str()); finish != FinishNone {
					r.finish = finish
				}
			}
		}
	}
}

// idIn is the id of the tool call in m.
func idIn(m pcommon.Map) string {
	for _, key := range [...]string{"toolCallId", "toolUseId", "tool_call_id", "call_id", "ref", "id"} {
		if id := mapText(m, key); id != "" {
			return id
		}
	}
	return ""
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
