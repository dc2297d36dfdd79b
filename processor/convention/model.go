package convention

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
)

func (f *Facts) readModel(r *reading) {
	f.readModelName(r)
	f.ResponseID = identity(r.text(slotResponseID))
	f.readUsage(r)
	if v, ok := r.get(slotFinish); ok {
		f.Finish = finishOf(v)
	}
	if f.Finish == FinishNone {
		f.Finish = r.finish // of numbered keys
	}
	f.readFirstToken(r)
	if r.byMessage() {
		f.readReturned(r)
	}
	if !r.replySeen {
		if v, ok := r.get(slotReply); ok {
			r.reply(v)
		} else if v, ok := r.get(slotResult); ok {
			r.reply(v)
		}
		if v, ok := r.get(slotToolCalls); ok && v.Type() == pcommon.ValueTypeStr && !hollow(v.Str()) && !redacted(v.Str()) {
			r.replyFrom(v.Str())
		}
	}
	f.readOffered(r)
}

// readModelName takes the model that answered, else the one that was asked for;
// each as the span's own vocabulary has it, if that does.
func (f *Facts) readModelName(r *reading) {
	requested := r.text(slotRequested)
	switch own := r.mask[slotModel]&r.own != 0; {
	case own || requested == "" || r.mask[slotRequested]&r.own == 0:
		f.ModelName = r.text(slotModel)
	}
	if f.ModelName == "" {
		f.ModelName = requested
	}
	f.Requested, f.Provider = shortHash(requested), shortHash(r.text(slotProvider))
}

// shortHash tells apart the few models and providers of one run; 0 of no text.
func shortHash(s string) uint8 {
	if s == "" {
		return 0
	}
	return uint8(hashText(s)>>32%255) + 1
}

func (f *Facts) readOffered(r *reading) {
	if r.offered || r.replyCalls || f.Finish == FinishTool {
		f.ToolsOffered = 2
		return
	}
	if v, ok := r.get(slotTools); ok {
		f.ToolsOffered = max(f.ToolsOffered, 1)
		switch v.Type() {
		case pcommon.ValueTypeStr:
			if !hollow(v.Str()) && !redacted(v.Str()) {
				f.ToolsOffered = 2
			}
		case pcommon.ValueTypeSlice:
			if v.Slice().Len() > 0 {
				f.ToolsOffered = 2
			}
		}
	}
	if f.ToolsOffered == 0 {
		if v, ok := r.get(slotRequest); ok {
			f.ToolsOffered = toolsIn(v.Str())
		}
	}
}

// maxFirstToken bounds the time to the first token, in seconds.
const maxFirstToken = 24 * 3600

func (f *Facts) readFirstToken(r *reading) {
	switch {
	case r.has(slotFirstToken):
		f.FirstToken = r.positive(slotFirstToken, maxFirstToken)
	case r.has(slotFirstTokenMillis):
		f.FirstToken = r.positive(slotFirstTokenMillis, maxFirstToken*1000) / 1000
	case r.has(slotFirstTokenTime):
		if t := point(r.text(slotFirstTokenTime)); t >= f.Start && t <= f.End {
			f.FirstToken = float64(t-f.Start) / 1e9
		}
	}
}
