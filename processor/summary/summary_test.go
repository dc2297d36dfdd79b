package summary

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

func pointer[T any](v T) *T { return &v }

// full is a summary with every field set.
func full() *Summary {
	s := &Summary{
		Run: [16]byte{1, 2, 3, 255}, TraceID: pcommon.TraceID{9}, RootSpanID: pcommon.SpanID{8},
		First: true, Matched: true,
		Service: "support-agent", Environment: "prod", Agent: "triage", Outcome: "answered",
		Completion: "root_ended", Excluded: "load_test", Start: 1_000_000_000, End: 3_500_000_000,
		Results: []sli.Result{
			{SLO: "completion", Verdict: slo.Good},
			{SLO: "latency", Verdict: slo.Bad, Reason: "too_slow", Value: pointer(2.5)},
			{SLO: "cost", Verdict: slo.Unknown, Reason: "cost_unknown", Value: pointer(0.0)},
			{SLO: "grounding", Verdict: slo.Excluded, Reason: "nothing_to_ground"},
			{SLO: "tool_calls", Verdict: slo.Bad, Reason: "transient", Value: pointer(2.0), Steps: []sli.Step{
				{Agent: "triage", Tool: "search_docs", Verdict: slo.Good, Count: 3},
				{Agent: "triage", Tool: "mcp/get.status", Verdict: slo.Bad, Reason: "transient", Count: 2},
			}},
			{SLO: "sub_agents", Verdict: slo.Excluded, Reason: "no_steps", Value: pointer(0.0), Steps: []sli.Step{}},
		},
		Dimensions: map[string]string{"version": "1.2.3", "tenant": "a.b"},
		ToolCalls:  []ToolCount{{"search_docs", "ok", 3}, {"mcp/get.status", "bad_args", 1}},
		Tokens:     []TokenCount{{"gpt-4.1-mini", "input", 1200}, {"gpt-4.1-mini", "output", 0}},
		Faults:     []FaultCount{{"gpt-4.1-mini", "rate_limit", 2}, {"", "timeout", 1}},
		Failovers:  1,
		Signals:    []SignalCount{{"guardrail_blocked", 1}, {"judge", 3}},
		Waste: []sli.Waste{
			{Cause: "repeated_call", Calls: []sli.ToolCalls{{Tool: "mcp/get.status", Count: 4}, {Tool: "search_docs", Count: 2}}, Tokens: 900, USD: 0.002, Seconds: 1.5},
			{Cause: "caller_gone", Seconds: 0.25},
		},

		ToolFailures:     []FailureCount{{"mcp/get.status", "bad_args", "recovered", 1}, {"search.docs", "transient", "permanent", 2}},
		DuplicateEffects: []EffectCount{{"refund.order", 1}},
		FirstWrong:       &FirstWrong{What: "failed_call", Name: "search.docs", Class: "transient", Step: 2, SpanID: pcommon.SpanID{7, 1}},
		Blocker:          &Blocker{Tool: "search.docs", Class: "transient", Steps: 4, Seconds: pointer(1.5), USD: pointer(0.01)},

		DurationSeconds: pointer(2.5), CostUSD: pointer(0.0125), ModelCalls: pointer(4), SamplingProbability: 0.25, Biased: true,
	}
	s.SpanID = SpanID(s.Run, s.Results)
	return s
}

