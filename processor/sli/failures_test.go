package sli

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

// parsed is a file with one SLO of a kind whose defaults are the parser's.
func parsed(kind, keys string) *slo.File {
	files, err := slo.Parse("slo.yaml", fmt.Appendf(nil, `
service: support
tools: {write: ["refund_*"]}
slos: {it: {sli: %s, objective: 95%%%s}}`, kind, keys))
	if err != nil {
		panic(err)
	}
	return files[0]
}

// with changes the SLO to one with those keys.
func with(kind, keys string) func(*slo.File, *slo.Objective) {
	return func(_ *slo.File, o *slo.Objective) { *o = parsed(kind, ", "+keys).SLOs[0] }
}

func refused(t run.ToolCall) run.ToolCall { t.Class = convention.Auth; return t }

func lasted(p run.Persistence, t run.ToolCall) run.ToolCall { t.Persistence = p; return t }

func withID(id uint64, t run.ToolCall) run.ToolCall { t.CallID = id; return t }

func askedBy(response uint64, t run.ToolCall) run.ToolCall { t.Response = response; return t }

func inTrace(n int, t run.ToolCall) run.ToolCall { t.Trace = n; return t }

// keyed is a call with an idempotency key.
func keyed(key uint64, t run.ToolCall) run.ToolCall {
	o := parsed("duplicate_effects", "").SLOs[0]
	t.Findings = []convention.Finding{{ID: o.KeyQuestion(), Hash: key}}
	return t
}

// ticket is a call of a hand-over tool whose arguments have some of the fields.
func ticket(tool_ string, fields ...string) run.ToolCall {
	t := tool(tool_, 77, 78)
	for _, f := range parsed("handoff", "").SLOs[0].Fields {
		x := convention.Finding{ID: f.Question()}
		for _, name := range fields {
			if name == f.Name {
				x.Hash = 1
			}
		}
		t.Findings = append(t.Findings, x)
	}
	return t
}

var everyField = []string{"blocker", "evidence", "help_needed", "progress", "verified"}

// matching is a call whose arguments match the pattern, or do not.
func matching(pattern string, found bool, t run.ToolCall) run.ToolCall {
	a := parsed("forbidden_actions", ", actions: [{arguments: '"+pattern+"'}]").SLOs[0].Actions[0]
	x := convention.Finding{ID: a.Question()}
	if found {
		x.Hash = 1
	}
	t.Findings = append(t.Findings, x)
	return t
}

func blocked(steps int, options ...func(*run.Blocker)) func(*run.Run) {
	return func(r *run.Run) {
		usd := 0.01 * float64(steps)
		r.Blocker = &run.Blocker{Tool: "deploy", Class: convention.Transient, At: 15e8, Steps: steps, ModelCallsSeen: true, USD: &usd, KnownUSD: usd}
		for _, f := range options {
			f(r.Blocker)
		}
	}
}

func doubtful(b *run.Blocker)          { b.Doubtful = true }
func withoutModelCalls(b *run.Blocker) { b.ModelCallsSeen = false }
func withoutCost(b *run.Blocker)       { b.USD, b.KnownUSD = nil, 0 }
func costKnownInPart(b *run.Blocker)   { b.USD = nil }

