package sli

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

func class(class convention.Class, c run.ToolCall) run.ToolCall { c.Class = class; return c }

func unfinished(c run.ToolCall) run.ToolCall { c.Unfinished = true; return c }

func invoking(list ...run.Invocation) func(*run.Run) {
	return func(r *run.Run) { r.Invocations = list }
}

func ofScope(scope slo.Scope, tools ...string) func(*slo.File, *slo.Objective) {
	return func(_ *slo.File, o *slo.Objective) { o.Scope, o.Tools = scope, tools }
}

func goodStep(agent, tool string, n int64) Step {
	return Step{Agent: agent, Tool: tool, Verdict: slo.Good, Count: n}
}

const nanos = 1_000_000_000 // in a second

var stepTable = []struct {
	name   string
	kind   string
	change func(*slo.File, *slo.Objective)
	run    *run.Run
	want   []Step // in the order in which they are listed
	whole  slo.Verdict
	reason string
}{
	{name: "a call that succeeded is good, one that failed is bad by its class", kind: "completion", change: ofScope(slo.ScopeTool),
		run: ended(slo.Answered, calls(3, tool("search", 1, 2)), calling(
			class(convention.Transient, tool("a", 1, 1)), class(convention.BadArgs, tool("b", 1, 1)), class(convention.Auth, tool("c", 1, 1)),
			class(convention.Unrecoverable, tool("d", 1, 1)), class(convention.Unclassified, tool("e", 1, 1)))),
		want: []Step{goodStep("triage", "search", 3), {"triage", "a", slo.Bad, "transient", 1}, {"triage", "b", slo.Bad, "bad_args", 1},
			{"triage", "c", slo.Bad, "auth", 1}, {"triage", "d", slo.Bad, "unrecoverable", 1}, {"triage", "e", slo.Bad, "unclassified", 1}},
		whole: slo.Bad, reason: "transient"},
	{name: "the run's outcome says nothing of its calls", kind: "completion", change: ofScope(slo.ScopeTool),
		run: ended(slo.Error, calling(tool("search", 1, 2))), want: []Step{goodStep("triage", "search", 1)}, whole: slo.Good},
	{name: "a call that was cut short is excluded", kind: "completion", change: ofScope(slo.ScopeTool),
		run:  ended(slo.Cancelled, calling(unfinished(tool("search", 1, 2)))),
		want: []Step{{"triage", "search", slo.Excluded, "cut_short", 1}}, whole: slo.Excluded, reason: "cut_short"},
	{name: "a call that no span shows is unknown", kind: "completion", change: ofScope(slo.ScopeTool),
		run:  ended(slo.Answered, calling(tool("search", 1, 2)), func(r *run.Run) { r.Unseen = 2 }),
		want: []Step{{"triage", "", slo.Unknown, "calls_not_seen", 2}, goodStep("triage", "search", 1)}, whole: slo.Unknown, reason: "calls_not_seen"},
	{name: "of one tool, calls of nobody knows which are nothing", kind: "completion", change: ofScope(slo.ScopeTool, "search*"),
		run:  ended(slo.Answered, calling(tool("search", 1, 2), tool("refund", 1, 2)), func(r *run.Run) { r.Unseen = 2 }),
		want: []Step{goodStep("triage", "search", 1)}, whole: slo.Good},
	{name: "thinking counts, answers, hand-offs and sub-agents do not", kind: "completion", change: ofScope(slo.ScopeTool),
		run: ended(slo.Answered, calling(as(run.Counted, tool("think", 1, 1)), as(run.Answer, tool("final_answer", 1, 1)),
			failing(as(run.NotCounted, tool("transfer_to_x", 1, 1))), as(run.Delegation, tool("ask_orders", 1, 1)))),
		want: []Step{goodStep("triage", "think", 1)}, whole: slo.Good},
	{name: "named they do, but what a hand-off says of itself is no success or failure", kind: "completion", change: ofScope(slo.ScopeTool, "*"),
		run: ended(slo.Answered, calling(as(run.Answer, tool("final_answer", 1, 1)), failing(as(run.NotCounted, tool("transfer_to_x", 1, 1))),
			failing(as(run.Delegation, tool("ask_orders", 1, 1))))),
		want:  []Step{{"triage", "ask_orders", slo.Bad, "transient", 1}, goodStep("triage", "final_answer", 1), {"triage", "transfer_to_x", slo.Excluded, "not_counted", 1}},
		whole: slo.Bad, reason: "transient"},
	{name: "a run without a call counts nothing", kind: "completion", change: ofScope(slo.ScopeTool),
		run: ended(slo.Error), want: []Step{}, whole: slo.Excluded, reason: "no_steps"},
	{name: "agents say who called", kind: "completion", change: func(f *slo.File, o *slo.Objective) {
		o.Scope, o.Agents, f.Aliases = slo.ScopeTool, []string{"orders"}, map[string]string{"orders-old": "orders"}
	},
		run:  ended(slo.Answered, calling(tool("search", 1, 2), byAgent("orders-old", tool("status", 1, 1))), func(r *run.Run) { r.Unseen = 1 }),
		want: []Step{goodStep("orders", "status", 1)}, whole: slo.Good},
	{name: "an excluded run's calls are excluded", kind: "completion", change: func(f *slo.File, o *slo.Objective) {
		o.Scope, f.Exclude = slo.ScopeTool, []slo.Exclusion{{Name: "load_test", When: program("true")}}
	},
		run:  ended(slo.Answered, calling(tool("search", 1, 2), failing(tool("search", 1, 2)))),
		want: []Step{{"triage", "search", slo.Excluded, "load_test", 2}}, whole: slo.Excluded, reason: "load_test"},
	{name: "when is about the run", kind: "completion", change: func(_ *slo.File, o *slo.Objective) { o.Scope, o.When = slo.ScopeTool, program("run.tool_calls > 5") },
		run:  ended(slo.Answered, calling(failing(tool("search", 1, 2)))),
		want: []Step{{"triage", "search", slo.Excluded, "not_applicable", 1}}, whole: slo.Excluded, reason: "not_applicable"},
	{name: "a when that cannot be told leaves its calls unknown", kind: "completion", change: func(_ *slo.File, o *slo.Objective) { o.Scope, o.When = slo.ScopeTool, program("run.cost_usd > 5.0") },
		run:  ended(slo.Answered, calling(failing(tool("search", 1, 2)))),
		want: []Step{{"triage", "search", slo.Unknown, "fact_missing", 1}}, whole: slo.Unknown, reason: "fact_missing"},

	{name: "a call is as fast as its span is long", kind: "latency", change: ofScope(slo.ScopeTool),
		run:   ended(slo.Answered, calling(at(nanos, 31*nanos, tool("just", 1, 1)), at(nanos, 31*nanos+1, tool("slow", 1, 1)))),
		want:  []Step{goodStep("triage", "just", 1), {"triage", "slow", slo.Bad, "too_slow", 1}},
		whole: slo.Bad, reason: "too_slow"},
	{name: "failing fast is not being fast, failing late is being slow", kind: "latency", change: ofScope(slo.ScopeTool),
		run:   ended(slo.Answered, calling(failing(at(nanos, 2*nanos, tool("fast", 1, 1))), failing(at(nanos, 40*nanos, tool("late", 1, 1))))),
		want:  []Step{{"triage", "fast", slo.Excluded, "transient", 1}, {"triage", "late", slo.Bad, "too_slow", 1}},
		whole: slo.Bad, reason: "too_slow"},
	{name: "cut short within the threshold, or with times that say nothing", kind: "latency", change: ofScope(slo.ScopeTool),
		run:   ended(slo.Cancelled, calling(unfinished(at(nanos, 2*nanos, tool("cut", 1, 1))), at(5*nanos, nanos, tool("odd", 1, 1)))),
		want:  []Step{{"triage", "cut", slo.Excluded, "cut_short", 1}, {"triage", "odd", slo.Unknown, "no_duration", 1}},
		whole: slo.Unknown, reason: "no_duration"},
	{name: "a person's time is no tool's", kind: "latency", change: ofScope(slo.ScopeTool),
		run: ended(slo.Answered, calling(at(nanos, 90*nanos, tool("ask_human", 1, 1)))), want: []Step{}, whole: slo.Excluded, reason: "no_steps"},
	{name: "not even where the tool is named", kind: "latency", change: ofScope(slo.ScopeTool, "ask_human"),
		run:  ended(slo.Answered, calling(at(nanos, 90*nanos, tool("ask_human", 1, 1)))),
		want: []Step{{"triage", "ask_human", slo.Excluded, "waited_for_person", 1}}, whole: slo.Excluded, reason: "waited_for_person"},

	{name: "sub-agents are judged as runs are", kind: "completion", change: ofScope(slo.ScopeAgent),
		run: ended(slo.Answered, calling(failing(tool("search", 1, 2))), invoking(
			run.Invocation{Agent: "a", Outcome: slo.Answered, Seconds: 1}, run.Invocation{Agent: "a", Outcome: slo.Error, Reason: "error", Seconds: 1},
			run.Invocation{Agent: "b", Outcome: slo.LimitReached, Seconds: 1}, run.Invocation{Agent: "c", Outcome: slo.Cancelled},
			run.Invocation{Agent: "d"}, run.Invocation{Agent: "e", Outcome: slo.Answered, Reason: run.HandedOff})),
		want: []Step{{"a", "", slo.Good, "", 1}, {"a", "", slo.Bad, "error", 1}, {"b", "", slo.Bad, "limit_reached", 1},
			{"c", "", slo.Excluded, "cancelled", 1}, {"d", "", slo.Unknown, "outcome_unknown", 1}, {"e", "", slo.Good, "handed_off", 1}},
		whole: slo.Bad, reason: "error"},
	{name: "so is their latency", kind: "latency", change: ofScope(slo.ScopeAgent),
		run: ended(slo.Answered, invoking(
			run.Invocation{Agent: "a", Outcome: slo.Answered, Seconds: 30}, run.Invocation{Agent: "b", Outcome: slo.Error, Seconds: 31},
			run.Invocation{Agent: "c", Outcome: slo.Error, Seconds: 1}, run.Invocation{Agent: "d", Outcome: slo.Answered, Seconds: -1})),
		want:  []Step{{"a", "", slo.Good, "", 1}, {"b", "", slo.Bad, "too_slow", 1}, {"c", "", slo.Excluded, "error", 1}, {"d", "", slo.Unknown, "no_duration", 1}},
		whole: slo.Bad, reason: "too_slow"},
	{name: "agents name the sub-agents", kind: "completion", change: func(_ *slo.File, o *slo.Objective) { o.Scope, o.Agents = slo.ScopeAgent, []string{"re*"} },
		run:  ended(slo.Answered, invoking(run.Invocation{Agent: "research", Outcome: slo.Answered}, run.Invocation{Agent: "writer", Outcome: slo.Error})),
		want: []Step{goodStep("research", "", 1)}, whole: slo.Good},
}

