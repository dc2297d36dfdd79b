package truth

// Scenario is what one kind of recorded run did, and what that is by the design.
type Scenario struct {
	Name    string
	Outcome string // of its single run, or of the first
	Why     string // the reasoning
	// Turns splits a recording that holds several runs.
	Turns []Turn
	// Retrieved: documents came from a retriever span, not from a tool call.
	Retrieved bool
}

// Turn is one run of several in a recording, with its share of what happened.
type Turn struct {
	Outcome      string
	Why          string
	Calls, Tools int // that many model calls and tool calls, in order
	Agent        string
}

// Scenarios has a row for each kind of recording, those not in the folder too.
var Scenarios = []Scenario{
	{Name: "ok-tool", Outcome: "answered", Why: "one good tool call, then an answer"},
	{Name: "streaming", Outcome: "answered", Why: "one good tool call, then an answer, streamed"},
	{Name: "streaming-nousage", Outcome: "answered", Why: "one good tool call, then an answer; the server sent no usage"},
	{Name: "tool-error-recovered", Outcome: "answered", Why: "the first call fails on its arguments, the second succeeds: evidence before the answer"},
	{Name: "tool-soft-error", Outcome: "answered", Why: "the tool returned an error object without failing: a successful call, and an honest answer"},
	{Name: "tool-free", Outcome: "answered", Why: "answered without any tool call"},
	{Name: "tool-all-failed-answer", Outcome: "answered", Why: "answered although every tool call failed"},
	{Name: "parallel-tools-mixed", Outcome: "answered", Why: "two of three parallel calls succeed: evidence before the answer"},
	{Name: "multi-lookup", Outcome: "answered", Why: "three good calls with different arguments, then an answer"},
	{Name: "polling", Outcome: "answered", Why: "the same call three times with changing results: progress"},
	{Name: "loop", Outcome: "limit_reached", Why: "the step limit ended it: the last model call asked for a tool, and no answer followed"},
	{Name: "limit", Outcome: "limit_reached", Why: "every call brought something new; the step limit ended it before an answer"},
	{Name: "loop-then-answer", Outcome: "answered", Why: "the same call with the same result four times, then an answer"},
	{Name: "unknown-tool", Outcome: "answered", Why: "a tool that does not exist was asked for but never executed: no call; then a good one and an answer"},
	{Name: "truncated", Outcome: "limit_reached", Why: "the answer was cut by the token limit (finish reason length)"},
	{Name: "run-error-500", Outcome: "error", Why: "the model API failed"},
	{Name: "run-error-429", Outcome: "error", Why: "the model API refused by rate limit"},
	{Name: "run-error-after-tool", Outcome: "error", Why: "one good tool call, then the model API failed"},
	{Name: "subagent", Outcome: "answered", Why: "the tool that runs a second agent is a delegation; the sub-agent's call is the evidence"},
	{Name: "handoff", Outcome: "answered", Why: "the transfer to another agent is no tool call; its tool call is the evidence"},
	{Name: "graph", Outcome: "answered", Why: "two agents of one graph, one good tool call each: one run"},
	{Name: "rag", Outcome: "answered", Why: "answered after a retrieval tool returned documents"},
	{Name: "rag-ungrounded", Outcome: "answered", Why: "answered against its documents; without an evaluation nothing in the telemetry says so"},
	{Name: "rag-plain", Outcome: "answered", Why: "a retriever ran and returned documents: that is having consulted something", Retrieved: true},
	{Name: "aborted", Outcome: "cancelled", Why: "the client went away while the answer streamed"},
	{Name: "aborted-in-tool", Outcome: "cancelled", Why: "the client went away while the tool ran"},
	{Name: "scores", Outcome: "answered", Why: "one good tool call, then an answer; the evaluator is no run and judges no name that the file asks for"},
	{Name: "scorer", Outcome: "answered", Why: "one good tool call, then an answer; the scorer's trace is no run and judges no name that the file asks for"},
	{Name: "eval", Outcome: "answered", Why: "one good tool call, then an answer; the evaluator's trace is no run and names no run"},
	{Name: "late-evaluation", Outcome: "answered", Why: "one good tool call, then an answer; a judge's scores for it came after the spans"},
	{Name: "guardrail", Outcome: "abstained", Why: "an input guardrail refused the run"},
	{Name: "client-tool", Outcome: "escalated", Why: "the tool asked for runs at the client: the run pauses for a person, and nothing was executed"},
	{Name: "conversation", Turns: []Turn{
		{Outcome: "answered", Why: "turn 1: one good tool call, then an answer", Calls: 2, Tools: 1},
		{Outcome: "answered", Why: "turn 2 (Thanks!): answered without a tool call, and the file expects one always", Calls: 1},
		{Outcome: "answered", Why: "turn 3: a refund call, then an answer", Calls: 2, Tools: 1},
	}},
	{Name: "interrupt", Turns: []Turn{
		{Outcome: "escalated", Why: "the tool paused for approval: neither done nor failed", Calls: 1},
		{Outcome: "answered", Why: "resumed in a trace of its own without a run id: the refund call, then an answer", Calls: 1, Tools: 1},
	}},
	{Name: "two-runs", Turns: []Turn{
		{Outcome: "answered", Why: "first of two agents in one request: one good tool call, then an answer", Calls: 2, Tools: 1, Agent: "order-support"},
		{Outcome: "answered", Why: "second of two agents in one request: answered without a tool call", Calls: 1, Agent: "tone-checker"},
	}},
}

func scenario(name string) *Scenario {
	for i := range Scenarios {
		if Scenarios[i].Name == name {
			return &Scenarios[i]
		}
	}
	return nil
}
