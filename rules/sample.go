package rules

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/agentslo/agentslo/slo"
)

// Unit tests need series that the selectors of a ratio match. They are made up
// from the matchers.

// samples are the series of a ratio's unit test: what a good and a bad event
// count.
type samples struct{ good, bad []string }

// sampleSeries makes series up; ok is false where none could be found.
func sampleSeries(o *slo.Objective) (s samples, ok bool) {
	e := o.Events
	find := func(in []slo.Selector, notIn ...slo.Selector) (string, bool) {
		for _, sel := range in {
			if series, ok := sampleOf(sel, notIn); ok {
				return series, true
			}
		}
		return "", false
	}
	// A series of both, as a failed request is one of all requests; else one of each.
	both := func(part, all []slo.Selector) ([]string, bool) {
		for _, p := range part {
			for _, a := range all {
				if p.Metric != a.Metric {
					continue
				}
				joined := slo.Selector{Metric: p.Metric, Matchers: slices.Concat(p.Matchers, a.Matchers)}
				if series, ok := sampleOf(joined, nil); ok {
					return []string{series}, true
				}
			}
		}
		first, ok1 := find(part)
		second, ok2 := find(all, part...)
		return []string{first, second}, ok1 && ok2
	}
	one := func(in, notIn []slo.Selector) ([]string, bool) {
		series, ok := find(in, notIn...)
		return []string{series}, ok
	}
	var ok1, ok2 bool
	switch {
	case len(e.Total) == 0:
		s.good, ok1 = one(e.Good, e.Bad)
		s.bad, ok2 = one(e.Bad, e.Good)
	case len(e.Good) == 0:
		s.good, ok1 = one(e.Total, e.Bad)
		s.bad, ok2 = both(e.Bad, e.Total)
	default:
		s.good, ok1 = both(e.Good, e.Total)
		s.bad, ok2 = one(e.Total, e.Good)
	}
	return s, ok1 && ok2
}

// maxSampleTries bounds the search for labels.
const maxSampleTries = 10000

// sampleOf is a series that the selector matches and none of the others.
func sampleOf(sel slo.Selector, not []slo.Selector) (string, bool) {
	values := map[string][]string{}
	var names []string
	add := func(m slo.Matcher) {
		if _, ok := values[m.Label]; !ok {
			names = append(names, m.Label)
			values[m.Label] = []string{"", "x", "0"}
		}
		if strings.HasSuffix(m.Operator, "~") {
			if re, err := syntax.Parse(m.Value, syntax.Perl); err == nil {
				values[m.Label] = append(values[m.Label], example(re.Simplify()))
			}
			return
		}
		values[m.Label] = append(values[m.Label], m.Value)
	}
	for _, m := range sel.Matchers {
		add(m)
	}
	for _, other := range not {
		if other.Metric == sel.Metric {
			for _, m := range other.Matchers {
				add(m)
			}
		}
	}
	tries := 0
	labels := map[string]string{}
	var try func(i int) bool
	try = func(i int) bool {
		if tries++; tries > maxSampleTries {
			return false
		}
		if i == len(names) {
			return matches(sel, labels) && !slices.ContainsFunc(not, func(other slo.Selector) bool { return other.Metric == sel.Metric && matches(other, labels) })
		}
		for _, v := range values[names[i]] {
			labels[names[i]] = v
			if try(i + 1) {
				return true
			}
		}
		return false
	}
	if !try(0) {
		return "", false
	}
	series := selector{metric: sel.Metric}
	for _, name := range names {
		if labels[name] != "" && name != "job" && name != "instance" {
			series = series.equal(name, labels[name])
		}
	}
	for _, target := range []string{"job", "instance"} {
		value := labels[target]
		if _, asked := labels[target]; !asked {
			value = "web"
		}
		if value != "" {
			series = series.equal(target, value)
		}
	}
	return series.String(), true
}

func matches(sel slo.Selector, labels map[string]string) bool {
	for _, m := range sel.Matchers {
		value, equal := labels[m.Label], m.Value == labels[m.Label]
		if strings.HasSuffix(m.Operator, "~") {
			re, err := regexp.Compile("^(?s:" + m.Value + ")$")
			equal = err == nil && re.MatchString(value)
		}
		if equal == strings.HasPrefix(m.Operator, "!") {
			return false
		}
	}
	return true
}

// example is a short text that a regular expression matches.
func example(re *syntax.Regexp) string {
	var b strings.Builder
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, r := range []rune{'x', '0', 'X'} {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if r >= re.Rune[i] && r <= re.Rune[i+1] {
					return string(r)
				}
			}
		}
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "x"
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			b.WriteString(example(sub))
		}
	case syntax.OpAlternate:
		return example(re.Sub[0])
	case syntax.OpRepeat:
		for range re.Min {
			b.WriteString(example(re.Sub[0]))
		}
	}
	return b.String()
}

// ratioInput gives a ratio's counters the history of its events.
func ratioInput(o *slo.Objective, h history) []testSeries {
	s, ok := sampleSeries(o)
	if !ok {
		return nil
	}
	counters := map[string][]float64{}
	var order []string
	count := func(series []string, values []float64) {
		for _, name := range series {
			if counters[name] == nil {
				counters[name] = make([]float64, len(values))
				order = append(order, name)
			}
			for i, v := range values {
				counters[name][i] += v // not scraped is NaN, and stays it
			}
		}
	}
	count(s.good, h.shown[slo.Good])
	count(s.bad, h.shown[slo.Bad])
	var input []testSeries
	for _, name := range order {
		input = append(input, testSeries{name, values(counters[name])})
	}
	return input
}
