package rules

import (
	"fmt"
	"maps"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// Group is a Prometheus rule group: its rules are evaluated in order, at one
// timestamp, and each sees what those before it recorded.
type Group = rulefmt.RuleGroup

// Rule is a recording or an alerting rule.
type Rule = rulefmt.Rule

// reserved are the labels that a file's own labels cannot replace: they
// identify series and alerts.
var reserved = []string{LabelService, LabelEnvironment, LabelSLO, LabelAgent, LabelVerdict, labelPart, labelSeries, "alertname", "tier"}

// Groups builds the rules of every file of the set: one group each, in order,
// with a name that is unique within the set. The state of the counters does
// not carry the file's labels, so changing them loses nothing.
func Groups(set *slo.Set) []Group {
	var groups []Group
	names := map[string]int{}
	for _, f := range set.Files {
		name := groupName(f)
		names[name]++
		if n := names[name]; n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		groups = append(groups, Group{Name: name, Interval: model.Duration(Interval), Rules: fileRules(set, f)})
	}
	return groups
}

func groupName(f *slo.File) string {
	name := "agentslo-" + f.Service
	if f.Environment != "" {
		name += "-" + f.Environment
	}
	return name
}

func fileRules(set *slo.Set, f *slo.File) []Rule {
	s := newScope(set, f)
	labels := fileLabels(f)
	record := func(name, expr string) Rule { return Rule{Record: name, Expr: expr, Labels: labels} }

	var rules []Rule
	for i := range f.SLOs {
		o := &f.SLOs[i]
		own := maps.Clone(labels)
		own[LabelSLO] = o.Name
		rules = append(rules,
			Rule{Record: "agentslo:objective:ratio", Expr: vector(o.Target), Labels: own},
			Rule{Record: "agentslo:error_budget:ratio", Expr: vector(o.Budget()), Labels: own})
	}
	if f.CountsRuns() {
		rules = append(rules, Rule{Record: State, Expr: s.state(), Labels: identityLabels(f)})
	}
	for _, o := range s.ratios() {
		own := identityLabels(f) // with the name: promtool refuses rules that differ in their expression only
		own[LabelSLO] = o.Name
		rules = append(rules, Rule{Record: State, Expr: s.ratioState(o), Labels: own})
	}
	if s.calendar() {
		rules = append(rules, s.windowStart()...)
	}
	for _, w := range Windows(f) {
		var counts []string
		if f.CountsRuns() {
			counts = append(counts, s.increase(w))
		}
		if len(s.ratios()) > 0 {
			counts = append(counts, s.ratioIncrease(w))
		}
		rules = append(rules, record(recordIncrease(f, w), strings.Join(counts, "\nor\n")))
	}
	for _, w := range Windows(f) {
		if len(s.judged()) < len(f.SLOs) {
			rules = append(rules, record(recordErrorRatio(f, w), s.errorRatio(w)))
		}
		for _, o := range s.judged() {
			rules = append(rules, s.ofOne(o, recordErrorRatio(f, w), s.judgedErrorRatio(o, w)))
		}
		rules = append(rules, record(recordBurnRate(f, w), s.burnRate(w)))
		if len(s.judged()) < len(f.SLOs) {
			rules = append(rules, record(recordEvidence(f, w), s.evidence(w)))
		}
		for _, o := range s.judged() {
			rules = append(rules, s.ofOne(o, recordEvidence(f, w), s.judgedEvidence(o, w)))
		}
	}
	rules = append(rules,
		record("agentslo:budget_remaining:ratio", s.budgetRemaining()),
		record(recordUncounted(f, coverageWindow(f)), s.uncounted(coverageWindow(f))))

	for i := range f.SLOs {
		rules = append(rules, s.alerts(&f.SLOs[i])...)
	}
	rules = append(rules, s.segmentRules(labels)...)
	return append(rules, s.noData()...)
}

func vector(d decimal.Decimal) string { return "vector(" + d.String() + ")" }

// fileLabels are the file's own labels and those of its identity.
func fileLabels(f *slo.File) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, f.Labels)
	for _, name := range reserved {
		delete(labels, name)
	}
	maps.Copy(labels, identityLabels(f))
	return labels
}

// identityLabels are those that the exporter's series have from the file.
func identityLabels(f *slo.File) map[string]string {
	labels := map[string]string{LabelService: f.Service}
	if f.Environment != "" {
		labels[LabelEnvironment] = f.Environment
	}
	return labels
}

// literal is text that Prometheus' templates leave as it is.
func literal(text string) string { return strings.ReplaceAll(text, "{{", `{{"{{"}}`) }
