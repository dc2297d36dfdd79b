package processor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

// Explainer keeps recorded telemetry, and says of each fact of a run which span
// and attribute it came from. It serves `sloctl derive --why`: nothing of it is
// on the way of spans through the Collector.
type Explainer struct {
	extractor *convention.Extractor
	spans     map[spanRef]*recordedSpan
	logs      []recordedLog
}

type spanRef struct {
	trace pcommon.TraceID
	span  pcommon.SpanID
}

type recordedSpan struct {
	resource pcommon.Resource
	scope    pcommon.InstrumentationScope
	span     ptrace.Span
	probe    *convention.Probe // once asked for
}

type recordedLog struct {
	scope  pcommon.InstrumentationScope
	record plog.LogRecord
}

// NewExplainer returns an explainer that knows no telemetry yet.
func NewExplainer() *Explainer {
	return &Explainer{extractor: convention.New(), spans: map[spanRef]*recordedSpan{}}
}

// Traces keeps spans. They must not change afterwards.
func (x *Explainer) Traces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				ref := spanRef{s.TraceID(), s.SpanID()}
				if _, ok := x.spans[ref]; !ok { // a resend says nothing new
					x.spans[ref] = &recordedSpan{resource: rs.Resource(), scope: ss.Scope(), span: s}
				}
			}
		}
	}
}

// Logs keeps log records. They must not change afterwards.
func (x *Explainer) Logs(ld plog.Logs) {
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				x.logs = append(x.logs, recordedLog{sl.Scope(), r})
			}
		}
	}
}

func (x *Explainer) probe(ref spanRef) *convention.Probe {
	s := x.spans[ref]
	if s == nil {
		return nil
	}
	if s.probe == nil {
		s.probe = x.extractor.Probe(s.scope, s.span)
	}
	return s.probe
}

// Why says where the facts of a run come from, in the order in which people
// read them.
type Why []WhyFact

// WhyFact is one fact and its sources.
type WhyFact struct {
	Name  string `json:"-"`
	Value any    `json:"value"` // as in the report; null when not known
	// How says in words how the value came about, or why there is none.
	How string `json:"how,omitempty"`
	// From are the attributes that it was read from.
	From []WhySource `json:"from,omitempty"`
	// Missing says what was looked for and is not there.
	Missing []WhyMissing `json:"missing,omitempty"`
}

// WhySource is one attribute, or other part, of a span.
type WhySource struct {
	TraceID string `json:"trace_id,omitempty"`
	SpanID  string `json:"span_id,omitempty"`
	Span    string `json:"span,omitempty"` // its name
	// Attribute is a key; other parts stand as "span status", "span name", "span
	// times", "span link", "scope name", "event NAME", "resource KEY", "log record".
	Attribute  string `json:"attribute,omitempty"`
	Says       string `json:"says,omitempty"` // its value, cut after 200 bytes
	Convention string `json:"convention,omitempty"`
	Role       string `json:"role,omitempty"` // what it adds, or why it does not count
}

// WhyMissing is a span that does not carry a fact.
type WhyMissing struct {
	TraceID    string   `json:"trace_id"`
	SpanID     string   `json:"span_id"`
	Span       string   `json:"span"`
	LookedFor  []string `json:"looked_for"` // attribute keys
	Convention string   `json:"convention"`
	// Unused are attributes of these that are there and yet do not say it.
	Unused []WhySource `json:"unused,omitempty"`
}