func TestSteps(t *testing.T) {
	for _, row := range stepTable {
		t.Run(row.name, func(t *testing.T) {
			f := fileFor(row.kind)
			row.change(f, &f.SLOs[0])
			results, _ := Evaluate(f, row.run, false)
			r := results[0]
			if !reflect.DeepEqual(r.Steps, row.want) {
				t.Errorf("steps\n%+v, want\n%+v", r.Steps, row.want)
			}
			if r.Verdict != row.whole || r.Reason != row.reason {
				t.Errorf("the run has %s (%s), want %s (%s)", r.Verdict, r.Reason, row.whole, row.reason)
			}
			bad := 0
			for _, s := range row.want {
				if s.Verdict == slo.Bad {
					bad += int(s.Count)
				}
			}
			if r.Value == nil || *r.Value != float64(bad) {
				t.Errorf("value %v, want %d bad steps", r.Value, bad)
			}
		})
	}
}

// A condition on evaluations keeps the steps waiting as it keeps a run.
func TestStepsWaitForEvaluationsTheirConditionNeeds(t *testing.T) {
	f := fileFor("completion")
	f.SLOs[0].Scope, f.SLOs[0].When = slo.ScopeTool, program(`run.evaluations["severity"] > 0.5`)
	r := ended(slo.Answered, calling(tool("search", 1, 2)))
	if results, _ := Evaluate(f, r, false); !results[0].Pending {
		t.Error("decided before the evaluation came")
	}
	evaluated(score("severity", 1, 1))(r)
	if results, _ := Evaluate(f, r, true); results[0].Pending || results[0].Verdict != slo.Good {
		t.Errorf("at the end of the wait: %+v", results[0])
	}
}

