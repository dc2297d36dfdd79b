package sli

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/quick"

	shopspring "github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
)

func parseDecimal(s string) (slo.Decimal, error) { return shopspring.NewFromString(s) }

func TestAgentsSelectTheSLO(t *testing.T) {
	f := fileFor("completion")
	f.Aliases = map[string]string{"support-old": "support-main"}
	for _, c := range []struct {
		globs []string
		agent string
		want  slo.Verdict
	}{
		{nil, "triage", slo.Good},
		{[]string{"*"}, "", slo.Good},
		{[]string{"orders", "tri*"}, "triage", slo.Good},
		{[]string{"orders"}, "triage", slo.Excluded},
		{[]string{"support-main"}, "support-old", slo.Good}, // by the label that it keeps
	} {
		f.SLOs[0].Agents = c.globs
		results, _ := Evaluate(f, ended(slo.Answered, func(r *run.Run) { r.Agent = c.agent }), false)
		if results[0].Verdict != c.want || (c.want == slo.Excluded) != (results[0].Reason == "not_selected") {
			t.Errorf("%v on agent %q: %s (%s)", c.globs, c.agent, results[0].Verdict, results[0].Reason)
		}
	}
}

// An SLO that is not about the run is excluded even if the run is as bad as
// can be.
func TestNotSelectedComesBeforeBad(t *testing.T) {
	f := fileFor("completion")
	f.SLOs[0].Agents = []string{"orders"}
	results, _ := Evaluate(f, ended(slo.Error), false)
	if results[0].Verdict != slo.Excluded || results[0].Pending {
		t.Errorf("verdict %+v", results[0])
	}
}

func TestExclusionCountsTheRunApart(t *testing.T) {
	f := fileFor("completion")
	f.SLOs = append(f.SLOs, fileFor("correctness").SLOs[0])
	f.SLOs[1].Name = "correctness"
	f.Exclude = []slo.Exclusion{
		{Name: "expensive", When: program("run.cost_usd > 1.0")}, // not known: no exclusion
		{Name: "load_test", When: program(`attributes["app.synthetic"] == "true"`)},
		{Name: "later", When: program("true")},
	}
	loadTest := func(v string) func(*run.Run) {
		return func(r *run.Run) { r.Attributes = map[string]string{"app.synthetic": v} }
	}
	results, excluded := Evaluate(f, ended(slo.Error, loadTest("true")), false)
	if excluded != "load_test" {
		t.Errorf("excluded by %q", excluded)
	}
	for _, r := range results {
		if r.Verdict != slo.Excluded || r.Reason != "load_test" || r.Pending {
			t.Errorf("%s: %+v", r.SLO, r)
		}
	}

	f.Exclude = f.Exclude[:2]
	if results, excluded := Evaluate(f, ended(slo.Error, loadTest("false")), false); excluded != "" || results[0].Verdict != slo.Bad {
		t.Errorf("excluded by %q: %+v", excluded, results)
	}
}

func TestNoFileNoVerdict(t *testing.T) {
	if results, excluded := Evaluate(nil, ended(slo.Answered), true); results != nil || excluded != "" {
		t.Errorf("%v, %q", results, excluded)
	}
}