// MarshalJSON writes an object with a member for each fact, in order.
func (w Why) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	seen := map[string]int{}
	for i := range w {
		name := w[i].Name
		if seen[name]++; seen[name] > 1 {
			name += " " + strconv.Itoa(seen[name])
		}
		out.WriteByte(",{"[bit(i == 0)])
		key, _ := json.Marshal(name)
		out.Write(key)
		out.WriteByte(':')
		var value bytes.Buffer
		encoder := json.NewEncoder(&value)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(&w[i]); err != nil {
			return nil, err
		}
		out.Write(bytes.TrimSpace(value.Bytes()))
	}
	if len(w) == 0 {
		out.WriteByte('{')
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Why explains a run that an engine with [EngineOptions.Sources] judged.
func (x *Explainer) Why(j *Judged) Why {
	report := j.Report()
	var out Why
	for i := range j.Run.Sources {
		f := &j.Run.Sources[i]
		fact := WhyFact{Name: f.Name, Value: report.value(f, j.Run), How: f.How}
		for _, s := range f.From {
			origins := x.origins(s)
			if m, ok := x.missing(s); ok && origins[0].Attribute == "" {
				fact.Missing = append(fact.Missing, m) // what is not there can decide too
			} else {
				fact.From = append(fact.From, origins...)
			}
		}
		for _, s := range f.Missing {
			if m, ok := x.missing(s); ok {
				fact.Missing = append(fact.Missing, m)
			}
		}
		if f.Name == "root" && len(f.From) > 0 {
			if s := x.spans[spanRef{f.From[0].Trace, f.From[0].Span}]; s != nil {
				fact.Value = s.span.Name()
			}
		}
		out = append(out, fact)
		if f.Name == "run" {
			out = append(out, x.service(j, &report)...)
		}
	}
	out = append(out, x.evaluations(j)...)
	out = append(out, failureFacts(j)...)
	return append(out, verdicts(j)...)
}

// value is the fact's value as the report has it.
func (r *Report) value(f *run.Fact, of *run.Run) any {
	if f.Value != "" {
		return f.Value
	}
	known := func(v any, ok bool) any {
		if !ok {
			return nil
		}
		return v
	}
	count := func(n *int64) any { return known(n, n != nil) }
	number := func(v *float64) any { return known(v, v != nil) }
	switch f.Name {
	case "run":
		return r.Run
	case "agent":
		return known(of.Agent, of.Agent != "")
	case "outcome":
		if r.Outcome == slo.OutcomeUnknown.String() {
			return nil
		}
		if r.OutcomeReason != "" {
			return r.Outcome + " (" + r.OutcomeReason + ")"
		}
		return r.Outcome
	case "duration_seconds":
		return number(r.DurationSeconds)
	case "first_token_seconds":
		return number(rounded(of.FirstToken, 1e6))
	case "model_calls":
		return known(r.ModelCalls, r.ModelCalls != nil)
	case "tokens.input":
		return count(r.Tokens.Input)
	case "tokens.cached_input":
		return count(r.Tokens.CachedInput)
	case "tokens.cache_write":
		return count(r.Tokens.CacheWrite)
	case "tokens.output":
		return count(r.Tokens.Output)
	case "tokens.reasoning":
		return count(r.Tokens.Reasoning)
	case "cost_usd":
		return number(r.CostUSD)
	case "tool_calls":
		return 0
	case "tool_calls.unseen":
		return r.ToolCalls.Unseen
	}
	return nil
}

// origins are the attributes that say a fact of a span.
func (x *Explainer) origins(s run.Source) []WhySource {
	base := WhySource{TraceID: s.Trace.String(), SpanID: s.Span.String(), Role: s.Role}
	p := x.probe(spanRef{s.Trace, s.Span})
	if p == nil {
		return []WhySource{x.logged(s, base, nil)}
	}
	base.Span = p.Facts().SpanName
	origins := p.Origins(s.Field)
	if len(origins) == 0 {
		return []WhySource{x.logged(s, base, p.Facts())}
	}
	out := make([]WhySource, len(origins))
	for i, o := range origins {
		out[i] = base
		out[i].Attribute, out[i].Says, out[i].Convention = o.Attribute, o.Value, o.Convention
	}
	return out
}

// logged finds the log record that tells the fact: one that stands for the span
// itself where there is no such span, else a note to the span.
func (x *Explainer) logged(s run.Source, base WhySource, about *convention.Facts) WhySource {
	var f convention.Facts
	for _, l := range x.logs {
		if l.record.TraceID() != s.Trace || !x.extractor.Log(&f, l.scope, l.record) {
			continue
		}
		tells := about != nil && f.Kind == convention.Note && convention.Says(&f, s.Field) && (f.ParentID == s.Span ||
			f.CallID != 0 && f.CallID == about.CallID || f.ResponseID != 0 && f.ResponseID == about.ResponseID)
		if tells || about == nil && f.SpanID == s.Span {
			base.Attribute, base.Convention = "log record", f.Convention
			base.Says = cmp.Or(l.record.EventName(), eventName(l.record))
			if about == nil {
				base.SpanID = l.record.SpanID().String() // the span that it hangs on
			}
			return base
		}
	}
	if about == nil {
		base.Attribute = "log record"
	}
	return base
}

func eventName(r plog.LogRecord) string {
	if v, ok := r.Attributes().Get("event.name"); ok {
		return v.AsString()
	}
	return ""
}

func (x *Explainer) missing(s run.Source) (WhyMissing, bool) {
	p := x.probe(spanRef{s.Trace, s.Span})
	if p == nil {
		return WhyMissing{}, false
	}
	f := p.Facts()
	spoken := cmp.Or(f.Convention, f.TentativeOf)
	m := WhyMissing{TraceID: s.Trace.String(), SpanID: s.Span.String(), Span: f.SpanName,
		LookedFor: convention.Keys(s.Field, spoken), Convention: spoken}
	unused, why := p.Unused(s.Field, m.LookedFor)
	for _, o := range unused {
		m.Unused = append(m.Unused, WhySource{Attribute: o.Attribute, Says: o.Value, Convention: o.Convention, Role: why})
	}
	return m, true
}

// service explains service and environment, which stand on the root's resource.
func (x *Explainer) service(j *Judged, r *Report) []WhyFact {
	ref := spanRef{j.Run.TraceID, j.Run.RootSpanID}
	s := x.spans[ref]
	if s == nil {
		for i := range j.Run.Sources {
			for _, from := range j.Run.Sources[i].From {
				if s == nil {
					ref = spanRef{from.Trace, from.Span}
					s = x.spans[ref]
				}
			}
		}
	}
	var out []WhyFact
	for _, about := range [...]struct {
		name, value, said, file string
		keys                    []string
	}{
		{"service", r.Service, j.Run.Service, "", []string{"service.name"}},
		{"environment", r.Environment, j.Run.Environment, "", []string{"deployment.environment.name", "deployment.environment"}},
	} {
		f := WhyFact{Name: about.name}
		if about.value != "" {
			f.Value = about.value
		}
		if j.File != nil && about.value != about.said {
			f.How = "the file's name for it"
		}
		if j.File == nil {
			f.How = "no file matches the run"
		}
		if s != nil {
			span := WhySource{TraceID: ref.trace.String(), SpanID: ref.span.String(), Span: s.span.Name()}
			for _, key := range about.keys {
				if v, ok := s.resource.Attributes().Get(key); ok {
					span.Attribute, span.Says, span.Convention = "resource "+key, v.AsString(), "otlp"
					f.From = append(f.From, span)
					break
				}
			}
			if len(f.From) == 0 {
				f.Missing = append(f.Missing, WhyMissing{TraceID: span.TraceID, SpanID: span.SpanID, Span: span.Span, LookedFor: about.keys, Convention: "otlp"})
			}
		}
		out = append(out, f)
	}
	return out
}

// evaluations explains each evaluation that judged the run.
func (x *Explainer) evaluations(j *Judged) (out []WhyFact) {
	for i := range j.Run.Evaluations {
		e := &j.Run.Evaluations[i]
		f := WhyFact{Name: "evaluations." + strconv.Itoa(i+1), Value: evaluationText(e)}
		f.From, f.How = x.evaluationOrigins(e)
		out = append(out, f)
	}
	if len(out) > 0 || j.File == nil {
		return out
	}
	for i := range j.File.SLOs {
		if len(j.File.SLOs[i].Evaluations) > 0 {
			return []WhyFact{{Name: "evaluations", Value: nil, How: "none came that names a span, the trace, a response id or the run id of this run: log records and span events gen_ai.evaluation.result, evaluations.N.* and annotations.N.* attributes, evaluators' spans"}}
		}
	}
	return nil
}

func evaluationText(e *convention.Evaluation) string {
	text := cmp.Or(e.Name, "(no name)") + ":"
	if e.Failed {
		return text + " the evaluator failed"
	}
	if !math.IsNaN(e.Score) {
		text += " " + strconv.FormatFloat(e.Score, 'g', -1, 64)
	}
	if e.Label != "" {
		text += " " + e.Label
	}
	return text
}

func (x *Explainer) evaluationOrigins(e *convention.Evaluation) (out []WhySource, how string) {
	var f convention.Facts
	for _, l := range x.logs {
		if !x.extractor.Log(&f, l.scope, l.record) {
			continue
		}
		if !slices.ContainsFunc(f.Evaluations, func(g convention.Evaluation) bool { return convention.SameEvaluation(e, &g) }) {
			continue
		}
		attributes := l.record.Attributes()
		if attributes.Len() == 0 && l.record.Body().Type() == pcommon.ValueTypeMap {
			attributes = l.record.Body().Map()
		}
		source := WhySource{Attribute: "log record", Convention: f.Convention, Says: cmp.Or(l.record.EventName(), "gen_ai.evaluation.result")}
		if !l.record.TraceID().IsEmpty() {
			source.TraceID, source.SpanID = l.record.TraceID().String(), l.record.SpanID().String()
			if s := x.spans[spanRef{l.record.TraceID(), l.record.SpanID()}]; s != nil {
				source.Span = s.span.Name()
			}
		}
		out = append(out, source)
		for k, v := range attributes.All() {
			if strings.HasPrefix(k, "gen_ai.evaluation.") || k == "gen_ai.response.id" || k == "error.type" {
				part := source
				part.Attribute, part.Says = k, v.AsString()
				out = append(out, part)
			}
		}
		return out, "in a log record"
	}
	for ref := range x.spans {
		p := x.probe(ref)
		if !slices.ContainsFunc(p.Facts().Evaluations, func(g convention.Evaluation) bool { return convention.SameEvaluation(e, &g) }) {
			continue
		}
		for _, o := range p.EvaluationOrigins(e) {
			out = append(out, WhySource{TraceID: ref.trace.String(), SpanID: ref.span.String(), Span: p.Facts().SpanName,
				Attribute: o.Attribute, Says: o.Value, Convention: o.Convention})
		}
		return out, ""
	}
	return nil, ""
}

// decidedBy names the facts that a kind of SLI goes by.
var decidedBy = map[string]string{
	"completion":  "outcome",
	"correctness": "outcome, evaluations",
	"latency":     "duration_seconds, outcome",
	"grounding":   "outcome, retrievals, tool_calls, evaluations",
	"cost":        "cost_usd, outcome",
	"tool_free":   "outcome, tool_calls, retrievals",
	"no_progress": "tool_calls (name, arguments and result of each), outcome",
	"abstention":  "outcome",

	"abandoned_spend":     "outcome, duration_seconds, and the calls after the caller left or the deadline passed",
	"retry_discipline":    "tool_calls (name, arguments, failure and time of each)",
	"duplicate_effects":   "tool_calls (name, arguments and tool call id of those that succeeded)",
	"stuck_after_blocker": "blocker, outcome, cost_usd",
	"handoff":             "outcome, tool_calls (arguments of the hand-over)",
	"forbidden_actions":   "tool_calls (name and arguments of each)",

	"custom": "whatever its expression names",
}

// verdictFrom says which facts a verdict follows from.
func verdictFrom(o *slo.Objective, r *sli.Result) string {
	if r.Steps != nil {
		return stepsFrom(o, r.Steps)
	}
	how := "from " + cmp.Or(decidedBy[o.SLI], "the facts above")
	for i := range o.Evaluations {
		how += [...]string{" named ", ", "}[bit(i > 0)] + o.Evaluations[i].Name
	}
	if r.Value != nil {
		how += "; measured: " + strconv.FormatFloat(*rounded(r.Value, 1e6), 'f', -1, 64)
		for _, k := range sli.Kinds {
			if k.Name == o.SLI && k.Value != "" {
				how += " " + k.Value
			}
		}
	}
	return how
}

// stepsFrom lists the steps that an SLO of steps counts, alike ones together.
func stepsFrom(o *slo.Objective, steps []sli.Step) string {
	if len(steps) == 0 {
		return "no " + o.EventName() + " that it counts"
	}
	parts := make([]string, len(steps))
	for i := range steps {
		s := &steps[i]
		parts[i] = fmt.Sprintf("%d %s %s", s.Count, s.Verdict, cmp.Or(s.Tool, s.Agent))
		if s.Reason != "" {
			parts[i] += " (" + s.Reason + ")"
		}
	}
	return "from its " + o.EventName() + "s: " + strings.Join(parts, ", ")
}

// verdicts close the explanation: they follow from the facts above.
func verdicts(j *Judged) (out []WhyFact) {
	for _, r := range j.Results {
		f := WhyFact{Name: "slos." + r.SLO, Value: r.Verdict.String()}
		if r.Reason != "" {
			f.Value = fmt.Sprintf("%s (%s)", r.Verdict, r.Reason)
		}
		for i := range j.File.SLOs {
			if o := &j.File.SLOs[i]; o.Name == r.SLO {
				f.How = verdictFrom(o, &r)
				for _, detail := range []string{failureDetail(j.File, o, j.Run), spendDetail(j.File, o, j.Run), providerDetail(o, j.Run)} {
					if detail != "" {
						f.How += "; " + detail
					}
				}
			}
		}
		out = append(out, f)
	}
	return out
}
