package rules

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/agentslo/agentslo/slo"
)

// Ratio SLOs count the counters of other programs. They have a state of their
// own kind each: its seen series are per counter series and role, its totals
// per role. What follows from two roles, as good from total and bad, is worked
// out when an increase is recorded, so the state never falls.

// labelSeries tells counters apart whose other labels are the same: the
// metric's name, which functions drop, and the labels that the state sets.
const labelSeries = "agentslo_series"

// ratios lists the ratio SLOs of the file.
func (s scope) ratios() []*slo.Objective {
	var ratios []*slo.Objective
	for i := range s.file.SLOs {
		if o := &s.file.SLOs[i]; !o.CountsRuns() {
			ratios = append(ratios, o)
		}
	}
	return ratios
}

// ofRuns leaves ratios out of a selector of recorded series.
func (s scope) ofRuns(sel selector) selector {
	if len(s.ratios()) == 0 {
		return sel
	}
	return named(sel, slices.DeleteFunc(objectives(s.file), func(o *slo.Objective) bool { return !o.CountsRuns() }))
}

func objectives(f *slo.File) []*slo.Objective {
	all := make([]*slo.Objective, len(f.SLOs))
	for i := range f.SLOs {
		all[i] = &f.SLOs[i]
	}
	return all
}

// named selects SLOs by their names.
func named(sel selector, objectives []*slo.Objective) selector {
	names := make([]string, len(objectives))
	for i, o := range objectives {
		names[i] = regexp.QuoteMeta(o.Name)
	}
	return sel.with(LabelSLO + "=~" + quote(strings.Join(names, "|")))
}

// ours are the labels that the state sets, and raw series may have as well.
var ours = []string{LabelService, LabelEnvironment, LabelSLO, LabelVerdict, labelPart}

// counters joins all counters of a ratio, each through a function such as
// last_over_time(%s[5m]), with the role as the verdict.
func counters(o *slo.Objective, function string) string {
	var terms []string
	for _, role := range slo.Roles {
		for _, sel := range o.Events.Of(role) {
			names := []string{quote(labelSeries)}
			for _, name := range ours {
				names = append(names, quote(name))
			}
			term := fmt.Sprintf("label_join("+function+", %s, \";\", %s)", spelled(sel), quote(labelSeries), strings.Join(names, ", "))
			term = fmt.Sprintf("label_replace(%s, %s, %s, %s, \"(.*)\")", term, quote(labelSeries), quote(sel.Metric+";$1"), quote(labelSeries))
			term = fmt.Sprintf("max without (%s) (%s)", strings.Join(ours, ", "), term)
			terms = append(terms, labelled(term, LabelVerdict, string(role)))
		}
	}
	return "(\n    " + strings.Join(terms, "\n    or\n    ") + "\n  )"
}

// spelled is a selector in PromQL. A whole bound of a histogram or summary is
// looked for as 1 and as 1.0: from version 3 on Prometheus writes the latter,
// whatever the target says, and an SLO that asks for le="1" would find no good
// event any more.
func spelled(sel slo.Selector) string {
	matchers := slices.Clone(sel.Matchers)
	for i, m := range matchers {
		if whole := strings.TrimSuffix(m.Value, ".0"); (m.Label == "le" || m.Label == "quantile") && m.Operator == "=" && wholeNumber.MatchString(whole) {
			matchers[i].Operator, matchers[i].Value = "=~", whole+`|`+whole+`\.0`
		}
	}
	return slo.Selector{Metric: sel.Metric, Matchers: matchers}.String()
}

var wholeNumber = regexp.MustCompile(`^-?[0-9]+$`)

// zeroRoles are the roles whose totals are there before any event, and the
// verdicts that a ratio never has, so that it has the same series as the others.
func zeroRoles(o *slo.Objective) []string {
	var names []string
	for _, role := range slo.Roles {
		if len(o.Events.Of(role)) > 0 {
			names = append(names, string(role))
		}
	}
	return append(names, slo.Unknown.String(), slo.Excluded.String())
}

