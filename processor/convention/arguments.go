package convention

import (
	"regexp"
	"strings"
	"unicode"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Arguments are the captured arguments of a tool call. Like all text of
// [Facts] they are valid only until the batch is handed on.
type Arguments struct {
	text  string // JSON, or what the emitter writes instead
	whole bool   // they were read to the end: what is not there was not given
	none  bool   // the tool was called without any
}

// maxArguments bounds how much of a call's arguments is looked at, in bytes.
const maxArguments = 256 << 10

// maxArgumentDepth bounds how deep values are looked for, JSON inside of
// strings included.
const maxArgumentDepth = 8

// Arguments are what the tool was called with; not ok where that was not
// captured.
func (f *Facts) Arguments() (Arguments, bool) {
	if !f.HasArgs {
		return Arguments{}, false
	}
	text := f.argsText
	switch {
	case f.args == value{}:
	case f.args.Type() == pcommon.ValueTypeStr:
		text = f.args.Str()
	default:
		text = f.args.AsString()
	}
	return argumentsOf(text, f.ArgsEmpty), true
}

// Arguments are what the call is asked for with; not ok where that was not
// captured.
func (c *AskedCall) Arguments() (Arguments, bool) {
	if !c.HasArgs {
		return Arguments{}, false
	}
	return argumentsOf(c.raw, c.ArgsEmpty), true
}

func argumentsOf(text string, none bool) Arguments {
	if len(text) > maxArguments {
		return Arguments{text: text[:maxArguments]}
	}
	text = trim(text)
	if text != "" && text[0] == '{' && skipJSON(text) != len(text) {
		// Python's frameworks print a dict.
		if converted, ok := fromPython(text); ok {
			text = converted
		}
	}
	a := Arguments{text: text, whole: true, none: none}
	if text != "" && (text[0] == '{' || text[0] == '[') {
		a.whole = skipJSON(text) == len(text) // else it was cut
	}
	return a
}

// skipJSON is the index behind the JSON value that text begins with; -1 if it
// is none.
func skipJSON(text string) int {
	_, end := hashJSON(text, 0, 0)
	return end
}

// Whole says whether the arguments were captured to their end, so that what is
// not found in them was not given.
func (a Arguments) Whole() bool { return a.whole }

// Named says whether the arguments are told by their names. Some emitters write
// a text, or a list of positional arguments: what is not found in these by its
// name may be there all the same.
func (a Arguments) Named() bool {
	named := a.none
	walkArguments(a.text, 0, func(name, _ string) bool {
		switch name {
		case "", "args", "kwargs", "input", "inputs", "input_str", "arguments", "sanitize_inputs_outputs", "metadata", "tags":
		default:
			named = true
		}
		return !named
	})
	return named
}

// FoldName is a name of an argument without its style: idempotencyKey,
// Idempotency-Key and idempotency_key are one.
func FoldName(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', ' ', '.':
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

// Has says whether an argument of one of the names, folded as by [FoldName],
// has a value: at any depth, and none that says nothing, such as "" or "n/a".
func (a Arguments) Has(names []string) bool {
	found := false
	walkArguments(a.text, 0, func(name, value string) bool {
		found = named(name, names) && !saysNothing(value)
		return !found
	})
	return found
}

// Hash is the hash of the value of an argument of one of the names, folded as by
// [FoldName]; the first name that has one wins.
func (a Arguments) Hash(names []string) (hash uint64, ok bool) {
	best := len(names)
	walkArguments(a.text, 0, func(name, value string) bool {
		folded := FoldName(name)
		for i, n := range names[:best] {
			if n == folded && !saysNothing(value) {
				best, hash, ok = i, canonicalText(value).hash, true
				break
			}
		}
		return best > 0
	})
	return hash, ok
}

// Match says whether the pattern is found in the arguments as they were
// captured, or in the text of one of their values.
func (a Arguments) Match(pattern *regexp.Regexp) bool {
	if pattern.MatchString(a.text) {
		return true
	}
	found := false
	walkArguments(a.text, 0, func(_, value string) bool {
		if len(value) > 1 && value[0] == '"' && strings.IndexByte(value, '\\') >= 0 {
			found = pattern.Match(appendUnescaped(nil, value[1:len(value)-1]))
		}
		return !found
	})
	return found
}

func named(name string, names []string) bool {
	folded := FoldName(name)
	for _, n := range names {
		if n == folded {
			return true
		}
	}
	return false
}

// saysNothing says whether a raw JSON value holds nothing, or one of the words
// that people and models write when they have nothing to say.
func saysNothing(raw string) bool {
	if hollow(raw) {
		return true
	}
	if raw[0] == '[' {
		for e := elementsOf(raw); e.next(); {
			if !saysNothing(e.value) {
				return false
			}
		}
		return true
	}
	switch strings.ToLower(strings.TrimSpace(text(raw))) {
	case "", "-", "–", "?", "...", "…", "n/a", "na", "none", "null", "nil", "tbd", "todo", "undefined":
		return true
	}
	return false
}

// walkArguments calls visit with the name and the raw value of every member,
// and with every element under its array's name, until it returns false.
// JSON inside of strings is walked too.
func walkArguments(raw string, depth int, visit func(name, value string) bool) bool {
	return walkValue("", raw, depth, visit)
}

func walkValue(name, raw string, depth int, visit func(name, value string) bool) bool {
	raw = trim(raw)
	if raw == "" || depth > maxArgumentDepth {
		return true
	}
	if !visit(name, raw) {
		return false
	}
	switch raw[0] {
	case '{':
		for m := membersOf(raw); m.next(); {
			if !walkValue(m.key, m.value, depth+1, visit) {
				return false
			}
		}
	case '[':
		for e := elementsOf(raw); e.next(); {
			if !walkValue(name, e.value, depth+1, visit) {
				return false
			}
		}
	case '"':
		if len(raw) < 4 || raw[1] != '{' && raw[1] != '[' {
			return true
		}
		inner := string(appendUnescaped(nil, raw[1:len(raw)-1]))
		if skipJSON(inner) == len(inner) {
			return walkValue(name, inner, depth+1, visit)
		}
	}
	return true
}

// fromPython makes JSON of what Python prints of a dict of plain values; not ok
// if it is none.
func fromPython(s string) (string, bool) {
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			end := i + 1
			for end < len(s) && s[end] != c {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return "", false
			}
			pythonString(&b, s[i+1:end])
			i = end + 1
		case c == 'T' && strings.HasPrefix(s[i:], "True"):
			b.WriteString("true")
			i += len("True")
		case c == 'F' && strings.HasPrefix(s[i:], "False"):
			b.WriteString("false")
			i += len("False")
		case c == 'N' && strings.HasPrefix(s[i:], "None"):
			b.WriteString("null")
			i += len("None")
		default:
			b.WriteByte(c)
			i++
		}
	}
	out := b.String()
	return out, skipJSON(out) == len(out)
}

// pythonString writes the inside of a Python string as a JSON string.
func pythonString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] == '\'':
			b.WriteByte('\'')
			i++
		case c == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i++
		case c == '"':
			b.WriteString(`\"`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
}
