package sli

import (
	"testing"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// alike gives a call its likeness: of its arguments, of its result, and how much
// that tells.
func alike(args, result uint32, substance convention.Substance, c run.ToolCall) run.ToolCall {
	c.Like = convention.Likeness{Same: uint32(c.ArgsHash) + 1, Args: args, Result: result, Substance: substance}
	return c
}

// words makes the call's arguments a question in words.
func worded(ask uint32, bits uint64, c run.ToolCall) run.ToolCall {
	c.Like.Ask, c.Like.Words = ask, bits
	return c
}

// failedBy is a call that failed with an error of that hash, without a result.
func failedBy(err uint32, c run.ToolCall) run.ToolCall {
	c.HasResult, c.Class, c.Like.Error = false, convention.Transient, err
	return c
}

// several are n calls that only differ in their arguments' hash.
func several(n int, c run.ToolCall) (all []run.ToolCall) {
	for i := range n {
		c.ArgsHash = uint64(100 + i)
		if c.Like.Same != 0 {
			c.Like.Same = uint32(100 + i)
		}
		all = append(all, c)
	}
	return all
}

func init() {
	lookup := func(args uint64) run.ToolCall {
		return alike(uint32(args), uint32(args), convention.Content, tool("lookup", args, args))
	}
	ab := func(args uint64) []run.ToolCall { return []run.ToolCall{lookup(args), lookup(args + 1)} }
	const six = 0b111111
	verdictTable["no_progress"] = append(verdictTable["no_progress"], []verdictRow{
		{name: "the same failure `repeats` times is bad", run: ended(slo.Answered, calls(3, failedBy(7, tool("status", 1, 0)))), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "… other failures are none", run: ended(slo.Answered, calls(2, failedBy(7, tool("status", 1, 0))), calling(failedBy(8, tool("status", 1, 0)))), want: slo.Good, value: 2},
		{name: "… a retry that then succeeds is progress", run: ended(slo.Answered, calls(4, failedBy(7, tool("status", 1, 0))), calling(tool("status", 1, 1))), want: slo.Good, value: 1},
		{name: "… but not one with other arguments", run: ended(slo.Answered, calls(3, failedBy(7, tool("status", 1, 0))), calling(tool("status", 2, 1))), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "… nor a success before", run: ended(slo.Answered, calling(tool("status", 1, 1)), calls(3, failedBy(7, tool("status", 1, 0)))), want: slo.Bad, reason: "repeated_call", value: 3},

		{name: "a cycle of calls is bad", run: ended(slo.Answered, calling(ab(1)...), calling(ab(1)...), calling(ab(1)...)), want: slo.Bad, reason: "repeated_cycle", value: 3},
		{name: "… twice round is not yet", run: ended(slo.Answered, calling(ab(1)...), calling(ab(1)...)), want: slo.Good, value: 2},
		{name: "… one call after the other is no cycle", run: ended(slo.Answered, calls(3, lookup(1)), calls(3, lookup(2))), want: slo.Bad, reason: "repeated_call", value: 3},

		{name: "pauses are neither progress nor none", run: ended(slo.Answered, calling(lookup(1), tool("sleep", 1, 1), lookup(2), tool("sleep", 1, 1), lookup(3), tool("sleep", 1, 1))), want: slo.Good, value: 1},

		{name: "cosmetic changes of the arguments are the same call", run: ended(slo.Answered, calling(several(3, alike(5, 9, convention.Slight, tool("status", 0, 1)))...)), want: slo.Bad, reason: "cosmetic_change", value: 3},
		{name: "… twice is not yet", run: ended(slo.Answered, calling(several(2, alike(5, 9, convention.Slight, tool("status", 0, 1)))...)), want: slo.Good, value: 1},
		{name: "… with changing results is progress", run: ended(slo.Answered, calling(alike(5, 1, convention.Content, tool("status", 1, 1)), alike(5, 2, convention.Content, tool("status", 2, 2)), alike(5, 3, convention.Content, tool("status", 3, 3)))), want: slo.Good, value: 1},
		{name: "… with results that tell nothing proves nothing", run: ended(slo.Answered, calling(several(6, alike(5, 9, convention.Trivial, tool("touch", 0, 1)))...)), want: slo.Good, value: 1},
		{name: "… but for a request id alone it is the same call", run: ended(slo.Answered, func(r *run.Run) {
			for _, c := range several(3, alike(5, 9, convention.Trivial, tool("touch", 0, 1))) {
				c.Like.Same = 4
				calling(c)(r)
			}
		}), want: slo.Bad, reason: "cosmetic_change", value: 3},
		{name: "… of a call that per_tool lets repeat", change: perTool, run: ended(slo.Answered, calling(several(19, alike(5, 9, convention.Slight, tool("check_job_status", 0, 1)))...)), want: slo.Good, value: 1},
		{name: "… the results differ in the time of the call alone", run: ended(slo.Answered, calling(alike(5, 9, convention.Trivial, tool("ping", 1, 1)), alike(5, 9, convention.Trivial, tool("ping", 1, 2)), alike(5, 9, convention.Trivial, tool("ping", 1, 3)))), want: slo.Bad, reason: "cosmetic_change", value: 3},
		{name: "… with the same failure", run: ended(slo.Answered, func(r *run.Run) {
			for _, c := range several(3, alike(5, 0, convention.NoSubstance, tool("status", 0, 0))) {
				calling(failedBy(7, c))(r)
			}
		}), want: slo.Bad, reason: "cosmetic_change", value: 3},
		{name: "… of one message count once", run: ended(slo.Answered, calling(several(3, inMessage(7, alike(5, 9, convention.Slight, tool("status", 0, 1))))...)), want: slo.Good, value: 1},

		{name: "the same question in other words with the same result is bad", run: ended(slo.Answered, calling(
			worded(3, six, alike(1, 9, convention.Content, tool("ask", 1, 1))), worded(3, six|1<<9, alike(2, 9, convention.Content, tool("ask", 2, 1))),
			worded(3, six>>1, alike(3, 9, convention.Content, tool("ask", 3, 1))))), want: slo.Bad, reason: "reworded_call", value: 3},
		{name: "… hardly a word in common is another question", run: ended(slo.Answered, calling(
			worded(3, six, alike(1, 9, convention.Content, tool("ask", 1, 1))), worded(3, six<<5, alike(2, 9, convention.Content, tool("ask", 2, 1))),
			worded(3, six<<10, alike(3, 9, convention.Content, tool("ask", 3, 1))))), want: slo.Good, value: 1},
		{name: "… but not of a search: what it finds is all there is", run: ended(slo.Answered, calling(
			worded(4, 0, alike(1, 9, convention.Slight, tool("search_docs", 1, 1))), worded(4, 0, alike(2, 9, convention.Slight, tool("search_docs", 2, 1))),
			worded(4, 0, alike(3, 9, convention.Slight, tool("search_docs", 3, 1))))), want: slo.Bad, reason: "reworded_call", value: 3},
		{name: "… a search that finds nothing proves nothing", run: ended(slo.Answered, calling(
			worded(4, 0, alike(1, 9, convention.Trivial, tool("search_docs", 1, 1))), worded(4, 0, alike(2, 9, convention.Trivial, tool("search_docs", 2, 1))),
			worded(4, 0, alike(3, 9, convention.Trivial, tool("search_docs", 3, 1))))), want: slo.Good, value: 1},
		{name: "… a result of a word or two proves nothing", run: ended(slo.Answered, func(r *run.Run) {
			for _, c := range several(6, worded(3, six, alike(1, 9, convention.Slight, tool("allowed", 1, 1)))) {
				c.Like.Args = uint32(c.ArgsHash)
				calling(c)(r)
			}
		}), want: slo.Good, value: 1},
		{name: "arguments that name different things are different calls, whatever comes back", run: ended(slo.Answered, func(r *run.Run) {
			for _, c := range several(12, alike(1, 9, convention.Content, tool("get_order", 1, 1))) {
				c.Like.Args = uint32(c.ArgsHash)
				calling(c)(r)
			}
		}), want: slo.Good, value: 1},

		{name: "six calls in succession that bring nothing new are bad", run: ended(slo.Answered, func(r *run.Run) {
			for range 2 {
				for args := range uint64(6) {
					calling(lookup(args + 1))(r)
				}
			}
		}), want: slo.Bad, reason: "unchanged_results", value: 6},
		{name: "… five are not", run: ended(slo.Answered, func(r *run.Run) {
			for range 2 {
				for args := range uint64(5) {
					calling(lookup(args + 1))(r)
				}
			}
		}), want: slo.Good, value: 2},
		{name: "… nor with something new in between", run: ended(slo.Answered, func(r *run.Run) {
			for round := range uint64(2) {
				for args := range uint64(6) {
					calling(lookup(args + 1))(r)
				}
				calling(lookup(20 + round))(r)
			}
			for args := range uint64(3) {
				r.Tools = append(r.Tools[:9], append([]run.ToolCall{lookup(30 + args)}, r.Tools[9:]...)...)
			}
		}), want: slo.Good, value: 2},
		{name: "… and where the second time is not captured, nobody knows", run: ended(slo.Answered, func(r *run.Run) {
			for args := range uint64(6) {
				calling(tool(string(rune('a'+args)), 1, 1))(r)
			}
			for args := range uint64(6) {
				calling(uncaptured(tool(string(rune('a'+args)), 1, 1)))(r)
			}
		}), want: slo.Unknown, reason: "content_not_captured", value: none},
	}...)
}

func TestWasted(t *testing.T) {
	f := fileFor("no_progress")
	places := func(r *run.Run) []int {
		s := subject{Run: r, file: f}
		return s.repeats(&f.SLOs[0]).wasted
	}
	for name, c := range map[string]struct {
		run  *run.Run
		want int
	}{
		"all but the first":           {ended(slo.Answered, calls(4, tool("a", 1, 1)), calls(2, tool("b", 1, 1))), 3},
		"none below the limit":        {ended(slo.Answered, calls(2, tool("a", 1, 1))), 0},
		"of each call of a cycle":     {ended(slo.Answered, calling(tool("a", 1, 1), tool("b", 1, 1), tool("a", 1, 1), tool("b", 1, 1), tool("a", 1, 1), tool("b", 1, 1))), 4},
		"those of one breath as well": {ended(slo.Answered, calls(3, inMessage(1, tool("a", 1, 1))), calling(inMessage(2, tool("a", 1, 1)), inMessage(3, tool("a", 1, 1)))), 4},
	} {
		got := places(c.run)
		if len(got) != c.want {
			t.Errorf("%s: %v, should be %d", name, got, c.want)
		}
		for i, p := range got {
			if p == 0 || i > 0 && p <= got[i-1] {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
}
