package sli

import (
	"math"
	"testing"
	"time"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// The rows of the verdict table, in its order: for each kind what makes a run
// good, bad, excluded and unknown. A row's name is the sentence it checks.
type verdictRow struct {
	name    string
	run     *run.Run
	change  func(*slo.File, *slo.Objective) // of the kind's default objective
	want    slo.Verdict
	reason  string
	value   float64 // NaN: none
	pending bool    // before the end of the wait
}

const none = -1e9 // no value

func pointer[T any](v T) *T { return &v }

// ended is a run of one second with an outcome, and what the options add.
func ended(o slo.Outcome, options ...func(*run.Run)) *run.Run {
	r := &run.Run{ID: [16]byte{1}, Service: "support", Agent: "triage", Agents: []string{"triage"}, HasRoot: true,
		Completion: run.RootEnded, Start: 1e9, End: 2e9, Seconds: pointer(1.0), SoFar: 1,
		Outcome: o, ContentCaptured: true, Usage: convention.UnknownUsage}
	for _, f := range options {
		f(r)
	}
	return r
}

func lasting(seconds float64) func(*run.Run) {
	return func(r *run.Run) { r.Seconds, r.SoFar = &seconds, seconds }
}

func withoutRoot(soFar float64) func(*run.Run) {
	return func(r *run.Run) { r.HasRoot, r.Seconds, r.SoFar, r.Completion = false, nil, soFar, run.Idle }
}

func costing(usd float64) func(*run.Run) {
	return func(r *run.Run) { r.CostUSD, r.KnownUSD = &usd, usd }
}

func knownCost(usd float64) func(*run.Run) { return func(r *run.Run) { r.KnownUSD = usd } }

func evaluated(evaluations ...convention.Evaluation) func(*run.Run) {
	return func(r *run.Run) { r.Evaluations = append(r.Evaluations, evaluations...) }
}

func score(name string, score float64, at uint64) convention.Evaluation {
	return convention.Evaluation{Name: name, Score: score, Time: at}
}

func label(name, label string, at uint64) convention.Evaluation {
	return convention.Evaluation{Name: name, Label: label, Score: math.NaN(), Time: at}
}

func failedEvaluator(name string, at uint64) convention.Evaluation {
	return convention.Evaluation{Name: name, Score: 1, Failed: true, Time: at}
}

// calling appends calls one second apart; each starts when the last one ended.
func calling(calls ...run.ToolCall) func(*run.Run) {
	return func(r *run.Run) {
		for _, c := range calls {
			at := r.Start + uint64(len(r.Tools))*1e6
			if c.Start == 0 {
				c.Start, c.End = at, at+1e6
			}
			r.Tools = append(r.Tools, c)
		}
	}
}

func calls(n int, c run.ToolCall) func(*run.Run) {
	return func(r *run.Run) {
		for range n {
			calling(c)(r)
		}
	}
}

func tool(name string, args, result uint64) run.ToolCall {
	return run.ToolCall{Name: name, Agent: "triage", HasArgs: true, ArgsHash: args, HasResult: true, ResultHash: result}
}

func failing(c run.ToolCall) run.ToolCall { c.Class = convention.Transient; return c }

func as(role run.Role, c run.ToolCall) run.ToolCall { c.Role = role; return c }

func byAgent(agent string, c run.ToolCall) run.ToolCall { c.Agent = agent; return c }

func inMessage(id uint64, c run.ToolCall) run.ToolCall { c.Message = id; return c }

func at(start, end uint64, c run.ToolCall) run.ToolCall { c.Start, c.End = start, end; return c }

func uncaptured(c run.ToolCall) run.ToolCall {
	c.HasArgs, c.HasResult, c.ArgsHash, c.ResultHash = false, false, 0, 0
	return c
}

func retrieving(documents ...int64) func(*run.Run) {
	return func(r *run.Run) {
		for _, n := range documents {
			r.Retrievals = append(r.Retrievals, run.Retrieval{Documents: n, Start: 1, End: 2})
		}
	}
}

func retrievalTool(empty bool) run.ToolCall {
	c := tool("search_docs", 1, 2)
	c.Retrieval, c.ResultEmpty = true, empty
	return c
}

func firstToken(seconds float64) func(*run.Run) {
	return func(r *run.Run) { r.FirstToken = &seconds }
}

func measureFirstToken(_ *slo.File, o *slo.Objective) { o.Measure = slo.MeasureFirstToken }

func expect(e slo.Expect) func(*slo.File, *slo.Objective) {
	return func(f *slo.File, _ *slo.Objective) { f.Tools.Expect = e }
}

func expectWhen(source string) func(*slo.File, *slo.Objective) {
	return func(f *slo.File, _ *slo.Objective) {
		f.Tools.Expect, f.Tools.ExpectWhen = slo.ExpectCEL, program(source)
	}
}

func sampled(_ *slo.File, o *slo.Objective) { o.ExpectedCoverage = decimal("0.1") }

func offered(yes bool) func(*run.Run) { return func(r *run.Run) { r.ToolsOffered = &yes } }

// two adds a second evaluator, user_feedback, by label.
func two(c slo.Combine) func(*slo.File, *slo.Objective) {
	return func(_ *slo.File, o *slo.Objective) {
		o.Combine = c
		o.Evaluations = append(o.Evaluations, slo.Evaluation{Name: "user_feedback", GoodLabels: []string{"up"}})
	}
}

func decimal(s string) slo.Decimal {
	d, err := parseDecimal(s)
	if err != nil {
		panic(err)
	}
	return d
}

func program(source string) *slo.Program {
	p, err := slo.Compile(source)
	if err != nil {
		panic(err)
	}
	return p
}

// fileFor is a file with one SLO of the kind: latency within 30 s, cost within
// 0.25 USD, a score of at least 0.7, three repeats.
func fileFor(kind string) *slo.File {
	o := slo.Objective{Name: "it", SLI: kind, Target: decimal("0.95"), Agents: []string{"*"}, Wait: time.Hour,
		Combine: slo.CombineAll, ExpectedCoverage: decimal("1"), Threshold: 30 * time.Second, Measure: slo.MeasureRun,
		MaxUSD: decimal("0.25"), Repeats: 3}
	switch kind {
	case "retry_discipline", "duplicate_effects", "stuck_after_blocker", "handoff":
		return parsed(kind, "")
	case "forbidden_actions":
		return parsed(kind, ", actions: [{tool: drop_database}]")
	case "correctness":
		o.Evaluations = []slo.Evaluation{{Name: "correctness", MinScore: pointer(decimal("0.7"))}}
	case "grounding":
		o.Evaluations = []slo.Evaluation{{Name: "groundedness", MinScore: pointer(decimal("0.7"))}}
	case "custom":
		o.Good = program("run.tool_calls <= 2")
	}
	return &slo.File{Service: "support", Tools: slo.Tools{Expect: slo.ExpectAlways, Evidence: []string{"*"}}, SLOs: []slo.Objective{o}}
}

var verdictTable = map[string][]verdictRow{
	"completion": {
		{name: "answered is good", run: ended(slo.Answered), want: slo.Good, value: none},
		{name: "abstained is good", run: ended(slo.Abstained), want: slo.Good, reason: "abstained", value: none},
		{name: "escalated is good", run: ended(slo.Escalated), want: slo.Good, reason: "escalated", value: none},
		{name: "a pause for approval is an escalation, reason paused", run: ended(slo.Escalated, func(r *run.Run) { r.OutcomeReason = "paused" }), want: slo.Good, reason: "paused", value: none},
		{name: "error is bad", run: ended(slo.Error), want: slo.Bad, reason: "error", value: none},
		{name: "lost is bad", run: ended(slo.Lost), want: slo.Bad, reason: "lost", value: none},
		{name: "limit_reached is bad", run: ended(slo.LimitReached), want: slo.Bad, reason: "limit_reached", value: none},
		{name: "stopped_no_progress is bad", run: ended(slo.StoppedNoProgress), want: slo.Bad, reason: "stopped_no_progress", value: none},
		{name: "cancelled is excluded", run: ended(slo.Cancelled), want: slo.Excluded, reason: "cancelled", value: none},
		{name: "outcome unknown is unknown", run: ended(slo.OutcomeUnknown), want: slo.Unknown, reason: "outcome_unknown", value: none},
	},

	"correctness": {
		{name: "evaluations pass: good", run: ended(slo.Answered, evaluated(score("correctness", 0.7, 1))), want: slo.Good, value: 0.7},
		{name: "evaluations fail: bad", run: ended(slo.Answered, evaluated(score("correctness", 0.69, 1))), want: slo.Bad, reason: "judged_bad", value: 0.69},
		{name: "an outcome bad for completion is bad here too: error", run: ended(slo.Error), want: slo.Bad, reason: "error", value: none},
		{name: "… lost", run: ended(slo.Lost), want: slo.Bad, reason: "lost", value: none},
		{name: "… limit_reached", run: ended(slo.LimitReached), want: slo.Bad, reason: "limit_reached", value: none},
		{name: "… stopped_no_progress", run: ended(slo.StoppedNoProgress), want: slo.Bad, reason: "stopped_no_progress", value: none},
		{name: "… even if a judge liked what there was: outcome comes before evaluations",
			run: ended(slo.Error, evaluated(score("correctness", 1, 1))), want: slo.Bad, reason: "error", value: none},
		{name: "… unless only a sample is judged: then excluded", change: sampled, run: ended(slo.Error), want: slo.Excluded, reason: "error", value: none},
		{name: "abstained is excluded", run: ended(slo.Abstained), want: slo.Excluded, reason: "abstained", value: none},
		{name: "escalated is excluded", run: ended(slo.Escalated), want: slo.Excluded, reason: "escalated", value: none},
		{name: "cancelled is excluded", run: ended(slo.Cancelled), want: slo.Excluded, reason: "cancelled", value: none},
		{name: "… whatever a judge said: outcome comes before evaluations",
			run: ended(slo.Abstained, evaluated(score("correctness", 0, 1))), want: slo.Excluded, reason: "abstained", value: none},
		{name: "answered without a verdict within the wait is unknown", run: ended(slo.Answered), want: slo.Unknown, reason: "no_evaluation", value: none, pending: true},
		{name: "… within the sample: excluded, not_sampled", change: sampled, run: ended(slo.Answered), want: slo.Excluded, reason: "not_sampled", value: none, pending: true},
		{name: "a sampled run that is judged counts", change: sampled, run: ended(slo.Answered, evaluated(score("correctness", 0.1, 1))), want: slo.Bad, reason: "judged_bad", value: 0.1},
		{name: "another evaluator's verdict is none of its business", run: ended(slo.Answered, evaluated(score("tone", 0, 1))), want: slo.Unknown, reason: "no_evaluation", value: none, pending: true},
		{name: "whoever judges correctness had an answer, though its telemetry does not say so",
			run: ended(slo.OutcomeUnknown, evaluated(score("correctness", 0.9, 1))), want: slo.Good, value: 0.9},
		{name: "no outcome and no evaluation is unknown", run: ended(slo.OutcomeUnknown), want: slo.Unknown, reason: "outcome_unknown", value: none, pending: true},

		{name: "the same evaluator twice: the later event time, come first", run: ended(slo.Answered, evaluated(score("correctness", 0.9, 20), score("correctness", 0.1, 10))), want: slo.Good, value: 0.9},
		{name: "… come last", run: ended(slo.Answered, evaluated(score("correctness", 0.1, 10), score("correctness", 0.9, 20))), want: slo.Good, value: 0.9},
		{name: "a failed evaluator gives no verdict", run: ended(slo.Answered, evaluated(failedEvaluator("correctness", 1))), want: slo.Unknown, reason: "evaluator_failed", value: none, pending: true},
		{name: "… and takes none back", run: ended(slo.Answered, evaluated(score("correctness", 0.9, 1), failedEvaluator("correctness", 2))), want: slo.Good, value: 0.9},
		{name: "a score is asked for, and only a label came", run: ended(slo.Answered, evaluated(label("correctness", "pass", 1))), want: slo.Unknown, reason: "no_verdict", value: none, pending: true},

		{name: "all: both pass", change: two(slo.CombineAll), run: ended(slo.Answered, evaluated(score("correctness", 0.8, 1), label("user_feedback", "up", 2))), want: slo.Good, value: 0.8},
		{name: "all: any failing is bad", change: two(slo.CombineAll), run: ended(slo.Answered, evaluated(score("correctness", 0.8, 1), label("user_feedback", "down", 2))), want: slo.Bad, reason: "judged_bad", value: none},
		{name: "all: a failing one stands without the other, so it is not pending", change: two(slo.CombineAll), run: ended(slo.Answered, evaluated(label("user_feedback", "down", 2))), want: slo.Bad, reason: "judged_bad", value: none},
		{name: "all: at the end of the wait with what came", change: two(slo.CombineAll), run: ended(slo.Answered, evaluated(score("correctness", 0.8, 1))), want: slo.Good, value: 0.8, pending: true},
		{name: "any: one passing is good, and settled", change: two(slo.CombineAny), run: ended(slo.Answered, evaluated(score("correctness", 0.8, 1))), want: slo.Good, value: 0.8},
		{name: "any: the passing one decides", change: two(slo.CombineAny), run: ended(slo.Answered, evaluated(score("correctness", 0.1, 1), label("user_feedback", "up", 2))), want: slo.Good, value: none},
		{name: "any: only failing ones are bad", change: two(slo.CombineAny), run: ended(slo.Answered, evaluated(score("correctness", 0.1, 1), label("user_feedback", "down", 2))), want: slo.Bad, reason: "judged_bad", value: 0.1},
		{name: "any: the other may still pass", change: two(slo.CombineAny), run: ended(slo.Answered, evaluated(score("correctness", 0.1, 1))), want: slo.Bad, reason: "judged_bad", value: 0.1, pending: true},
		{name: "first: the first to come", change: two(slo.CombineFirst), run: ended(slo.Answered, evaluated(score("correctness", 0.9, 20), label("user_feedback", "down", 10))), want: slo.Bad, reason: "judged_bad", value: none},
		{name: "first: one is enough", change: two(slo.CombineFirst), run: ended(slo.Answered, evaluated(score("correctness", 0.9, 20))), want: slo.Good, value: 0.9},
	},

	"latency": {
		{name: "at the threshold is good", run: ended(slo.Answered, lasting(30)), want: slo.Good, value: 30},
		{name: "longer is bad", run: ended(slo.Answered, lasting(30.001)), want: slo.Bad, reason: "too_slow", value: 30.001},
		{name: "… whatever the outcome: error", run: ended(slo.Error, lasting(31)), want: slo.Bad, reason: "too_slow", value: 31},
		{name: "… whatever the outcome: cancelled", run: ended(slo.Cancelled, lasting(31)), want: slo.Bad, reason: "too_slow", value: 31},
		{name: "… whatever the outcome: not known", run: ended(slo.OutcomeUnknown, lasting(31)), want: slo.Bad, reason: "too_slow", value: 31},
		{name: "lost and already past it is bad", run: ended(slo.Lost, withoutRoot(31)), want: slo.Bad, reason: "too_slow", value: 31},
		{name: "failing fast is not being fast", run: ended(slo.Error), want: slo.Excluded, reason: "error", value: 1},
		{name: "no answer in time is excluded: abstained", run: ended(slo.Abstained), want: slo.Excluded, reason: "abstained", value: 1},
		{name: "… cancelled", run: ended(slo.Cancelled), want: slo.Excluded, reason: "cancelled", value: 1},
		{name: "no root and not past it is unknown", run: ended(slo.Lost, withoutRoot(29)), want: slo.Unknown, reason: "no_root", value: none},
		{name: "a root without times is unknown", run: ended(slo.Answered, func(r *run.Run) { r.Seconds = nil }), want: slo.Unknown, reason: "no_duration", value: none},
		{name: "in time, and answered or not is unknown: unknown", run: ended(slo.OutcomeUnknown), want: slo.Unknown, reason: "outcome_unknown", value: 1},
		{name: "root ended early, in time", run: ended(slo.Answered, lasting(2), func(r *run.Run) { r.RootEndedEarly = true }), want: slo.Good, reason: "root_ended_early", value: 2},
		{name: "root ended early, too slow", run: ended(slo.Answered, lasting(40), func(r *run.Run) { r.RootEndedEarly = true }), want: slo.Bad, reason: "root_ended_early", value: 40},
		{name: "first token in time, though the run is slow", change: measureFirstToken, run: ended(slo.Answered, lasting(300), firstToken(2)), want: slo.Good, value: 2},
		{name: "first token too late", change: measureFirstToken, run: ended(slo.Error, firstToken(31)), want: slo.Bad, reason: "too_slow", value: 31},
		{name: "first token in time and no answer", change: measureFirstToken, run: ended(slo.Error, firstToken(1)), want: slo.Excluded, reason: "error", value: 1},
		{name: "first token not emitted is unknown", change: measureFirstToken, run: ended(slo.Answered), want: slo.Unknown, reason: "no_first_token", value: none},
		{name: "… however long the run", change: measureFirstToken, run: ended(slo.Answered, lasting(300)), want: slo.Unknown, reason: "no_first_token", value: none},
	},

	"grounding": {
		{name: "evaluations pass: good", run: ended(slo.Answered, retrieving(2), evaluated(score("groundedness", 0.8, 1))), want: slo.Good, value: 0.8},
		{name: "evaluations fail: bad", run: ended(slo.Answered, retrieving(2), evaluated(score("groundedness", 0.2, 1))), want: slo.Bad, reason: "judged_bad", value: 0.2},
		{name: "retrieval returned nothing and it still answered: bad, unless an evaluation comes", run: ended(slo.Answered, retrieving(0)), want: slo.Bad, reason: "empty_retrieval", value: none, pending: true},
		{name: "… by a retrieval tool with an empty result", run: ended(slo.Answered, calling(retrievalTool(true))), want: slo.Bad, reason: "empty_retrieval", value: none, pending: true},
		{name: "… by a retrieval tool that failed", run: ended(slo.Answered, calling(failing(retrievalTool(false)))), want: slo.Bad, reason: "empty_retrieval", value: none, pending: true},
		{name: "… but an evaluation says more", run: ended(slo.Answered, retrieving(0), evaluated(score("groundedness", 0.8, 1))), want: slo.Good, value: 0.8},
		{name: "one look-up of several found something", run: ended(slo.Answered, retrieving(0, 3)), want: slo.Unknown, reason: "no_evaluation", value: none, pending: true},
		{name: "how many documents came is not known: not certainly bad", run: ended(slo.Answered, retrieving(convention.Unknown)), want: slo.Unknown, reason: "no_evaluation", value: none, pending: true},
		{name: "not answered is excluded", run: ended(slo.Error, retrieving(2)), want: slo.Excluded, reason: "error", value: none},
		{name: "… an abstention after empty retrieval too", run: ended(slo.Abstained, retrieving(0)), want: slo.Excluded, reason: "abstained", value: none},
		{name: "nothing to ground: no retrieval and not expected always", change: expect(slo.ExpectWhenOffered), run: ended(slo.Answered), want: slo.Excluded, reason: "nothing_to_ground", value: none, pending: true},
		{name: "… excluded comes before good", change: expect(slo.ExpectNever), run: ended(slo.Answered, evaluated(score("groundedness", 0.8, 1))), want: slo.Excluded, reason: "nothing_to_ground", value: none},
		{name: "… and a certain bad before excluded", change: expect(slo.ExpectNever), run: ended(slo.Answered, evaluated(score("groundedness", 0.2, 1))), want: slo.Bad, reason: "judged_bad", value: 0.2},
		{name: "no retrieval where one is always expected is unknown", run: ended(slo.Answered), want: slo.Unknown, reason: "no_evaluation", value: none, pending: true},
		{name: "answered after retrieval, no evaluation: unknown", run: ended(slo.Answered, retrieving(2)), want: slo.Unknown, reason: "no_evaluation", value: none, pending: true},
		{name: "sampled judging mixes in no census", change: sampled, run: ended(slo.Answered, retrieving(0)), want: slo.Excluded, reason: "not_sampled", value: none, pending: true},
		{name: "answered or not is unknown, retrieval empty: unknown", run: ended(slo.OutcomeUnknown, retrieving(0)), want: slo.Unknown, reason: "outcome_unknown", value: none, pending: true},
	},

	"cost": {
		{name: "max_usd exactly is good", run: ended(slo.Answered, costing(0.25)), want: slo.Good, value: 0.25},
		{name: "… also when its parts add up in floating point", run: ended(slo.Answered, costing(math.Nextafter(0.25, 1))), want: slo.Good, value: math.Nextafter(0.25, 1)},
		{name: "more is bad", run: ended(slo.Answered, costing(0.2501)), want: slo.Bad, reason: "too_expensive", value: 0.2501},
		{name: "a known part already above is bad", run: ended(slo.Answered, knownCost(0.3)), want: slo.Bad, reason: "too_expensive", value: 0.3},
		{name: "… whatever the outcome", run: ended(slo.Error, costing(0.3)), want: slo.Bad, reason: "too_expensive", value: 0.3},
		{name: "error below is excluded: an outage's cheap runs must not refill the budget", run: ended(slo.Error, costing(0.01)), want: slo.Excluded, reason: "error", value: 0.01},
		{name: "cancelled below is excluded", run: ended(slo.Cancelled, costing(0.01)), want: slo.Excluded, reason: "cancelled", value: 0.01},
		{name: "escalated below is good", run: ended(slo.Escalated, costing(0.01)), want: slo.Good, value: 0.01},
		{name: "limit_reached below is good", run: ended(slo.LimitReached, costing(0.01)), want: slo.Good, value: 0.01},
		{name: "not known and not already above is unknown", run: ended(slo.Answered, knownCost(0.2)), want: slo.Unknown, reason: "cost_unknown", value: none},
		{name: "of an error it is excluded all the same: an outage is no gap in the evidence", run: ended(slo.Error), want: slo.Excluded, reason: "error", value: none},
		{name: "unless a known part is already above", run: ended(slo.Error, knownCost(0.5)), want: slo.Bad, reason: "too_expensive", value: 0.5},
		{name: "whether it is an outage's run is unknown", run: ended(slo.OutcomeUnknown, costing(0.01)), want: slo.Unknown, reason: "outcome_unknown", value: 0.01},
		{name: "free is good", run: ended(slo.Answered, costing(0)), want: slo.Good, value: 0},
	},

	"tool_free": {
		{name: "one successful evidence call is good", run: ended(slo.Answered, calling(tool("search", 1, 1))), want: slo.Good, value: 1},
		{name: "a retry that succeeds is good", run: ended(slo.Answered, calling(failing(tool("search", 1, 1)), tool("search", 1, 2))), want: slo.Good, value: 1},
		{name: "no call is bad", run: ended(slo.Answered), want: slo.Bad, reason: "no_call", value: 0},
		{name: "all calls failed is bad", run: ended(slo.Answered, calling(failing(tool("search", 1, 1)), failing(tool("lookup", 1, 1)))), want: slo.Bad, reason: "all_calls_failed", value: 0},
		{name: "a call that was cut short brought nothing", run: ended(slo.Answered, calling(run.ToolCall{Name: "search", Unfinished: true})), want: slo.Bad, reason: "all_calls_failed", value: 0},
		{name: "calls that may have run unseen are unknown", run: ended(slo.Answered, unseen(1)), want: slo.Unknown, reason: "calls_not_seen", value: 0},
		{name: "… beside one that was seen to succeed are good", run: ended(slo.Answered, unseen(1), calling(tool("search", 1, 1))), want: slo.Good, value: 1},
		{name: "an empty result is a success", run: ended(slo.Answered, calling(retrievalTool(true))), want: slo.Good, value: 1},
		{name: "the answer tool is no evidence", run: ended(slo.Answered, calling(as(run.Answer, tool("final_answer", 1, 1)))), want: slo.Bad, reason: "no_call", value: 0},
		{name: "handoffs are neither evidence nor failure", run: ended(slo.Answered, calling(as(run.NotCounted, failing(tool("transfer_to_x", 1, 1))))), want: slo.Bad, reason: "no_call", value: 0},
		{name: "a delegation is no evidence", run: ended(slo.Answered, calling(as(run.Delegation, tool("ask_orders", 1, 1)))), want: slo.Bad, reason: "no_call", value: 0},
		{name: "… the sub-agent's own call is", run: ended(slo.Answered, calling(as(run.Delegation, tool("ask_orders", 1, 1)), byAgent("orders", tool("status", 1, 1)))), want: slo.Good, value: 1},
		{name: "thinking is no evidence", run: ended(slo.Answered, calling(as(run.Counted, tool("think", 1, 1)))), want: slo.Bad, reason: "no_call", value: 0},
		{name: "evidence before the answer tool is good", run: ended(slo.Answered, calling(tool("search", 1, 1), as(run.Answer, tool("send_reply", 1, 1)))), want: slo.Good, value: 1},
		{name: "evidence after the answer is none", run: ended(slo.Answered, calling(as(run.Answer, tool("send_reply", 1, 1)), tool("search", 1, 1))), want: slo.Bad, reason: "no_call", value: 0},
		{name: "evidence still under way when the answer goes out is none", run: ended(slo.Answered, calling(at(10, 30, tool("search", 1, 1)), at(20, 25, as(run.Answer, tool("send_reply", 1, 1))))), want: slo.Bad, reason: "no_call", value: 0},
		{name: "an answer that was refused is not the answer yet", run: ended(slo.Answered, calling(as(run.Answer, failing(tool("final_result", 1, 1))), tool("search", 1, 1), as(run.Answer, tool("final_result", 2, 2)))), want: slo.Good, value: 1},
		{name: "a required tool succeeded", change: required, run: ended(slo.Answered, calling(tool("search", 1, 1), tool("check_policy", 1, 1))), want: slo.Good, value: 2},
		{name: "required_missing", change: required, run: ended(slo.Answered, calling(tool("search", 1, 1))), want: slo.Bad, reason: "required_missing", value: 1},
		{name: "… a required tool that failed is missing", change: required, run: ended(slo.Answered, calling(tool("search", 1, 1), failing(tool("check_policy", 1, 1)))), want: slo.Bad, reason: "required_missing", value: 1},
		{name: "not answered is excluded", run: ended(slo.Error), want: slo.Excluded, reason: "error", value: none},
		{name: "not expected: never", change: expect(slo.ExpectNever), run: ended(slo.Answered), want: slo.Excluded, reason: "not_expected", value: none},
		{name: "not expected: no tools offered", change: expect(slo.ExpectWhenOffered), run: ended(slo.Answered, offered(false)), want: slo.Excluded, reason: "not_expected", value: none},
		{name: "expected: tools offered", change: expect(slo.ExpectWhenOffered), run: ended(slo.Answered, offered(true)), want: slo.Bad, reason: "no_call", value: 0},
		{name: "expected: whoever called a tool was offered one", change: expect(slo.ExpectWhenOffered), run: ended(slo.Answered, calling(tool("search", 1, 1))), want: slo.Good, value: 1},
		{name: "… an answer tool alone says nothing", change: expect(slo.ExpectWhenOffered), run: ended(slo.Answered, calling(as(run.Answer, tool("final_answer", 1, 1)))), want: slo.Unknown, reason: "expectation_unknown", value: none},
		{name: "offered or not is unknown", change: expect(slo.ExpectWhenOffered), run: ended(slo.Answered), want: slo.Unknown, reason: "expectation_unknown", value: none},
		{name: "not expected: CEL", change: expectWhen(`run.agent != "triage"`), run: ended(slo.Answered), want: slo.Excluded, reason: "not_expected", value: none},
		{name: "expected: CEL", change: expectWhen(`run.agent == "triage"`), run: ended(slo.Answered), want: slo.Bad, reason: "no_call", value: 0},
		{name: "a null fact in the expectation", change: expectWhen(`run.cost_usd > 1.0`), run: ended(slo.Answered, calling(tool("search", 1, 1))), want: slo.Unknown, reason: "expectation_unknown", value: none},
		{name: "answered or not is unknown: unknown", run: ended(slo.OutcomeUnknown, calling(tool("search", 1, 1))), want: slo.Unknown, reason: "outcome_unknown", value: none},
		{name: "… excluded comes first where nothing is expected", change: expect(slo.ExpectNever), run: ended(slo.OutcomeUnknown), want: slo.Excluded, reason: "not_expected", value: none},
	},

	"no_progress": {
		{name: "none of these is good", run: ended(slo.Answered, calls(2, tool("status", 1, 1))), want: slo.Good, value: 2},
		{name: "a run without tools is good", run: ended(slo.Answered), want: slo.Good, value: 0},
		{name: "same call and result `repeats` times is bad", run: ended(slo.Answered, calls(3, tool("status", 1, 1))), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "… anywhere in the run", run: ended(slo.Answered, calling(tool("status", 1, 1), tool("x", 1, 1), tool("status", 1, 1), tool("y", 1, 1), tool("status", 1, 1))), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "… also if the caller then left", run: ended(slo.Cancelled, calls(3, tool("status", 1, 1))), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "… also by failing the same way", run: ended(slo.Answered, calls(3, func() run.ToolCall { c := failing(tool("status", 1, 0)); c.HasResult = false; return c }())), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "polling whose result changes is progress", run: ended(slo.Answered, calling(tool("status", 1, 1), tool("status", 1, 2), tool("status", 1, 3))), want: slo.Good, value: 1},
		{name: "other arguments are another call", run: ended(slo.Answered, calling(tool("status", 1, 1), tool("status", 2, 1), tool("status", 3, 1))), want: slo.Good, value: 1},
		{name: "another tool is another call", run: ended(slo.Answered, calling(tool("a", 1, 1), tool("b", 1, 1), tool("c", 1, 1))), want: slo.Good, value: 1},
		{name: "each agent for itself", run: ended(slo.Answered, calls(2, tool("status", 1, 1)), calling(byAgent("orders", tool("status", 1, 1)))), want: slo.Good, value: 2},
		{name: "identical calls of one model message count once", run: ended(slo.Answered, calls(3, inMessage(7, tool("status", 1, 1)))), want: slo.Good, value: 1},
		{name: "… and of three messages three times", run: ended(slo.Answered, calling(inMessage(7, tool("status", 1, 1)), inMessage(7, tool("status", 1, 1)), inMessage(8, tool("status", 1, 1)), inMessage(9, tool("status", 1, 1)))), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "handoffs have nothing to compare", run: ended(slo.Answered, calls(5, as(run.NotCounted, tool("transfer_to_x", 1, 1)))), want: slo.Good, value: 0},
		{name: "per_tool lets a tool be polled", change: perTool, run: ended(slo.Answered, calls(19, tool("check_job_status", 1, 1))), want: slo.Good, value: 19},
		{name: "… so often", change: perTool, run: ended(slo.Answered, calls(20, tool("check_job_status", 1, 1))), want: slo.Bad, reason: "repeated_call", value: 20},
		{name: "… the tool's own name before a glob", change: perTool, run: ended(slo.Answered, calls(20, tool("check_alarm", 1, 1))), want: slo.Good, value: 20},
		{name: "… and not the others", change: perTool, run: ended(slo.Answered, calls(19, tool("check_job_status", 1, 1)), calls(3, tool("status", 1, 1))), want: slo.Bad, reason: "repeated_call", value: 3},
		{name: "an explicit no-progress stop is bad", run: ended(slo.StoppedNoProgress), want: slo.Bad, reason: "stopped_no_progress", value: none},
		{name: "a limit reached is bad", run: ended(slo.LimitReached, calling(tool("status", 1, 1))), want: slo.Bad, reason: "limit_reached", value: none},
		{name: "cancelled with none of these is excluded", run: ended(slo.Cancelled, calling(tool("status", 1, 1))), want: slo.Excluded, reason: "cancelled", value: 1},
		{name: "an error with none of these is good", run: ended(slo.Error, calling(tool("status", 1, 1))), want: slo.Good, value: 1},
		{name: "not captured and called `repeats` times is unknown", run: ended(slo.Answered, calls(3, uncaptured(tool("status", 1, 1)))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "… less often is good", run: ended(slo.Answered, calls(2, uncaptured(tool("status", 1, 1)))), want: slo.Good, value: 0},
		{name: "… three tools once each is good", run: ended(slo.Answered, calling(uncaptured(tool("a", 1, 1)), uncaptured(tool("b", 1, 1)), uncaptured(tool("c", 1, 1)))), want: slo.Good, value: 0},
		{name: "… once three times in one message is good", run: ended(slo.Answered, calls(3, inMessage(7, uncaptured(tool("a", 1, 1))))), want: slo.Good, value: 0},
		{name: "… cancelled: it may have circled", run: ended(slo.Cancelled, calls(3, uncaptured(tool("status", 1, 1)))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "… a limit reached is bad all the same", run: ended(slo.LimitReached, calls(3, uncaptured(tool("status", 1, 1)))), want: slo.Bad, reason: "limit_reached", value: none},
		{name: "only empty arguments and results in the whole run mean not captured", run: ended(slo.Answered, calls(3, tool("status", 0, 0)), func(r *run.Run) { r.ContentCaptured = false }), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "results not captured, but other arguments each time", run: ended(slo.Answered, calling(withoutResult(tool("status", 1, 0)), withoutResult(tool("status", 2, 0)), withoutResult(tool("status", 3, 0)))), want: slo.Good, value: 0},
		{name: "results that differ, arguments not captured: no two calls are the same", run: ended(slo.Answered, calling(withoutArgs(tool("status", 1, 1)), withoutArgs(tool("status", 1, 2)), withoutArgs(tool("status", 1, 3)))), want: slo.Good, value: 0},
		{name: "calls that may have run unseen, `repeats` of them", run: ended(slo.Answered, unseen(3)), want: slo.Unknown, reason: "calls_not_seen", value: none},
		{name: "results not captured, same arguments", run: ended(slo.Answered, calls(3, withoutResult(tool("status", 1, 0)))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "how it ended is unknown, so a limit may have ended it", run: ended(slo.OutcomeUnknown, calling(tool("status", 1, 1))), want: slo.Unknown, reason: "outcome_unknown", value: 1},
	},

	"custom": {
		{name: "good is true", run: ended(slo.Answered, calls(2, tool("a", 1, 1))), want: slo.Good, value: none},
		{name: "good is false", run: ended(slo.Answered, calls(3, tool("a", 1, 1))), want: slo.Bad, reason: "condition_false", value: none},
		{name: "when is false", change: when(`run.outcome == "answered"`), run: ended(slo.Error), want: slo.Excluded, reason: "not_applicable", value: none},
		{name: "when is true", change: when(`run.outcome == "answered"`), run: ended(slo.Answered), want: slo.Good, value: none},
		{name: "a null fact is unknown", change: good("run.cost_usd < 1.0"), run: ended(slo.Answered), want: slo.Unknown, reason: "fact_missing", value: none},
		{name: "a null fact in when is unknown", change: when("run.cost_usd < 1.0"), run: ended(slo.Answered), want: slo.Unknown, reason: "fact_missing", value: none},
		{name: "a CEL error is unknown", change: good("run.tool_calls / run.retrievals > 1"), run: ended(slo.Answered), want: slo.Unknown, reason: "expression_failed", value: none},
		{name: "an evaluation may still come", change: good(`run.evaluations["tone"] > 0.5`), run: ended(slo.Answered), want: slo.Unknown, reason: "fact_missing", value: none, pending: true},
		{name: "an evaluation came", change: good(`run.evaluations["tone"] > 0.5`), run: ended(slo.Answered, evaluated(score("tone", 0.6, 1))), want: slo.Good, value: none, pending: true},
	},

	"not of this version": {
		{name: "unknown", run: ended(slo.Answered), want: slo.Unknown, reason: "unknown_kind", value: none},
	},
}

func required(f *slo.File, _ *slo.Objective) { f.Tools.Required = []string{"check_*"} }

func perTool(_ *slo.File, o *slo.Objective) {
	o.PerTool = map[string]int{"check_*": 20, "check_alarm": 30, "*": 3}
}

func when(source string) func(*slo.File, *slo.Objective) {
	return func(_ *slo.File, o *slo.Objective) { o.When = program(source) }
}

func good(source string) func(*slo.File, *slo.Objective) {
	return func(_ *slo.File, o *slo.Objective) { o.Good = program(source) }
}

func unseen(n int) func(*run.Run) { return func(r *run.Run) { r.Unseen = n } }

func withoutArgs(t run.ToolCall) run.ToolCall {
	t.HasArgs, t.ArgsHash = false, 0
	return t
}

func withoutResult(c run.ToolCall) run.ToolCall { c.HasResult = false; return c }

func TestVerdictTable(t *testing.T) {
	for kind, rows := range verdictTable {
		t.Run(kind, func(t *testing.T) {
			for _, row := range rows {
				t.Run(row.name, func(t *testing.T) {
					f := fileFor(kind)
					if row.change != nil {
						row.change(f, &f.SLOs[0])
					}
					for _, final := range []bool{false, true} {
						results, excluded := Evaluate(f, row.run, final)
						if len(results) != 1 || excluded != "" {
							t.Fatalf("Evaluate gave %+v, %q", results, excluded)
						}
						got := results[0]
						if got.SLO != "it" || got.Verdict != row.want || got.Reason != row.reason {
							t.Errorf("is %s (%s), should be %s (%s)", got.Verdict, got.Reason, row.want, row.reason)
						}
						value := float64(none)
						if got.Value != nil {
							value = *got.Value
						}
						if value != row.value {
							t.Errorf("value is %v, should be %v", value, row.value)
						}
						if pending := row.pending && !final; got.Pending != pending {
							t.Errorf("final %v: pending is %v, should be %v", final, got.Pending, pending)
						}
					}
				})
			}
		})
	}
}

// Every reason is documented with the verdicts it goes with, and every
// documented one is seen in the table.
func TestReasonsAreDocumented(t *testing.T) {
	seen := map[string]map[slo.Verdict]bool{"not_selected": {slo.Excluded: true}}
	for _, rows := range verdictTable {
		for _, row := range rows {
			if row.reason == "" {
				continue
			}
			if seen[row.reason] == nil {
				seen[row.reason] = map[slo.Verdict]bool{}
			}
			seen[row.reason][row.want] = true
		}
	}
	for _, row := range stepTable {
		for _, step := range append(row.want, Step{Verdict: row.whole, Reason: row.reason}) {
			if step.Reason == "" || step.Reason == "load_test" {
				continue
			}
			if seen[step.Reason] == nil {
				seen[step.Reason] = map[slo.Verdict]bool{}
			}
			seen[step.Reason][step.Verdict] = true
		}
	}
	documented := map[string]bool{}
	for _, r := range Reasons {
		if documented[r.Name] || r.Doc == "" {
			t.Errorf("%s is documented twice or not at all", r.Name)
		}
		documented[r.Name] = true
		for v := range seen[r.Name] {
			if !containsVerdict(r.Verdicts, v) {
				t.Errorf("%s is not documented as a reason of %s", r.Name, v)
			}
		}
		if len(seen[r.Name]) == 0 {
			t.Errorf("%s is documented, and no row of the table gives it", r.Name)
		}
	}
	for reason := range seen {
		if !documented[reason] {
			t.Errorf("%s is not documented", reason)
		}
	}
}

func containsVerdict(all []slo.Verdict, v slo.Verdict) bool {
	for _, x := range all {
		if x == v {
			return true
		}
	}
	return false
}

// The kinds that a file may name are the kinds that are judged, but for ratios
// of counters, which no run has a part in.
func TestEveryKindIsJudged(t *testing.T) {
	if len(Kinds) != len(slo.Kinds)-1 {
		t.Errorf("%d kinds are judged, a file may name %d", len(Kinds), len(slo.Kinds))
	}
	for _, k := range slo.Kinds {
		if k == slo.KindRatio {
			continue
		}
		if judges[k] == nil {
			t.Errorf("nothing judges %s", k)
		}
		if len(verdictTable[k]) == 0 {
			t.Errorf("%s is not in the table", k)
		}
	}
}
