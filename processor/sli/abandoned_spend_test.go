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

// The runs below start at 1 s. second is a moment of them.
func second(s float64) uint64 { return uint64(math.Round(s * 1e9)) }

func leaving(s float64) func(*run.Run) { return func(r *run.Run) { r.CallerLeft = second(s) } }

func timedOut(s float64) func(*run.Run) { return func(r *run.Run) { r.TimedOut = second(s) } }

// asking appends a model call.
func asking(start, end float64, tokens int64, usd float64) func(*run.Run) {
	return func(r *run.Run) {
		r.Spend = append(r.Spend, run.Spend{Message: uint64(len(r.Spend)) + 1, Start: second(start), End: second(end), Tokens: tokens, USD: usd})
	}
}

func working(name string, start, end float64) func(*run.Run) {
	c := tool(name, 1, 1)
	c.Start, c.End = second(start), second(end)
	return calling(c)
}

func within(d time.Duration) func(*slo.File, *slo.Objective) {
	return func(_ *slo.File, o *slo.Objective) { o.Grace, o.Deadline.After = 5*time.Second, d }
}

func saidBy(attribute string) func(*slo.File, *slo.Objective) {
	return func(_ *slo.File, o *slo.Objective) { o.Deadline.Attribute = attribute }
}

func saying(attribute, value string) func(*run.Run) {
	return func(r *run.Run) { r.Attributes = map[string]string{attribute: value} }
}

func grace(_ *slo.File, o *slo.Objective) { o.Grace = 5 * time.Second }

func init() {
	verdictTable["abandoned_spend"] = []verdictRow{
		{name: "a caller who stayed is good", change: grace, run: ended(slo.Answered, asking(1, 20, 100, 0.1)), want: slo.Good, value: 0},
		{name: "a model call after the caller left is bad", change: grace, run: ended(slo.Answered, leaving(3), asking(1, 2, 100, 0.1), asking(9, 12, 100, 0.1)), want: slo.Bad, reason: "caller_gone", value: 3},
		{name: "… a tool call as well", change: grace, run: ended(slo.Error, leaving(3), working("search", 9, 10)), want: slo.Bad, reason: "caller_gone", value: 1},
		{name: "… also of a cancelled run", change: grace, run: ended(slo.Cancelled, leaving(3), working("search", 9, 10)), want: slo.Bad, reason: "caller_gone", value: 1},
		{name: "… also of a run without a root", change: grace, run: ended(slo.Lost, withoutRoot(9), leaving(3), working("search", 9, 10)), want: slo.Bad, reason: "caller_gone", value: 1},
		{name: "at the end of the grace is good", change: grace, run: ended(slo.Answered, leaving(3), working("search", 8, 9)), want: slo.Good, value: 1},
		{name: "… and just behind it bad", change: grace, run: ended(slo.Answered, leaving(3), working("search", 8.001, 9)), want: slo.Bad, reason: "caller_gone", value: 0.999},
		{name: "a call that was under way counts by its time, not against the run", change: grace, run: ended(slo.Answered, leaving(3), asking(2, 30, 100, 0.1)), want: slo.Good, value: 27},
		{name: "a caller who left at the end is good", change: grace, run: ended(slo.Cancelled, leaving(20), asking(1, 19, 100, 0.1)), want: slo.Good, value: 0},
		{name: "in time is good", change: within(30 * time.Second), run: ended(slo.Answered, asking(1, 20, 100, 0.1)), want: slo.Good, value: 0},
		{name: "work that begins after the deadline is bad", change: within(30 * time.Second), run: ended(slo.Answered, asking(1, 20, 100, 0.1), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "deadline_passed", value: 4},
		{name: "… whichever came first is the reason", change: within(30 * time.Second), run: ended(slo.Cancelled, leaving(10), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "caller_gone", value: 4},
		{name: "a server that gave up waiting is a deadline", change: grace, run: ended(slo.Answered, timedOut(10), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "deadline_passed", value: 4},
		{name: "… the file's own came first", change: within(30 * time.Second), run: ended(slo.Answered, timedOut(42), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "deadline_passed", value: 4},
		{name: "… the server's came first", change: within(60 * time.Second), run: ended(slo.Answered, timedOut(10), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "deadline_passed", value: 4},
		{name: "… and nothing began after it", change: grace, run: ended(slo.Answered, timedOut(10), asking(2, 9, 100, 0.1)), want: slo.Good, value: 0},
		{name: "time in which two calls ran counts once", change: within(30 * time.Second), run: ended(slo.Answered, working("a", 40, 44), working("b", 42, 45)), want: slo.Bad, reason: "deadline_passed", value: 5},
		{name: "the run says its deadline", change: saidBy("app.deadline"), run: ended(slo.Answered, saying("app.deadline", "30s"), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "deadline_passed", value: 4},
		{name: "… as a time", change: saidBy("app.deadline"), run: ended(slo.Answered, saying("app.deadline", "1970-01-01T00:00:31Z"), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "deadline_passed", value: 4},
		{name: "… in time", change: saidBy("app.deadline"), run: ended(slo.Answered, saying("app.deadline", "60"), asking(40, 44, 100, 0.1)), want: slo.Good, value: 0},
		{name: "a deadline that the run does not say is unknown", change: saidBy("app.deadline"), run: ended(slo.Answered, asking(40, 44, 100, 0.1)), want: slo.Unknown, reason: "fact_missing", value: none},
		{name: "… and one that cannot be read", change: saidBy("app.deadline"), run: ended(slo.Answered, saying("app.deadline", "soon"), asking(40, 44, 100, 0.1)), want: slo.Unknown, reason: "fact_missing", value: none},
		{name: "… but the caller left", change: saidBy("app.deadline"), run: ended(slo.Answered, leaving(3), asking(40, 44, 100, 0.1)), want: slo.Bad, reason: "caller_gone", value: 4},
		{name: "without a root nobody knows who waited", change: within(30 * time.Second), run: ended(slo.Lost, withoutRoot(9), asking(1, 9, 100, 0.1)), want: slo.Unknown, reason: "no_root", value: none},
	}
}

func TestSpentAfter(t *testing.T) {
	s := subject{Run: ended(slo.Answered, asking(1, 3, 100, 0.25), asking(4, 6, 40, 0.5), asking(7, 8, convention.Unknown, math.NaN()), working("search", 5, 7.5))}
	calls := []ToolCalls{{"", 2}, {"search", 1}}
	if got, want := s.spentAfter(second(2)), (spent{calls: calls, begun: second(7), tokens: 40, usd: 0.5, seconds: 5}); !reflect.DeepEqual(got, want) {
		t.Errorf("after 2 s: %+v, should be %+v", got, want)
	}
	if got := s.spentAfter(0); !reflect.DeepEqual(got, spent{}) {
		t.Errorf("after no moment at all: %+v", got)
	}
}

func TestDeadlineOf(t *testing.T) {
	const start = 1_800_000_000e9
	for text, want := range map[string]uint64{
		"2027-01-15T08:00:30Z": start + 30e9, "30s": start + 30e9, "1500ms": start + 15e8, "2.5": start + 25e8,
		"1800000030": start + 30e9, "1800000030000": start + 30e9, " 30s ": start + 30e9,
		"": 0, "soon": 0, "-5s": 0, "0": 0, "NaN": 0, "1e300": 0,
	} {
		if got, ok := deadlineOf(text, start); ok != (want != 0) || ok && got != want {
			t.Errorf("%q is %d, %v; should be %d", text, got, ok, want)
		}
	}
	if _, ok := deadlineOf("30s", 0); ok {
		t.Error("a duration from a start that is not known")
	}
}