func roundTrip(t testing.TB, s *Summary) *Summary {
	t.Helper()
	td := ptrace.NewTraces()
	Append(td, s)
	// Over the wire, as between two Collectors.
	var m ptrace.ProtoMarshaler
	data, err := m.MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	var u ptrace.ProtoUnmarshaler
	if td, err = u.UnmarshalTraces(data); err != nil {
		t.Fatal(err)
	}
	scope := td.ResourceSpans().At(0).ScopeSpans().At(0)
	if !Is(scope.Scope()) {
		t.Fatalf("scope %q is not recognised", scope.Scope().Name())
	}
	got, err := Parse(scope.Spans().At(0))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRoundTrip(t *testing.T) {
	for name, s := range map[string]*Summary{
		"full":      full(),
		"unmatched": {Run: [16]byte{7}, Service: "x", Outcome: "lost", Start: 5, End: 6},
		"later":     {Run: [16]byte{7}, Matched: true, Results: []sli.Result{{SLO: "correctness", Verdict: slo.Good, Value: pointer(0.9)}}},
	} {
		t.Run(name, func(t *testing.T) {
			s.SpanID = SpanID(s.Run, s.Results)
			if got := roundTrip(t, s); !reflect.DeepEqual(got, s) {
				t.Errorf("came back as\n%+v\nnot\n%+v", got, s)
			}
		})
	}
}

// Whatever names and numbers a run has, its summary comes back as it was.
func TestRoundTripOfRandomSummaries(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := random(r)
		if got := roundTrip(t, s); !reflect.DeepEqual(got, s) {
			t.Fatalf("came back as\n%+v\nnot\n%+v", got, s)
		}
	}
}

func random(r *rand.Rand) *Summary {
	words := []string{"a", "a.b", "agentslo.verdict.x", "", "ü", "a b", `"`, "x\ny", strings.Repeat("long.", 50), "ok", "cost"}
	word := func() string { return words[r.IntN(len(words))] }
	maybe := func() *float64 {
		if r.IntN(2) == 0 {
			return nil
		}
		return pointer(r.ExpFloat64())
	}
	s := &Summary{Matched: r.IntN(2) == 0, First: r.IntN(2) == 0, Service: word(), Environment: word(), Agent: word(),
		Outcome: word(), Completion: word(), Excluded: word(), Start: r.Uint64(), End: r.Uint64(),
		DurationSeconds: maybe(), CostUSD: maybe()}
	for i := range s.Run {
		s.Run[i] = byte(r.Uint32())
	}
	seen := map[string]bool{"": true} // an SLO has a name, and one verdict a summary
	for range r.IntN(6) {
		name := word()
		if !seen[name] {
			seen[name] = true
			result := sli.Result{SLO: name, Verdict: slo.Verdicts[r.IntN(4)], Reason: word(), Value: maybe()}
			if r.IntN(2) == 0 {
				result.Steps = []sli.Step{}
				for range r.IntN(4) {
					result.Steps = append(result.Steps, sli.Step{Agent: word(), Tool: word(), Verdict: slo.Verdicts[r.IntN(4)], Reason: word(), Count: r.Int64()})
				}
			}
			s.Results = append(s.Results, result)
		}
	}
	for range r.IntN(4) {
		if s.Dimensions == nil {
			s.Dimensions = map[string]string{}
		}
		s.Dimensions[word()] = word()
	}
	counted := map[[2]string]bool{}
	for range r.IntN(4) {
		c := ToolCount{Tool: word(), Result: "ok", Count: r.Int64()}
		if !counted[[2]string{c.Tool}] {
			counted[[2]string{c.Tool}] = true
			s.ToolCalls = append(s.ToolCalls, c)
			s.Tokens = append(s.Tokens, TokenCount{Model: c.Tool, Type: "input", Count: r.Int64()})
			s.ToolFailures = append(s.ToolFailures, FailureCount{c.Tool, "auth", "permanent", r.Int64()})
			s.DuplicateEffects = append(s.DuplicateEffects, EffectCount{c.Tool, r.Int64()})
		}
	}
	if r.IntN(2) == 0 {
		s.FirstWrong = &FirstWrong{What: "repeated_call", Name: word(), Class: word(), Step: r.Int64(), SpanID: pcommon.SpanID{byte(r.Uint32()), 1}}
	}
	if r.IntN(2) == 0 {
		s.Blocker = &Blocker{Tool: word(), Class: word(), Steps: r.Int64(), Seconds: maybe(), USD: maybe()}
	}
	s.SpanID = SpanID(s.Run, s.Results)
	return s
}

