package interchange

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/agentslo/agentslo/slo"
)

// Window is how queries of other formats write the window that they are asked for.
const window = "{{.window}}"

// placeholder stands for the window while a query is parsed: no query says it.
const placeholder = 7919 * time.Second

var placed = fmt.Sprintf("[%ds]", placeholder/time.Second)

var (
	templatedWindow = regexp.MustCompile(`\[\s*(?:\{\{-?\s*\.?[A-Za-z_]+\s*-?\}\}|\$\{?[A-Za-z_]+\}?)\s*(:[0-9a-z]*)?\s*\]`)
	anyTemplate     = regexp.MustCompile(`\{\{.*?(\}\}|$)`)
	slothWindow     = regexp.MustCompile(`\[\s*\{\{-?\s*\.window\s*-?\}\}\s*(:[0-9a-z]*)?\s*\]`)
)

// dialect is what a format allows in its queries.
type dialect struct {
	window *regexp.Regexp // the ranges that stand for the window
	// templated: each range must be the window. Else a fixed one may stand there.
	templated bool
	// counters may stand without rate() or increase(): the reader takes it.
	bare bool
}

var (
	slothDialect   = dialect{window: slothWindow, templated: true}
	openSLODialect = dialect{window: templatedWindow, bare: true}
)

// count is a query as a sum of counters' increases, less others.
type count struct {
	plus, minus []slo.Selector
	per         []string // how each counter is read: rate, increase or as it is, and the range
}

func (c count) negated() count { return count{plus: c.minus, minus: c.plus, per: c.per} }

func (c count) and(other count) count {
	return count{slices.Concat(c.plus, other.plus), slices.Concat(c.minus, other.minus), slices.Concat(c.per, other.per)}
}

// parse reads a query as PromQL.
func (d dialect) parse(query string) (parser.Expr, error) {
	text := d.window.ReplaceAllString(query, strings.TrimSuffix(placed, "]")+"$1]")
	if template := anyTemplate.FindString(text); template != "" {
		return nil, fmt.Errorf("%s is a template of its own; only the window may be one: [%s]", firstWords(template), window)
	}
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("the query is no PromQL: %s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	return expr, nil
}

func firstWords(s string) string {
	if i := strings.IndexAny(s, "\n"); i >= 0 {
		s = s[:i]
	}
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:57], "") + "…"
	}
	return s
}

// quoted is an expression in a message, with the window as people write it.
func quoted(e parser.Expr) string {
	return firstWords(strings.ReplaceAll(e.String(), "["+model.Duration(placeholder).String(), "["+window))
}

// count reads an expression of the form that counters have: sums of
// sum(rate(counter[window])), added or taken from each other.
func (d dialect) count(expr parser.Expr) (count, error) {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return d.count(e.Expr)
	case *parser.UnaryExpr:
		return count{}, errors.New("a count is not negative: " + quoted(e))
	case *parser.BinaryExpr:
		return d.binary(e)
	case *parser.AggregateExpr:
		return d.sum(e)
	case *parser.Call:
		switch e.Func.Name {
		case "rate", "increase":
			return count{}, fmt.Errorf("%s(…) has a series for each of the counter's; put sum(…) round it", e.Func.Name)
		case "vector":
			if isZero(e) {
				return count{}, nil
			}
		}
		return count{}, fmt.Errorf("%s(…) is no sum of counters: agentslo counts events exactly, from the counters themselves", e.Func.Name)
	case *parser.VectorSelector:
		if d.bare {
			return d.series(e, "as it is")
		}
		return count{}, fmt.Errorf("%s is a counter's value, not what it grew by: sum(rate(%s[%s])) is", quoted(e), quoted(e), window)
	case *parser.NumberLiteral:
		return count{}, fmt.Errorf("the number %s is no counter", e)
	case *parser.SubqueryExpr:
		return count{}, errors.New("a subquery is no counter: " + quoted(e))
	}
	return count{}, fmt.Errorf("%s is no sum of counters", quoted(expr))
}

func isZero(expr parser.Expr) bool {
	switch e := expr.(type) {
	case *parser.ParenExpr:
		return isZero(e.Expr)
	case *parser.NumberLiteral:
		return e.Val == 0
	case *parser.Call:
		return e.Func.Name == "vector" && isZero(e.Args[0])
	}
	return false
}

