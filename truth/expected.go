package truth

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Expect works out what should be read from a recording: from what happened,
// by the rows of its scenario and its emitter, and then by what special.go says
// of this one file.
func Expect(e *Entry) (*Expected, error) {
	row, scene := emitter(e.Framework), scenario(e.Scenario)
	if row == nil {
		return nil, fmt.Errorf("%s: no row for emitter %q", e.Name(), e.Framework)
	}
	if scene == nil {
		return nil, fmt.Errorf("%s: no row for scenario %q", e.Name(), e.Scenario)
	}
	x := &Expected{Name: e.Name(), Framework: e.Framework}
	if row.Convention == "" {
		x.Unread = "its convention need not be read"
	}
	for _, file := range []*string{e.File, e.LogsFile} {
		if file != nil {
			x.Files = append(x.Files, *file)
		}
	}
	switch {
	case e.File == nil:
		x.NoRun = "the emitter exported nothing"
		return x, nil
	case row.NoRun != "":
		x.NoRun = row.NoRun
		return x, nil
	}
	if other, ok := telemetryMode[e.Name()]; ok {
		row = emitter(other)
	}
	calls, tools := e.ModelCalls, e.Tools
	turns := scene.Turns
	if turns == nil {
		turns = []Turn{{Outcome: scene.Outcome, Why: scene.Why, Calls: len(calls), Tools: len(tools)}}
	}
	for i, turn := range turns {
		r := reading{entry: e, emitter: row, scene: scene, turn: turn, calls: calls[:turn.Calls], tools: tools[:turn.Tools]}
		calls, tools = calls[turn.Calls:], tools[turn.Tools:]
		r.app = e.Runs[min(i, len(e.Runs)-1)]
		r.shared = len(e.Runs) < len(turns)
		x.Runs = append(x.Runs, r.run())
	}
	if len(calls)+len(tools) > 0 {
		return nil, fmt.Errorf("%s: %d model calls and %d tool calls belong to no run", e.Name(), len(calls), len(tools))
	}
	for _, s := range special {
		if s.applies(e) {
			for i := range x.Runs {
				s.read(&x.Runs[i])
			}
		}
	}
	return x, nil
}

// reading is one run of a recording while its expectation is worked out.
type reading struct {
	entry   *Entry
	emitter *Emitter
	scene   *Scenario
	turn    Turn
	app     AppRun
	shared  bool // app covers several runs
	calls   []ModelCall
	tools   []ToolCall
	facts   []Fact
}

func (r *reading) run() ExpectedRun {
	outcome := r.turn.Outcome
	why := r.turn.Why
	if r.app.Threw && outcome == "answered" {
		outcome, why = "error", "the framework let the run fail: "+firstLine(r.app.Error)
	}
	agent := r.turn.Agent
	if agent == "" {
		agent = r.emitter.agent(r.entry.Scenario)
	}
	r.add("agent", agent)
	r.add("outcome", outcome)
	if outcome == "escalated" {
		r.add("outcome_reason", "paused") // nobody took over: the run waits for a person
	}
	// The end of the input completes what the quiet period would have completed.
	r.add("completion", "root_ended|end_of_input")
	r.duration()
	r.modelCalls(outcome)
	r.toolCalls()
	r.tokens(outcome)
	run := ExpectedRun{Why: why, Facts: r.facts}
	r.slos(&run, outcome)
	return run
}

func (r *reading) add(name, want string, accept ...Accept) {
	r.facts = append(r.facts, Fact{Name: name, Want: want, Accept: accept})
}

// duration: the application measured the call that the root span is inside of;
// its own overhead and the export are no part of the root.
func (r *reading) duration() {
	low, high := r.app.Millis*0.6/1000, (r.app.Millis+20)/1000
	if r.shared || r.emitter.Process || len(r.calls) == 0 {
		low = 0.001
	}
	// On a machine that is busy the overhead has no bound, but the root is round
	// what the server saw, and ends a moment after the application's call at most.
	if served := r.app.ServedMillis; served > 0 {
		low, high = served/1000, high+0.25
	}
	if r.scene.Name == "aborted-in-tool" {
		high = max(high, 3.5) // the tool goes on: with no answer the run is its spans' extent
	}
	r.facts = append(r.facts, Fact{Name: "duration_seconds", Within: &Interval{low, high}})
}