// What cannot be true is left out, and the verdicts still arrive.
func TestImpossibleMeasurementsDoNotCostTheVerdicts(t *testing.T) {
	s := full()
	nan := 0.0
	nan /= nan
	s.DurationSeconds, s.CostUSD, s.SamplingProbability = pointer(-1.0), &nan, 7
	s.Results[1].Value = &nan
	s.ToolCalls[0].Count = -3
	got := roundTrip(t, s)
	if got.DurationSeconds != nil || got.CostUSD != nil || got.SamplingProbability != 0 || got.Results[1].Value != nil || len(got.ToolCalls) != 1 {
		t.Errorf("impossible numbers came through: %+v", got)
	}
	if len(got.Results) != 6 || got.Results[1].Verdict != slo.Bad {
		t.Errorf("verdicts came back as %+v", got.Results)
	}
}

func TestSpanIDDependsOnRunAndSLOsOnly(t *testing.T) {
	run := [16]byte{1}
	id := SpanID(run, []sli.Result{{SLO: "a"}, {SLO: "b"}})
	if SpanID(run, []sli.Result{{SLO: "b", Verdict: slo.Bad, Reason: "x"}, {SLO: "a"}}) != id {
		t.Error("order or verdict changed the span id: a resend would count twice")
	}
	for name, other := range map[string]pcommon.SpanID{
		"another run":  SpanID([16]byte{2}, []sli.Result{{SLO: "a"}, {SLO: "b"}}),
		"fewer SLOs":   SpanID(run, []sli.Result{{SLO: "a"}}),
		"no SLOs":      SpanID(run, nil),
		"joined names": SpanID(run, []sli.Result{{SLO: "ab"}}),
	} {
		if other == id || other.IsEmpty() {
			t.Errorf("%s has span id %s like the first", name, other)
		}
	}
}

func TestSpanStandsBesideItsRun(t *testing.T) {
	s := full()
	td := ptrace.NewTraces()
	Append(td, s)
	Append(td, &Summary{Run: [16]byte{2}, Service: s.Service, Environment: s.Environment})
	Append(td, &Summary{Run: [16]byte{3}, Service: "other"})
	if n := td.ResourceSpans().Len(); n != 2 {
		t.Errorf("%d resources for two services", n)
	}
	rs := td.ResourceSpans().At(0)
	span := rs.ScopeSpans().At(0).Spans().At(0)
	if span.Name() != "agentslo.run triage" || span.TraceID() != s.TraceID || span.ParentSpanID() != s.RootSpanID ||
		span.StartTimestamp() != 1_000_000_000 || span.EndTimestamp() != 3_500_000_000 {
		t.Errorf("span %q in trace %s below %s", span.Name(), span.TraceID(), span.ParentSpanID())
	}
	if v, _ := rs.Resource().Attributes().Get("service.name"); v.Str() != "support-agent" {
		t.Errorf("service.name is %q", v.Str())
	}
	if v, _ := rs.Resource().Attributes().Get("deployment.environment.name"); v.Str() != "prod" {
		t.Errorf("deployment.environment.name is %q", v.Str())
	}
}

