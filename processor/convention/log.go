package convention

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// Log reads one log record into f, which it resets first. It reports false if
// the record says nothing of a run. The record's trace and span id are the
// caller's to read: where an evaluation has no target of its own, they name it.
func (x *Extractor) Log(f *Facts, scope pcommon.InstrumentationScope, r plog.LogRecord) bool {
	f.Reset()
	name := r.EventName()
	if name == "" {
		name = mapText(r.Attributes(), "event.name")
	}
	switch name {
	case "gen_ai.evaluation.result":
		return x.logEvaluation(f, r)
	case "gen_ai.agent.paused":
		f.Convention, f.Failure, f.Finish = otelGenAIVocabulary.name, FailurePaused, FinishHuman
	case "gemini_cli.agent.finish":
		f.Convention, f.Finish = geminiCLIVocabulary.name, finishWord(mapText(r.Attributes(), "terminate_reason"))
	default:
		return false
	}
	x.logFacts(f, r)
	return true
}

func (x *Extractor) logEvaluation(f *Facts, r plog.LogRecord) bool {
	a := r.Attributes()
	if a.Len() == 0 && r.Body().Type() == pcommon.ValueTypeMap {
		a = r.Body().Map() // forwarded by a log store
	}
	e := evaluationResult(a)
	if e.Time = uint64(r.Timestamp()); e.Time == 0 {
		e.Time = uint64(r.ObservedTimestamp())
	}
	e.TargetTrace, e.TargetSpan = r.TraceID(), r.SpanID()
	f.Kind, f.Convention = Evaluator, otelGenAIVocabulary.name
	f.Evaluations = append(f.Evaluations, e)
	x.logFacts(f, r)
	return true
}

func (x *Extractor) logFacts(f *Facts, r plog.LogRecord) {
	f.SpanID = r.SpanID()
	if f.Start = uint64(r.Timestamp()); f.Start == 0 {
		f.Start = uint64(r.ObservedTimestamp())
	}
	f.End = f.Start
	for k, v := range r.Attributes().All() {
		if e := x.keys.find(k); e != nil {
			if e.name >= 0 {
				f.Attributes = append(f.Attributes, Attribute{int(e.name), v.AsString()})
			}
			if e.slot == slotRunID && f.RunID == "" && e.vocabulary != geminiCLI {
				f.RunID = v.Str()
			}
		}
	}
}
