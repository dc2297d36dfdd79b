package sli

import (
	"strings"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// subject is the run that is judged, the file that judges it, and what is
// worked out only once for all SLOs.
type subject struct {
	*run.Run
	file *slo.File
	vars map[string]any // of CEL; built when an expression needs it
	// successes has the place of the last successful call, by agent, tool and
	// arguments; built when a call failed again and again.
	successes map[likeness]int
}

// holds evaluates an expression over the run.
func (s *subject) holds(p *slo.Program) (bool, error) {
	if s.vars == nil {
		s.vars = Variables(s.Run)
	}
	return p.Eval(s.vars)
}

// exclusion is the name of the first exclusion that certainly matches, or "".
func (s *subject) exclusion() string {
	for _, e := range s.file.Exclude {
		if matches, err := s.holds(e.When); err == nil && matches {
			return e.Name
		}
	}
	return ""
}

// selectedBy says whether the SLO is about this run's agent, by its name or by
// the label that an alias gives it.
func (s *subject) selectedBy(o *slo.Objective) bool {
	if len(o.Agents) == 0 {
		return true
	}
	label := s.file.AgentLabel(s.Agent)
	for _, glob := range o.Agents {
		if slo.MatchGlob(glob, s.Agent) || slo.MatchGlob(glob, label) {
			return true
		}
	}
	return false
}

// waitsFor says whether evaluations that come within the SLO's wait may change
// what the expression says.
func waitsFor(o *slo.Objective, p *slo.Program) bool {
	return o.Wait > 0 && strings.Contains(p.Source, "run.evaluations")
}

// answered, and whether the telemetry says so at all.
func (s *subject) answered() (yes, known bool) {
	return s.Outcome == slo.Answered, s.Outcome != slo.OutcomeUnknown
}

// outcomeReason is the outcome as a reason.
func (s *subject) outcomeReason() string {
	switch {
	case s.Outcome == slo.Escalated && s.OutcomeReason == Paused:
		return Paused
	case s.Outcome == slo.OutcomeUnknown:
		return OutcomeUnknown
	}
	return s.Outcome.String()
}

// failed says whether the outcome is bad for completion.
func failed(o slo.Outcome) bool {
	switch o {
	case slo.Error, slo.Lost, slo.LimitReached, slo.StoppedNoProgress:
		return true
	}
	return false
}

// float is d as the nearest float64, without the allocations of
// decimal.Decimal.Float64 for the short decimals that people write: a quotient
// or product of two integers that a float64 holds exactly is correctly rounded.
func float(d slo.Decimal) float64 {
	const exact = 1 << 53
	if c, e := d.CoefficientInt64(), d.Exponent(); -exact < c && c < exact && d.NumDigits() < 16 {
		switch {
		case e == 0:
			return float64(c)
		case e < 0 && -e < int32(len(powersOfTen)):
			return float64(c) / powersOfTen[-e]
		}
	}
	f, _ := d.Float64()
	return f
}

var powersOfTen = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}
