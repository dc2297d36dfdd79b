package truth

import "strconv"

// Told is what an agent's own model server and tools tell of one run, judge
// included: enough to know what should be read of it.
type Told struct {
	Name, Agent, Outcome             string
	ModelCalls, OK                   int
	Failed                           map[string]int // by failure class
	Input, Cached, Output, Reasoning int64
	// Price in USD per million tokens: input, cached input, output.
	Price [3]float64
	// Scores by name of evaluation; nil where nobody judged.
	Scores map[string]float64
	// Repeated: the same call with the same result three times.
	Repeated bool
}

// Expect is what should be read of the run, by examples/support-agent/slo.yaml.
func (told *Told) Expect() *Expected {
	r := ExpectedRun{Why: "as the agent's model server and tools tell it"}
	add := func(name, want string) { r.Facts = append(r.Facts, Fact{Name: name, Want: want}) }
	add("agent", told.Agent)
	add("outcome", told.Outcome)
	add("completion", "root_ended|end_of_input")
	calls := strconv.Itoa(told.ModelCalls)
	if told.Outcome == "error" {
		calls += "|1" // retried inside one call
	}
	add("model_calls", calls)
	add("tool_calls.ok", strconv.Itoa(told.OK))
	add("tool_calls.class", Classes(told.Failed))
	for _, c := range []struct {
		name  string
		count int64
	}{{"input", told.Input}, {"cached_input", told.Cached}, {"output", told.Output}, {"reasoning", told.Reasoning}} {
		add("tokens."+c.name, strconv.FormatInt(c.count, 10))
	}
	usd := (float64(told.Input-told.Cached)*told.Price[0] + float64(told.Cached)*told.Price[1] + float64(told.Output)*told.Price[2]) / 1e6
	r.Facts = append(r.Facts, Fact{Name: "cost_usd", Within: around(usd)})
	verdicts := verdicts(told.Outcome, told.OK > 0, told.Repeated)
	if told.Outcome == "answered" {
		judged(verdicts, told.Scores)
	}
	if usd > 0.25 {
		verdicts["cost"] = "bad"
	}
	for name, verdict := range verdicts {
		add("slo."+name, verdict)
	}
	if told.Input == 0 {
		const why = "every model call failed, so none carries usage"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}
	if told.Outcome == "error" && told.Input > 0 {
		const why = "whether the failed call cost something is not carried"
		r.accept(Null, why, "cost_usd")
		r.accept("unknown", why, "slo.cost")
	}
	for _, name := range tokenFacts[1:] {
		if f := r.Fact(name); f.Want == "0" {
			r.accept(Null, "the attribute is left out when it is zero", name)
		}
	}
	if told.Outcome == "cancelled" {
		const why = "the call that the client cut short carries no usage"
		r.accept(Null, why, append(tokenFacts, "cost_usd")...)
		r.accept("unknown", why, "slo.cost")
	}
	return &Expected{Name: told.Name, Runs: []ExpectedRun{r}}
}
