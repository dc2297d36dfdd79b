package slo

// Verdict is what one run means to one SLO. Good and bad are the events of the
// error budget; unknown and excluded are published beside them and never
// enter the denominator.
type Verdict uint8

const (
	// Unknown: the run should count, but the telemetry lacks the evidence.
	Unknown Verdict = iota
	// Good spends no budget.
	Good
	// Bad spends budget.
	Bad
	// Excluded: the SLO does not apply to the run.
	Excluded
)

// Verdicts lists every verdict in the order in which tables show them.
var Verdicts = [...]Verdict{Good, Bad, Unknown, Excluded}

// String is the verdict's label value: good, bad, unknown or excluded.
func (v Verdict) String() string {
	switch v {
	case Good:
		return "good"
	case Bad:
		return "bad"
	case Excluded:
		return "excluded"
	default:
		return "unknown"
	}
}

// ParseVerdict is the inverse of [Verdict.String].
func ParseVerdict(s string) (Verdict, bool) {
	for _, v := range Verdicts {
		if v.String() == s {
			return v, true
		}
	}
	return Unknown, false
}

// Outcome says how a run ended; every run has exactly one.
type Outcome uint8

const (
	// OutcomeUnknown: the telemetry does not say how the run ended.
	OutcomeUnknown Outcome = iota
	// Answered: the agent gave its answer.
	Answered
	// Abstained: the agent declined to answer.
	Abstained
	// Escalated: the run was handed to a person, or waits for one.
	Escalated
	// StoppedNoProgress: something stopped the run because it went nowhere.
	StoppedNoProgress
	// LimitReached: a limit on turns, steps, tokens, time or money ended the run.
	LimitReached
	// Cancelled: the caller went away or aborted the run.
	Cancelled
	// Error: the run failed.
	Error
	// Lost: the run's root never ended, as far as the telemetry says.
	Lost
)

// Outcomes lists every outcome in the order in which tables show them.
var Outcomes = [...]Outcome{Answered, Abstained, Escalated, StoppedNoProgress, LimitReached, Cancelled, Error, Lost, OutcomeUnknown}

var outcomeNames = [...]string{
	OutcomeUnknown: "unknown", Answered: "answered", Abstained: "abstained", Escalated: "escalated",
	StoppedNoProgress: "stopped_no_progress", LimitReached: "limit_reached", Cancelled: "cancelled",
	Error: "error", Lost: "lost",
}

// String is the outcome's label value, such as "answered".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// ParseOutcome is the inverse of [Outcome.String].
func ParseOutcome(s string) (Outcome, bool) {
	for o, name := range outcomeNames {
		if name == s {
			return Outcome(o), true
		}
	}
	return OutcomeUnknown, false
}
