package convention

import (
	"cmp"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Evaluations come as log records, span events, numbered attributes, carrier
// spans with a link, annotation spans and evaluators' spans: see each reader.

type evaluationTarget uint8

const (
	targetSpan  evaluationTarget = iota // the span that holds it
	targetTrace                         // its trace
	targetNone                          // a session, which is no run
)

// numberedEvaluation is one of evaluations.N.… or annotations.N.….
type numberedEvaluation struct {
	number int
	target evaluationTarget
	Evaluation
}

const maxEvaluations = 64

// Numbers of evaluations and of annotations on one span are apart.
const (
	ofEvaluations = 0
	ofAnnotations = 1 << 20
)

// readNumberedEvaluation reads N.evaluation.name and the like.
func readNumberedEvaluation(target evaluationTarget, series int) func(*reading, string, value) {
	return func(r *reading, rest string, v value) {
		n, field := cutNumber(rest)
		_, field, ok := strings.Cut(field, ".")
		if n < 0 || n >= ofAnnotations || !ok {
			return
		}
		r.seen |= 1 << openInference
		e := r.evaluationAt(series+n, target)
		if e == nil {
			return
		}
		switch field {
		case "name":
			e.Name = v.Str()
		case "label":
			e.Label = label(v)
		case "score":
			e.score(v)
		case "error", "error.type":
			e.Failed = v.Str() != ""
		}
	}
}

func (r *reading) evaluationAt(n int, target evaluationTarget) *Evaluation {
	for i := range r.evaluations {
		if e := &r.evaluations[i]; e.number == n && e.target == target {
			return &e.Evaluation
		}
	}
	if len(r.evaluations) == maxEvaluations {
		return nil
	}
	r.evaluations = append(r.evaluations, numberedEvaluation{n, target, Evaluation{Score: math.NaN()}})
	return &r.evaluations[len(r.evaluations)-1].Evaluation
}

// score sets the score; a boolean is 1 or 0 and labels itself pass or fail.
func (e *Evaluation) score(v value) {
	switch v.Type() {
	case pcommon.ValueTypeBool:
		e.pass(v.Bool())
	case pcommon.ValueTypeStr:
		switch s := strings.TrimSpace(v.Str()); {
		case strings.EqualFold(s, "true"):
			e.pass(true)
		case strings.EqualFold(s, "false"):
			e.pass(false)
		default:
			if e.Score = number(v); math.IsNaN(e.Score) && e.Label == "" {
				e.Label = s
			}
		}
	default:
		e.Score = number(v)
	}
}

func (e *Evaluation) pass(ok bool) {
	word := "fail"
	e.Score = 0
	if ok {
		word, e.Score = "pass", 1
	}
	if e.Label == "" {
		e.Label = word
	}
}

func label(v value) string {
	if v.Type() == pcommon.ValueTypeStr {
		return v.Str()
	}
	return v.AsString()
}

// evaluationResult reads the attributes of gen_ai.evaluation.result.
func evaluationResult(a pcommon.Map) Evaluation {
	e := Evaluation{Score: math.NaN()}
	for k, v := range a.All() {
		switch k {
		case "gen_ai.evaluation.name":
			e.Name = v.Str()
		case "gen_ai.evaluation.score.value", "gen_ai.evaluation.score":
			e.score(v)
		case "gen_ai.evaluation.score.label":
			if l := label(v); l != "" {
				e.Label = l
			}
		case "gen_ai.response.id":
			e.TargetResponse = identity(v.Str())
		case "error.type":
			e.Failed = v.Type() != pcommon.ValueTypeStr || v.Str() != ""
		case "gen_ai.agent.call.id", "gcp.vertex.agent.invocation_id", "prompt.id":
			e.TargetRunID = v.Str()
		}
	}
	return e
}

// evaluateJSON reads an evaluator's output: {"score":0.92,"passed":true,…}, a
// bare score, or a label.
func (f *Facts) evaluateJSON(out, name string, s ptrace.Span) {
	out = strings.TrimSpace(out)
	if out == "" || redacted(out) {
		return
	}
	e := Evaluation{Name: name, Score: math.NaN(), Time: uint64(s.EndTimestamp())}
	if out[0] != '{' {
		e.scoreText(text(out))
	}
	for m := membersOf(out); m.next(); {
		switch m.key {
		case "name":
			e.Name = text(m.value)
		case "score", "value":
			e.scoreText(text(m.value))
		case "passed", "pass":
			if passed := m.value == "true"; passed || m.value == "false" {
				if before := e.Score; !math.IsNaN(before) {
					e.pass(passed)
					e.Score = before
				} else {
					e.pass(passed)
				}
			}
		case "label":
			if m.value != "null" {
				e.Label = text(m.value)
			}
		case "error":
			e.Failed = !hollow(m.value)
		}
	}
	e.TargetTrace = s.TraceID()
	if math.IsNaN(e.Score) && e.Label == "" && !e.Failed {
		return
	}
	f.Evaluations = append(f.Evaluations, e)
}

func (e *Evaluation) scoreText(s string) {
	switch s {
	case "true":
		e.pass(true)
	case "false":
		e.pass(false)
	case "null", "":
	default:
		if x, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(x, 0) {
			e.Score = x
		} else if e.Label == "" {
			e.Label = s
		}
	}
}

// evaluationEvent reads a span event that is an evaluation. It reports false
// for any other event.
func (f *Facts) evaluationEvent(s ptrace.Span, event ptrace.SpanEvent) bool {
	if len(f.Evaluations) >= maxEvaluations {
		return false
	}
	switch event.Name() {
	case "gen_ai.evaluation.result":
		e := evaluationResult(event.Attributes())
		e.Time = uint64(event.Timestamp())
		f.target(&e, s, targetSpan)
		f.Evaluations = append(f.Evaluations, e)
	case "langwatch.evaluation.custom":
		v, ok := event.Attributes().Get("json_encoded_event")
		if !ok {
			return true
		}
		n := len(f.Evaluations)
		f.evaluateJSON(v.Str(), "", s)
		for i := n; i < len(f.Evaluations); i++ {
			e := &f.Evaluations[i]
			e.Time = uint64(event.Timestamp())
			e.TargetTrace = pcommon.TraceID{}
			f.target(e, s, targetSpan)
		}
	default:
		return false
	}
	return true
}

// target says what an evaluation held by span s judges. An evaluator's carrier
// span judges what its one link names, never its parent.
func (f *Facts) target(e *Evaluation, s ptrace.Span, scope evaluationTarget) {
	if f.Kind == Evaluator {
		if s.Links().Len() > 0 {
			l := s.Links().At(0)
			e.TargetTrace = l.TraceID()
			if scope == targetSpan {
				e.TargetSpan = l.SpanID()
			}
		}
		return
	}
	if e.TargetResponse != 0 && scope == targetSpan && f.Kind == Other {
		return // held by a span that is no work: the response id tells
	}
	switch scope {
	case targetSpan:
		e.TargetTrace, e.TargetSpan = s.TraceID(), s.SpanID()
	case targetTrace:
		e.TargetTrace = s.TraceID()
	}
}

// evaluate appends what numbered attributes and Logfire's feedback say.
func (r *reading) evaluate(f *Facts, s ptrace.Span) {
	slices.SortFunc(r.evaluations, func(a, b numberedEvaluation) int {
		return cmp.Or(cmp.Compare(a.target, b.target), cmp.Compare(a.number, b.number))
	})
	for i := range r.evaluations {
		n := &r.evaluations[i]
		if n.Time == 0 {
			n.Time = uint64(s.EndTimestamp())
		}
		f.target(&n.Evaluation, s, n.target)
		f.Evaluations = append(f.Evaluations, n.Evaluation)
	}
	name := r.textFrom(pydanticAI, slotFeedback)
	if name == "" {
		return
	}
	v, ok := s.Attributes().Get(name)
	if !ok {
		return
	}
	e := Evaluation{Name: name, Score: math.NaN(), Time: uint64(s.StartTimestamp()),
		TargetTrace: s.TraceID(), TargetSpan: s.ParentSpanID()}
	e.score(v)
	f.Kind, f.Convention = Evaluator, pydanticAIVocabulary.name
	f.Evaluations = append(f.Evaluations, e)
}

func traceID(s string) (id pcommon.TraceID) {
	if len(s) == 2*len(id) {
		if _, err := hex.Decode(id[:], []byte(s)); err != nil {
			return pcommon.TraceID{}
		}
	}
	return id
}

func spanID(s string) (id pcommon.SpanID) {
	if len(s) == 2*len(id) {
		if _, err := hex.Decode(id[:], []byte(s)); err != nil {
			return pcommon.SpanID{}
		}
	}
	return id
}