func TestParseRefusesWhatCannotBeCounted(t *testing.T) {
	for name, spoil := range map[string]func(pcommon.Map){
		"no run":              func(m pcommon.Map) { m.Remove(attrRun) },
		"no matched":          func(m pcommon.Map) { m.Remove(attrMatched) },
		"short run id":        func(m pcommon.Map) { m.PutStr(attrRun, "00") },
		"run id not hex":      func(m pcommon.Map) { m.PutStr(attrRun, strings.Repeat("zz", 16)) },
		"run id not text":     func(m pcommon.Map) { m.PutInt(attrRun, 1) },
		"unheard-of verdict":  func(m pcommon.Map) { m.PutStr(attrVerdict+"latency", "fine") },
		"verdict not text":    func(m pcommon.Map) { m.PutBool(attrVerdict+"latency", true) },
		"verdict on nothing":  func(m pcommon.Map) { m.PutStr(attrVerdict, "good") },
		"negative calls":      func(m pcommon.Map) { m.PutInt(attrToolCalls+"ok.x", -1) },
		"calls of nothing":    func(m pcommon.Map) { m.PutInt(attrToolCalls+"ok", 1) },
		"negative waste":      func(m pcommon.Map) { m.PutInt(attrWasted+"calls.caller_gone.x", -1) },
		"waste of nothing":    func(m pcommon.Map) { m.PutInt(attrWasted+"calls.", 1) },
		"wasted time as text": func(m pcommon.Map) { m.PutStr(attrWasted+"seconds.caller_gone", "1") },
		"negative faults":     func(m pcommon.Map) { m.PutInt(attrFaults+"timeout.m", -1) },
		"signals as text":     func(m pcommon.Map) { m.PutStr(attrSignals+"judge", "1") },
		"failovers as text":   func(m pcommon.Map) { m.PutStr(attrFailovers, "1") },
		"tokens as text":      func(m pcommon.Map) { m.PutStr(attrTokens+"input.m", "12") },
		"negative cost":       func(m pcommon.Map) { m.PutDouble(attrCost, -0.1) },
		"cost as text":        func(m pcommon.Map) { m.PutStr(attrCost, "1") },
		"probability above 1": func(m pcommon.Map) { m.PutDouble(attrSampling, 1.5) },
		"first as text":       func(m pcommon.Map) { m.PutStr(attrFirst, "true") },
		"steps as text":       func(m pcommon.Map) { m.PutStr(attrSteps+"tool_calls", "3") },
		"a step as text":      func(m pcommon.Map) { m.PutEmptySlice(attrSteps + "tool_calls").AppendEmpty().SetStr("good") },
		"step without verdict": func(m pcommon.Map) {
			m.PutEmptySlice(attrSteps+"tool_calls").AppendEmpty().SetEmptyMap().PutInt(stepCount, 1)
		},
		"negative steps": func(m pcommon.Map) {
			step := m.PutEmptySlice(attrSteps + "tool_calls").AppendEmpty().SetEmptyMap()
			step.PutStr(stepVerdict, "good")
			step.PutInt(stepCount, -1)
		},
		"failures of no persistence": func(m pcommon.Map) { m.PutInt(attrToolFailures+"auth.x", 1) },
		"negative failures":          func(m pcommon.Map) { m.PutInt(attrToolFailures+"auth.permanent.x", -1) },
		"negative effects":           func(m pcommon.Map) { m.PutInt(attrDuplicates+"x", -1) },
		"short span id":              func(m pcommon.Map) { m.PutStr(attrFirstWrongSpan, "00") },
		"blocked steps as text":      func(m pcommon.Map) { m.PutStr(attrBlockerSteps, "1") },
		"negative model calls":       func(m pcommon.Map) { m.PutInt(attrModelCalls, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			td := ptrace.NewTraces()
			Append(td, full())
			span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
			spoil(span.Attributes())
			if s, err := Parse(span); err == nil {
				t.Errorf("parsed as %+v", s)
			}
		})
	}
}

// A newer processor may say more; values may come as integers; order is free.
func TestParseIsTolerant(t *testing.T) {
	td := ptrace.NewTraces()
	s := full()
	Append(td, s)
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	reversed := ptrace.NewSpan()
	span.CopyTo(reversed)
	reversed.Attributes().Clear()
	reversed.Attributes().PutStr("agentslo.of_a_newer_version", "x")
	var names []string
	for name := range span.Attributes().All() {
		names = append(names, name)
	}
	for i := len(names) - 1; i >= 0; i-- {
		v, _ := span.Attributes().Get(names[i])
		v.CopyTo(reversed.Attributes().PutEmpty(names[i]))
	}
	reversed.Attributes().PutInt(attrCost, 2)
	got, err := Parse(reversed)
	if err != nil {
		t.Fatal(err)
	}
	if *got.CostUSD != 2 || len(got.Results) != 6 || got.Results[4].Reason != "too_slow" || *got.Results[4].Value != 2.5 ||
		len(got.Results[1].Steps) != 2 || got.Results[0].Steps == nil {
		t.Errorf("parsed as %+v", got)
	}
}

