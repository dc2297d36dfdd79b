package truth

import "strconv"

// Public is what a careful reader finds in the published span dumps, read span
// by span. Their runs' truth is not known beyond what they hold, so a count
// that no span carries is [Null] here. The dumps themselves are not in this
// repository.
var Public = []*Expected{
	dump("otel_genai.json", published{
		why: "root invoke_agent with an answer in gen_ai.output.messages; Paris ok, London TimeoutError; " +
			"its chats 80/25 and 120/35 win over the root's own 150/42; gpt-4o at 2.50/10",
		agent: "WeatherAssistant", outcome: "answered", seconds: 6, calls: 2, ok: 1, class: "transient:1",
		input: 200, output: 60, cached: absent, reasoning: absent, cost: 0.0011,
	}),
	dump("google_adk.json", published{
		why: "invocation without attributes is the root; call_llm and generate_content repeat one usage; " +
			"execute_tool is below the model span; the last call has text; output 51+33 holds the thoughts 32+20",
		agent: "math_agent", outcome: "answered", seconds: 3.446, calls: 2, ok: 1,
		input: 379, output: 84, cached: absent, reasoning: 52, cost: unpriced,
	}),
	dump("pydantic_ai.json", published{
		why: "one gen_ai.agent.call.id; final_result is the answer; aggregated_usage repeats the chats' 588+663 and 53+25; " +
			"operation.cost on both chats; the only name is the placeholder agent",
		agent: "agent", outcome: "answered", seconds: 4.519, calls: 2, ok: 1,
		input: 1251, output: 78, cached: absent, reasoning: absent, cost: 0.0028149 + 0.0026004,
	}),
	dump("autogen.json", published{
		why: "create_agent in a trace of its own is no run; invoke_agent over one execute_tool, which ends with it; " +
			"no model span, no output, no status: nothing says whether there was an answer",
		agent: "math_assistant", outcome: "unknown", seconds: 2.129, calls: absent, ok: 1,
		input: absent, output: absent, cached: absent, reasoning: absent, cost: absent,
	}),
	dump("claude_agent_sdk_openinference.json", published{
		why: "the root's parent is not in the data and its flags say nothing; output.value is the answer; three Agent tools hold " +
			"an AGENT each (delegations), below them three Bash calls; no model span; 132 input tokens leave out the cached ones",
		agent: "ClaudeAgentSDK.query", outcome: "answered", seconds: 28.861, calls: absent, ok: 3,
		input: absent, inputCarried: 132, output: 850, cached: absent, reasoning: absent, cost: absent,
	}),
	dump("openai_agents_openllmetry.json", published{
		why: "root Agent Workflow is a placeholder, the first agent below is coordinator; the two ask_* tools have an agent inside " +
			"their interval as a sibling (delegations), three calls remain; eight responses, the last one stops",
		agent: "coordinator", outcome: "answered", seconds: 18.631, calls: 8, ok: 3,
		input: 905 + 315 + 650, output: 80 + 35 + 138, cached: 0, reasoning: 0, cost: 0.0004323,
	}),
	dump("openai_agents_openinference.json", published{
		why: "root Agent workflow is a placeholder, the first agent below its CHAIN is coordinator; ask_math_specialist holds an AGENT " +
			"past a CHAIN (delegation), three calls remain; five responses, the last one is text",
		agent: "coordinator", outcome: "answered", seconds: 6.369, calls: 5, ok: 3,
		input: 212 + 190 + 242 + 272 + 312, output: 27 + 53 + 19 + 65 + 30, cached: 0, reasoning: 0, cost: 0.0003006,
	}),
	dump("smolagents_openinference.json", published{
		why: "final_answer is the answer and no evidence, web_search is; the root repeats the sum of its two model calls; " +
			"two steps of max_steps 2, but it answered; claude-haiku-4-5 at 1/5",
		agent: "CodeAgent.run", outcome: "answered", seconds: 4.071, calls: 2, ok: 1,
		input: 6256, output: 163, cached: absent, reasoning: absent, cost: 0.007071,
	}),
	dump("any_agent_openai.json", published{
		why: "invoke_agent over three call_llm (an operation of its own) with their cost; two tools, write_file returned {}: a success; " +
			"the last call's gen_ai.output is the answer",
		agent: "any_agent", outcome: "answered", seconds: 1.227, calls: 3, ok: 2,
		input: 1020, output: 76, cached: absent, reasoning: absent, cost: 0.0001248,
	}),
	dump("kagent_adk_openllmetry.json", published{
		why: "invoke_agent of the controller is the root; the invocation below hangs on a parent that is not there and joins by its interval; " +
			"each call is three nested spans with one usage; CancelledError stands on queue spans only; gpt-4.1-mini at 0.40/1.60",
		agent: "helm-agent", outcome: "answered", seconds: 4.661, calls: 2, ok: 1,
		input: 2256 + 2392, output: 13 + 116, cached: 0, reasoning: 0, cost: 0.0020656,
	}),
}

const (
	absent   = -1 // no span carries it
	unpriced = -2 // known only to a price table that has the model
)

// published is one run of a published dump.
type published struct {
	why, agent, outcome              string
	seconds                          float64
	calls, ok                        int
	class                            string // of failed calls
	input, cached, output, reasoning int64
	inputCarried                     int64 // a count that leaves a part out
	cost                             float64
}

func dump(file string, p published) *Expected {
	count := func(n int64) string {
		if n == absent {
			return Null
		}
		return strconv.FormatInt(n, 10)
	}
	r := ExpectedRun{Why: p.why}
	r.Facts = []Fact{
		{Name: "agent", Want: p.agent},
		{Name: "outcome", Want: p.outcome},
		{Name: "completion", Want: "root_ended|end_of_input"},
		{Name: "duration_seconds", Within: &Interval{p.seconds - 0.001, p.seconds + 0.001}},
		{Name: "model_calls", Want: count(int64(p.calls))},
		{Name: "tool_calls.ok", Want: strconv.Itoa(p.ok)},
		{Name: "tool_calls.class", Want: p.class},
		{Name: "tokens.input", Want: count(p.input)},
		{Name: "tokens.cached_input", Want: count(p.cached)},
		{Name: "tokens.output", Want: count(p.output)},
		{Name: "tokens.reasoning", Want: count(p.reasoning)},
	}
	if p.inputCarried != 0 {
		r.accept(count(p.inputCarried), "the count that the span carries leaves cached input out", "tokens.input")
	}
	for name, verdict := range verdicts(p.outcome, p.ok > 0, false) {
		r.Facts = append(r.Facts, Fact{Name: "slo." + name, Want: verdict})
	}
	switch p.cost {
	case absent:
		r.Facts = append(r.Facts, Fact{Name: "cost_usd", Want: Null})
		r.Fact("slo.cost").Want = "unknown"
	case unpriced:
		r.accept("unknown", "the model may have no price", "slo.cost")
	default:
		r.Facts = append(r.Facts, Fact{Name: "cost_usd", Within: around(p.cost)})
	}
	return &Expected{Name: file, Files: []string{file}, Runs: []ExpectedRun{r}}
}
