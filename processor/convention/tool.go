package convention

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
)

func (f *Facts) readTool(r *reading) {
	f.ToolName = r.text(slotToolName)
	f.CallID = identity(r.text(slotCallID))
	if v, ok := r.get(slotArgs); ok {
		f.setArgs(v)
	}
	if v, ok := r.get(slotResult); ok {
		f.setResult(v)
	}
}

func (f *Facts) setArgs(v value) {
	if v.Type() == pcommon.ValueTypeStr && (redacted(v.Str()) || redactedWithin(v.Str())) {
		return
	}
	c := canonicalValue(v)
	f.HasArgs, f.ArgsHash, f.ArgsEmpty, f.args = true, c.hash, c.empty, v
	if f.likens() {
		f.likeArgs(plain(v))
	}
}

func (f *Facts) setResult(v value) {
	if v.Type() == pcommon.ValueTypeStr && (redacted(v.Str()) || redactedWithin(v.Str())) {
		return
	}
	f.takeResult(canonicalValue(v))
	if f.likens() {
		f.likeResult(plain(v))
	}
}

func (f *Facts) takeResult(c canonical) {
	f.HasResult, f.ResultHash, f.ResultEmpty = true, c.hash, c.empty
	if c.error {
		f.fail("")
		if f.Class == Unclassified {
			// Its class only: a tool that tells of a limit or of something cancelled
			// does not speak of the run.
			said := c.said[:min(len(c.said), maxErrorText)]
			f.Class = classify(said, errorWords.find(said))
		}
	}
}

func documentCount(v value) int64 {
	switch v.Type() {
	case pcommon.ValueTypeSlice:
		return int64(v.Slice().Len())
	case pcommon.ValueTypeInt:
		return count(v)
	case pcommon.ValueTypeStr:
		return documentsIn(v.Str())
	}
	return Unknown
}
