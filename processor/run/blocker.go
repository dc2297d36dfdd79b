package run

import (
	"math"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// Blocker is the first permanent failure of a tool call that nothing got round,
// and what the run did after it.
type Blocker struct {
	Tool  string
	Class convention.Class
	At    uint64 // when the call had failed, Unix nanoseconds
	// Doubtful: the call, or another one of its tool, had succeeded before, and
	// arguments are not captured. It may be no permanent failure.
	Doubtful bool
	// Steps are the model and tool calls that began after it.
	Steps int
	// ModelCallsSeen is false where the run has no model span: Steps are then
	// tool calls only.
	ModelCallsSeen bool
	Seconds        float64  // from there to the end of the run
	USD            *float64 // spent after it; nil when not known whole
	KnownUSD       float64  // the part that is known: a lower bound
}

// sameCall is what makes two tool calls the same: the tool with the arguments,
// or the tool alone where they are not captured.
type sameCall struct {
	tool  string
	known bool
	args  uint64
}

func (t *ToolCall) same() sameCall {
	if !t.HasArgs {
		return sameCall{tool: t.Name}
	}
	return sameCall{t.Name, true, t.ArgsHash}
}

// blocker finds it. A call that never succeeded was got round when, after its
// last try had failed, a call of an evidence tool was begun that succeeded: of
// another tool, or with other arguments.
func (b *assembly) blocker() {
	r := b.run
	permanent := false
	for i := range r.Tools {
		permanent = permanent || r.Tools[i].blocks()
	}
	if !permanent {
		return
	}
	ways := b.ways()
	tries := map[sameCall]int{} // place of the first
	first := -1
	for i := range r.Tools {
		t := &r.Tools[i]
		if !t.blocks() {
			continue
		}
		if _, ok := tries[t.same()]; !ok {
			tries[t.same()] = i
		}
		if at := tries[t.same()]; !ways.after(t) && (first < 0 || at < first) {
			first = at
		}
	}
	if first < 0 {
		return
	}
	t := &r.Tools[first]
	x := &Blocker{Tool: t.Name, Class: t.Class, At: max(t.Start, t.End), Doubtful: t.doubtful, ModelCallsSeen: len(b.calls) > 0}
	for i := range r.Tools {
		if i != first && r.Tools[i].Start >= x.At {
			x.Steps++
		}
	}
	for _, i := range b.calls {
		if b.spans[i].Start >= x.At {
			x.Steps++
		}
	}
	x.Seconds = interval{x.At, r.End}.seconds()
	x.USD, x.KnownUSD = b.spentSince(x.At)
	r.Blocker = x
}

// ways are the last calls that may have got round something: of two messages,
// as what a model asked for in the same breath is no way round.
type ways [2]*ToolCall

func (b *assembly) ways() (w ways) {
	for i := range b.run.Tools {
		t := &b.run.Tools[i]
		if t.Role != Evidence || !t.Succeeded() || b.handsOn(i) {
			continue
		}
		if w[0] != nil && (t.Message == 0 || t.Message != w[0].Message) {
			w[1] = w[0]
		}
		w[0] = t // they are in order of start
	}
	return w
}

// after says whether one of them was begun after the call had failed, by another
// message.
func (w ways) after(failed *ToolCall) bool {
	for _, t := range w {
		if t != nil && t.Start >= max(failed.Start, failed.End) && (t.Message == 0 || t.Message != failed.Message) {
			return true
		}
	}
	return false
}

// blocks says whether the call failed for good, or may have.
func (t *ToolCall) blocks() bool {
	return (t.Persistence == Permanent || t.doubtful) && (t.Role == Evidence || t.Role == Counted)
}

// handsOn says whether the call is a way of giving the run up, not of getting
// on: by its name, by the file's hand-over tools, or as the last call of a run
// that was handed on or declined.
func (b *assembly) handsOn(i int) bool {
	r, name := b.run, b.run.Tools[i].Name
	if slo.EscalationTool(name) || slo.AbstainTool(name) {
		return true
	}
	if b.file != nil {
		for k := range b.file.SLOs {
			if o := &b.file.SLOs[k]; o.SLI == "handoff" && o.TicketTool(name) {
				return true
			}
		}
	}
	if r.Outcome != slo.Escalated && r.Outcome != slo.Abstained {
		return false
	}
	for _, later := range r.Tools[i+1:] {
		if later.Role != Answer && later.Succeeded() {
			return false
		}
	}
	return true
}

// spentSince is what was spent by calls that began at or after a time, in US
// dollars: whole is nil when a part is not known, known is the part that is.
func (b *assembly) spentSince(at uint64) (whole *float64, known float64) {
	all, priced := len(b.calls) > 0, int64(0)
	for _, i := range b.this.members {
		if s := &b.spans[i]; s.priced && s.Start >= at && !math.IsNaN(s.CostUSD) {
			known += s.CostUSD
		}
	}
	isPriced := func(s *span) bool { return s.priced }
	for _, i := range b.uses {
		s := &b.spans[i]
		if s.Kind != convention.Model {
			all = all && s.End < at // the usage of a whole agent is not told by time
			continue
		}
		if s.Start < at || b.covered(i, isPriced) {
			continue
		}
		p := b.lists.rates(s.ModelName)
		if !p.known || s.Usage.Input < 0 || s.Usage.Output < 0 {
			all = false
			continue
		}
		priced += p.cost(s.Usage)
	}
	for _, i := range b.calls {
		s := &b.spans[i]
		if s.Start >= at && !b.unbilled(s) && !b.covered(i, func(s *span) bool { return s.priced || s.isUse }) {
			all = false
		}
	}
	known += float64(priced) / 1e12
	if all {
		whole = &known
	}
	return whole, known
}
