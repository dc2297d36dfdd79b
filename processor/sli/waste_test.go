package sli

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// Three model calls ask for the same look-up, the third also for a mail; the
// fourth answers.
func circlingRun() *run.Run {
	r := ended(slo.Answered, asking(1, 2, 100, 0.1), asking(3, 4, 110, 0.2), asking(5, 6, 120, 0.4), asking(7, 8, 130, 0.8))
	look := tool("status", 1, 1)
	for i, start := range []float64{2, 4, 6} {
		c := inMessage(uint64(i+1), look)
		c.Start, c.End = second(start), second(start+0.5)
		r.Tools = append(r.Tools, c)
	}
	mail := inMessage(3, tool("mail", 1, 2))
	mail.Start, mail.End = second(6), second(6.2)
	r.Tools = append(r.Tools, mail)
	return r
}

func TestWastedInCircles(t *testing.T) {
	f := fileFor("no_progress")
	// The first look-up was none; the second cost its own message, the third only
	// its time, as its message asked for a mail too.
	want := []Waste{{Cause: "repeated_call", Calls: []ToolCalls{{"status", 2}}, Tokens: 110, USD: 0.2, Seconds: 2}}
	if got := Wasted(f, circlingRun()); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, should be %+v", got, want)
	}
	f.SLOs[0].Repeats = 4
	if got := Wasted(f, circlingRun()); got != nil {
		t.Errorf("below the limit: %+v", got)
	}
	f.SLOs[0].Repeats, f.SLOs[0].Agents = 3, []string{"other"}
	if got := Wasted(f, circlingRun()); got != nil {
		t.Errorf("of another agent: %+v", got)
	}
	if got := Wasted(nil, circlingRun()); got != nil {
		t.Errorf("of no file: %+v", got)
	}
}

func TestWastedAfterAll(t *testing.T) {
	r := ended(slo.Answered, leaving(5), asking(1, 6, 100, 0.1), asking(7, 8, 40, 0.25), asking(8, 9, convention.Unknown, math.NaN()), working("search", 8.5, 10))
	calls := []ToolCalls{{"", 2}, {"search", 1}}
	// Known without any SLO: the call under way until 6, then 7 to 10.
	want := []Waste{{Cause: "caller_gone", Calls: calls, Tokens: 40, USD: 0.25, Seconds: 4}}
	if got := Wasted(fileFor("completion"), r); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, should be %+v", got, want)
	}
	f := fileFor("abandoned_spend")
	f.SLOs[0].Deadline.After = 3 * time.Second // 4 s
	want = []Waste{{Cause: "deadline_passed", Calls: calls, Tokens: 40, USD: 0.25, Seconds: 5}}
	if got := Wasted(f, r); !reflect.DeepEqual(got, want) {
		t.Errorf("with a deadline: %+v, should be %+v", got, want)
	}
	r.CallerLeft = second(20)
	if got := Wasted(fileFor("completion"), r); got != nil {
		t.Errorf("a caller who left at the end: %+v", got)
	}
}
