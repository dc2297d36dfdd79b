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
	x.Likeness, x.Searches = true, func(tool string) bool { return tool == "search" }
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
		{`{"id":"A-1","uuid":"1"}`, `{"id":"A-1","uuid":"2"}`},
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

// What is made anew for each call is the same call to the letter; letter case
// is not.
func TestGeneratedMembers(t *testing.T) {
	for texts, same := range map[[2]string]bool{
		{`{"id":"A-1","request_id":"1"}`, `{"id":"A-1","request_id":"2"}`}:               true,
		{`{"id":"A-1","uuid":"1"}`, `{"id":"A-1","uuid":"2"}`}:                           false,
		{`{"id":"A-1"}`, `{"id":"a-1"}`}:                                                 false,
		{`{"request_id":"1"}`, `{"request_id":"2"}`}:                                     false, // it is what the call is about
		{`{"request_id":"1","limit":5}`, `{"request_id":"2","limit":5}`}:                 false,
		{`{"timestamp":"1999-01-01T00:00:00Z"}`, `{"timestamp":"2000-01-01T00:00:00Z"}`}: false,
	} {
		if a, b := argsOf(t, texts[0]), argsOf(t, texts[1]); (a.Same != 0 && a.Same == b.Same) != same {
			t.Errorf("%s and %s: the same is %v", texts[0], texts[1], !same)
		}
	}
	if a, b := argsOf(t, `{"id":"A-1","uuid":"1"}`), argsOf(t, `{"id":"A-1","uuid":"2"}`); a.Args != b.Args {
		t.Error("a uuid beside an id is what the call is about")
	}
	if a, b := argsOf(t, `{"uuid":"1"}`), argsOf(t, `{"uuid":"2"}`); a.Args == b.Args {
		t.Error("a uuid alone is not what the call is about")
	}
}

func TestOtherWords(t *testing.T) {
	const refunds = `{"note":"what is the policy for refunds"}`
	a := argsOf(t, refunds)
	if a.Ask == 0 || a.Words == 0 {
		t.Fatalf("a sentence is none: %+v", a)
	}
	for text, want := range map[string]bool{
		`{"note":"tell me the refund policy please"}`:           true,
		`{"note":"refund policy"}`:                              false, // a name rather than a sentence
		`{"note":"the policy for refunds in Germany"}`:          false, // about something else
		`{"note":"the policy for refunds of order A-1"}`:        false,
		`{"note":"the policy for refunds of a@example.com"}`:    false,
		`{"note":"the policy for refunds","page":3}`:            true, // another part of the same
		`{"note":"the policy for refunds","year":3}`:            false,
		`{"query":"the policy for refunds"}`:                    false,
		`{"note":"the policy for refunds","request_id":"4711"}`: true,
		`{"note":["the policy for refunds"]}`:                   false,
		`{"note":"the policy for refunds","lang":"en"}`:         false,
	} {
		if got := argsOf(t, text).Ask == a.Ask; got != want {
			t.Errorf("%s: the same sentence in other words: %v", text, got)
		}
	}
	b := argsOf(t, `{"note":"tell me the refund policy please"}`) // refund, policy
	if common := bits.OnesCount64(a.Words & b.Words); common != 2 {
		t.Errorf("%d words in common", common)
	}
	if x := argsOf(t, `{"order":"A-1001","n":3}`); x.Ask != 0 || x.Words != 0 {
		t.Errorf("an id has words: %+v", x)
	}
	// What is called a query is one however short.
	if x, y := argsOf(t, `{"q":"refund policy"}`), argsOf(t, `{"q":"policy for refunds"}`); x.Ask == 0 || x.Ask != y.Ask || x.Words != y.Words {
		t.Errorf("queries: %+v and %+v", x, y)
	}
	if x, y := argsOf(t, `{"q":"stock of Oslo"}`), argsOf(t, `{"q":"stock of Rome"}`); x.Ask == y.Ask {
		t.Error("queries about two towns are one")
	}
	if x := argsOf(t, `{"q":"A-1001"}`); x.Ask != 0 {
		t.Errorf("an id is a query in words: %+v", x)
	}
	if x, y := argsOf(t, `{"page":1}`), argsOf(t, `{"page":2}`); x.Ask == 0 || x.Ask != y.Ask || x.Args == y.Args {
		t.Errorf("pages: %+v and %+v", x, y)
	}
}

// Of a tool that searches, all words are but words.
func TestSearches(t *testing.T) {
	search := func(args string) Likeness {
		return likenessOf(t, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": args})
	}
	a := search(`{"text":"refunds"}`)
	for args, want := range map[string]bool{
		`{"text":"how can I return my shoes in Oslo?"}`: true,
		`{"text":"return"}`:                             true,
		`{"text":"A-1001"}`:                             false,
		`{"text":"return","shop":7}`:                    false,
		`{"text":"return","top_k":7}`:                   true,
	} {
		if b := search(args); a.Ask == 0 || (a.Ask == b.Ask) != want || b.Words != 0 {
			t.Errorf("%s: %+v, and %+v", args, b, a)
		}
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