func init() {
	timeout := func(args uint64) run.ToolCall {
		return lasted(run.Permanent, failing(tool("deploy", args, 0)))
	}
	denied := func(args uint64) run.ToolCall {
		return lasted(run.Permanent, refused(tool("deploy", args, 0)))
	}
	refund := tool("refund_order", 1, 2)
	const handsOn = "escalate_to_human"
	cat := tool("read_file", 1, 2)
	actions := with("forbidden_actions", `actions: [{tool: "read_*", arguments: 'id_rsa'}, {tool: drop_database}, {tool: login, max_calls: 2}]`)

	verdictTable["retry_discipline"] = []verdictRow{
		{name: "no failed call: excluded", run: ended(slo.Answered, calls(5, tool("search", 1, 2))), want: slo.Excluded, reason: "no_failure", value: none},
		{name: "a failure that is not tried again is good", run: ended(slo.Answered, calling(timeout(1))), want: slo.Good, value: 0},
		{name: "two retries of a call that never succeeds are good", run: ended(slo.Answered, calls(3, timeout(1))), want: slo.Good, value: 2},
		{name: "three are bad", run: ended(slo.Answered, calls(4, timeout(1))), want: slo.Bad, reason: "retried_too_often", value: 3},
		{name: "… if max_retries says no more", change: with("retry_discipline", "max_retries: 3"), run: ended(slo.Answered, calls(4, timeout(1))), want: slo.Good, value: 3},
		{name: "… also if the caller then left: certain bad comes first", run: ended(slo.Cancelled, calls(4, timeout(1))), want: slo.Bad, reason: "retried_too_often", value: 3},
		{name: "one retry is bad with max_retries 0", change: with("retry_discipline", "max_retries: 0"), run: ended(slo.Answered, calls(2, timeout(1))), want: slo.Bad, reason: "retried_too_often", value: 1},
		{name: "other arguments are no retry", run: ended(slo.Answered, calling(timeout(1), timeout(2), timeout(3), timeout(4))), want: slo.Good, value: 0},
		{name: "a call that succeeds in the end did not fail for good", run: ended(slo.Answered, calls(6, lasted(run.Recovered, failing(tool("deploy", 1, 0)))), calling(tool("deploy", 1, 9))), want: slo.Good, value: 0},
		{name: "a refusal tried again is bad at once", run: ended(slo.Answered, calls(2, denied(1))), want: slo.Bad, reason: "retried_refusal", value: 1},
		{name: "… even if it then succeeds", run: ended(slo.Answered, calling(refused(tool("deploy", 1, 0)), tool("deploy", 1, 9))), want: slo.Bad, reason: "retried_refusal", value: 0},
		{name: "… with other arguments it is no retry", run: ended(slo.Answered, calling(denied(1), denied(2))), want: slo.Good, value: 0},
		{name: "a refusal that is left at that is good", run: ended(slo.Escalated, calling(denied(1), tool(handsOn, 1, 2))), want: slo.Good, value: 0},
		{name: "two calls in one breath are no retry", run: ended(slo.Answered, calling(inMessage(3, denied(1)), inMessage(3, denied(1)))), want: slo.Good, value: 0},
		{name: "… unless they are one call that is executed again", run: ended(slo.Answered, calling(inMessage(3, withID(8, denied(1))), inMessage(3, withID(8, denied(1))))), want: slo.Bad, reason: "retried_refusal", value: 1},
		{name: "calls at the same time are no retry", run: ended(slo.Answered, calling(at(11e8, 13e8, denied(1)), at(12e8, 14e8, denied(1)))), want: slo.Good, value: 0},
		{name: "handoffs do not fail", run: ended(slo.Answered, calls(4, as(run.NotCounted, denied(1)))), want: slo.Excluded, reason: "no_failure", value: none},
		{name: "cancelled with nothing bad so far is excluded", run: ended(slo.Cancelled, calls(2, timeout(1))), want: slo.Excluded, reason: "cancelled", value: 1},
		{name: "a refusal and another call, arguments not captured: unknown", run: ended(slo.Answered, calls(2, uncaptured(denied(1)))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "as many failures as may be retries too many, arguments not captured: unknown", run: ended(slo.Answered, calls(4, uncaptured(timeout(1)))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "… fewer: good", run: ended(slo.Answered, calls(3, uncaptured(timeout(1)))), want: slo.Good, value: 0},
		{name: "calls that no span shows may have failed: unknown", run: ended(slo.Answered, unseen(1)), want: slo.Unknown, reason: "calls_not_seen", value: none},
	}

	verdictTable["duplicate_effects"] = []verdictRow{
		{name: "no write tool succeeded: excluded", run: ended(slo.Answered, calls(3, tool("search", 1, 2)), calling(failing(refund))), want: slo.Excluded, reason: "no_effect", value: none},
		{name: "one effect is good", run: ended(slo.Answered, calling(refund)), want: slo.Good, value: 0},
		{name: "two with different arguments are good", run: ended(slo.Answered, calling(refund, tool("refund_order", 2, 2))), want: slo.Good, value: 0},
		{name: "the same twice is bad", run: ended(slo.Answered, calling(refund, refund)), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "… with another result as well", run: ended(slo.Answered, calling(refund, tool("refund_order", 1, 3))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "… of two agents as well", run: ended(slo.Answered, calling(refund, byAgent("orders", refund))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "… whatever became of the run", run: ended(slo.Cancelled, calling(refund, refund)), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "three times are two too many", run: ended(slo.Answered, calls(3, refund)), want: slo.Bad, reason: "duplicate_effect", value: 2},
		{name: "two calls in one breath are two effects", run: ended(slo.Answered, calling(inMessage(3, withID(8, refund)), inMessage(3, withID(9, refund)))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "failed, then done: good", run: ended(slo.Answered, calling(failing(refund), refund)), want: slo.Good, value: 0},
		{name: "cut short, then done: good", run: ended(slo.Answered, calling(unfinished(refund), refund)), want: slo.Good, value: 0},
		{name: "another tool with the same arguments is another effect", run: ended(slo.Answered, calling(refund, tool("refund_shipping", 1, 2))), want: slo.Good, value: 0},
		{name: "reading twice has no effect", run: ended(slo.Answered, calling(refund, tool("search", 1, 2), tool("search", 1, 2))), want: slo.Good, value: 0},
		{name: "the same idempotency key twice is bad, whatever the arguments", run: ended(slo.Answered, calling(keyed(5, refund), keyed(5, tool("refund_order", 2, 2)))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "different keys are different effects", run: ended(slo.Answered, calling(keyed(5, refund), keyed(7, refund))), want: slo.Good, value: 0},
		{name: "one call id twice, everything the same: a replay or a second execution, unknown", run: ended(slo.Answered, calling(withID(8, refund), withID(8, refund))), want: slo.Unknown, reason: "maybe_replayed", value: none},
		{name: "no ids, asked for by a reply that is reported twice: unknown", run: ended(slo.Answered, calling(askedBy(1, inMessage(3, refund)), askedBy(1, inMessage(4, refund)))), want: slo.Unknown, reason: "maybe_replayed", value: none},
		{name: "no ids, asked for twice by one reply: two effects", run: ended(slo.Answered, calling(askedBy(1, inMessage(3, refund)), askedBy(1, inMessage(3, refund)))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "… asked for by two different replies: two effects", run: ended(slo.Answered, calling(askedBy(1, withID(8, refund)), askedBy(2, withID(8, refund)))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "… with different results: executed twice", run: ended(slo.Answered, calling(withID(8, refund), withID(8, tool("refund_order", 1, 3)))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "… in the trace of the resumed run: executed twice", run: ended(slo.Answered, calling(withID(8, refund), inTrace(1, withID(8, refund)))), want: slo.Bad, reason: "duplicate_effect", value: 1},
		{name: "called twice, arguments not captured: unknown", run: ended(slo.Answered, calling(uncaptured(refund), uncaptured(refund))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "… of one of them: unknown", run: ended(slo.Answered, calling(refund, uncaptured(refund))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "called once, arguments not captured: good", run: ended(slo.Answered, calling(uncaptured(refund))), want: slo.Good, value: 0},
		{name: "one effect and a call that no span shows: unknown", run: ended(slo.Answered, calling(refund), unseen(1)), want: slo.Unknown, reason: "calls_not_seen", value: none},
		{name: "nothing but a call that no span shows: unknown", run: ended(slo.Answered, unseen(1)), want: slo.Unknown, reason: "calls_not_seen", value: none},
	}

	dollars := with("stuck_after_blocker", "max_usd: 0.05")
	verdictTable["stuck_after_blocker"] = []verdictRow{
		{name: "no blocker: excluded", run: ended(slo.Answered, calls(3, tool("search", 1, 2))), want: slo.Excluded, reason: "no_blocker", value: none},
		{name: "ended by an answer at once: good", run: ended(slo.Answered, blocked(1)), want: slo.Good, value: 1},
		{name: "ended by escalation: good", run: ended(slo.Escalated, blocked(3)), want: slo.Good, reason: "escalated", value: 3},
		{name: "ten steps are good", run: ended(slo.Answered, blocked(10)), want: slo.Good, value: 10},
		{name: "eleven are bad", run: ended(slo.Answered, blocked(11)), want: slo.Bad, reason: "stuck_until_answer", value: 11},
		{name: "… ended by declining", run: ended(slo.Abstained, blocked(11)), want: slo.Bad, reason: "stuck_until_answer", value: 11},
		{name: "… ended by escalation", run: ended(slo.Escalated, blocked(11)), want: slo.Bad, reason: "stuck_until_escalation", value: 11},
		{name: "… ended by a limit", run: ended(slo.LimitReached, blocked(40)), want: slo.Bad, reason: "stuck_until_limit", value: 40},
		{name: "… ended by an error", run: ended(slo.Error, blocked(40)), want: slo.Bad, reason: "stuck_until_failure", value: 40},
		{name: "… ended by the caller: certain bad comes first", run: ended(slo.Cancelled, blocked(40)), want: slo.Bad, reason: "stuck", value: 40},
		{name: "max_steps is configurable", change: with("stuck_after_blocker", "max_steps: 0"), run: ended(slo.Answered, blocked(1)), want: slo.Bad, reason: "stuck_until_answer", value: 1},
		{name: "a limit soon after is no time stuck", run: ended(slo.LimitReached, blocked(2)), want: slo.Good, reason: "limit_reached", value: 2},
		{name: "… nor is an error", run: ended(slo.Error, blocked(2)), want: slo.Good, reason: "error", value: 2},
		{name: "cancelled soon after is excluded", run: ended(slo.Cancelled, blocked(2)), want: slo.Excluded, reason: "cancelled", value: 2},
		{name: "money within max_usd: good", change: dollars, run: ended(slo.Answered, blocked(5)), want: slo.Good, value: 5},
		{name: "more than max_usd: bad", change: dollars, run: ended(slo.Answered, blocked(6)), want: slo.Bad, reason: "stuck_until_answer", value: 6},
		{name: "a known part already above it: bad", change: dollars, run: ended(slo.Answered, blocked(6, costKnownInPart)), want: slo.Bad, reason: "stuck_until_answer", value: 6},
		{name: "money not known: unknown", change: dollars, run: ended(slo.Answered, blocked(3, withoutCost)), want: slo.Unknown, reason: "cost_unknown", value: 3},
		{name: "… good where nobody asks for it", run: ended(slo.Answered, blocked(3, withoutCost)), want: slo.Good, value: 3},
		{name: "model calls not seen: unknown", run: ended(slo.Answered, blocked(3, withoutModelCalls)), want: slo.Unknown, reason: "model_calls_not_seen", value: none},
		{name: "a blocker, and calls that no span shows after it: unknown", run: ended(slo.Answered, blocked(3), unseen(1)), want: slo.Unknown, reason: "calls_not_seen", value: none},
		{name: "… the tool calls alone are too many: bad", run: ended(slo.Answered, blocked(11, withoutModelCalls)), want: slo.Bad, reason: "stuck_until_answer", value: 11},
		{name: "whether it was a permanent failure hinges on arguments that are not captured: unknown", run: ended(slo.Answered, blocked(40, doubtful)), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "calls that no span shows may have failed: unknown", run: ended(slo.Answered, unseen(2)), want: slo.Unknown, reason: "calls_not_seen", value: none},
		{name: "how it ended is not known, and it does not matter", run: ended(slo.OutcomeUnknown, blocked(2)), want: slo.Good, reason: "outcome_unknown", value: 2},
	}

	flaky := lasted(run.Recovered, failing(tool("deploy", 1, 0)))
	openTicket := with("handoff", `ticket_tools: ["open_*"]`)
	verdictTable["handoff"] = []verdictRow{
		{name: "not handed on: excluded", run: ended(slo.Answered), want: slo.Excluded, reason: "not_escalated", value: none},
		{name: "… nor is a run that failed", run: ended(slo.Error, calling(ticket(handsOn, "blocker"))), want: slo.Excluded, reason: "not_escalated", value: none},
		{name: "a pause for approval has no ticket", run: ended(slo.Escalated, func(r *run.Run) { r.OutcomeReason = "paused" }), want: slo.Excluded, reason: "paused", value: none},
		{name: "everything said: good", run: ended(slo.Escalated, calling(ticket(handsOn, everyField...))), want: slo.Good, value: 5},
		{name: "something missing: bad", run: ended(slo.Escalated, calling(ticket(handsOn, everyField[1:]...))), want: slo.Bad, reason: "ticket_incomplete", value: 4},
		{name: "the last ticket counts", run: ended(slo.Escalated, calling(ticket(handsOn), ticket(handsOn, everyField...))), want: slo.Good, value: 5},
		{name: "… of those that could be opened", run: ended(slo.Escalated, calling(ticket(handsOn, everyField...), failing(ticket(handsOn)))), want: slo.Good, value: 5},
		{name: "the fields are configurable", change: with("handoff", "fields: {blocker: []}"), run: ended(slo.Escalated, calling(ticket(handsOn, "blocker"))), want: slo.Good, value: 1},
		{name: "a hand-over tool of the file ends the run, whatever it says to the user", change: openTicket,
			run: ended(slo.Answered, calling(ticket("open_ticket", everyField...), as(run.Answer, tool("send_reply", 1, 2)))), want: slo.Good, value: 5},
		{name: "… not when the run went on to other tools", change: openTicket, run: ended(slo.Answered, calling(ticket("open_ticket"), tool("search", 1, 2))), want: slo.Excluded, reason: "not_escalated", value: none},
		{name: "handed on, and no ticket is seen: unknown", run: ended(slo.Escalated, calling(tool("search", 1, 2))), want: slo.Unknown, reason: "no_ticket", value: none},
		{name: "the ticket's content is not captured: unknown", run: ended(slo.Escalated, calling(uncaptured(tool(handsOn, 0, 0)))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "whether it was handed on is not known: unknown", run: ended(slo.OutcomeUnknown), want: slo.Unknown, reason: "outcome_unknown", value: none},
		{name: "a failure that is gone after the hand-over was transient: premature", run: ended(slo.Escalated, calling(flaky, ticket(handsOn, everyField...), tool("deploy", 1, 9))), want: slo.Bad, reason: "premature", value: none},
		{name: "… however the run ended", run: ended(slo.Answered, calling(flaky, ticket(handsOn, everyField...), tool("deploy", 1, 9))), want: slo.Bad, reason: "premature", value: none},
		{name: "… not when it was gone before", run: ended(slo.Escalated, calling(flaky, tool("deploy", 1, 9), ticket(handsOn, everyField...))), want: slo.Good, value: 5},
		{name: "… nor when a person may have removed its cause", run: ended(slo.Escalated, calling(lasted(run.Recovered, refused(tool("deploy", 1, 0))), ticket(handsOn, everyField...), tool("deploy", 1, 9))), want: slo.Good, value: 5},
		{name: "… nor when it never went away", run: ended(slo.Escalated, calling(timeout(1), ticket(handsOn, everyField...))), want: slo.Good, value: 5},
	}

	verdictTable["forbidden_actions"] = []verdictRow{
		{name: "nothing forbidden: good", change: actions, run: ended(slo.Answered, calling(matching("id_rsa", false, cat), tool("search", 1, 2))), want: slo.Good, value: 0},
		{name: "no call at all: good", change: actions, run: ended(slo.Answered), want: slo.Good, value: 0},
		{name: "a forbidden tool: bad", change: actions, run: ended(slo.Answered, calling(tool("drop_database", 1, 2))), want: slo.Bad, reason: "forbidden_action", value: 1},
		{name: "… that failed as well: it was tried", change: actions, run: ended(slo.Answered, calling(failing(tool("drop_database", 1, 2)))), want: slo.Bad, reason: "forbidden_action", value: 1},
		{name: "… whatever its arguments", change: actions, run: ended(slo.Answered, calling(uncaptured(tool("drop_database", 1, 2)))), want: slo.Bad, reason: "forbidden_action", value: 1},
		{name: "… though the caller left", change: actions, run: ended(slo.Cancelled, calling(tool("drop_database", 1, 2))), want: slo.Bad, reason: "forbidden_action", value: 1},
		{name: "forbidden arguments: bad", change: actions, run: ended(slo.Answered, calling(matching("id_rsa", true, cat))), want: slo.Bad, reason: "forbidden_action", value: 1},
		{name: "… of another tool: good", change: actions, run: ended(slo.Answered, calling(matching("id_rsa", true, tool("search", 1, 2)))), want: slo.Good, value: 0},
		{name: "as often as max_calls says: good", change: actions, run: ended(slo.Answered, calling(tool("login", 1, 2), tool("login", 2, 2))), want: slo.Good, value: 0},
		{name: "… once more: bad", change: actions, run: ended(slo.Answered, calling(tool("login", 1, 2), tool("login", 2, 2), tool("login", 3, 2))), want: slo.Bad, reason: "forbidden_action", value: 1},
		{name: "after a failure that lasted: after the blocker", change: actions, run: ended(slo.Answered, calling(denied(1), matching("id_rsa", true, cat), tool("deploy", 2, 2))), want: slo.Bad, reason: "forbidden_after_blocker", value: 1},
		{name: "before it: before the blocker", change: actions, run: ended(slo.Answered, calling(matching("id_rsa", true, cat), denied(1))), want: slo.Bad, reason: "forbidden_before_blocker", value: 1},
		{name: "that the forbidden call itself fails is no blocker", change: actions, run: ended(slo.Answered, calling(lasted(run.Permanent, failing(matching("id_rsa", true, cat))), matching("id_rsa", true, cat))), want: slo.Bad, reason: "forbidden_action", value: 2},
		{name: "cancelled with nothing forbidden so far is excluded", change: actions, run: ended(slo.Cancelled, calling(matching("id_rsa", false, cat))), want: slo.Excluded, reason: "cancelled", value: 0},
		{name: "the tool was called, arguments not captured: unknown", change: actions, run: ended(slo.Answered, calling(uncaptured(cat))), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "… captured, but never asked: unknown", change: actions, run: ended(slo.Answered, calling(cat)), want: slo.Unknown, reason: "content_not_captured", value: none},
		{name: "another tool, arguments not captured: good", change: actions, run: ended(slo.Answered, calling(uncaptured(tool("search", 1, 2)))), want: slo.Good, value: 0},
		{name: "calls that no span shows: unknown", change: actions, run: ended(slo.Answered, unseen(1)), want: slo.Unknown, reason: "calls_not_seen", value: none},
	}
}

// Hiding arguments never turns a verdict into its opposite: it stays what it
// was, or is unknown.
func TestHiddenArgumentsNeverContradict(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	known := map[string]int{}
	for range 2000 {
		var open, hidden []run.ToolCall
		for range rng.IntN(8) {
			c := tool([]string{"refund_order", "refund_fee"}[rng.IntN(2)], uint64(1+rng.IntN(2)), uint64(1+rng.IntN(2)))
			c.Message, c.CallID, c.Response = uint64(rng.IntN(4)), uint64(rng.IntN(3)), uint64(rng.IntN(3))
			c.Class = []convention.Class{convention.ClassNone, convention.ClassNone, convention.Transient, convention.Auth}[rng.IntN(4)]
			c = matching("x", c.ArgsHash == 1, c)
			open = append(open, c)
			if rng.IntN(3) == 0 {
				c.HasArgs, c.ArgsHash, c.Findings = false, 0, nil
			}
			hidden = append(hidden, c)
		}
		for _, f := range []*slo.File{parsed("retry_discipline", ", max_retries: 1"), parsed("duplicate_effects", ""),
			parsed("forbidden_actions", ", actions: [{arguments: x, max_calls: 1}]")} {
			truth, _ := Evaluate(f, ended(slo.Answered, calling(open...)), false)
			got, _ := Evaluate(f, ended(slo.Answered, calling(hidden...)), false)
			if got[0].Verdict != truth[0].Verdict && got[0].Verdict != slo.Unknown && truth[0].Verdict != slo.Unknown {
				t.Fatalf("%s is %s (%s), with everything captured %s (%s): %+v\nhidden %+v", f.SLOs[0].SLI, got[0].Verdict, got[0].Reason, truth[0].Verdict, truth[0].Reason, open, hidden)
			}
			if got[0].Verdict != slo.Unknown {
				known[f.SLOs[0].SLI]++
			}
		}
	}
	for kind, n := range known {
		if n < 500 {
			t.Errorf("%s was known %d times", kind, n)
		}
	}
}
