package run

import (
	"slices"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/slo"
)

// Checks is what was found of a run while it went on: by guardrails and judges
// within it, by those who took its answer, and where it was taken up again.
type Checks struct {
	Guardrails, GuardrailBlocks int // guardrail spans, and those that refused
	Judges                      int // evaluator spans

	// SchemaFailures are answers that had not the form which was asked for: calls
	// of an answer tool that failed as bad_args, and model calls, agents and
	// parsers that say so.
	SchemaFailures int
	// SameCorrections are those that came with the same complaint as the one
	// before them.
	SameCorrections int
	// After such a failure the same agent's next model call begins with a fresh
	// context, or with all that went before; of other retries it is not known.
	CleanRetries, SameWindowRetries, OtherRetries int
	// SchemaGivenUp: there are some, and the run did not answer in the end.
	SchemaGivenUp bool

	// Resumes of the run, and those of them that name a checkpoint.
	Resumes, ConfirmedResumes int
	// Attempts is the most model calls in a row that one reply took, over all
	// models and providers.
	Attempts int
}

// checks fills Run.Checks.
func (b *assembly) checks() {
	c := &b.run.Checks
	resumed := 0
	for _, i := range b.this.members {
		s := &b.spans[i]
		switch s.Point {
		case convention.Resumed:
			resumed++
		case convention.ResumedAt:
			resumed++
			c.ConfirmedResumes++
		}
		switch s.Kind {
		case convention.Guardrail:
			c.Guardrails++
			if s.Failure == convention.FailureGuardrail || s.Failed {
				c.GuardrailBlocks++
			}
		case convention.Evaluator:
			c.Judges++
		}
	}
	c.Resumes = max(resumed, len(b.this.more))
	b.attempts()
	b.schema()
}

// attempts finds the longest row of model calls of one agent of which all but
// the last failed.
func (b *assembly) attempts() {
	rows := map[int32]int{} // failures in a row so far
	for _, i := range b.calls {
		owner := b.ancestor(i, convention.Agent)
		b.run.Checks.Attempts = max(b.run.Checks.Attempts, rows[owner]+1)
		if b.spans[i].Failed {
			rows[owner]++
		} else if rows[owner] > 0 {
			rows[owner] = 0
		}
	}
}

// schema finds the answers that had not the form which was asked for.
func (b *assembly) schema() {
	c := &b.run.Checks
	any := false
	for _, i := range b.this.members {
		if !b.misformed(&b.spans[i]) {
			continue
		}
		any = true
		for p := b.spans[i].parent; b.inside(p) && !b.spans[p].misformedBelow; p = b.spans[p].parent {
			b.spans[p].misformedBelow = true
		}
	}
	if !any {
		return
	}
	complaint := uint32(0)
	for _, i := range b.this.members {
		s := &b.spans[i]
		if !b.misformed(s) || s.misformedBelow { // of several round one another the innermost
			continue
		}
		c.SchemaFailures++
		if s.Like.Error != 0 && s.Like.Error == complaint {
			c.SameCorrections++
		}
		complaint = s.Like.Error
		b.retryOf(i)
	}
	c.SchemaGivenUp = c.SchemaFailures > 0 && b.run.Outcome != slo.Answered
}

// misformed says whether the span shows an answer without its form.
func (b *assembly) misformed(s *span) bool {
	switch {
	case s.judged || !s.Failed:
		return false
	case s.Kind == convention.Tool:
		return s.tool.role == Answer && s.Class == convention.BadArgs
	}
	return s.Failure == convention.FailureSchema
}

// retryOf tells by what the model is given whether the retry after a failure
// begins anew: what it is given holds the reply that failed, or not.
func (b *assembly) retryOf(i int32) {
	s := &b.spans[i]
	owner := b.ancestor(i, convention.Agent)
	earlier, later := b.around(b.calls, s.End)
	own := func(j int32) bool { return b.ancestor(j, convention.Agent) == owner }
	k := slices.IndexFunc(later, own)
	if k < 0 {
		return // no retry
	}
	before, after := int32(-1), later[k]
	for k := len(earlier) - 1; k >= 0 && before < 0; k-- {
		if own(earlier[k]) {
			before = earlier[k]
		}
	}
	c, next := &b.run.Checks, b.spans[after].Usage
	if before < 0 {
		c.OtherRetries++
		return
	}
	switch first := b.spans[before].Usage; {
	case first.Input < 0 || first.Output < 0 || next.Input < 0:
		c.OtherRetries++
	case next.Input >= first.Input+first.Output-max(first.Reasoning, 0):
		c.SameWindowRetries++
	case next.Input <= first.Input:
		c.CleanRetries++
	default:
		c.OtherRetries++
	}
}