// Conditions on scores and labels of one evaluator, worked out by hand.
func TestPasses(t *testing.T) {
	half, nine := pointer(decimal("0.5")), pointer(decimal("0.9"))
	nan := math.NaN()
	for _, c := range []struct {
		name       string
		named      slo.Evaluation
		score      float64
		label      string
		good, said bool
	}{
		{"at the minimum", slo.Evaluation{MinScore: half}, 0.5, "", true, true},
		{"below the minimum", slo.Evaluation{MinScore: half}, 0.4999, "", false, true},
		{"at the maximum", slo.Evaluation{MaxScore: half}, 0.5, "", true, true},
		{"above the maximum", slo.Evaluation{MaxScore: half}, 0.5001, "", false, true},
		{"inside a band", slo.Evaluation{MinScore: half, MaxScore: nine}, 0.7, "", true, true},
		{"above a band", slo.Evaluation{MinScore: half, MaxScore: nine}, 0.95, "", false, true},
		{"no score", slo.Evaluation{MinScore: half}, nan, "pass", false, false},
		{"a good label", slo.Evaluation{GoodLabels: []string{"pass"}}, nan, "pass", true, true},
		{"… however it is written", slo.Evaluation{GoodLabels: []string{"pass"}}, nan, "PASS", true, true},
		{"any other label fails", slo.Evaluation{GoodLabels: []string{"pass"}}, nan, "meh", false, true},
		{"a bad label", slo.Evaluation{BadLabels: []string{"fail"}}, nan, "fail", false, true},
		{"any other label passes", slo.Evaluation{BadLabels: []string{"fail"}}, nan, "meh", true, true},
		{"both lists, in neither", slo.Evaluation{GoodLabels: []string{"pass"}, BadLabels: []string{"fail"}}, nan, "meh", false, false},
		{"no label", slo.Evaluation{GoodLabels: []string{"pass"}}, 0.7, "", false, false},
		{"score passes, label fails", slo.Evaluation{MinScore: half, BadLabels: []string{"fail"}}, 0.7, "fail", false, true},
		{"label passes, score fails", slo.Evaluation{MinScore: half, GoodLabels: []string{"pass"}}, 0.1, "pass", false, true},
		{"both pass", slo.Evaluation{MinScore: half, GoodLabels: []string{"pass"}}, 0.7, "pass", true, true},
		{"score passes, label in neither list", slo.Evaluation{MinScore: half, GoodLabels: []string{"pass"}, BadLabels: []string{"fail"}}, 0.7, "meh", true, true},
	} {
		good, said := passes(&c.named, &convention.Evaluation{Score: c.score, Label: c.label})
		if good != c.good || said != c.said {
			t.Errorf("%s: good %v, said %v", c.name, good, said)
		}
	}
}

// The order in which evaluations and tool calls are kept must not matter,
// except for first, which goes by event time.
func TestOrderOfEvaluationsDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var all []convention.Evaluation
		for range rng.IntN(6) {
			name := []string{"correctness", "user_feedback"}[rng.IntN(2)]
			e := convention.Evaluation{Name: name, Score: float64(rng.IntN(11)) / 10, Label: []string{"up", "down"}[rng.IntN(2)],
				Time: uint64(rng.IntN(3)), Failed: rng.IntN(5) == 0}
			all = append(all, e)
		}
		for _, combine := range []slo.Combine{slo.CombineAll, slo.CombineAny, slo.CombineFirst} {
			f := fileFor("correctness")
			two(combine)(f, &f.SLOs[0])
			first, _ := Evaluate(f, ended(slo.Answered, evaluated(all...)), false)
			rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			again, _ := Evaluate(f, ended(slo.Answered, evaluated(all...)), false)
			if first[0].Verdict != again[0].Verdict || first[0].Pending != again[0].Pending || first[0].Reason != again[0].Reason {
				t.Fatalf("%s: %+v, in another order %+v: %+v", combine, first[0], again[0], all)
			}
		}
	}
}

// No evaluation that comes later turns a verdict that is not pending, except
// a second one of the same evaluator.
func TestSettledVerdictsStand(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	results := []convention.Evaluation{score("correctness", 0.1, 1), score("correctness", 0.9, 1), label("user_feedback", "up", 2), label("user_feedback", "down", 2)}
	for range 500 {
		for _, combine := range []slo.Combine{slo.CombineAll, slo.CombineAny} {
			f := fileFor("correctness")
			two(combine)(f, &f.SLOs[0])
			a, b := results[rng.IntN(2)], results[2+rng.IntN(2)]
			if rng.IntN(2) == 0 {
				a, b = b, a
			}
			early, _ := Evaluate(f, ended(slo.Answered, evaluated(a)), false)
			late, _ := Evaluate(f, ended(slo.Answered, evaluated(a, b)), false)
			if !early[0].Pending && early[0].Verdict != late[0].Verdict {
				t.Fatalf("%s: settled as %s, then %s", combine, early[0].Verdict, late[0].Verdict)
			}
			if late[0].Pending {
				t.Fatalf("%s: pending with every evaluation in", combine)
			}
		}
	}
}

