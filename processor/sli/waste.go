package sli

import (
	"math"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// Waste is what a run spent to no avail, for one cause. One call may be wasted
// for several.
type Waste struct {
	Cause string // a reason of no_progress or abandoned_spend
	// Calls are wasted tool calls by tool; model calls stand under "".
	Calls   []ToolCalls
	Tokens  int64   // of wasted model calls, as far as known
	USD     float64 // likewise
	Seconds float64 // in which a wasted call ran
}

// ToolCalls is a number of calls of one tool.
type ToolCalls struct {
	Tool  string
	Count int64
}

// Wasted is what the run spent in calls that brought nothing, by the file's
// first no_progress SLO that is about its agent; and after the caller had left
// or a deadline had passed, by the first such SLO that has one. Nil: nothing.
func Wasted(f *slo.File, r *run.Run) (all []Waste) {
	if f == nil {
		return nil
	}
	s := subject{Run: r, file: f}
	if o := s.first("no_progress", func(*slo.Objective) bool { return true }); o != nil && len(r.Tools) > 1 {
		if x := s.repeats(o); len(x.wasted) > 0 {
			all = append(all, s.wasteOf(x.pattern, x.wasted))
		}
	}
	var deadline slo.Deadline
	if o := s.first("abandoned_spend", func(o *slo.Objective) bool { return o.Deadline != slo.Deadline{} }); o != nil {
		deadline = o.Deadline
	}
	if a, _ := s.abandoned(deadline); a.at != 0 {
		if x := s.spentAfter(a.at); x.seconds > 0 || x.begun > 0 {
			all = append(all, Waste{Cause: a.reason, Calls: x.calls, Tokens: x.tokens, USD: x.usd, Seconds: x.seconds})
		}
	}
	return all
}

// Circling says for which reason a no_progress SLO finds that the run went in
// circles, and the places in Run.Tools of the calls that brought nothing; "" when
// it does not.
func Circling(f *slo.File, o *slo.Objective, r *run.Run) (reason string, calls []int) {
	s := subject{Run: r, file: f}
	x := s.repeats(o)
	return x.pattern, x.wasted
}

// Abandoned is when, in Unix nanoseconds, an abandoned_spend SLO finds that
// nobody waited for the run any more, and why; 0 when that is not said.
func Abandoned(f *slo.File, o *slo.Objective, r *run.Run) (at uint64, reason string) {
	s := subject{Run: r, file: f}
	a, _ := s.abandoned(o.Deadline)
	return a.at, a.reason
}

// first is the file's first SLO of that kind which is about the run's agent.
func (s *subject) first(kind string, suits func(*slo.Objective) bool) *slo.Objective {
	for i := range s.file.SLOs {
		if o := &s.file.SLOs[i]; o.SLI == kind && suits(o) && s.selectedBy(o) {
			return o
		}
	}
	return nil
}

// wasteOf adds up tool calls that brought nothing, and the model calls that
// asked for nothing else.
func (s *subject) wasteOf(cause string, places []int) Waste {
	w := Waste{Cause: cause}
	var work []stretch
	asked := map[uint64]int{} // by message: its calls, less the wasted ones
	for i := range s.Tools {
		asked[s.Tools[i].Message]++
	}
	for _, p := range places {
		t := &s.Tools[p]
		w.Calls = count(w.Calls, t.Name)
		work = append(work, stretch{t.Start, t.End})
		asked[t.Message]--
	}
	for i := range s.Spend {
		c := &s.Spend[i]
		if rest, ok := asked[c.Message]; !ok || rest > 0 {
			continue
		}
		work = append(work, stretch{c.Start, c.End})
		if c.Tokens != convention.Unknown {
			w.Tokens += c.Tokens
		}
		if !math.IsNaN(c.USD) {
			w.USD += c.USD
		}
	}
	w.Seconds = secondsOf(work)
	return w
}

// count adds a call of the tool.
func count(calls []ToolCalls, tool string) []ToolCalls {
	for i := range calls {
		if calls[i].Tool == tool {
			calls[i].Count++
			return calls
		}
	}
	return append(calls, ToolCalls{tool, 1})
}
