package convention

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestCanonicalSame(t *testing.T) {
	for _, c := range []struct{ why, x, y string }{
		{"order of keys", `{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`},
		{"white space", `{"a":1,"b":2}`, "{ \"a\" : 1 ,\n\t\"b\":2 }"},
		{"form of numbers", `{"a":1,"b":0.5,"c":100}`, `{"a":1.0,"b":5e-1,"c":1e2}`},
		{"escapes", `{"a":"\u00e9\/x","b":"\ud83d\ude00"}`, `{"a":"é/x","b":"😀"}`},
		{"space round text", "  hello ", "hello"},
		{"Traceloop", `{"args":[],"kwargs":{"order_id":"A-1"}}`, `{"order_id":"A-1"}`},
		{"smolagents", `{"args": [], "sanitize_inputs_outputs": false, "kwargs": {"q": "x"}}`, `{"q":"x"}`},
		{"the id of the call", `{"content":"42","tool_call_id":"call_1","x":1}`, `{"content":"42","tool_call_id":"call_2","x":1}`},
		{"deep inside too", `[{"a":{"toolUseId":"1","v":2}}]`, `[{"a":{"toolUseId":"9","v":2}}]`},
		{"LangChain in JavaScript", `{"output":{"lc":1,"type":"constructor","id":["x","ToolMessage"],"kwargs":{"status":"success","content":"42","tool_call_id":"c1","name":"f"}}}`,
			`{"lc":1,"type":"constructor","id":["x","ToolMessage"],"kwargs":{"status":"success","content":"42","tool_call_id":"c2","name":"f"}}`},
		{"LangChain in Python", `content='42' name='f' tool_call_id='call_1'`, `content='42' name='f' tool_call_id='call_2'`},
		{"a content list with one part", `[{"json":{"a":1}}]`, `{"a":1}`},
		{"a content list with one text", `[{"type":"text","text":"42"}]`, `"42"`},
	} {
		if canonicalText(c.x) != canonicalText(c.y) {
			t.Errorf("%s: %s and %s differ", c.why, c.x, c.y)
		}
	}
}