// repeats agrees with counting by hand over random calls.
func TestRepeatsAgreesWithCounting(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		var tools []run.ToolCall
		for range rng.IntN(9) {
			c := tool([]string{"a", "b"}[rng.IntN(2)], uint64(rng.IntN(2)), uint64(rng.IntN(2)))
			c.Message = uint64(rng.IntN(4))
			tools = append(tools, c)
		}
		type same struct {
			tool         string
			args, result uint64
		}
		most := 0
		for _, c := range tools {
			key := same{c.Name, c.ArgsHash, c.ResultHash}
			loose, messages := 0, map[uint64]bool{}
			for _, d := range tools {
				if (same{d.Name, d.ArgsHash, d.ResultHash}) == key {
					if d.Message == 0 {
						loose++
					} else {
						messages[d.Message] = true
					}
				}
			}
			most = max(most, loose+len(messages))
		}
		f := fileFor("no_progress")
		results, _ := Evaluate(f, ended(slo.Answered, calling(tools...)), false)
		want := slo.Good
		if most >= 3 {
			want = slo.Bad
		}
		if got := results[0]; got.Verdict != want || int(*got.Value) != most {
			t.Fatalf("%s with %v repeats, counted %d: %+v", got.Verdict, *got.Value, most, tools)
		}
	}
}

// Hiding content never turns a verdict into its opposite.
func TestHiddenContentNeverContradicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		var open, hidden []run.ToolCall
		for range rng.IntN(9) {
			c := tool([]string{"a", "b"}[rng.IntN(2)], uint64(1+rng.IntN(2)), uint64(1+rng.IntN(2)))
			c.Message = uint64(rng.IntN(4))
			open = append(open, c)
			switch rng.IntN(4) {
			case 0:
				c = uncaptured(c)
			case 1:
				c = withoutResult(c)
			}
			hidden = append(hidden, c)
		}
		f := fileFor("no_progress")
		truth, _ := Evaluate(f, ended(slo.Answered, calling(open...)), false)
		got, _ := Evaluate(f, ended(slo.Answered, calling(hidden...)), false)
		if got[0].Verdict != truth[0].Verdict && got[0].Verdict != slo.Unknown {
			t.Fatalf("is %s, with everything captured %s: %+v", got[0].Verdict, truth[0].Verdict, open)
		}
	}
}

func TestFloatIsNearest(t *testing.T) {
	check := func(coefficient int64, exponent int8) bool {
		d := shopspring.New(coefficient, int32(exponent%25))
		want, _ := d.Float64()
		return float(d) == want
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"0.7", "0.25", "0.1", "1e-3", "95", "0.123456789012345678"} {
		want, _ := decimal(s).Float64()
		if got := float(decimal(s)); got != want {
			t.Errorf("%s is %v", s, got)
		}
	}
}

