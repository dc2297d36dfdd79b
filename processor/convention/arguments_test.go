package convention

import (
	"regexp"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// toolSpan is a tool call in OTel GenAI with arguments as the emitter writes them.
func toolSpan(t *testing.T, arguments any) *Facts {
	t.Helper()
	s := ptrace.NewSpan()
	s.SetSpanID(pcommon.SpanID{1})
	s.Attributes().PutStr("gen_ai.operation.name", "execute_tool")
	s.Attributes().PutStr("gen_ai.tool.name", "open_ticket")
	if arguments != nil {
		if err := s.Attributes().PutEmpty("gen_ai.tool.call.arguments").FromRaw(arguments); err != nil {
			t.Fatal(err)
		}
	}
	f := &Facts{}
	New().Span(f, pcommon.NewInstrumentationScope(), s)
	if f.Kind != Tool {
		t.Fatalf("kind %d", f.Kind)
	}
	return f
}

func folded(names ...string) []string {
	for i := range names {
		names[i] = FoldName(names[i])
	}
	return names
}

func TestArgumentsHave(t *testing.T) {
	for _, c := range []struct {
		name      string
		arguments any
		want      bool
	}{
		{"a value", `{"blocker":"the API answers 503"}`, true},
		{"in another style", `{"Blocked-By":"503"}`, true},
		{"in camel case", `{"blockedBy":"503"}`, true},
		{"a structured attribute", map[string]any{"blocker": "503"}, true},
		{"deeper down", `{"ticket":{"body":{"blocker":"503"}}}`, true},
		{"in a list of objects", `{"items":[{"x":1},{"blocker":"503"}]}`, true},
		{"in JSON inside of a string", `{"input":"{\"blocker\": \"503\"}"}`, true},
		{"a number", `{"blocker":503}`, true},
		{"false is a value", `{"blocker":false}`, true},
		{"as Python prints it", `{'blocker': "it's 503", 'retry': None, 'ok': True}`, true},
		{"a list that says something", `{"blocker":["", "503"]}`, true},
		{"another name", `{"blockers_count":1}`, false},
		{"in prose only", `{"summary":"the blocker: 503"}`, false},
		{"empty", `{"blocker":""}`, false},
		{"blank", `{"blocker":"  "}`, false},
		{"null", `{"blocker":null}`, false},
		{"an empty list", `{"blocker":[]}`, false},
		{"a list of nothing", `{"blocker":["", null]}`, false},
		{"a word for nothing", `{"blocker":"N/A"}`, false},
		{"nothing in Python", `{'blocker': None}`, false},
		{"no arguments", `{}`, false},
		{"no JSON", `blocker`, false},
	} {
		a, ok := toolSpan(t, c.arguments).Arguments()
		if !ok || !a.Whole() {
			t.Errorf("%s: captured %v, whole %v", c.name, ok, a.Whole())
		}
		if got := a.Has(folded("blocker", "blocked_by")); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestArgumentsThatCannotBeRead(t *testing.T) {
	for name, arguments := range map[string]any{"none": nil, "redacted": "__REDACTED__", "redacted within": `{"blocker":"***"}`} {
		if _, ok := toolSpan(t, arguments).Arguments(); ok {
			t.Errorf("%s: has arguments", name)
		}
	}
	a, ok := toolSpan(t, `{"evidence":"log line", "blocker":"the API ans`).Arguments()
	if !ok || a.Whole() || !a.Has(folded("evidence")) {
		t.Errorf("cut off: captured %v, whole %v; what stands before the cut must be found", ok, a.Whole())
	}
}

func TestArgumentsAreNamed(t *testing.T) {
	for arguments, want := range map[string]bool{
		`{"blocker":"503"}`:                      true,
		`{}`:                                     true, // there are none
		`{"args":[],"kwargs":{"blocker":"503"}}`: true,
		`{"args":["503"],"kwargs":{}}`:           false,
		`{"args":["503"],"sanitize_inputs_outputs":true,"kwargs":{}}`: false,
		`{"args":[{"blocker":"503"}],"kwargs":{}}`:                    true,
		`["503","log line"]`:                false,
		`the API answers 503`:               false,
		`{"input":"the API answers 503"}`:   false,
		`{"input":"{\"blocker\":\"503\"}"}`: true,
	} {
		a, ok := toolSpan(t, arguments).Arguments()
		if !ok || a.Named() != want {
			t.Errorf("%s: captured %v, named %v, want %v", arguments, ok, a.Named(), want)
		}
	}
}

func TestArgumentsMatch(t *testing.T) {
	key := regexp.MustCompile(`(?i)\.aws/credentials|C:\\keys`)
	for arguments, want := range map[string]bool{
		`{"path":"/home/me/.aws/credentials"}`:        true,
		`{"command":"cat ~/.aws/credentials | head"}`: true,
		`{"path":"\/home\/me\/.aws\/credentials"}`:    true, // as some encoders escape it
		`{"path":"C:\\keys"}`:                         true,
		`{"path":".AWS/Credentials"}`:                 true,
		`{"input":"{\"path\":\"C:\\\\keys\"}"}`:       true,
		`{"path":"/home/me/.aws/config"}`:             false,
	} {
		a, _ := toolSpan(t, arguments).Arguments()
		if got := a.Match(key); got != want {
			t.Errorf("%s: %v, want %v", arguments, got, want)
		}
	}
}

func TestArgumentsHash(t *testing.T) {
	names := folded("idempotency_key", "request_token")
	hash := func(arguments any) uint64 {
		a, _ := toolSpan(t, arguments).Arguments()
		h, ok := a.Hash(names)
		if ok != (h != 0) {
			t.Errorf("%v: hash %d, found %v", arguments, h, ok)
		}
		return h
	}
	first := hash(`{"order":"A-1","idempotency_key":"k1"}`)
	for arguments, same := range map[string]bool{
		`{"idempotency_key":"k1","order":"B-2"}`:       true,
		`{"headers":{"Idempotency-Key":"k1"}}`:         true,
		`{"request_token":"k2","idempotencyKey":"k1"}`: true, // the first name wins
		`{"order":"A-1","idempotency_key":"k2"}`:       false,
		`{"order":"A-1"}`:                              false,
		`{"order":"A-1","idempotency_key":""}`:         false,
		`{"order":"k1"}`:                               false,
	} {
		if got := hash(arguments); (got == first) != same {
			t.Errorf("%s: the same key is %v, want %v", arguments, got == first, same)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":{"b":"{\"c\":1}"}}`, `{'a': 'b\'c', "d": None}`, `[1,{"a":`, `"`, `{"a":"\u00`, `{'a`} {
		f.Add(s)
	}
	pattern := regexp.MustCompile(`key`)
	f.Fuzz(func(t *testing.T, s string) {
		a, ok := toolSpan(t, s).Arguments()
		if !ok {
			return
		}
		a.Has([]string{"a"})
		a.Hash([]string{"a"})
		a.Match(pattern)
	})
}
