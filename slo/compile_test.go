package slo_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentslo/agentslo/slo"
)

func compile(t testing.TB, source string) *slo.Program {
	t.Helper()
	p, err := slo.Compile(source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return p
}

func TestEval(t *testing.T) {
	vars := map[string]any{
		"run.outcome": "answered", "run.tool_calls": 3, "run.failed_tool_calls": int64(0), "run.duration_seconds": 1.5, "run.cost_usd": nil,
		"run.tools": []string{"search", "open_ticket"}, "run.agents": []string{}, "run.evaluations": map[string]float64{"tone": 0.4},
		"attributes": map[string]string{"app.tier": "gold", "synthetic": "true"},
	}
	for source, want := range map[string]string{
		`run.outcome == "answered"`:                               "true",
		`run.tool_calls <= 20`:                                    "true",
		`run.tool_calls > 2.5`:                                    "true", // whole and decimal numbers compare
		`run.tool_calls - run.failed_tool_calls == 4`:             "false",
		`run.duration_seconds < 2`:                                "true",
		`"search" in run.tools`:                                   "true",
		`run.tools.exists(t, t.startsWith("open_"))`:              "true",
		`run.tools.all(t, t == "x")`:                              "false",
		`run.tools[0] == "search" && run.tools.size() == 2`:       "true",
		`run.outcome.matches("^ans")`:                             "true",
		`run.evaluations["tone"] >= 0.5`:                          "false",
		`run.evaluations.tone < 0.5`:                              "true",
		`run.evaluations["other"] >= 0.5`:                         "unknown",
		`"other" in run.evaluations`:                              "false",
		`attributes["app.tier"] == "gold"`:                        "true",
		`attributes["missing"] == "x"`:                            "unknown",
		`attributes["missing"] != "x"`:                            "unknown",
		`"missing" in attributes && attributes["missing"] == "x"`: "false",
		`"app.tier" in attributes`:                                "true",
		`has(attributes.synthetic) && !has(attributes.other)`:     "true",
		`attributes.synthetic == "true"`:                          "true",
		// A fact that is missing, or nil, is unknown unless the rest decides.
		`run.cost_usd > 1.0`:                                  "unknown",
		`run.model_calls > 1`:                                 "unknown",
		`!(run.model_calls > 1)`:                              "unknown",
		`run.model_calls > 1 || run.tool_calls == 3`:          "true",
		`run.tool_calls == 3 || run.model_calls > 1`:          "true",
		`run.model_calls > 1 && run.tool_calls == 4`:          "false",
		`run.model_calls > 1 && run.tool_calls == 3`:          "unknown",
		`attributes["missing"] == "x" || run.tool_calls == 3`: "true",
		`attributes["missing"] == "x" || run.model_calls > 1`: "unknown",
		`run.models.exists(m, m == "x")`:                      "unknown",
		`run.tool_calls > 1 ? run.model_calls > 1 : true`:     "unknown",
		`run.tool_calls > 9 ? run.model_calls > 1 : true`:     "true",
		`has(run.tool_calls) && !has(run.model_calls)`:        "true",
		`has(run.cost_usd)`:                                   "false",
		`!has(run.cost_usd) || run.cost_usd < 1.0`:            "true",
		// Real errors are no missing facts.
		`10 / run.failed_tool_calls > 1`: "error",
		`run.tools[7] == "x"`:            "error",
	} {
		got, err := compile(t, source).Eval(vars)
		result := fmt.Sprint(got)
		switch {
		case errors.Is(err, slo.ErrUnknown):
			result = "unknown"
		case err != nil:
			result = "error"
		}
		if result != want {
			t.Errorf("%s: %s (%v), want %s", source, result, err, want)
		}
		if err != nil && got {
			t.Errorf("%s: true beside an error", source)
		}
	}
	if _, err := compile(t, `attributes["x"] == "y"`).Eval(nil); !errors.Is(err, slo.ErrUnknown) {
		t.Errorf("no facts at all: %v", err)
	}
}

// Every fact compiles and evaluates as the type that RunFields says.
func TestRunFields(t *testing.T) {
	samples := map[string]struct {
		value any
		test  string
	}{
		"bool": {true, "%s"}, "int": {7, "%s + 1 == 8"}, "double": {0.5, "%s + 0.5 == 1.0"}, "string": {"x", `%s + "y" == "xy"`},
		"list(string)": {[]string{"x"}, `%s == ["x"]`}, "map(string, double)": {map[string]float64{"x": 1}, `%s["x"] == 1.0`},
	}
	for _, f := range slo.RunFields {
		s, ok := samples[f.Type]
		if !ok || f.Doc == "" {
			t.Errorf("%s: type %q, doc %q", f.Name, f.Type, f.Doc)
			continue
		}
		p := compile(t, fmt.Sprintf(s.test, f.Name))
		if got, err := p.Eval(map[string]any{f.Name: s.value}); !got || err != nil {
			t.Errorf("%s: %v %v", p.Source, got, err)
		}
		if _, err := p.Eval(map[string]any{}); !errors.Is(err, slo.ErrUnknown) {
			t.Errorf("%s without the fact: %v", p.Source, err)
		}
	}
}

func TestAttributesOfAnExpression(t *testing.T) {
	p := compile(t, `attributes["b"] == "x" || "a" in attributes || has(attributes.c) || run.tools.exists(t, t == attributes["d.e"]) || attributes.b == "y"`)
	if want := []string{"a", "b", "c", "d.e"}; !slices.Equal(p.Attributes, want) {
		t.Errorf("%v, want %v", p.Attributes, want)
	}
	if p := compile(t, `run.tool_calls > 1`); len(p.Attributes) != 0 {
		t.Errorf("%v", p.Attributes)
	}
}

func TestBadExpressions(t *testing.T) {
	for source, want := range map[string]string{
		``:                                       "1:1: the expression is empty",
		`  `:                                     "1:1: the expression is empty",
		`run.tol_calls > 1`:                      "1:1: unknown fact run.tol_calls; did you mean run.tool_calls?",
		`true && run.tool_call > 1`:              "1:9: unknown fact run.tool_call; did you mean run.tool_calls?",
		`true &&` + "\n" + `  run.outcom == "x"`: "2:3: unknown fact run.outcom; did you mean run.outcome?",
		`tool_calls > 1`:                         "1:1: unknown name tool_calls; did you mean run.tool_calls?",
		`run == "x"`:                             "1:1: run is no value of its own",
		`run.tool_calls`:                         "1:1: the expression gives int, not a bool",
		`run.outcome == answered`:                "1:16: unknown name answered; expressions know attributes",
		`run.outcome = "x"`:                      "1:13: = is no operator; == compares",
		`run.outcome == "x`:                      "1:16: ",
		`run.cost_usd == 1`:                      "1:14: found no matching overload for '_==_' applied to '(double, int)'; write a whole double as 1.0",
		`size(attributes) > 0`:                   "1:6: name the attribute by a literal",
		`attributes[run.agent] == "x"`:           "name the attribute by a literal",
		`attributes["a" + "b"] == "x"`:           "name the attribute by a literal",
		`attributes.exists(k, k == "x")`:         "1:1: name the attribute by a literal",
		`attributes == {"a": "b"}`:               "1:1: name the attribute by a literal",
		`run.agent in attributes`:                "name the attribute by a literal",
		`attributes.app.tier == "x"`:             `1:1: an attribute with dots in its name is written attributes["app.tier"]`,
		`has(run.cost)`:                          "unknown fact run.cost; did you mean run.cost_usd?",
		`has(attributes["x"])`:                   `ask "name" in attributes`,
		`foo(run.agent)`:                         "1:4: ",
		`"x" in @facts`:                          "1:8: ",
		strings.Repeat("a", 5000):                "size",
		strings.Repeat("(", 2000):                "",
	} {
		p, err := slo.Compile(source)
		var faults slo.Faults
		if p != nil || !errors.As(err, &faults) {
			t.Errorf("%.80s: compiled to %v, %v", source, p, err)
			continue
		}
		first := fmt.Sprintf("%d:%d: %s", faults[0].Line, faults[0].Column, faults[0].Message)
		if !strings.Contains(first, want) || len(faults) > 1 {
			t.Errorf("%.80s: %d faults, first %s, want %s", source, len(faults), first, want)
		}
	}
}

func TestEvaluationCostIsBounded(t *testing.T) {
	p := compile(t, `run.tools.exists(a, run.tools.exists(b, run.tools.exists(c, a + b == c)))`)
	tools := make([]string, 2000)
	for i := range tools {
		tools[i] = fmt.Sprintf("tool_%d", i)
	}
	start := time.Now()
	_, err := p.Eval(map[string]any{"run.tools": tools})
	if err == nil || errors.Is(err, slo.ErrUnknown) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	// An ordinary expression over a long run is within the bound.
	if ok, err := compile(t, `run.tools.exists(t, t == "tool_1999")`).Eval(map[string]any{"run.tools": tools}); !ok || err != nil {
		t.Error(ok, err)
	}
}

func TestProgramsAreSafeForConcurrentUse(t *testing.T) {
	p := compile(t, `run.tool_calls > 5 && run.tools.exists(t, t == attributes["x"])`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 500 {
				got, err := p.Eval(map[string]any{"run.tool_calls": i * 2, "run.tools": []string{"a"}, "attributes": map[string]string{"x": "a"}})
				if got != (i*2 > 5) || err != nil {
					t.Errorf("%d: %v %v", i, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkEval(b *testing.B) {
	vars := map[string]any{"run.tool_calls": 3, "run.outcome": "answered", "run.tools": []string{"a", "b"}, "attributes": map[string]string{"app.synthetic": "false"}}
	for _, source := range []string{`run.tool_calls <= 20 && run.outcome == "answered"`, `attributes["app.synthetic"] == "true"`, `run.tools.exists(t, t == "b")`, `run.cost_usd > 1.0`} {
		p := compile(b, source)
		b.Run(source, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Eval(vars)
			}
		})
	}
}
