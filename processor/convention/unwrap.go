package convention

import "go.opentelemetry.io/collector/pdata/pcommon"

// unwrap takes the wrapping of frameworks off a JSON value: Traceloop's args
// and kwargs, a serialised LangChain message, content lists with one part. It
// gives the inner raw value, or the text of an inner string that is JSON again.
func unwrap(s string) (inner string, failed bool) {
	for range 8 {
		switch {
		case s == "":
			return s, failed
		case s[0] == '[':
			e := elementsOf(s)
			if !e.next() {
				return s, failed
			}
			first := e.value
			if e.next() {
				return s, failed
			}
			part, ok := contentPart(first)
			if !ok {
				return s, failed
			}
			s = part
		case s[0] == '{':
			if !wrapping(s) {
				return s, failed
			}
			next, bad, ok := unwrapObject(s)
			failed = failed || bad
			if !ok {
				return s, failed
			}
			s = next
		default:
			return s, failed
		}
	}
	return s, failed
}

// wrapping says, by its first key, whether an object may be a framework's
// wrapping: most are not, and are read only once then.
func wrapping(s string) bool {
	i := skipSpace(s, 1)
	if i >= len(s) || s[i] != '"' {
		return false
	}
	end := skipString(s, i)
	if end < 0 {
		return false
	}
	switch s[i+1 : end-1] {
	case "args", "kwargs", "lc", "output", "content", "status", "input_str", "inputs", "isError", "tool_call_id", "type", "name",
		"_meta", "structuredContent", "id":
		return true
	}
	return false
}

// wraps says whether a member may make its object a wrapping: without any,
// [unwrapObject] finds nothing to take off and no failure.
func wraps(key string) bool {
	switch key {
	case "kwargs", "lc", "tool_call_id", "output", "input_str", "inputs", "isError":
		return true
	}
	return false
}

// failureText is what the raw value left of a failed result says: its text, or
// the first text of its content.
func failureText(raw string) string {
	if content := member(raw, "content"); content != "" {
		raw = content
	}
	for e := elementsOf(raw); e.next(); {
		if part := member(e.value, "text"); part != "" {
			return text(part)
		}
	}
	return text(raw)
}

// failureValue is failureText of a structured attribute.
func failureValue(m pcommon.Map) string {
	content, ok := m.Get("content")
	if !ok {
		return ""
	}
	if content.Type() != pcommon.ValueTypeSlice {
		return content.Str()
	}
	for i := range content.Slice().Len() {
		if part := content.Slice().At(i); part.Type() == pcommon.ValueTypeMap {
			if said := mapText(part.Map(), "text"); said != "" {
				return said
			}
		}
	}
	return ""
}

// contentPart is what a part such as {"type":"text","text":…} or {"json":…}
// holds.
func contentPart(raw string) (string, bool) {
	n, held := 0, ""
	for m := membersOf(raw); m.next(); {
		switch m.key {
		case "text", "json":
			held = m.value
			n++
		case "type", "annotations":
		default:
			return "", false
		}
	}
	return held, n == 1
}

// unwrapObject takes one layer off; ok is false if there is none.
func unwrapObject(s string) (inner string, failed, ok bool) {
	var args, kwargs, output, content, input string
	n, message, sanitize, tagged := 0, false, false, false
	for m := membersOf(s); m.next(); {
		if n++; n > 24 {
			return "", failed, false
		}
		switch m.key {
		case "args":
			args = m.value
		case "kwargs":
			kwargs = m.value
		case "sanitize_inputs_outputs":
			sanitize = true
		case "output":
			output = m.value
		case "content":
			content = m.value
		case "input_str":
			input = m.value
		case "inputs":
			if input == "" {
				input = m.value
			}
		case "metadata":
			tagged = true
		case "tool_call_id", "lc":
			message = true
		case "status":
			failed = failed || m.value == `"error"` && message
		case "isError":
			failed = failed || m.value == "true"
		}
	}
	switch {
	case message && kwargs != "": // a LangChain constructor: its message is in kwargs
		return kwargs, failed, true
	case message && content != "":
		failed = failed || member(s, "status") == `"error"`
		return content, failed, true
	case args != "" && kwargs != "" && (n == 2 || n == 3 && sanitize):
		if hollow(args) {
			return kwargs, failed, true
		}
		if hollow(kwargs) {
			return args, failed, true
		}
	case input != "" && tagged: // Traceloop's input of a LangChain tool
		return input, failed, true
	case n == 1 && output != "" && output[0] == '{' && (member(output, "lc") != "" || member(output, "tool_call_id") != ""):
		return output, failed, true
	case content != "" && content[0] == '[' && n <= 3 && member(s, "isError") != "":
		return content, failed, true
	}
	return "", failed, false
}
