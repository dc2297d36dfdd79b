package summary

import (
	"encoding/hex"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/sli"
)

// Append adds the summary as a span to td, under the scope of this module.
// Summaries of one service that follow each other share a resource.
func Append(td ptrace.Traces, s *Summary) {
	span := spansOf(td, s.Service, s.Environment).AppendEmpty()
	span.SetTraceID(s.TraceID)
	span.SetSpanID(SpanID(s.Run, s.Results))
	span.SetParentSpanID(s.RootSpanID)
	span.SetName(namePrefix + s.Agent)
	span.SetKind(ptrace.SpanKindInternal)
	span.SetStartTimestamp(pcommon.Timestamp(s.Start))
	span.SetEndTimestamp(pcommon.Timestamp(s.End))
	put(span.Attributes(), s)
}

// spansOf finds or makes the place for summaries of that service.
func spansOf(td ptrace.Traces, service, environment string) ptrace.SpanSlice {
	if n := td.ResourceSpans().Len(); n > 0 {
		last := td.ResourceSpans().At(n - 1)
		if scopes := last.ScopeSpans(); scopes.Len() == 1 && Is(scopes.At(0).Scope()) &&
			attribute(last.Resource(), "service.name") == service &&
			attribute(last.Resource(), "deployment.environment.name") == environment {
			return scopes.At(0).Spans()
		}
	}
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", service)
	if environment != "" {
		rs.Resource().Attributes().PutStr("deployment.environment.name", environment)
	}
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName(Scope)
	return ss.Spans()
}

func attribute(r pcommon.Resource, name string) string {
	if v, ok := r.Attributes().Get(name); ok {
		return v.Str()
	}
	return ""
}

func put(m pcommon.Map, s *Summary) {
	m.EnsureCapacity(attributesOf(s))
	var id [2 * len(s.Run)]byte
	hex.Encode(id[:], s.Run[:])
	m.PutStr(attrRun, string(id[:]))
	m.PutBool(attrFirst, s.First)
	m.PutBool(attrMatched, s.Matched)
	text := func(name, value string) {
		if value != "" {
			m.PutStr(name, value)
		}
	}
	text(attrService, s.Service)
	text(attrEnvironment, s.Environment)
	text(attrAgent, s.Agent)
	text(attrOutcome, s.Outcome)
	text(attrCompletion, s.Completion)
	text(attrExcluded, s.Excluded)

	for i := range s.Results {
		r := &s.Results[i]
		n := namesOf(r.SLO)
		m.PutStr(n.verdict, r.Verdict.String())
		if r.Reason != "" {
			m.PutStr(n.reason, r.Reason)
		}
		if r.Value != nil && finite(*r.Value) {
			m.PutDouble(n.value, *r.Value)
		}
		if r.Steps != nil {
			putSteps(m.PutEmptySlice(attrSteps+r.SLO), r.Steps)
		}
	}
	for _, name := range sortedKeys(s.Dimensions) {
		m.PutStr(attrDimension+name, s.Dimensions[name])
	}
	for _, c := range s.ToolCalls {
		add(m, attrToolCalls+c.Result+"."+c.Tool, c.Count)
	}
	for _, c := range s.Tokens {
		add(m, attrTokens+c.Type+"."+c.Model, c.Count)
	}
	putFailures(m, s)
	for _, c := range s.Faults {
		add(m, attrFaults+c.Fault+"."+c.Model, c.Count)
	}
	if s.Failovers > 0 {
		m.PutInt(attrFailovers, s.Failovers)
	}
	for _, c := range s.Signals {
		add(m, attrSignals+c.Signal, c.Count)
	}
	for i := range s.Waste {
		putWaste(m, &s.Waste[i])
	}

	if s.DurationSeconds != nil && isAmount(*s.DurationSeconds) {
		m.PutDouble(attrDuration, *s.DurationSeconds)
	}
	if s.CostUSD != nil && isAmount(*s.CostUSD) {
		m.PutDouble(attrCost, *s.CostUSD)
	}
	if s.ModelCalls != nil && *s.ModelCalls >= 0 {
		m.PutInt(attrModelCalls, int64(*s.ModelCalls))
	}
	if p := s.SamplingProbability; p > 0 && p <= 1 {
		m.PutDouble(attrSampling, p)
	}
	if s.Biased {
		m.PutBool(attrBiased, true)
	}
}

func putWaste(m pcommon.Map, w *sli.Waste) {
	for _, c := range w.Calls {
		add(m, attrWasted+wastedCalls+w.Cause+"."+c.Tool, c.Count)
	}
	if w.Tokens > 0 {
		m.PutInt(attrWasted+wastedTokens+w.Cause, w.Tokens)
	}
	if isAmount(w.USD) && w.USD > 0 {
		m.PutDouble(attrWasted+wastedUSD+w.Cause, w.USD)
	}
	if isAmount(w.Seconds) {
		m.PutDouble(attrWasted+wastedSeconds+w.Cause, w.Seconds)
	}
}

// attributesOf is how many attributes the summary's span has at most: a run
// makes one such span, and room that is left over is most of its memory.
func attributesOf(s *Summary) int {
	n := 14 + len(s.Results) + len(s.Dimensions) + len(s.ToolCalls) + len(s.Tokens) + len(s.ToolFailures) + len(s.DuplicateEffects) + len(s.Faults) + len(s.Signals)
	for i := range s.Waste {
		n += 3 + len(s.Waste[i].Calls)
	}
	if s.FirstWrong != nil {
		n += 5
	}
	if s.Blocker != nil {
		n += 5
	}
	for i := range s.Results {
		if s.Results[i].Reason != "" {
			n++
		}
		if s.Results[i].Value != nil {
			n++
		}
		if s.Results[i].Steps != nil {
			n++
		}
	}
	return n
}

// finite and isAmount keep out what [Parse] would refuse the whole span for: a
// measurement that cannot be is not known, and the verdicts still count.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func isAmount(v float64) bool { return finite(v) && v >= 0 }

// add counts; a summary may list the same tool or model twice.
func add(m pcommon.Map, name string, n int64) {
	if n < 0 {
		return
	}
	v, found := m.GetOrPutEmpty(name)
	if found {
		n += v.Int()
	}
	v.SetInt(n)
}

func sortedKeys(m map[string]string) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