func (d dialect) binary(e *parser.BinaryExpr) (count, error) {
	switch e.Op {
	case parser.LOR:
		if !isZero(e.RHS) {
			return count{}, errors.New("behind or only vector(0) can stand: " + quoted(e))
		}
		return d.count(e.LHS)
	case parser.ADD, parser.SUB:
	case parser.MUL, parser.DIV:
		return count{}, fmt.Errorf("%s is a product or a ratio; a count is a sum of counters", quoted(e))
	default:
		return count{}, fmt.Errorf("the operator %s makes no count: %s", e.Op, quoted(e))
	}
	left, err := d.count(e.LHS)
	if err != nil {
		return count{}, err
	}
	right, err := d.count(e.RHS)
	if err != nil {
		return count{}, err
	}
	if e.Op == parser.SUB {
		right = right.negated()
	}
	return left.and(right), nil
}

func (d dialect) sum(e *parser.AggregateExpr) (count, error) {
	switch {
	case e.Op != parser.SUM:
		return count{}, fmt.Errorf("%s(…) does not add events up; sum(…) does", e.Op)
	case len(e.Grouping) > 0 || e.Without:
		return count{}, fmt.Errorf("the sum keeps labels (%s): an SLO is one number; write an SLO for each value, with a matcher", strings.Join(e.Grouping, ", "))
	}
	inner := e.Expr
	for {
		p, ok := inner.(*parser.ParenExpr)
		if !ok {
			break
		}
		inner = p.Expr
	}
	switch i := inner.(type) {
	case *parser.Call:
		if i.Func.Name != "rate" && i.Func.Name != "increase" {
			return count{}, fmt.Errorf("%s(…) within sum is not what a counter grew by; rate and increase are", i.Func.Name)
		}
		m, ok := i.Args[0].(*parser.MatrixSelector)
		if !ok {
			return count{}, errors.New("a subquery is no counter: " + quoted(i))
		}
		switch {
		case m.RangeExpr != nil:
			return count{}, errors.New("a computed range is not carried: " + quoted(m))
		case d.templated && m.Range != placeholder:
			return count{}, fmt.Errorf("the range [%s] is the same for every window; it must be [%s]", slo.FormatDuration(m.Range), window)
		}
		over := window
		if m.Range != placeholder {
			over = slo.FormatDuration(m.Range)
		}
		return d.series(m.VectorSelector.(*parser.VectorSelector), fmt.Sprintf("%s(…[%s])", i.Func.Name, over))
	case *parser.VectorSelector:
		if d.bare {
			return d.series(i, "as it is")
		}
		return count{}, fmt.Errorf("%s is a counter's value, not what it grew by: sum(rate(%s[%s])) is", quoted(i), quoted(i), window)
	}
	return count{}, fmt.Errorf("within sum stands one counter's rate, not %s; add sums instead: sum(…) + sum(…)", quoted(inner))
}

// series is one counter.
func (d dialect) series(v *parser.VectorSelector, per string) (count, error) {
	switch {
	case v.OriginalOffset != 0 || v.OriginalOffsetExpr != nil:
		return count{}, errors.New("an offset is not carried: " + quoted(v))
	case v.Timestamp != nil || v.StartOrEnd != 0:
		return count{}, errors.New("@ is not carried: " + quoted(v))
	case v.Anchored || v.Smoothed:
		return count{}, errors.New("a range's modifier is not carried: " + quoted(v))
	}
	s := slo.Selector{Metric: v.Name}
	for _, m := range v.LabelMatchers {
		if strings.Contains(m.Value, strings.TrimSuffix(placed, "]")) {
			return count{}, fmt.Errorf("the label %s holds the window", m.Name)
		}
		if m.Name != model.MetricNameLabel {
			s.Matchers = append(s.Matchers, slo.Matcher{Label: m.Name, Operator: m.Type.String(), Value: m.Value})
		} else if s.Metric == "" && m.Type == labels.MatchEqual {
			s.Metric = m.Value
		}
	}
	if s.Metric == "" {
		return count{}, errors.New("a counter is named by one metric; this selects by a pattern: " + quoted(v))
	}
	if _, err := slo.ParseSelector(s.String()); err != nil {
		return count{}, err
	}
	return count{plus: []slo.Selector{s}, per: []string{per}}, nil
}

