package slo

import "errors"

// ErrUnknown is returned by [Program.Eval] when the expression needs a fact
// that the run's telemetry does not carry.
var ErrUnknown = errors.New("the telemetry does not carry a fact the expression needs")

// Program is a compiled CEL expression over a run. It is safe for concurrent use.
type Program struct {
	Source     string
	Attributes []string // attribute names it reads, sorted
	eval       func(vars map[string]any) (bool, error)
}

// Eval evaluates the expression. vars maps the names of [RunFields] (such as
// "run.tool_calls") to their values, and "attributes" to a map[string]string.
// A fact that is not known is left out of vars: the result is then ErrUnknown
// unless the rest of the expression decides it.
func (p *Program) Eval(vars map[string]any) (bool, error) { return p.eval(vars) }

// RunField is one variable of the CEL environment.
type RunField struct {
	Name string // such as run.tool_calls
	Type string // bool, int, double, string, list(string), map(string, double)
	Doc  string
}

// RunFields is the CEL environment beside `attributes`, a map of the run's
// attribute values as strings: the root span's, its resource's, then those of
// the spans below.
var RunFields = []RunField{
	{"run.outcome", "string", "how the run ended: answered, abstained, escalated, …"},
	{"run.agent", "string", "name of the run's agent"},
	{"run.agents", "list(string)", "names of all agents that took part"},
	{"run.service", "string", "service.name of the run's root"},
	{"run.environment", "string", "deployment environment of the run's root"},
	{"run.duration_seconds", "double", "root start to root end, less waits for a person"},
	{"run.first_token_seconds", "double", "time to the first token or chunk"},
	{"run.model_calls", "int", "model calls"},
	{"run.models", "list(string)", "models called"},
	{"run.provider_faults", "int", "model calls that failed for trouble at their provider"},
	{"run.failovers", "int", "such calls after which another model or provider was called"},
	{"run.ended_by_provider", "bool", "the run ended in an error of the provider"},
	{"run.attempts", "int", "most model calls in a row that one reply took, over all models and providers"},
	{"run.guardrails", "int", "guardrail checks"},
	{"run.guardrail_blocks", "int", "guardrail checks that refused"},
	{"run.judges", "int", "evaluator spans within the run"},
	{"run.schema_failures", "int", "answers that had not the form that was asked for"},
	{"run.schema_given_up", "bool", "there were some, and the run did not answer in the end"},
	{"run.same_corrections", "int", "such failures with the same complaint as the one before"},
	{"run.resumes", "int", "times the run was taken up again"},
	{"run.unconfirmed_resumes", "int", "… from no checkpoint that is named"},
	{"run.tool_calls", "int", "tool calls, failed ones included; answer and handoff tools excluded; not known where nothing but calls was asked for of which nothing shows whether they ran"},
	{"run.failed_tool_calls", "int", "tool calls that failed"},
	{"run.permanent_failures", "int", "failed tool calls of which no same call succeeded"},
	{"run.first_wrong", "string", "the first step that went wrong: failed_call, failed_model_call, empty_retrieval, repeated_call; empty when none did"},
	{"run.tools", "list(string)", "names of the tools called, in order, repeats included"},
	{"run.last_tool", "string", "name of the last tool called, of any kind"},
	{"run.retrievals", "int", "retrieval steps and calls of retrieval tools"},
	{"run.input_tokens", "int", "input tokens, cached included"},
	{"run.cached_input_tokens", "int", "input tokens read from a cache"},
	{"run.output_tokens", "int", "output tokens, reasoning included"},
	{"run.reasoning_tokens", "int", "reasoning tokens"},
	{"run.total_tokens", "int", "input and output tokens"},
	{"run.cost_usd", "double", "cost in US dollars"},
	{"run.evaluations", "map(string, double)", "score of each named evaluation"},
}
