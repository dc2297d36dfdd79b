package sli

import "github.com/agentslo/agentslo/slo"

// Reasons of verdicts. They are label values that dashboards and people rely
// on: add some, never rename one.
const (
	// Of the run's outcome.
	Abstained         = "abstained"
	Escalated         = "escalated"
	Paused            = "paused"
	Cancelled         = "cancelled"
	StoppedNoProgress = "stopped_no_progress"
	LimitReached      = "limit_reached"
	Error             = "error"
	Lost              = "lost"
	OutcomeUnknown    = "outcome_unknown"

	// Of the SLO's scope.
	NotSelected      = "not_selected"
	NotApplicable    = "not_applicable"
	FactMissing      = "fact_missing"
	ExpressionFailed = "expression_failed"
	ConditionFalse   = "condition_false"
	UnknownKind      = "unknown_kind"

	// Of evaluations.
	JudgedBad       = "judged_bad"
	NoEvaluation    = "no_evaluation"
	EvaluatorFailed = "evaluator_failed"
	NoVerdict       = "no_verdict"
	NotSampled      = "not_sampled"
	EmptyRetrieval  = "empty_retrieval"
	NothingToGround = "nothing_to_ground"

	// Of time and money.
	TooSlow        = "too_slow"
	RootEndedEarly = "root_ended_early"
	NoRoot         = "no_root"
	NoDuration     = "no_duration"
	NoFirstToken   = "no_first_token"
	TooExpensive   = "too_expensive"
	CostUnknown    = "cost_unknown"
	CallerGone     = "caller_gone"
	DeadlinePassed = "deadline_passed"
	ProviderFault  = "provider_fault"

	// Of tools.
	NoCall             = "no_call"
	AllCallsFailed     = "all_calls_failed"
	RequiredMissing    = "required_missing"
	NotExpected        = "not_expected"
	ExpectationUnknown = "expectation_unknown"
	RepeatedCall       = "repeated_call"
	RepeatedCycle      = "repeated_cycle"
	CosmeticChange     = "cosmetic_change"
	RewordedCall       = "reworded_call"
	UnchangedResults   = "unchanged_results"
	ContentNotCaptured = "content_not_captured"
	CallsNotSeen       = "calls_not_seen"

	// Of steps. A failed call's reason is the class of its failure.
	Transient       = "transient"
	BadArgs         = "bad_args"
	Auth            = "auth"
	Unrecoverable   = "unrecoverable"
	Unclassified    = "unclassified"
	CutShort        = "cut_short"
	ToolNotCounted  = "not_counted"
	WaitedForPerson = "waited_for_person"
	HandedOff       = "handed_off"
	NoSteps         = "no_steps"

	// Of failures and what the agent did about them.
	NoFailure              = "no_failure"
	RetriedRefusal         = "retried_refusal"
	RetriedTooOften        = "retried_too_often"
	NoEffect               = "no_effect"
	DuplicateEffect        = "duplicate_effect"
	MaybeReplayed          = "maybe_replayed"
	NoBlocker              = "no_blocker"
	ModelCallsNotSeen      = "model_calls_not_seen"
	Stuck                  = "stuck"
	StuckUntilAnswer       = "stuck_until_answer"
	StuckUntilEscalation   = "stuck_until_escalation"
	StuckUntilLimit        = "stuck_until_limit"
	StuckUntilFailure      = "stuck_until_failure"
	NotEscalated           = "not_escalated"
	NoTicket               = "no_ticket"
	TicketIncomplete       = "ticket_incomplete"
	Premature              = "premature"
	ForbiddenAction        = "forbidden_action"
	ForbiddenBeforeBlocker = "forbidden_before_blocker"
	ForbiddenAfterBlocker  = "forbidden_after_blocker"
)

// Reason documents one reason.
type Reason struct {
	Name     string
	Verdicts []slo.Verdict // that may have it
	Doc      string
}

