package processor

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/slo"
)

// failureFacts say what failed in the run, as far as anything did.
func failureFacts(j *Judged) (out []WhyFact) {
	r := j.Run
	if x := r.FirstWrong; x != nil {
		out = append(out, WhyFact{Name: "first_wrong", Value: cmp.Or(x.Name, "?") + ": " + cmp.Or(failureClass(x.Class), x.What),
			How: fmt.Sprintf("the first step that went wrong: step %d of the run's model calls, tool calls and retrievals, span %s", x.Step, x.SpanID)})
	}
	if x := r.Blocker; x != nil && !x.Doubtful {
		how := fmt.Sprintf("its call never succeeded, and no other call got round it; after it %d model and tool calls", x.Steps)
		if x.USD != nil {
			how += " for $" + strconv.FormatFloat(*rounded(x.USD, 1e6), 'f', -1, 64)
		}
		out = append(out, WhyFact{Name: "blocker", Value: x.Tool + ": " + failureClass(x.Class), How: how})
	}
	return out
}

// failureDetail names the calls and fields that an SLO about failures goes by.
func failureDetail(f *slo.File, o *slo.Objective, r *run.Run) string {
	var parts []string
	switch o.SLI {
	case "retry_discipline":
		for i := range r.Tools {
			if t := &r.Tools[i]; t.Failed() && t.Role != run.NotCounted {
				parts = append(parts, fmt.Sprintf("%s %s %s", t.Name, t.Class, t.Persistence))
			}
		}
	case "duplicate_effects":
		for _, d := range sli.Duplicates(f, r) {
			parts = append(parts, fmt.Sprintf("%s %d too many", d.Tool, d.Count))
		}
	case "handoff":
		tool, missing := sli.TicketLacks(o, r)
		if tool == "" {
			return ""
		}
		if parts = missing; len(parts) > 0 {
			return tool + " lacks " + strings.Join(parts, ", ")
		}
	case "forbidden_actions":
		for _, t := range sli.Forbidden(o, r) {
			parts = append(parts, fmt.Sprintf("%s [%s]", t.Name, t.SpanID))
		}
	}
	const most = 10
	if n := len(parts); n > most {
		parts = append(parts[:most:most], fmt.Sprintf("%d more", n-most))
	}
	return strings.Join(parts, ", ")
}
