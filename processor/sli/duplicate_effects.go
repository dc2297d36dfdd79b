package sli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// duplicateEffects: did every tool with side effects take each effect once?
func duplicateEffects(o *slo.Objective, s *subject) Result {
	e := s.effects(o)
	switch {
	case e.twice > 0:
		return badFor(DuplicateEffect).count(e.twice)
	case e.calls == 0 && s.Unseen == 0:
		return excludedFor(NoEffect)
	case e.calls+s.Unseen > 1 && s.Unseen > 0:
		return unknownFor(CallsNotSeen)
	case e.hidden:
		return unknownFor(ContentNotCaptured)
	case e.replayed:
		return unknownFor(MaybeReplayed)
	case e.calls == 0:
		return unknownFor(CallsNotSeen)
	}
	return goodRun().count(0)
}

// Duplicate counts the calls of a write tool that did again what an earlier one
// of the run had done.
type Duplicate struct {
	Tool  string
	Count int
}

// Duplicates are those of a run, by tool. Idempotency keys are those of the
// file's first duplicate_effects SLO.
func Duplicates(f *slo.File, r *run.Run) (all []Duplicate) {
	if len(f.Tools.Write) == 0 {
		return nil
	}
	var o slo.Objective
	for i := range f.SLOs {
		if f.SLOs[i].SLI == "duplicate_effects" {
			o = f.SLOs[i]
			break
		}
	}
	s := subject{Run: r, file: f}
	return s.effects(&o).byTool
}

// effects is what the successful calls of a run's write tools did.
type effects struct {
	calls    int // that succeeded
	twice    int // that did again what one before had done
	byTool   []Duplicate
	hidden   bool // calls whose arguments are not captured may have done so
	replayed bool // two reports with one call id may be one call or two
}

func (s *subject) effects(o *slo.Objective) (e effects) {
	var calls []*run.ToolCall
	for i := range s.Tools {
		if t := &s.Tools[i]; t.Succeeded() && s.file.WriteTool(t.Name) {
			calls = append(calls, t)
		}
	}
	e.calls = len(calls)
	if len(calls) < 2 {
		return e
	}
	slices.SortStableFunc(calls, func(a, b *run.ToolCall) int { return strings.Compare(a.Name, b.Name) })
	question := o.KeyQuestion()
	for ofTool := range groups(calls, func(a, b *run.ToolCall) bool { return a.Name == b.Name }) {
		before := e.twice
		e.compare(ofTool, question)
		if n := e.twice - before; n > 0 {
			e.byTool = append(e.byTool, Duplicate{ofTool[0].Name, n})
		}
	}
	return e
}

// identified is a call with what tells its effect from others'.
type identified struct {
	*run.ToolCall
	effect uint64 // of the idempotency key, else of the arguments
	byKey  bool
}

// compare looks for calls of one tool with the same effect: the same
// idempotency key, or the same arguments. Two that the agent told apart by
// different keys are two effects.
func (e *effects) compare(ofTool []*run.ToolCall, question uint32) {
	known := make([]identified, 0, len(ofTool))
	for _, t := range ofTool {
		key, asked := t.Found(question)
		switch {
		case !t.HasArgs:
			e.hidden = e.hidden || len(ofTool) > 1
		case asked && key != 0:
			known = append(known, identified{t, key, true})
		default:
			known = append(known, identified{t, t.ArgsHash, false})
		}
	}
	slices.SortStableFunc(known, func(a, b identified) int {
		return cmp.Or(compareBools(a.byKey, b.byKey), cmp.Compare(a.effect, b.effect))
	})
	for same := range groups(known, func(a, b identified) bool { return a.byKey == b.byKey && a.effect == b.effect }) {
		e.count(same)
	}
}

// count counts the calls of one effect. Reports with one tool call id, or asked
// for by a reply that is reported twice itself, are of one call, or of one that
// was executed again: the latter when their results differ, when different
// replies of the model asked for them, or when they are in different traces, as
// a resumed run's are. Else nobody can tell a replay from a second execution.
func (e *effects) count(same []identified) {
	executed := 0
	for i, t := range same {
		again := true
		for _, before := range same[max(i-inOneBreath, 0):i] {
			if oneAsk(before.ToolCall, t.ToolCall) && !executedAgain(before.ToolCall, t.ToolCall) {
				again = false
				break
			}
		}
		if again {
			executed++
		} else {
			e.replayed = true
		}
	}
	e.twice += max(executed-1, 0)
}

// oneAsk says whether the model may have asked for both with one tool call.
func oneAsk(a, b *run.ToolCall) bool {
	if a.CallID != 0 || b.CallID != 0 {
		return a.CallID == b.CallID
	}
	return a.Response != 0 && a.Response == b.Response && a.Message != b.Message
}

func executedAgain(a, b *run.ToolCall) bool {
	return a.HasResult && b.HasResult && a.ResultHash != b.ResultHash ||
		a.Response != 0 && b.Response != 0 && a.Response != b.Response ||
		a.Trace != b.Trace
}
