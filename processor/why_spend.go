package processor

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

// maxListed is how many calls an explanation names.
const maxListed = 8

// spendDetail says which calls brought nothing, or from when on nobody waited.
func spendDetail(f *slo.File, o *slo.Objective, r *run.Run) string {
	switch o.SLI {
	case "no_progress":
		pattern, calls := sli.Circling(f, o, r)
		if pattern == "" {
			return ""
		}
		var names []string
		for _, i := range calls[:min(len(calls), maxListed)] {
			names = append(names, fmt.Sprintf("%s (span %s)", r.Tools[i].Name, r.Tools[i].SpanID))
		}
		if more := len(calls) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("%d more", more))
		}
		return "brought nothing new: " + strings.Join(names, ", ")
	case "abandoned_spend":
		at, why := sli.Abandoned(f, o, r)
		if at == 0 {
			return "nobody left and no deadline passed, as far as is said"
		}
		what := "the caller left at"
		if why == sli.DeadlinePassed {
			what = "the deadline was"
		}
		return fmt.Sprintf("%s %s, %.3f s after the start", what, time.Unix(0, int64(at)).UTC().Format(time.RFC3339Nano), float64(int64(at-r.Start))/1e9)
	}
	return ""
}

// providerDetail names the model calls that failed for their provider's trouble,
// where the SLO asks whose fault it was.
func providerDetail(o *slo.Objective, r *run.Run) string {
	if o.ProviderFaults != slo.ProviderFaultsExclude || len(r.Faults) == 0 {
		return ""
	}
	var names []string
	for i := range r.Faults[:min(len(r.Faults), maxListed)] {
		names = append(names, strings.TrimSpace(r.Faults[i].Model+" "+r.Faults[i].Fault.String()))
	}
	return "trouble at the provider: " + strings.Join(names, ", ")
}