func TestCanonicalDifferent(t *testing.T) {
	for _, c := range []struct{ why, x, y string }{
		{"a value", `{"a":1}`, `{"a":2}`},
		{"a key", `{"a":1}`, `{"b":1}`},
		{"values exchanged", `{"a":1,"b":2}`, `{"a":2,"b":1}`},
		{"order of elements", `[1,2]`, `[2,1]`},
		{"nesting", `[[1],2]`, `[[1,2]]`},
		{"text and number", `{"a":"1"}`, `{"a":1}`},
		{"null and false", `{"a":null}`, `{"a":false}`},
		{"a key twice", `{"a":1,"b":1}`, `{"a":1}`},
		{"numbers beyond a double", `{"a":9007199254740993}`, `{"a":9007199254740992}`},
		{"fractions", `{"a":0.1}`, `{"a":0.2}`},
		{"order and status", `{"order_id":"A-4004","status":"packing 1"}`, `{"order_id":"A-4004","status":"packing 2"}`},
		{"what is no JSON", `{"a":`, `{"b":`},
		{"two parts", `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, `[{"type":"text","text":"a"}]`},
		{"a member named like a wrapping", `{"args":[1],"kwargs":{"x":1}}`, `{"x":1}`},
	} {
		if canonicalText(c.x).hash == canonicalText(c.y).hash {
			t.Errorf("%s: %s and %s are the same", c.why, c.x, c.y)
		}
	}
}

func TestCanonicalEmpty(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, " ": true, "null": true, "None": true, "{}": true, "[]": true, "{ }": true, `""`: true, `" "`: true, `"[]"`: true,
		`{"args":[],"kwargs":{}}`: true, `[{"text":""}]`: true, `[{"json":{}}]`: true,
		`{"output":{"lc":1,"kwargs":{"content":"","tool_call_id":"c"}}}`: true,
		"0": false, "false": false, `{"a":null}`: false, "[0]": false, "no": false, `{"error":"NOT_FOUND"}`: false,
	} {
		if got := canonicalText(text).empty; got != want {
			t.Errorf("%q: empty %v", text, got)
		}
	}
}

// A structured attribute is the JSON text that says the same.
func TestCanonicalStructured(t *testing.T) {
	v := pcommon.NewValueEmpty()
	if err := v.FromRaw(map[string]any{"order_id": "A-1", "limit": 10, "ratio": 0.5, "flags": []any{true, nil}, "deep": map[string]any{}}); err != nil {
		t.Fatal(err)
	}
	got := canonicalValue(v)
	want := canonicalText(`{"deep":{},"flags":[true,null],"limit":10,"ratio":0.5,"order_id":"A-1"}`)
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCanonicalDepth(t *testing.T) {
	deep := func(inner string) string { return strings.Repeat("[", 5000) + inner + strings.Repeat("]", 5000) }
	if canonicalText(deep("1")).hash == canonicalText(deep("2")).hash {
		t.Error("what lies deep is part of the value")
	}
	canonicalText(strings.Repeat("[", 1<<20))
	canonicalText(strings.Repeat(`{"a":`, 1<<18))
}

func TestJSONWalk(t *testing.T) {
	equal(t, "member", member(`{"a":"x\"}","b":{"c":[1,2]}}`, "b"), `{"c":[1,2]}`)
	equal(t, "cut off", member(`{"a":1,"b":{"c":[1,`, "b"), "")
	equal(t, "before the cut", member(`{"a":1,"b":{"c":[1,`, "a"), "1")
	equal(t, "no object", member(`[1]`, "a"), "")
	equal(t, "backslashes", skipString(`"a\\"b`, 0), 5)
	equal(t, "an escaped quote", skipString(`"a\"b"`, 0), 6)
	long := strings.Repeat("x", 40)
	equal(t, "long with an escaped quote", skipString(`"`+long+`\"`+long+`"`, 0), 84)
	equal(t, "long with backslashes", skipString(`"`+long+`\\"`, 0), 44)
	equal(t, "no end", skipString(`"`+long+`\"`, 0), -1)
	equal(t, "an escape at the end of the near part", skipString(`"`+strings.Repeat("x", 31)+`\"y"`, 0), 36)
	equal(t, "documents", documentsIn(`{"query":"x","documents":[{},{}]}`), 2)
	equal(t, "no documents", documentsIn(`[]`), 0)
	equal(t, "not said", documentsIn(`some text`), Unknown)
}

// An object that is certainly no wrapping is hashed at once: what comes of it
// must be what the longer way finds.
func FuzzCanonicalShortWay(f *testing.F) {
	for _, s := range []string{
		`{"a":1}`, `{"status":"ok","content":[{"type":"text","text":"x"}],"isError":true}`, `{"args":[],"kwargs":{"a":1}}`,
		`{"output":{"lc":1}}`, `{"status":"error","tool_call_id":"1","content":"x"}`, `{"content":"x","name":"f"}`, `{}`, `{"a"}`,
		`{"input_str":"x","metadata":{}}`, `{"type":"text","text":"x"}`, `{"id":1,"args":2}`, `{"a":1}x`, `{"a":{"kwargs":1}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = strings.TrimSpace(s)
		if s == "" || s[0] != '{' {
			return
		}
		inner, failed := unwrap(s)
		want := canonical{hash: hashText(strings.TrimSpace(inner)), error: failed}
		if hollow(inner) {
			want = canonical{hash: hashText(""), empty: true, error: failed}
		} else if h, end := hashJSON(inner, 0, 0); end == len(inner) {
			want.hash = h
		}
		if failed && !want.empty {
			want.said = failureText(inner)
		}
		if got := canonicalText(s); got != want {
			t.Errorf("%s: got %v, want %v", s, got, want)
		}
	})
}
