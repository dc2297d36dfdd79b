package run

import (
	"reflect"
	"slices"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/agentslo/agentslo/processor/convention"
)

// What the messages of a model call tell is kept with it.
func TestRecordKeepsMessages(t *testing.T) {
	var f convention.Facts
	f.Reset()
	f.Kind, f.SpanID, f.Start, f.End = convention.Model, pcommon.SpanID{1}, 5, 9
	f.ByMessage, f.AskedCount = true, 2
	f.Asked = []convention.AskedCall{{Name: "search", CallID: 7, HasArgs: true, ArgsHash: 11, Findings: []convention.Finding{{ID: 1}, {ID: 1<<32 - 1, Hash: 1<<64 - 1}}}, {Name: "plan", CallID: 8, HasArgs: true, ArgsEmpty: true}}
	f.Returned = []convention.ReturnedCall{
		{CallID: 3, Error: true, Class: convention.Auth, HasResult: true, ResultHash: 13},
		{CallID: 4, HasResult: true, ResultEmpty: true}, {CallID: 5, Error: true, Refused: true},
	}
	g := newGroup(pcommon.TraceID{1}, 0)
	g.resources = []*resource{{}}
	g.appendRecord(&f, 0, 0, 0, &interner{})
	plain := f
	plain.SpanID, plain.ByMessage, plain.Asked, plain.Returned = pcommon.SpanID{2}, false, nil, nil
	g.appendRecord(&plain, 0, 0, 0, &interner{})

	spans, ok := g.decode(nil)
	if !ok || len(spans) != 2 {
		t.Fatal(len(spans), ok)
	}
	if s := &spans[0]; !s.ByMessage || s.AskedCount != 2 || !reflect.DeepEqual(s.Asked, f.Asked) || !slices.Equal(s.Returned, f.Returned) {
		t.Errorf("%+v", s.Facts)
	}
	if s := &spans[1]; s.ByMessage || len(s.Asked)+len(s.Returned) > 0 {
		t.Errorf("%+v", s.Facts)
	}
	g.log = g.log[:len(g.log)-40] // a damaged checkpoint
	if _, ok := g.decode(spans); ok {
		t.Error("a log that is cut off is whole")
	}
}

// What signals go by is kept with the span, and with each call that only
// messages show.
func TestRecordKeepsSignals(t *testing.T) {
	like := convention.Likeness{Same: 1, Args: 2, Ask: 3, Words: 4 << 40, Result: 5, Substance: convention.Slight, Error: 6}
	var f convention.Facts
	f.Reset()
	f.Kind, f.SpanID, f.Start, f.End = convention.Model, pcommon.SpanID{1}, 5, 9
	f.Requested, f.Provider, f.Fault, f.Point, f.TimedOut = 7, 8, convention.Overloaded, convention.ResumedAt, true
	f.Like = like
	f.ByMessage = true
	f.Asked = []convention.AskedCall{{Name: "a", Like: convention.Likeness{Args: 9, Words: 1}}, {Name: "b"}}
	f.Returned = []convention.ReturnedCall{{CallID: 1, Like: convention.Likeness{Result: 9, Substance: convention.Content}}, {CallID: 2, Like: convention.Likeness{Error: 3}}}
	g := newGroup(pcommon.TraceID{1}, 0)
	g.resources = []*resource{{}}
	g.appendRecord(&f, 0, 0, 0, &interner{})
	spans, ok := g.decode(nil)
	if !ok || len(spans) != 1 {
		t.Fatal(len(spans), ok)
	}
	s := &spans[0]
	if s.Requested != 7 || s.Provider != 8 || s.Fault != convention.Overloaded || s.Point != convention.ResumedAt || !s.TimedOut || s.Like != like {
		t.Errorf("%+v", s.Facts)
	}
	for i := range f.Asked {
		if s.Asked[i].Like != f.Asked[i].Like || s.Returned[i].Like != f.Returned[i].Like {
			t.Errorf("call %d: asked %+v, returned %+v", i, s.Asked[i].Like, s.Returned[i].Like)
		}
	}
}