func (r *reading) modelCalls(outcome string) {
	if why := r.emitter.ModelCalls; why != "" {
		r.add("model_calls", strconv.Itoa(len(r.calls)), Accept{Value: Null, Why: why})
		return
	}
	want := strconv.Itoa(len(r.calls))
	refused := 0 // at the end
	for i := len(r.calls) - 1; i >= 0 && r.calls[i].In == 0; i-- {
		refused++
	}
	if outcome == "error" && refused > 1 {
		want += "|" + strconv.Itoa(len(r.calls)-refused+1) // the client retried inside one call
	}
	r.add("model_calls", want)
}

// toolCalls: delegations and handoffs are no tool calls, and the recordings
// list none; a call that waits for a person is neither done nor failed.
func (r *reading) toolCalls() {
	ok, failed := 0, 0
	classes := map[string]int{}
	for _, t := range r.tools {
		if t.OK {
			ok++
			continue
		}
		failed++
		classes[class(t.Error)]++
	}
	r.add("tool_calls.ok", strconv.Itoa(ok))
	var notThere, noText []Accept
	if failed > 0 {
		if why := r.emitter.FailedCalls; why != "" {
			notThere = []Accept{{Value: "0", Why: why}}
			noText = []Accept{{Value: "", Why: why}}
		}
		why := r.emitter.FailureText
		if r.contentOff() && why == "" {
			why = r.emitter.FailureTextOff
		}
		if why != "" {
			noText = append(noText, Accept{Value: fmt.Sprintf("unclassified:%d", failed), Why: why})
		}
	}
	r.add("tool_calls.failed", strconv.Itoa(failed), notThere...)
	if failed > 0 {
		r.add("tool_calls.class", Classes(classes), noText...)
	}
}

// class of the three ways in which the recorded tools fail.
func class(text string) string {
	switch {
	case strings.Contains(text, "timed out"), strings.Contains(text, "HTTP 500"):
		return "transient" // the same call may succeed later
	case strings.Contains(text, "invalid order id"):
		return "bad_args"
	}
	return "unclassified"
}

// Classes is a count by failure class as text, sorted: bad_args:1,transient:2.
func Classes[N int | int64](counts map[string]N) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] != 0 {
			parts = append(parts, fmt.Sprintf("%s:%d", name, counts[name]))
		}
	}
	return strings.Join(parts, ",")
}

func (r *reading) tokens(outcome string) {
	counts := []struct {
		name    string
		of      func(ModelCall) int64
		carried Carried
		why     string
	}{
		{"input", func(c ModelCall) int64 { return c.In }, Always, r.emitter.Input},
		{"cached_input", func(c ModelCall) int64 { return c.Cached }, r.emitter.Cached, ""},
		{"output", func(c ModelCall) int64 { return c.Out }, r.emitter.Output, ""},
		{"reasoning", func(c ModelCall) int64 { return c.Reasoning }, r.emitter.Reasoning, ""},
	}
	served := false
	for _, c := range r.calls {
		served = served || c.In > 0
	}
	known := len(r.calls)
	if outcome == "cancelled" && r.entry.ClientClosedStream > 0 {
		known-- // the usage of a stream comes at its end
	}
	costKnown := true
	for _, count := range counts {
		total, nonzero, seen := int64(0), false, int64(0)
		for i, c := range r.calls {
			n := count.of(c)
			total += n
			nonzero = nonzero || n > 0
			if i < known {
				seen += n
			}
		}
		f := Fact{Name: "tokens." + count.name, Want: strconv.FormatInt(total, 10)}
		why := count.why
		switch {
		case why != "":
		case !served:
			why = "every model call failed, so none carries usage"
		case count.carried == Never:
			why = "no attribute says it"
		case count.carried == NonZero && !nonzero:
			why = "the attribute is left out when it is zero"
		case count.carried == WithText && r.contentOff():
			why = "it is part of the message content, which is off"
		case known < len(r.calls):
			why = "the call that the client cut short carries no usage"
			if seen != total {
				f.Accept = append(f.Accept, Accept{Value: strconv.FormatInt(seen, 10), Why: why})
			}
		}
		if why != "" {
			f.Accept = append(f.Accept, Accept{Value: Null, Why: why})
			costKnown = costKnown && (count.name == "cached_input" || count.name == "reasoning")
		}
		r.facts = append(r.facts, f)
	}
	r.cost(known, costKnown)
}

// USD per million tokens as the providers list them: input, cached input, output.
var prices = map[string][3]float64{
	"gpt-4o-mini":       {0.15, 0.075, 0.60},
	"gemini-2.0-flash":  {0.10, 0.025, 0.40},
	"claude-sonnet-4-5": {3, 0.30, 15},
}

