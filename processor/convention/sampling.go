package convention

import "go.opentelemetry.io/collector/pdata/pcommon"

// tailSamplerMarks are scope attributes that the Collector's tail sampler can
// leave on what it kept.
var tailSamplerMarks = [...]string{"tailsampling.policy", "tailsampling.composite_policy"}

// TailSampled says whether a tail sampler marked the scope's spans: they were
// kept for what is in them, so that their runs are no fair sample.
func TailSampled(scope pcommon.InstrumentationScope) bool {
	if scope.Attributes().Len() == 0 {
		return false
	}
	for _, mark := range tailSamplerMarks {
		if _, ok := scope.Attributes().Get(mark); ok {
			return true
		}
	}
	return false
}
