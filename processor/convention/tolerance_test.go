package convention

import (
	"math"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// odd are values of every type where another is expected.
func odd() []any {
	deep := any("x")
	for range 200 {
		deep = []any{deep}
	}
	return []any{nil, true, -1, int64(math.MaxInt64), math.NaN(), math.Inf(-1), 1e308, "", "\x00", "\xff\xfe", "{", "[[[", `{"a":"`, `[{"a":1},`,
		strings.Repeat("[", 10000), strings.Repeat(`{"content":`, 10000), strings.Repeat("9", 400), "1e999", "\\", `"\`, `"\u12`, `"\ud800"`,
		[]byte{0, 1, 255}, []any{}, a{}, []any{nil, 1, "x", a{"type": "tool_call"}}, a{"": a{"": nil}}, deep}
}

// Any value under any known key is read or passed over; it never breaks.
func TestOddValues(t *testing.T) {
	x := New("gen_ai.agent.name")
	var f Facts
	scopes := []string{"", "gcp.vertex.agent", "strands-agents", "openinference.instrumentation.claude_agent_sdk", "com.anthropic.claude_code"}
	words := []string{"", "chat", "execute_tool", "invoke_agent", "retrieval"}
	for _, v := range vocabularies {
		for _, k := range v.keys {
			for _, value := range odd() {
				for i, word := range words {
					s := made{name: "call_llm", attributes: a{k.name: value}}.span(t)
					if word != "" && k.name != "gen_ai.operation.name" {
						s.Attributes().PutStr("gen_ai.operation.name", word)
					}
					scope := pcommon.NewInstrumentationScope()
					scope.SetName(scopes[i%len(scopes)])
					x.Span(&f, scope, s)
					sane(t, &f)
				}
			}
		}
		for _, p := range v.prefixes {
			for _, rest := range []string{"", "0", "0.", ".", "x", "0.message", "0.message.", "99999999999.message.content", "0.tool_calls.", "0.tool_calls.9999.id",
				"0.evaluation.score", "0.message.tool_calls.0.tool_call.id", "-1.x", "0.content"} {
				for _, value := range odd() {
					x.Span(&f, pcommon.NewInstrumentationScope(), made{attributes: a{p.text + rest: value, "gen_ai.operation.name": "chat"}}.span(t))
					sane(t, &f)
				}
			}
		}
	}
}

// sane checks what holds of any facts.
func sane(t testing.TB, f *Facts) {
	t.Helper()
	for _, n := range []int64{f.Usage.Input, f.Usage.CachedInput, f.Usage.CacheWrite, f.Usage.Output, f.Usage.Reasoning, f.Documents} {
		if n < Unknown || n > 4*maxCount {
			t.Fatalf("count %d", n)
		}
	}
	if f.CostUSD < 0 || math.IsInf(f.CostUSD, 0) || f.FirstToken < 0 || math.IsInf(f.FirstToken, 0) {
		t.Fatalf("cost %g, first token %g", f.CostUSD, f.FirstToken)
	}
	if f.Failed != (f.Class != ClassNone) {
		t.Fatalf("failed %v, class %v", f.Failed, f.Class)
	}
	if f.Failure > FailureGuardrail || f.Class > Unclassified || f.Finish > FinishOther || f.Kind > Unrecognised {
		t.Fatalf("failure %d, class %d, finish %d, kind %d", f.Failure, f.Class, f.Finish, f.Kind)
	}
	for _, e := range f.Evaluations {
		if math.IsInf(e.Score, 0) {
			t.Fatalf("score %g", e.Score)
		}
	}
}

// Reading what a stranger sends never breaks.
func FuzzSpans(f *testing.F) {
	for _, run := range recordedFiles(f) {
		for _, td := range recorded(f, run) {
			data, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(td)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 20000 {
				f.Add(data)
			}
		}
	}
	x := New("session.id")
	f.Fuzz(func(t *testing.T, data []byte) {
		var facts Facts
		if td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(data); err == nil {
			walk(td, func(ss ptrace.ScopeSpans, s ptrace.Span) {
				x.Span(&facts, ss.Scope(), s)
				sane(t, &facts)
			})
		}
		if ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(data); err == nil {
			for i := range ld.ResourceLogs().Len() {
				for j := range ld.ResourceLogs().At(i).ScopeLogs().Len() {
					sl := ld.ResourceLogs().At(i).ScopeLogs().At(j)
					for k := range sl.LogRecords().Len() {
						x.Log(&facts, sl.Scope(), sl.LogRecords().At(k))
					}
				}
			}
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x",null]}`, `[{"type":"text","text":"{}"}]`, `{"output":{"lc":1,"kwargs":{"content":"x"}}}`, `"\u00e9`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		first := canonicalText(s)
		if first != canonicalText(s) {
			t.Fatal("the same text twice")
		}
		var r reading
		r.reset()
		r.replyFrom(s)
		answersText(s)
		toolsIn(s)
		documentsIn(s)
	})
}

// The steady state allocates nothing.
func TestSpanDoesNotAllocate(t *testing.T) {
	if os.Getenv("GORACE") != "" {
		t.Skip("the race detector allocates")
	}
	x := New("session.id")
	for _, run := range recordedFiles(t) {
		var f Facts
		for _, td := range recorded(t, run) {
			read := func() { walk(td, func(ss ptrace.ScopeSpans, s ptrace.Span) { x.Span(&f, ss.Scope(), s) }) }
			read()
			if n := testing.AllocsPerRun(5, read); n > 0 {
				t.Errorf("%s: %g allocations", run, n)
			}
		}
	}
}