// However many tools and agents a run makes up, what its summary carries is
// bounded, no step is lost, and order means nothing.
func TestStepsAreBounded(t *testing.T) {
	f := fileFor("completion")
	f.SLOs[0].Scope = slo.ScopeTool
	r := ended(slo.Answered)
	for i := range 500 {
		c := tool(fmt.Sprintf("tool-%03d", i), 1, 2)
		c.Agent = fmt.Sprintf("agent-%02d", i%40)
		if i%3 == 0 {
			c = failing(c)
		}
		calls(1+i%4, c)(r)
	}
	results, _ := Evaluate(f, r, false)
	steps := results[0].Steps
	var total, bad int64
	for _, s := range steps {
		total += s.Count
		if s.Verdict == slo.Bad {
			bad += s.Count
		}
	}
	wantBad := int64(0)
	for i := range r.Tools {
		if r.Tools[i].Failed() {
			wantBad++
		}
	}
	if total != int64(len(r.Tools)) || bad != wantBad {
		t.Errorf("%d steps of which %d bad, want %d and %d", total, bad, len(r.Tools), wantBad)
	}
	if len(steps) > maxSteps+2 {
		t.Errorf("%d rows", len(steps))
	}
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Tool == slo.OverflowValue && s.Agent == slo.OverflowValue }) {
		t.Error("nothing says that rows were folded")
	}
	shuffled := *r
	shuffled.Tools = slices.Clone(r.Tools)
	for range 5 {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(shuffled.Tools), func(i, j int) {
			shuffled.Tools[i], shuffled.Tools[j] = shuffled.Tools[j], shuffled.Tools[i]
		})
		if again, _ := Evaluate(f, &shuffled, false); !reflect.DeepEqual(again[0].Steps, steps) {
			t.Fatal("another order gives other steps")
		}
	}
}
