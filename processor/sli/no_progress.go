package sli

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// noProgress: did the run go round in circles? It did if the same call came
// back with the same result too often, even if the caller then left, or if
// something stopped the run for it.
func noProgress(o *slo.Objective, s *subject) Result {
	r := s.repeats(o)
	switch {
	case r.circling:
		return badFor(RepeatedCall).count(r.most)
	case s.Outcome == slo.StoppedNoProgress, s.Outcome == slo.LimitReached:
		return badFor(s.outcomeReason())
	case r.hidden:
		return unknownFor(ContentNotCaptured)
	case s.Unseen >= o.Repeats:
		return unknownFor(CallsNotSeen)
	case s.Outcome == slo.Cancelled:
		return excludedFor(Cancelled).count(r.most)
	case s.Outcome == slo.OutcomeUnknown:
		return unknownFor(OutcomeUnknown).count(r.most)
	}
	return goodRun().count(r.most)
}

// repetition is how often calls of a run were the same.
type repetition struct {
	most     int  // times the most repeated call was seen; of those that circle, if any do
	circling bool // some call was seen as often as its tool's limit
	hidden   bool // calls whose arguments or result are not captured might be
}

// call is what makes two calls the same. What is not captured is 0.
type call struct {
	agent, tool            string
	argsKnown, resultKnown bool
	args, result           uint64
	message                uint64
}

func (s *subject) call(t *run.ToolCall) call {
	c := call{agent: t.Agent, tool: t.Name, message: t.Message}
	if !s.ContentCaptured {
		return c
	}
	if t.HasArgs {
		c.argsKnown, c.args = true, t.ArgsHash
	}
	switch {
	case t.HasResult:
		c.resultKnown, c.result = true, t.ResultHash
	case t.Failed():
		// A failure without a text is the result, as far as anyone can say.
		c.resultKnown, c.result = true, uint64(t.Class)
	}
	return c
}

func (c call) known() bool { return c.argsKnown && c.resultKnown }

// repeats compares the calls of each agent and tool. Handoffs are left out:
// they have nothing to compare.
func (s *subject) repeats(o *slo.Objective) (r repetition) {
	if n, differ := s.allDiffer(); differ && o.Repeats > 1 && len(o.PerTool) == 0 {
		return repetition{most: min(n, 1)}
	}
	calls := make([]call, 0, len(s.Tools))
	for i := range s.Tools {
		if t := &s.Tools[i]; t.Role != run.NotCounted {
			calls = append(calls, s.call(t))
		}
	}
	slices.SortFunc(calls, compareCalls)
	for ofTool := range groups(calls, func(a, b call) bool { return a.tool == b.tool && a.agent == b.agent }) {
		limit := o.RepeatsOf(ofTool[0].tool)
		for same := range groups(ofTool, sameCall) {
			if !same[0].known() {
				continue
			}
			n := rounds(same)
			if circling := n >= limit; circling && !r.circling {
				r.circling, r.most = true, n
			} else if circling == r.circling {
				r.most = max(r.most, n)
			}
		}
		r.hidden = r.hidden || mayHideRepeats(ofTool, limit)
	}
	return r
}

// allDiffer says whether every call is known and no two have the same
// arguments and result, as in nearly every run, and how many calls there are.
func (s *subject) allDiffer() (n int, differ bool) {
	var seen [32]struct{ args, result uint64 } // few: compared each with each
	for i := range s.Tools {
		t := &s.Tools[i]
		if t.Role == run.NotCounted {
			continue
		}
		c := s.call(t)
		if n == len(seen) || !c.known() {
			return n, false
		}
		for _, other := range seen[:n] {
			if other.args == c.args && other.result == c.result {
				return n, false
			}
		}
		seen[n].args, seen[n].result = c.args, c.result
		n++
	}
	return n, true
}

// mayHideRepeats says whether calls of one agent and tool that are not wholly
// captured may be the same call `limit` times. Those with other arguments or
// other results cannot be; what is not captured may be anything.
func mayHideRepeats(ofTool []call, limit int) bool {
	if len(ofTool) < limit || !slices.ContainsFunc(ofTool, func(c call) bool { return !c.known() }) {
		return false
	}
	var anyArgs []call // sorted first
	for alike := range groups(ofTool, func(a, b call) bool { return a.argsKnown == b.argsKnown && a.args == b.args }) {
		possible := alike
		if alike[0].argsKnown {
			possible = slices.Concat(anyArgs, alike)
		} else {
			anyArgs = alike
		}
		if !slices.ContainsFunc(possible, func(c call) bool { return !c.known() }) {
			continue
		}
		if mostAlike(possible) >= limit {
			return true
		}
	}
	return false
}

// mostAlike is how many of calls whose arguments may be the same may have the
// same result too: those of one known result, and all whose result is not known.
func mostAlike(possible []call) (most int) {
	byResult := map[uint64][]call{}
	var open []call
	for _, c := range possible {
		if c.resultKnown {
			byResult[c.result] = append(byResult[c.result], c)
		} else {
			open = append(open, c)
		}
	}
	most = rounds(open)
	for _, same := range byResult {
		most = max(most, rounds(slices.Concat(same, open)))
	}
	return most
}

// rounds counts calls; those of one model message count once: a model that
// asks for the same thing twice in one breath has not been round in between.
func rounds(calls []call) (n int) {
	if len(calls) == 1 {
		return 1
	}
	var messages []uint64
	for _, c := range calls {
		if c.message == 0 {
			n++
		} else {
			messages = append(messages, c.message)
		}
	}
	slices.Sort(messages)
	return n + len(slices.Compact(messages))
}

// groups cuts a sorted slice into stretches of equal elements.
func groups[T any](s []T, equal func(a, b T) bool) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		for start := 0; start < len(s); {
			end := start + 1
			for end < len(s) && equal(s[start], s[end]) {
				end++
			}
			if !yield(s[start:end]) {
				return
			}
			start = end
		}
	}
}

// compareCalls sorts by agent and tool, then arguments, then result; what is
// not captured comes first.
func compareCalls(a, b call) int {
	if c := strings.Compare(a.tool, b.tool); c != 0 {
		return c
	}
	if c := strings.Compare(a.agent, b.agent); c != 0 {
		return c
	}
	if a.argsKnown != b.argsKnown {
		return order(b.argsKnown)
	}
	if c := cmp.Compare(a.args, b.args); c != 0 {
		return c
	}
	if a.resultKnown != b.resultKnown {
		return order(b.resultKnown)
	}
	return cmp.Compare(a.result, b.result)
}

func order(first bool) int {
	if first {
		return -1
	}
	return 1
}

func sameCall(a, b call) bool { return compareCalls(a, b) == 0 }
