package rules

import (
	"fmt"
	"sort"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// Sentence says what an SLO promises: "99% of runs end with an answer, a
// refusal or a hand-over to a person".
func Sentence(o *slo.Objective) string {
	of := eventsOf(o)
	if len(o.Tools) > 0 {
		of = "calls of " + strings.Join(o.Tools, ", ")
	}
	switch {
	case o.When != nil && o.OfSteps():
		of += " in runs with " + o.When.Source
	case o.When != nil:
		of = "runs with " + o.When.Source
	}
	text := percent(o.Target) + " of " + of + " " + promise(o)
	if o.ProviderFaults == slo.ProviderFaultsExclude {
		text += ", its provider's trouble aside"
	}
	return text
}

func promise(o *slo.Objective) string {
	switch o.SLI {
	case "completion":
		if o.Scope == slo.ScopeTool {
			return "succeed"
		}
		return "end with an answer, a refusal or a hand-over to a person"
	case "correctness":
		return "are judged correct" + judges(o)
	case "latency":
		if o.Measure == slo.MeasureFirstToken {
			return "show their first token within " + o.Threshold.String()
		}
		return "end within " + o.Threshold.String()
	case "grounding":
		return "give an answer that is grounded in what was retrieved" + judges(o)
	case "cost":
		return "cost at most $" + o.MaxUSD.String()
	case "tool_free":
		return "answer only after a tool call that succeeded"
	case "no_progress":
		return fmt.Sprintf("make progress: the same call with the same result fewer than %d times", o.Repeats)
	case "abstention":
		return "are answered rather than declined, handed over or failed"
	case "abandoned_spend":
		return "begin no work after " + abandoned(o)
	case "retry_discipline":
		return fmt.Sprintf("with a failed tool call retry one that never succeeds at most %s, and a refused one never", times(o.MaxRetries))
	case "duplicate_effects":
		return "with an effect have each effect once"
	case "stuck_after_blocker":
		return "with a blocker end within " + fmt.Sprint(o.MaxSteps) + " steps" + spending(o) + " of it"
	case "handoff":
		return "handed to a person are so in time and with all that the person needs"
	case "forbidden_actions":
		return "do nothing that is forbidden"
	case slo.KindRatio:
		return "are good" + counts(o)
	case "custom":
		if o.Good != nil {
			return "have " + o.Good.Source
		}
	}
	return "are good for " + o.Name
}

// abandoned says when nobody waits for a run any more.
func abandoned(o *slo.Objective) string {
	const gone = "the caller went away"
	switch {
	case o.Deadline.After > 0:
		return gone + " or " + slo.FormatDuration(o.Deadline.After) + " passed"
	case o.Deadline.Attribute != "":
		return gone + " or the deadline in " + o.Deadline.Attribute + " passed"
	}
	return gone
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// spending is the bound on what a blocked run may spend.
func spending(o *slo.Objective) string {
	if o.MaxUSD.IsZero() {
		return ""
	}
	return " and $" + o.MaxUSD.String()
}

// counts says which counters a ratio is of.
func counts(o *slo.Objective) string {
	if o.Events == nil {
		return ""
	}
	var parts []string
	for _, role := range slo.Roles {
		var names []string
		for _, sel := range o.Events.Of(role) {
			names = append(names, sel.String())
		}
		if len(names) > 0 {
			parts = append(parts, string(role)+" "+strings.Join(names, " and "))
		}
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func judges(o *slo.Objective) string {
	if len(o.Evaluations) == 0 {
		return ""
	}
	names := make([]string, len(o.Evaluations))
	for i, e := range o.Evaluations {
		names[i] = e.Name
	}
	sort.Strings(names)
	word := "evaluation"
	if len(names) > 1 {
		word += "s"
	}
	return " (" + word + " " + strings.Join(names, ", ") + ")"
}

// percent writes a ratio as 99.9%.
func percent(ratio decimal.Decimal) string { return ratio.Shift(2).String() + "%" }

// objective is the sentence with which alerts begin: what is promised, and what
// people say of it.
func objective(o *slo.Objective) string {
	text := "The objective: " + Sentence(o) + ". "
	if d := strings.TrimRight(o.Description, ". \n"); d != "" {
		text += d + ". "
	}
	return text
}
