package convention

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// status reads status, exceptions and error text.
func (f *Facts) status(r *reading, s ptrace.Span) {
	status := s.Status()
	failed := status.Code() == ptrace.StatusCodeError
	if f.Kind == Other || f.Kind == Ignore {
		f.CallerGone = f.callerLeft(r, s, failed)
		f.TimedOut = s.Kind() == ptrace.SpanKindServer && timedOut(r)
		return
	}
	kind, ok := r.get(slotErrorType)
	if ok && !failed && status.Code() != ptrace.StatusCodeOk {
		failed = kind.Type() != pcommon.ValueTypeStr || kind.Str() != ""
	}
	if r.has(slotLevel) && strings.EqualFold(r.text(slotLevel), "ERROR") {
		failed = true
	}
	if !failed && s.Events().Len() == 0 {
		return
	}
	if failed {
		f.Failed, f.Failure = true, max(f.Failure, FailureError)
	}
	// Types are more exact than prose: error.type, the exceptions' types, then
	// the texts.
	if failed && ok {
		if kind.Type() == pcommon.ValueTypeStr {
			f.blame(kind.Str())
		} else {
			f.blame(kind.AsString())
		}
	}
	events := s.Events()
	told := "" // exceptions and the status often say the same
	for i := range events.Len() {
		e := events.At(i)
		if e.Name() != "exception" {
			continue
		}
		typ, message := mapText(e.Attributes(), "exception.type"), mapText(e.Attributes(), "exception.message")
		if failed {
			f.blame(typ)
			f.blame(message)
			told = message
		} else {
			// Recorded and handled, and yet it says how the run went.
			f.admit(typ)
			f.admit(message)
		}
	}
	if failed {
		if text := status.Message(); text != told {
			f.blame(text)
			told = text
		}
		if text := r.text(slotErrorText); text != told {
			f.blame(text)
		}
		if f.Class == ClassNone {
			f.Class = Unclassified
		}
	}
}

// timedOut says whether a server's span tells that its time was over.
func timedOut(r *reading) bool {
	if r.mask[slotHTTPStatus] != 0 {
		code := r.count(slotHTTPStatus)
		return code == 408 || code == 504
	}
	if r.mask[slotRPCStatus] != 0 {
		v, _ := r.get(slotRPCStatus)
		return count(v) == 4 || strings.EqualFold(v.Str(), "DEADLINE_EXCEEDED")
	}
	return false
}

// callerLeft says whether a span that is no agent's work shows that the caller
// went away.
func (f *Facts) callerLeft(r *reading, s ptrace.Span, failed bool) bool {
	if r.mask[slotHTTPStatus] != 0 && r.count(slotHTTPStatus) == 499 {
		return true
	}
	server := s.Kind() == ptrace.SpanKindServer
	if r.mask[slotRPCStatus] != 0 && server {
		if v, _ := r.get(slotRPCStatus); count(v) == 1 || strings.EqualFold(v.Str(), "CANCELLED") {
			return true
		}
	}
	if !failed && r.mask[slotErrorType] == 0 {
		return false
	}
	if kind := r.text(slotErrorType); kind == "499" || callerGone(kind) {
		return true
	}
	if !server {
		return false
	}
	if callerGone(s.Status().Message()) {
		return true
	}
	events := s.Events()
	for i := range events.Len() {
		if e := events.At(i); e.Name() == "exception" &&
			(callerGone(mapText(e.Attributes(), "exception.type")) || callerGone(mapText(e.Attributes(), "exception.message"))) {
			return true
		}
	}
	return false
}