// Every field that an expression may name is a fact of the full run, with the
// documented type, and left out of a run that carries nothing.
func TestVariablesCoverTheEnvironment(t *testing.T) {
	full := ended(slo.Answered, costing(0.1), firstToken(0.5), retrieving(1), evaluated(score("tone", 0.5, 2), score("tone", 0.4, 1)),
		calling(tool("search", 1, 1), lasted(run.Permanent, failing(tool("lookup", 1, 1))), retrievalTool(false), as(run.Delegation, tool("ask_orders", 1, 1)), as(run.Answer, tool("send_reply", 1, 1))),
		func(r *run.Run) {
			r.Environment, r.ModelCalls = "prod", pointer(2)
			r.Checks = run.Checks{Attempts: 4, Guardrails: 3, GuardrailBlocks: 1, Judges: 2, SchemaFailures: 5, SchemaGivenUp: true, SameCorrections: 2, Resumes: 3, ConfirmedResumes: 1}
			r.Faults, r.Failovers, r.EndedByProvider = make([]run.ProviderFault, 3), 1, true
			r.Models = []run.ModelUsage{{Model: "gpt-5"}}
			r.Usage = convention.Usage{Input: 10, CachedInput: 4, CacheWrite: 1, Output: 5, Reasoning: 2}
			r.Attributes = map[string]string{"app.tier": "gold"}
			r.FirstWrong = &run.FirstWrong{What: run.FailedCall}
		})
	want := map[string]any{
		"run.outcome": "answered", "run.agent": "triage", "run.agents": []string{"triage"}, "run.service": "support",
		"run.environment": "prod", "run.duration_seconds": 1.0, "run.first_token_seconds": 0.5, "run.model_calls": int64(2),
		"run.attempts": int64(4), "run.guardrails": int64(3), "run.guardrail_blocks": int64(1), "run.judges": int64(2),
		"run.schema_failures": int64(5), "run.schema_given_up": true, "run.same_corrections": int64(2),
		"run.resumes": int64(3), "run.unconfirmed_resumes": int64(2),
		"run.provider_faults": int64(3), "run.failovers": int64(1), "run.ended_by_provider": true,
		"run.models": []string{"gpt-5"}, "run.tool_calls": int64(3), "run.failed_tool_calls": int64(1),
		"run.permanent_failures": int64(1), "run.first_wrong": "failed_call",
		"run.tools": []string{"search", "lookup", "search_docs", "ask_orders", "send_reply"}, "run.last_tool": "send_reply",
		"run.retrievals": int64(2), "run.input_tokens": int64(10), "run.cached_input_tokens": int64(4),
		"run.output_tokens": int64(5), "run.reasoning_tokens": int64(2), "run.total_tokens": int64(15),
		"run.cost_usd": 0.1, "run.evaluations": map[string]float64{"tone": 0.5},
		"attributes": map[string]string{"app.tier": "gold"},
	}
	got := Variables(full)
	if !reflect.DeepEqual(got, want) {
		for name := range want {
			if !reflect.DeepEqual(got[name], want[name]) {
				t.Errorf("%s is %#v, should be %#v", name, got[name], want[name])
			}
		}
	}
	types := map[string]reflect.Type{"bool": reflect.TypeFor[bool](), "int": reflect.TypeFor[int64](), "double": reflect.TypeFor[float64](),
		"string": reflect.TypeFor[string](), "list(string)": reflect.TypeFor[[]string](), "map(string, double)": reflect.TypeFor[map[string]float64]()}
	var always []string // known even of a run that says nothing: it called no tool
	empty := Variables(&run.Run{Usage: convention.UnknownUsage})
	for _, f := range slo.RunFields {
		v, ok := got[f.Name]
		if !ok {
			t.Errorf("%s is not provided", f.Name)
		} else if reflect.TypeOf(v) != types[f.Type] {
			t.Errorf("%s is %T, documented as %s", f.Name, v, f.Type)
		}
		if _, known := empty[f.Name]; known {
			always = append(always, f.Name)
		}
	}
	known := []string{"run.tool_calls", "run.failed_tool_calls", "run.permanent_failures", "run.first_wrong", "run.tools", "run.last_tool", "run.retrievals", "run.evaluations"}
	if !slices.Equal(always, known) {
		t.Errorf("a run that carries nothing has %v, should have %v", always, known)
	}
	if len(got) != len(slo.RunFields)+1 {
		t.Errorf("%d variables for %d fields and attributes", len(got), len(slo.RunFields))
	}
}

// A ratio of other counters has no verdict of a run, whatever the run is like:
// its neighbours in the file have theirs, in file order.
func TestRatiosAreNoVerdictOfARun(t *testing.T) {
	files, err := slo.Parse("slo.yaml", []byte(`
service: bot
exclude: [{name: mine, when: 'run.agent == "x"'}]
slos:
  a: {sli: ratio, objective: 99%, events: {bad: [a], total: [b]}}
  completion: {objective: 99%}
  b: {sli: ratio, objective: 99%, events: {good: [a], total: [b]}}
  tool_free: {objective: 99%}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"bot", "x"} {
		for _, final := range []bool{false, true} {
			r := ended(slo.Answered)
			r.Agent = agent
			results, excluded := Evaluate(files[0], r, final)
			if len(results) != 2 || results[0].SLO != "completion" || results[1].SLO != "tool_free" || (excluded != "") != (agent == "x") {
				t.Errorf("%s, final %v: %+v, excluded %q", agent, final, results, excluded)
			}
		}
	}
}

// A run with 20 spans and the seven kinds without expressions.
func BenchmarkEvaluate(b *testing.B) {
	f := fileFor("completion")
	f.SLOs = nil
	for _, k := range slo.Kinds {
		if k != "custom" && k != slo.KindRatio {
			f.SLOs = append(f.SLOs, fileFor(k).SLOs...)
		}
	}
	r := ended(slo.Answered, costing(0.1), retrieving(2), evaluated(score("correctness", 0.9, 1), score("groundedness", 0.9, 1)),
		calling(tool("a", 1, 1), tool("b", 1, 1), tool("a", 2, 1), tool("a", 1, 2), tool("b", 2, 2), tool("c", 1, 1), tool("c", 2, 2), tool("d", 1, 1)))
	b.ReportAllocs()
	for b.Loop() {
		Evaluate(f, r, false)
	}
}