// ratioState counts one ratio, as [scope.state] counts runs. It differs in what
// a counter is that was not seen before. Where its target is known and nothing
// of it was scraped until now, it was born since, and all of it counts: the
// first failure makes its series. Else, as when a target is new or a selector
// was widened, what it counted before may be years old, and does not count.
func (s scope) ratioState(o *slo.Objective) string {
	state := identity(State, s.file, o)
	seen := state.equal(labelPart, "seen").String()
	total := state.equal(labelPart, "total").String()
	own := strings.Join([]string{LabelService, LabelEnvironment, LabelSLO}, ", ")

	// As in the state of runs, but without the labels that counters do not have.
	seenBefore := fmt.Sprintf("max without (%[5]s) (%[1]s offset 1ms or (last_over_time(%[1]s[%[2]s] offset 1ms) unless on (%[3]s) %[4]s offset 1ms))",
		seen, lookBack, LabelSLO, total, own)
	totalBefore := fmt.Sprintf("%[1]s offset 1ms or last_over_time(%[1]s[%[2]s] offset 1ms) or last_over_time(%[1]s[%[3]s] offset 1ms)",
		total, lookBack, lookFar)

	now := counters(o, "last_over_time(%s[5m])")
	base := fmt.Sprintf("max without (%s) (floor(%s))", labelPart, seenBefore)
	earlier := counters(o, "last_over_time(%s[10m] offset 5m)")
	birth := counters(o, "min_over_time(%s["+bornWithin+"])")
	unseen := fmt.Sprintf("clamp_min(%s - %s, 0)", counters(o, "max_over_time(%s["+Duration(Interval)+"])"), base)

	identified := func(expr string) string {
		expr = labelled(labelled(expr, LabelSLO, o.Name), LabelService, s.file.Service)
		if s.file.Environment != "" {
			expr = labelled(expr, LabelEnvironment, s.file.Environment)
		}
		return expr
	}
	// Gone for a while though its target was there: the target was restarted, and
	// what comes back is a new life, even if it has counted more than the old one.
	justBefore := fmt.Sprintf("max without (%s) (%s offset 1ms)", own, seen)
	gone := fmt.Sprintf("(%[1]s %% 1 > 0 and on (job, instance) %[1]s %% 1 == 0)", justBefore)
	reborn := fmt.Sprintf("(0 * %s and ignoring (%s) %s)", now, labelPart, gone)
	remembered := fmt.Sprintf(`(
  (
    %s
    unless
    max without (%s) (%s offset 1ms %% 1 >= %s)
  ) + %s
)`, seenBefore, own, seen, forgotten, absence)
	grown := fmt.Sprintf(`(
      (
        %[1]s
        -
        (
          %[6]s
          or
          %[2]s
          or
          (0 * %[1]s and on (job, instance) %[7]s unless %[3]s)
          or
          %[4]s
        )
        >= 0
      )
      or
      (
        %[1]s
        +
        %[5]s
      )
      or
      %[1]s
    )`, now, base, earlier, birth, unseen, reborn, justBefore)

	objective := identity("agentslo:objective:ratio", s.file, o).String()
	var zeros []string
	for _, name := range zeroRoles(o) {
		zeros = append(zeros, "or\n    "+labelled("0 * "+objective, LabelVerdict, name))
	}
	by := strings.Join([]string{LabelSLO, LabelService, LabelEnvironment, LabelVerdict}, ", ")
	return fmt.Sprintf(`%s
or
%s
or
label_replace(
  sum by (%s) (
    %s
    or
    %s
    %s
  )
  and on (%s) %s,
  "%s", "total", "", ""
)`, identified(labelled(now, labelPart, "seen")), identified(remembered),
		by, identified(grown), totalBefore, strings.Join(zeros, "\n    "), LabelSLO, objective, labelPart)
}

// ratioIncrease is [scope.increase] for ratios: the counts of their roles, and
// what follows from two of them.
func (s scope) ratioIncrease(window time.Duration) string {
	total := identity(State, s.file, nil).equal(labelPart, "total")
	terms := []string{s.countedWithin(named(total, s.ratios()).with(LabelVerdict+"!="+quote(string(slo.RoleTotal))), window)}
	for _, follows := range []struct{ known, other slo.Role }{{slo.RoleBad, slo.RoleGood}, {slo.RoleGood, slo.RoleBad}} {
		these := slices.DeleteFunc(s.ratios(), func(o *slo.Objective) bool {
			return len(o.Events.Total) == 0 || len(o.Events.Of(follows.known)) == 0
		})
		if len(these) == 0 {
			continue
		}
		of := named(total, these)
		// A failure may be scraped before the request that it is one of.
		terms = append(terms, labelled(fmt.Sprintf("clamp_min(\n%s\n- ignoring (%s)\n%s,\n0)",
			s.countedWithin(of.equal(LabelVerdict, string(slo.RoleTotal)), window), LabelVerdict,
			s.countedWithin(of.equal(LabelVerdict, string(follows.known)), window)), LabelVerdict, string(follows.other)))
	}
	return strings.Join(terms, "\nor\n")
}

// ratioNoData fires when the counters of all events of a ratio are gone, or
// were never there: an SLO whose selector matches nothing has no failures.
func (s scope) ratioNoData(o *slo.Objective) Rule {
	all := o.Events.Total
	if len(all) == 0 {
		all = slices.Concat(o.Events.Good, o.Events.Bad)
	}
	texts := make([]string, len(all))
	for i, sel := range all {
		texts[i] = spelled(sel)
	}
	notes := s.links(o)
	notes["summary"] = literal(s.name(o)) + ": no data for " + Duration(noDataFor)
	notes["description"] = literal(objective(o)) +
		"No series matches its counters: " + literal(strings.Join(texts, ", ")) + ". " +
		"Until they are there, its error budget and alerts rest on what was counted before."
	return Rule{
		Alert: AlertNoData, Expr: "vector(1) unless on () (" + strings.Join(texts, " or ") + ")",
		For: model.Duration(noDataFor), Labels: alertLabels(s.file, o, SeverityTicket), Annotations: notes,
	}
}

// ratioReasons has the counters of bad events by how much they grew, each as
// its own reason; where only good events are counted, the instances that lack
// them.
func ratioReasons(o *slo.Objective, window time.Duration) string {
	var terms []string
	for _, sel := range o.Events.Bad {
		terms = append(terms, labelled("round(sum(increase("+spelled(sel)+"["+Duration(window)+"])))", "reason", sel.String()))
	}
	if len(terms) == 0 {
		sum := func(selectors []slo.Selector) string {
			texts := make([]string, len(selectors))
			for i, sel := range selectors {
				texts[i] = "increase(" + spelled(sel) + "[" + Duration(window) + "])"
			}
			return "sum by (instance) (" + strings.Join(texts, " or ") + ")"
		}
		terms = append(terms, "label_replace(round("+sum(o.Events.Total)+" - "+sum(o.Events.Good)+"), \"reason\", \"$1\", \"instance\", \"(.*)\")")
	}
	return labelled("("+strings.Join(terms, " or ")+")", LabelSLO, o.Name)
}

// eventsOf is what an SLO counts, in words.
func eventsOf(o *slo.Objective) string { return o.EventName() + "s" }