// events makes one of good and bad (role), and all events, what a ratio SLO
// counts. The second result warns.
func events(role slo.Role, part, total count) (*slo.Events, []string, error) {
	switch {
	case len(total.minus) > 0:
		return nil, nil, fmt.Errorf("the total takes %s away; what a total leaves out must be left out by matchers", total.minus[0])
	case len(total.plus) == 0:
		return nil, nil, errors.New("the total counts nothing")
	case len(part.plus) == 0:
		return nil, nil, fmt.Errorf("the %s events are nothing but a difference", role)
	}
	per := slices.Concat(part.per, total.per)
	slices.Sort(per)
	if per = slices.Compact(per); len(per) > 1 {
		return nil, nil, fmt.Errorf("the two counts are not of the same kind: %s", strings.Join(per, ", "))
	}
	other := slo.RoleGood
	if role == slo.RoleGood {
		other = slo.RoleBad
	}
	e := &slo.Events{}
	set := func(role slo.Role, selectors []slo.Selector) {
		switch role {
		case slo.RoleGood:
			e.Good = selectors
		case slo.RoleBad:
			e.Bad = selectors
		case slo.RoleTotal:
			e.Total = selectors
		}
	}
	switch rest, whole := without(total.plus, part.plus); {
	case len(part.minus) > 0:
		// all − good is bad, and the other way round.
		if rest, whole := without(part.plus, total.plus); !whole || len(rest) > 0 || len(part.plus) != len(total.plus) {
			return nil, nil, fmt.Errorf("a difference is carried where it is the total less the %s events; this takes %s from something else", other, part.minus[0])
		}
		set(other, part.minus)
		set(slo.RoleTotal, total.plus)
	case whole && len(rest) > 0:
		// All that is not the one is the other.
		set(role, part.plus)
		set(other, rest)
	default:
		set(role, part.plus)
		set(slo.RoleTotal, total.plus)
	}
	for _, all := range [][]slo.Selector{part.plus, part.minus, total.plus} {
		for i, s := range all {
			if slices.ContainsFunc(all[:i], func(earlier slo.Selector) bool { return earlier.String() == s.String() }) {
				return nil, nil, fmt.Errorf("%s is added twice", s)
			}
		}
	}
	var warnings []string
	for _, role := range slo.Roles {
		s := e.Of(role)
		for i := range s {
			for _, earlier := range s[:i] {
				if !earlier.Disjoint(s[i]) {
					warnings = append(warnings, fmt.Sprintf("a series that both %s and %s match is counted once, not twice", earlier, s[i]))
				}
			}
		}
	}
	return e, warnings, nil
}

// without takes selectors from others; whole says whether all of them were there.
func without(all, taken []slo.Selector) (rest []slo.Selector, whole bool) {
	rest = slices.Clone(all)
	for _, t := range taken {
		i := slices.IndexFunc(rest, func(s slo.Selector) bool { return s.String() == t.String() })
		if i < 0 {
			return all, false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return rest, true
}

// ratio takes an expression of bad / total, or 1 - (good / total), apart. role
// is what the numerator counts if the ratio is the one of failures.
func ratio(expr parser.Expr) (numerator, total parser.Expr, inverted bool, err error) {
	expr = unwrap(expr)
	b, ok := expr.(*parser.BinaryExpr)
	if ok && b.Op == parser.SUB {
		if n, isNumber := unwrap(b.LHS).(*parser.NumberLiteral); isNumber && math.Abs(n.Val-1) == 0 {
			numerator, total, inverted, err = ratio(b.RHS)
			return numerator, total, !inverted, err
		}
	}
	if !ok || b.Op != parser.DIV {
		return nil, nil, false, fmt.Errorf("%s is a ratio made elsewhere: how many events are behind it is not known, and budgets and evidence are counts; name the counters of bad and of all events", quoted(expr))
	}
	return b.LHS, b.RHS, false, nil
}

func unwrap(expr parser.Expr) parser.Expr {
	for {
		p, ok := expr.(*parser.ParenExpr)
		if !ok {
			return expr
		}
		expr = p.Expr
	}
}
