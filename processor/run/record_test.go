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
