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
	case r.pattern != "":
		return badFor(r.pattern).count(r.most)
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
	most    int    // times the most repeated call was seen; of those that circle, if any do
	pattern string // reason of the verdict when calls circle, else ""
	hidden  bool   // calls whose arguments or result are not captured might circle
	wasted  []int  // places in Run.Tools of the calls that brought nothing, ascending
}

// call is what makes two calls the same. What is not captured is 0.
type call struct {
	agent, tool            string
	argsKnown, resultKnown bool
	args, result           uint64
	message                uint64

	place int // in Run.Tools
	of    *run.ToolCall
}

func (s *subject) call(place int) call {
	t := &s.Tools[place]
	c := call{agent: t.Agent, tool: t.Name, message: t.Message, place: place, of: t}
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
		c.resultKnown, c.result = true, uint64(t.Like.Error)<<8|uint64(t.Class)
	}
	return c
}

func (c call) known() bool { return c.argsKnown && c.resultKnown }

// compared says whether a call can be one of several that are the same. Handoffs
// have nothing to compare, and pauses bring nothing: what comes between does.
func compared(t *run.ToolCall) bool { return t.Role != run.NotCounted && !slo.PausingTool(t.Name) }

// repeats compares the calls of each agent: first to the letter, then by what
// they have in common, then whether many in succession brought nothing new.
func (s *subject) repeats(o *slo.Objective) (r repetition) {
	if n, differ := s.allDiffer(); differ && o.Repeats > 1 && len(o.PerTool) == 0 {
		return repetition{most: min(n, 1)}
	}
	calls := make([]call, 0, len(s.Tools))
	for i := range s.Tools {
		if compared(&s.Tools[i]) {
			calls = append(calls, s.call(i))
		}
	}
	r = s.exactRepeats(o, slices.Clone(calls))
	if r.pattern != "" {
		return r
	}
	if loose := s.looseRepeats(o, calls); loose.pattern != "" {
		return loose
	}
	late := s.nothingNew(o, calls)
	if late.pattern == "" {
		late.most, late.hidden = r.most, r.hidden || late.hidden
	}
	return late
}

// exactRepeats finds calls of one agent and tool with the same arguments and the
// same result or failure.
func (s *subject) exactRepeats(o *slo.Objective, calls []call) (r repetition) {
	slices.SortFunc(calls, compareCalls)
	var circles [][]call
	for ofTool := range groups(calls, func(a, b call) bool { return a.tool == b.tool && a.agent == b.agent }) {
		limit := o.RepeatsOf(ofTool[0].tool)
		for same := range groups(ofTool, sameCall) {
			if !same[0].known() || s.succeededLater(same, calls) {
				continue
			}
			n := rounds(same)
			if circling := n >= limit; circling && circles == nil {
				circles, r.most = append(circles, same), n
			} else if circling {
				circles, r.most = append(circles, same), max(r.most, n)
			} else if circles == nil {
				r.most = max(r.most, n)
			}
		}
		r.hidden = r.hidden || mayHideRepeats(ofTool, limit)
	}
	switch {
	case circles == nil:
	case interleaved(circles):
		r.pattern = RepeatedCycle
	default:
		r.pattern = RepeatedCall
	}
	r.wasted = wastedIn(circles)
	return r
}

// succeededLater says whether a call that failed again and again was tried once
// more with the same arguments and succeeded: it got somewhere.
func (s *subject) succeededLater(same, all []call) bool {
	if !same[0].of.Failed() {
		return false
	}
	if s.successes == nil {
		s.successes = map[likeness]int{}
		for i := range all {
			if c := &all[i]; c.argsKnown && !c.of.Failed() && !c.of.Unfinished {
				x := likeness{agent: c.agent, tool: c.tool, ask: c.looseArgs()}
				s.successes[x] = max(s.successes[x], c.place)
			}
		}
	}
	last := slices.MaxFunc(same, func(a, b call) int { return cmp.Compare(a.place, b.place) })
	place, ok := s.successes[likeness{agent: last.agent, tool: last.tool, ask: last.looseArgs()}]
	return ok && place > last.place
}

// interleaved says whether two of the groups took turns: A B A B.
func interleaved(circles [][]call) bool {
	type extent struct{ first, last int }
	extents := make([]extent, len(circles))
	for i, same := range circles {
		extents[i] = extent{same[0].place, same[0].place}
		for _, c := range same {
			extents[i].first, extents[i].last = min(extents[i].first, c.place), max(extents[i].last, c.place)
		}
	}
	slices.SortFunc(extents, func(a, b extent) int { return cmp.Compare(a.first, b.first) })
	for i := 1; i < len(extents); i++ {
		if extents[i].first < extents[i-1].last {
			return true
		}
	}
	return false
}

// wastedIn lists all calls of the groups but the first of each.
func wastedIn(circles [][]call) (places []int) {
	for _, same := range circles {
		first := slices.MinFunc(same, func(a, b call) int { return cmp.Compare(a.place, b.place) }).place
		for _, c := range same {
			if c.place != first {
				places = append(places, c.place)
			}
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// allDiffer says whether every call is known and no two have the same
// arguments and result, or a result in common, as in nearly every run; and how
// many calls there are.
func (s *subject) allDiffer() (n int, differ bool) {
	var seen [32]struct { // few: compared each with each
		tool                string
		args, result, loose uint64
	}
	for i := range s.Tools {
		if !compared(&s.Tools[i]) {
			continue
		}
		c := s.call(i)
		if n == len(seen) || !c.known() {
			return n, false
		}
		loose := c.looseResult()
		for k := range seen[:n] {
			if other := &seen[k]; other.args == c.args && other.result == c.result || other.loose == loose && other.tool == c.tool {
				return n, false
			}
		}
		seen[n].tool, seen[n].args, seen[n].result, seen[n].loose = c.tool, c.args, c.result, loose
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
