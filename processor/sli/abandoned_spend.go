package sli

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// abandonedSpend: did the run stop when nobody waited for it any more? It did
// not if a model or tool call began after the caller had left, or the deadline
// had passed, and the grace was over.
func abandonedSpend(o *slo.Objective, s *subject) Result {
	a, known := s.abandoned(o.Deadline)
	after := s.spentAfter(a.at)
	switch {
	case a.at != 0 && after.begun > a.at+uint64(o.Grace):
		return badFor(a.reason).value(&after.seconds)
	case !known:
		return unknownFor(FactMissing)
	case !s.HasRoot:
		// Whoever asked is above the root, and so is their leaving.
		return unknownFor(NoRoot)
	}
	return goodRun().value(&after.seconds)
}

// abandonment is the moment from which nobody waited for the run; at is 0 when
// there is none.
type abandonment struct {
	at     uint64 // Unix nanoseconds
	reason string
}

// abandoned is when the caller left or the deadline passed, whichever came
// first. It is not known when the run does not say its deadline.
func (s *subject) abandoned(d slo.Deadline) (a abandonment, known bool) {
	known = true
	if s.CallerLeft != 0 {
		a = abandonment{s.CallerLeft, CallerGone}
	}
	deadline := s.TimedOut
	own := uint64(0)
	switch {
	case d.After > 0 && s.Start > 0:
		own = s.Start + uint64(d.After)
	case d.Attribute != "":
		own, known = deadlineOf(s.Attributes[d.Attribute], s.Start)
	}
	if own != 0 && (deadline == 0 || own < deadline) {
		deadline = own
	}
	if deadline != 0 && (a.at == 0 || deadline < a.at) {
		a = abandonment{deadline, DeadlinePassed}
	}
	return a, known
}

// deadlineOf reads a deadline: an RFC 3339 time, a duration from the start such
// as 30s, or a number of seconds: since 1970 when it is above 1e9 (milliseconds
// above 1e12), else from the start.
func deadlineOf(text string, start uint64) (at uint64, ok bool) {
	text = strings.TrimSpace(text)
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Unix() > 0 {
		return uint64(t.UnixNano()), true
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 && start > 0 {
		return start + uint64(d), true
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || math.IsNaN(n) || n <= 0 || n > 1e14:
		return 0, false
	case n > 1e12:
		return uint64(n * 1e6), true
	case n > 1e9:
		return uint64(n * 1e9), true
	}
	return start + uint64(n*1e9), start > 0
}

// spent is what a run took from some moment on.
type spent struct {
	calls   []ToolCalls // that began then; model calls under ""
	begun   uint64      // when the last of them began; 0 none
	tokens  int64       // of those model calls, as far as known
	usd     float64     // likewise
	seconds float64     // in which a model or tool call ran
}

// spentAfter adds up what the run did after a moment; nothing when that is 0. A
// call that was under way counts by its time only: what of its tokens came later
// is not known.
func (s *subject) spentAfter(at uint64) (x spent) {
	if at == 0 {
		return x
	}
	var work []stretch
	add := func(tool string, start, end uint64) bool {
		if end > at {
			work = append(work, stretch{max(start, at), end})
		}
		if start <= at {
			return false
		}
		x.calls = count(x.calls, tool)
		x.begun = max(x.begun, start)
		return true
	}
	for i := range s.Spend {
		c := &s.Spend[i]
		if !add("", c.Start, c.End) {
			continue
		}
		if c.Tokens != convention.Unknown {
			x.tokens += c.Tokens
		}
		if !math.IsNaN(c.USD) {
			x.usd += c.USD
		}
	}
	for i := range s.Tools {
		if t := &s.Tools[i]; t.Role != run.NotCounted && t.Role != run.Answer {
			add(t.Name, t.Start, t.End)
		}
	}
	x.seconds = secondsOf(work)
	return x
}

// stretch of time in Unix nanoseconds.
type stretch struct{ start, end uint64 }

// secondsOf is how long the stretches last together; where they overlap, once.
func secondsOf(work []stretch) float64 {
	slices.SortFunc(work, func(a, b stretch) int { return cmp.Compare(a.start, b.start) })
	var total, until uint64
	for _, w := range work {
		if start := max(w.start, until); w.end > start {
			total += w.end - start
			until = w.end
		}
	}
	return float64(total) / 1e9
}