// Reasons lists every reason that Evaluate may give, beside the names of the
// file's exclusions.
var Reasons = []Reason{
	{Abstained, []slo.Verdict{slo.Good, slo.Bad, slo.Excluded}, "the agent declined to answer"},
	{Escalated, []slo.Verdict{slo.Good, slo.Bad, slo.Excluded}, "the run was handed to a person"},
	{Paused, []slo.Verdict{slo.Good, slo.Excluded}, "the run waits for an approval or a tool of the caller"},
	{Cancelled, []slo.Verdict{slo.Excluded}, "the caller went away or aborted the run"},
	{StoppedNoProgress, []slo.Verdict{slo.Good, slo.Bad, slo.Excluded}, "something stopped the run because it went nowhere"},
	{LimitReached, []slo.Verdict{slo.Good, slo.Bad, slo.Excluded}, "a limit on turns, steps, tokens, time or money ended the run"},
	{Error, []slo.Verdict{slo.Good, slo.Bad, slo.Excluded}, "the run failed"},
	{Lost, []slo.Verdict{slo.Good, slo.Bad, slo.Excluded}, "the run's root never ended"},
	{OutcomeUnknown, []slo.Verdict{slo.Good, slo.Unknown}, "the telemetry does not say how the run ended, and the verdict may hinge on it"},

	{NotSelected, []slo.Verdict{slo.Excluded}, "the SLO's agents do not include this one"},
	{NotApplicable, []slo.Verdict{slo.Excluded}, "the SLO's when is false"},
	{FactMissing, []slo.Verdict{slo.Unknown}, "an expression needs a fact that the telemetry does not carry"},
	{ExpressionFailed, []slo.Verdict{slo.Unknown}, "an expression could not be evaluated"},
	{ConditionFalse, []slo.Verdict{slo.Bad}, "the custom SLO's good is false"},
	{UnknownKind, []slo.Verdict{slo.Unknown}, "this version does not know the SLO's kind"},

	{JudgedBad, []slo.Verdict{slo.Bad}, "an evaluation does not pass"},
	{NoEvaluation, []slo.Verdict{slo.Unknown}, "no named evaluation came within the wait"},
	{EvaluatorFailed, []slo.Verdict{slo.Unknown}, "the evaluators that came failed themselves"},
	{NoVerdict, []slo.Verdict{slo.Unknown}, "the evaluations that came carry no score or label that the SLO asks for"},
	{NotSampled, []slo.Verdict{slo.Excluded}, "not evaluated, and expected_coverage is below 100%"},
	{EmptyRetrieval, []slo.Verdict{slo.Bad}, "retrieval returned nothing and the agent still answered"},
	{NothingToGround, []slo.Verdict{slo.Excluded}, "no retrieval, and none was expected"},

	{TooSlow, []slo.Verdict{slo.Bad}, "longer than the threshold"},
	{RootEndedEarly, []slo.Verdict{slo.Good, slo.Bad}, "work went on after the root ended; the extent of the run was measured"},
	{NoRoot, []slo.Verdict{slo.Unknown}, "without a root span the run's length is not known"},
	{NoDuration, []slo.Verdict{slo.Unknown}, "the root's times give no length"},
	{NoFirstToken, []slo.Verdict{slo.Unknown}, "the time to the first token is not emitted"},
	{TooExpensive, []slo.Verdict{slo.Bad}, "what is known of the cost is above max_usd"},
	{CostUnknown, []slo.Verdict{slo.Unknown}, "a part of the cost is not known"},
	{CallerGone, []slo.Verdict{slo.Bad}, "work began after the caller had gone away"},
	{ProviderFault, []slo.Verdict{slo.Excluded}, "bad only for trouble at the model provider, and provider_faults is exclude"},
	{DeadlinePassed, []slo.Verdict{slo.Bad}, "work began after the deadline had passed"},

	{NoCall, []slo.Verdict{slo.Bad}, "answered without calling an evidence tool first"},
	{AllCallsFailed, []slo.Verdict{slo.Bad}, "no evidence call before the answer succeeded"},
	{RequiredMissing, []slo.Verdict{slo.Bad}, "none of the required tools succeeded before the answer"},
	{NotExpected, []slo.Verdict{slo.Excluded}, "no tool call was expected"},
	{ExpectationUnknown, []slo.Verdict{slo.Unknown}, "whether a tool call was expected is not known"},
	{RepeatedCall, []slo.Verdict{slo.Bad}, "the same call with the same result, or the same failure that never gave way, too often"},
	{RepeatedCycle, []slo.Verdict{slo.Bad}, "several calls in turn with the same results, too often"},
	{CosmeticChange, []slo.Verdict{slo.Bad}, "the same result too often, for arguments that differ in letter case, white space or generated members alone"},
	{RewordedCall, []slo.Verdict{slo.Bad}, "the same result too often, for the same question in other words"},
	{UnchangedResults, []slo.Verdict{slo.Bad}, "many calls in succession, and each brought what one before it had brought"},
	{CallsNotSeen, []slo.Verdict{slo.Unknown}, "the model asked for tools and went on, and no span says whether they ran"},
	{ContentNotCaptured, []slo.Verdict{slo.Unknown}, "a tool was called often enough, and arguments or results are not captured"},

	{Transient, []slo.Verdict{slo.Bad, slo.Excluded}, "the tool call failed; another try may succeed"},
	{BadArgs, []slo.Verdict{slo.Bad, slo.Excluded}, "the tool call failed: its arguments were wrong"},
	{Auth, []slo.Verdict{slo.Bad, slo.Excluded}, "the tool call failed: it was not allowed"},
	{Unrecoverable, []slo.Verdict{slo.Bad, slo.Excluded}, "the tool call failed for good"},
	{Unclassified, []slo.Verdict{slo.Bad, slo.Excluded}, "the tool call failed, and nothing says why"},
	{CutShort, []slo.Verdict{slo.Excluded}, "the tool call was cut short: it has neither result nor failure"},
	{ToolNotCounted, []slo.Verdict{slo.Excluded}, "the tool is on the uncounted list: what it says of itself is no success or failure"},
	{WaitedForPerson, []slo.Verdict{slo.Excluded}, "the tool waited for a person"},
	{HandedOff, []slo.Verdict{slo.Good}, "the sub-agent handed on to another agent"},
	{NoSteps, []slo.Verdict{slo.Excluded}, "the run has no step that the SLO counts; it counts no event"},

	{NoFailure, []slo.Verdict{slo.Excluded}, "no tool call failed"},
	{RetriedRefusal, []slo.Verdict{slo.Bad}, "a call that failed for want of permission was tried again"},
	{RetriedTooOften, []slo.Verdict{slo.Bad}, "a call that never succeeded was tried again, more often than max_retries"},
	{NoEffect, []slo.Verdict{slo.Excluded}, "no call of a write tool succeeded"},
	{DuplicateEffect, []slo.Verdict{slo.Bad}, "a write tool succeeded twice with the same arguments or idempotency key"},
	{MaybeReplayed, []slo.Verdict{slo.Unknown}, "a call of a write tool is reported twice, and nothing tells a replay from a second execution"},
	{NoBlocker, []slo.Verdict{slo.Excluded}, "no tool call failed for good, or another call got round it"},
	{ModelCallsNotSeen, []slo.Verdict{slo.Unknown}, "the run has no model span, so that steps after the blocker are not all seen"},
	{Stuck, []slo.Verdict{slo.Bad}, "too many steps or too much money after a blocker; the run was cancelled, or how it ended is not known"},
	{StuckUntilAnswer, []slo.Verdict{slo.Bad}, "too many steps or too much money after a blocker, ended by an answer"},
	{StuckUntilEscalation, []slo.Verdict{slo.Bad}, "too many steps or too much money after a blocker, ended by handing the run to a person"},
	{StuckUntilLimit, []slo.Verdict{slo.Bad}, "too many steps or too much money after a blocker, ended by a limit"},
	{StuckUntilFailure, []slo.Verdict{slo.Bad}, "too many steps or too much money after a blocker, ended by an error"},
	{NotEscalated, []slo.Verdict{slo.Excluded}, "the run was not handed to a person"},
	{NoTicket, []slo.Verdict{slo.Unknown}, "handed to a person, and no call of a hand-over tool shows with what"},
	{TicketIncomplete, []slo.Verdict{slo.Bad}, "the ticket lacks something that the person needs"},
	{Premature, []slo.Verdict{slo.Bad}, "handed to a person for a failure that proved transient"},
	{ForbiddenAction, []slo.Verdict{slo.Bad}, "a forbidden call, in a run without a permanent failure"},
	{ForbiddenBeforeBlocker, []slo.Verdict{slo.Bad}, "a forbidden call, before the first permanent failure"},
	{ForbiddenAfterBlocker, []slo.Verdict{slo.Bad}, "a forbidden call, after the first permanent failure"},
}