func (r *reading) cost(known int, costKnown bool) {
	price, ok := prices[r.emitter.Model]
	if !ok {
		price = prices["gpt-4o-mini"]
	}
	sum := func(calls []ModelCall, discount bool) float64 {
		total := 0.0
		for _, c := range calls {
			cached := float64(c.Cached)
			if !discount {
				cached = 0
			}
			total += ((float64(c.In)-cached)*price[0] + cached*price[1] + float64(c.Out)*price[2]) / 1e6
		}
		return total
	}
	f := Fact{Name: "cost_usd", Within: around(sum(r.calls, true))}
	if r.emitter.Cost {
		r.facts = append(r.facts, f)
		return
	}
	if r.emitter.Cached == Never || r.emitter.Cached == WithText && r.contentOff() {
		f.Accept = append(f.Accept, Accept{Within: around(sum(r.calls, false)), Why: "priced without the discount for cached input, which is not carried"})
	}
	if known < len(r.calls) {
		f.Accept = append(f.Accept, Accept{Within: around(sum(r.calls[:known], true)), Why: "the call that the client cut short carries no usage"})
		costKnown = false
	}
	if !costKnown {
		f.Accept = append(f.Accept, Accept{Value: Null, Why: "without the tokens of every call the cost is not known"})
	}
	r.facts = append(r.facts, f)
}

func around(value float64) *Interval { return &Interval{value * (1 - 1e-6), value * (1 + 1e-6)} }

func (r *reading) contentOff() bool { return strings.HasPrefix(r.entry.Variant, "nocontent-") }

func (r *reading) slos(run *ExpectedRun, outcome string) {
	evidence := r.scene.Retrieved
	repeats := map[string]int{}
	repeated := false
	calls := 0
	for _, t := range r.tools {
		evidence = evidence || t.OK
		key := t.Tool + string(t.Args) + string(t.Result) + t.Error
		repeats[key]++
		repeated = repeated || repeats[key] >= 3
		calls++
	}
	all := verdicts(outcome, evidence, repeated)
	if outcome == "answered" {
		judged(all, r.app.Scores)
	}
	for name, verdict := range all {
		run.Facts = append(run.Facts, Fact{Name: "slo." + name, Want: verdict})
	}
	if outcome == "answered" && !evidence {
		f := Fact{Name: "slo.tool_free.reason", Want: "no_call"}
		if calls > 0 {
			f.Want = "all_calls_failed"
			if r.emitter.FailedCalls != "" {
				f.Accept = []Accept{{Value: "no_call", Why: r.emitter.FailedCalls}}
			}
		}
		run.Facts = append(run.Facts, f)
	}
	slices.SortFunc(run.Facts, func(a, b Fact) int { return strings.Compare(order(a.Name), order(b.Name)) })
	run.readCost()
}

// readCost: a cost that may be unknown makes the verdict unknown, also where a
// run is excluded only because it is known to be cheap.
func (r *ExpectedRun) readCost() {
	cost, verdict := r.Fact("cost_usd"), r.Fact("slo.cost")
	for _, a := range cost.Accept {
		if a.Value == Null && (verdict.Want == "good" || verdict.Want == "excluded") {
			r.accept("unknown", a.Why, "slo.cost")
		}
	}
}

// read under another outcome: what the verdicts are if the telemetry says only
// that of the run.
func (r *ExpectedRun) acceptOutcome(outcome, why string) {
	r.accept(outcome, why, "outcome")
	evidence := r.Fact("tool_calls.ok").Want != "0"
	for name, verdict := range verdicts(outcome, evidence, r.Fact("slo.no_progress").Want == "bad" && r.Fact("outcome").Want != "limit_reached") {
		for alternative := range strings.SplitSeq(verdict, "|") {
			r.accept(alternative, why, "slo."+name)
		}
	}
}

var factOrder = []string{"agent", "outcome", "outcome_reason", "completion", "duration_seconds", "model_calls", "tool_calls.ok", "tool_calls.failed", "tool_calls.class",
	"tokens.input", "tokens.cached_input", "tokens.output", "tokens.reasoning", "cost_usd",
	"slo.completion", "slo.correctness", "slo.latency", "slo.grounding", "slo.cost", "slo.tool_free", "slo.tool_free.reason", "slo.no_progress"}

func order(name string) string { return fmt.Sprintf("%03d", slices.Index(factOrder, name)) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
