package convention

import (
	"math/bits"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// argsOf and resultOf are the likeness of one tool call of OpenTelemetry's that
// started on 2026-03-01 at noon.
func argsOf(t *testing.T, args string) Likeness {
	t.Helper()
	return likenessOf(t, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.tool.call.arguments": args})
}

func resultOf(t *testing.T, result string) Likeness {
	t.Helper()
	return likenessOf(t, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.tool.call.result": result})
}

func likenessOf(t *testing.T, attributes map[string]any) Likeness {
	t.Helper()
	x := New()
	x.Likeness = true
	var f Facts
	x.Span(&f, pcommon.NewInstrumentationScope(), made{attributes: attributes}.span(t))
	return f.Like
}

func TestArgumentsThatDifferInNothingThatMatters(t *testing.T) {
	for _, same := range [][2]string{
		{`{"q":"Refund policy"}`, `{ "q" : "refund  policy " }`},
		{`{"q":"refund policy?"}`, `{"q":"refund policy"}`},
		{`{"a":1,"b":"x"}`, `{"b":"X","a":1}`},
		{`{"id":"A-1","request_id":"8f14e45f-ceea-467f-a8d5-111111111111"}`, `{"id":"a-1","request_id":"other"}`},
		{`{"id":"A-1","requestId":"1"}`, `{"id":"A-1"}`},
		{`{"id":"A-1","x-request-id":"1"}`, `{"id":"A-1","x-request-id":"2"}`},
		{`{"id":"A-1","meta":{"trace_id":"1","nonce":"a"}}`, `{"id":"A-1","meta":{"trace_id":"2","nonce":"b"}}`},
		{`{"id":"A-1","timestamp":"1999-01-01T00:00:00Z"}`, `{"id":"A-1","timestamp":"2000-01-01T00:00:00Z"}`},
		{`{"id":"A-1","at":"2026-03-01T12:00:01Z"}`, `{"id":"A-1","at":"2026-03-01T12:00:03.5Z"}`},
		{`{"id":"A-1","at":1772366401}`, `{"id":"A-1","at":1772366403}`},
		{`{"id":"A-1","at":1772366401000}`, `{"id":"A-1","at":1772366403123}`},
		{`refund policy`, ` Refund   Policy. `},
		{``, `null`},
	} {
		if a, b := argsOf(t, same[0]), argsOf(t, same[1]); a.Args != b.Args {
			t.Errorf("%s and %s are two calls", same[0], same[1])
		}
	}
	for _, other := range [][2]string{
		{`{"id":"A-1"}`, `{"id":"A-2"}`},
		{`{"id":"8f14e45f-ceea-467f-a8d5-111111111111"}`, `{"id":"8f14e45f-ceea-467f-a8d5-222222222222"}`},
		{`{"date":"2026-03-04"}`, `{"date":"2026-03-05"}`},
		{`{"at":"2026-03-05T12:00:00Z"}`, `{"at":"2026-03-06T12:00:00Z"}`}, // a day that is asked for
		{`{"page":1}`, `{"page":2}`},
		{`{"q":"refund policy"}`, `{"q":"policy of refunds"}`},
		{`["a","b"]`, `["b","a"]`},
		{`{"a":"x"}`, `{"b":"x"}`},
		{`refund policy`, `return policy`},
	} {
		if a, b := argsOf(t, other[0]), argsOf(t, other[1]); a.Args == b.Args {
			t.Errorf("%s and %s are one call", other[0], other[1])
		}
	}
}

func TestOtherWords(t *testing.T) {
	const refunds = `{"q":"what is the policy for refunds"}`
	a := argsOf(t, refunds)
	if a.Sentence == 0 || a.Query == 0 || a.Words == 0 {
		t.Fatalf("a sentence is none: %+v", a)
	}
	for text, want := range map[string]struct{ sentence, query bool }{
		`{"q":"tell me the refund policy please"}`:           {true, true},
		`{"q":"refund policy"}`:                              {false, true}, // a name rather than a sentence
		`{"q":"the policy for refunds in Germany"}`:          {false, true}, // about something else
		`{"q":"the policy for refunds of order A-1"}`:        {false, false},
		`{"q":"the policy for refunds of a@example.com"}`:    {false, false},
		`{"q":"the policy for refunds"}`:                     {true, true},
		`{"q":"the policy for refunds","top_k":3}`:           {false, false},
		`{"query":"the policy for refunds"}`:                 {false, false},
		`{"q":"the policy for refunds","request_id":"4711"}`: {true, true},
		`{"q":["the policy for refunds"]}`:                   {false, false},
		`{"q":"the policy for refunds","lang":"en"}`:         {false, false},
	} {
		b := argsOf(t, text)
		if got := b.Sentence == a.Sentence; got != want.sentence {
			t.Errorf("%s: the same sentence in other words: %v", text, got)
		}
		if got := b.Query == a.Query; got != want.query {
			t.Errorf("%s: the same query in other words: %v", text, got)
		}
	}
	b := argsOf(t, `{"q":"tell me the refund policy please"}`) // refund, policy
	if common := bits.OnesCount64(a.Words & b.Words); common != 2 {
		t.Errorf("%d words in common", common)
	}
	if x := argsOf(t, `{"order":"A-1001","n":3}`); x.Sentence != 0 || x.Query != 0 || x.Words != 0 {
		t.Errorf("an id has words: %+v", x)
	}
}

func TestSubstance(t *testing.T) {
	for result, want := range map[string]Substance{
		``: Trivial, `{}`: Trivial, `[]`: Trivial, `ok`: Trivial, `"OK."`: Trivial, `true`: Trivial, `42`: Trivial, `{"ok":true,"count":0}`: Trivial,
		`{"error":"NOT_FOUND"}`: Trivial, `No results found.`: Trivial, `{"status":"success","at":"2026-03-01T12:00:00Z"}`: Trivial,
		`{"status":"pending"}`: Slight, `shipped`: Slight,
		`{"status":"shipped","carrier":"DHL","eta":"2026-03-04"}`: Content, `Returns within 30 days if unworn.`: Content,
	} {
		if got := resultOf(t, result).Substance; got != want {
			t.Errorf("%s: %d, should be %d", result, got, want)
		}
	}
	a, b := resultOf(t, `{"status":"pending","checked_at":"2026-03-01T12:00:00Z"}`), resultOf(t, `{"status":"pending","checked_at":"2026-03-01T12:00:07Z"}`)
	if a.Result == 0 || a.Result != b.Result {
		t.Error("a result that differs in the time of the call alone is another one")
	}
	if c := resultOf(t, `{"status":"pending","progress":10}`); c.Result == resultOf(t, `{"status":"pending","progress":20}`).Result {
		t.Error("progress is none")
	}
}

func TestErrorsOfOneKind(t *testing.T) {
	failing := func(message string) Likeness {
		span := made{status: 2, message: message, attributes: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x"}}
		x := New()
		x.Likeness = true
		var f Facts
		x.Span(&f, pcommon.NewInstrumentationScope(), span.span(t))
		return f.Like
	}
	if a, b := failing("timed out after 300 ms (request 8f14e45f)"), failing("timed out after 312 ms (request 9e107d9d)"); a.Error == 0 || a.Error != b.Error {
		t.Errorf("%+v and %+v are two errors", a, b)
	}
	if a, b := failing("timed out after 300 ms"), failing("invalid order id"); a.Error == b.Error {
		t.Error("two errors are one")
	}
}

func TestLikenessIsReadWhenAskedFor(t *testing.T) {
	span := made{attributes: map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x",
		"gen_ai.tool.call.arguments": `{"q":"what is the policy"}`, "gen_ai.tool.call.result": "thirty days"}}
	var f Facts
	New().Span(&f, pcommon.NewInstrumentationScope(), span.span(t))
	if f.Like != (Likeness{}) {
		t.Errorf("read unasked: %+v", f.Like)
	}
}