// The documented attributes are exactly those that a full summary carries.
func TestAttributesAreDocumented(t *testing.T) {
	td := ptrace.NewTraces()
	Append(td, full())
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	types := map[pcommon.ValueType]string{pcommon.ValueTypeStr: "string", pcommon.ValueTypeBool: "bool",
		pcommon.ValueTypeInt: "int", pcommon.ValueTypeDouble: "double", pcommon.ValueTypeSlice: "list of maps"}
	seen := map[string]bool{}
	for name, v := range span.Attributes().All() {
		row := documented(name)
		if row == nil {
			t.Errorf("%s is not documented", name)
			continue
		}
		seen[row.Name] = true
		if got := types[v.Type()]; got != row.Type {
			t.Errorf("%s is %s, documented as %s", name, got, row.Type)
		}
	}
	for _, a := range Attributes {
		if !seen[a.Name] {
			t.Errorf("%s is documented, and a full summary does not carry it", a.Name)
		}
	}
}

func documented(name string) *Attribute {
	for i := range Attributes {
		a := &Attributes[i]
		fixed, _, named := strings.Cut(a.Name, "<")
		if name == a.Name || named && strings.HasPrefix(name, fixed) {
			return a
		}
	}
	return nil
}

// attributes.md is for READMEs to include.
func TestTableFile(t *testing.T) {
	data, err := os.ReadFile("attributes.md")
	if err != nil || string(data) != Table() {
		t.Errorf("attributes.md does not hold the table; it should be:\n%s", Table())
	}
}

// Whatever arrives: an error or a summary that can be sent again, never a panic.
func FuzzParse(f *testing.F) {
	var m ptrace.ProtoMarshaler
	td := ptrace.NewTraces()
	Append(td, full())
	data, err := m.MarshalTraces(td)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var u ptrace.ProtoUnmarshaler
		td, err := u.UnmarshalTraces(data)
		if err != nil {
			return
		}
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					s, err := Parse(span)
					if err != nil {
						continue
					}
					out := ptrace.NewTraces()
					Append(out, s)
					if _, err := Parse(out.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)); err != nil {
						t.Errorf("what was parsed cannot be sent again: %v", err)
					}
				}
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s := full()
	b.ReportAllocs()
	td := ptrace.NewTraces()
	for i := 0; b.Loop(); i++ {
		if i%64 == 0 {
			td = ptrace.NewTraces()
		}
		Append(td, s)
	}
}

func BenchmarkParse(b *testing.B) {
	td := ptrace.NewTraces()
	Append(td, full())
	span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(span); err != nil {
			b.Fatal(err)
		}
	}
}

// One attribute of any name, type and value on an otherwise good span.
func FuzzParseAttribute(f *testing.F) {
	for _, a := range Attributes {
		f.Add(a.Name, uint8(0), "good", int64(1), 0.5)
		f.Add(a.Name, uint8(2), "", int64(-1), -1.0)
	}
	f.Fuzz(func(t *testing.T, name string, kind uint8, text string, n int64, x float64) {
		td := ptrace.NewTraces()
		Append(td, full())
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		switch kind % 6 {
		case 0:
			span.Attributes().PutStr(name, text)
		case 1:
			span.Attributes().PutBool(name, n > 0)
		case 2:
			span.Attributes().PutInt(name, n)
		case 3:
			span.Attributes().PutDouble(name, x)
		case 4:
			span.Attributes().PutEmptyMap(name).PutStr(text, text)
		case 5:
			span.Attributes().PutEmpty(name)
		}
		s, err := Parse(span)
		if err != nil {
			return
		}
		if got := roundTrip(t, s); !reflect.DeepEqual(normal(got), normal(s)) {
			t.Errorf("came back as\n%+v\nnot\n%+v", got, s)
		}
	})
}

// normal leaves out what may change on the way: the span id goes with the SLOs.
func normal(s *Summary) *Summary {
	n := *s
	n.SpanID = pcommon.SpanID{}
	return &n
}
