package slo

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Events says which events of other services a ratio SLO counts. Exactly two
// of the lists are set; the third follows from them, as total is good and bad.
// The counts of a list's selectors are added; a series that several selectors
// of one list match is counted once.
type Events struct {
	Good, Bad, Total []Selector
}

// Role is what a counter's events are to a ratio SLO.
type Role string

const (
	RoleGood  Role = "good"
	RoleBad   Role = "bad"
	RoleTotal Role = "total"
)

// Roles lists the roles in the order in which files name them.
var Roles = [...]Role{RoleGood, RoleBad, RoleTotal}

// Of gives the selectors of a role; none if it is the one that follows from
// the other two.
func (e *Events) Of(role Role) []Selector {
	switch role {
	case RoleGood:
		return e.Good
	case RoleBad:
		return e.Bad
	case RoleTotal:
		return e.Total
	}
	return nil
}

// Equal says whether the same counters are counted as the same, in any order.
func (e *Events) Equal(other *Events) bool {
	for _, role := range Roles {
		if !slices.Equal(sortedSelectors(e.Of(role)), sortedSelectors(other.Of(role))) {
			return false
		}
	}
	return true
}

func sortedSelectors(selectors []Selector) []string {
	texts := make([]string, len(selectors))
	for i, s := range selectors {
		s.Matchers = slices.Clone(s.Matchers)
		slices.SortFunc(s.Matchers, func(a, b Matcher) int { return strings.Compare(a.String(), b.String()) })
		texts[i] = s.String()
	}
	slices.Sort(texts)
	return texts
}

// Selector picks the series of one Prometheus counter: a PromQL instant vector
// selector with a metric name.
type Selector struct {
	Metric   string
	Matchers []Matcher // in the order in which they are written
}

// Matcher compares one label with a value. The value of =~ and !~ is a regular
// expression (RE2) that matches the whole label value.
type Matcher struct {
	Label    string
	Operator string // =, !=, =~ or !~
	Value    string
}

// String writes the matcher as PromQL: label="value".
func (m Matcher) String() string { return m.Label + m.Operator + strconv.Quote(m.Value) }

// String writes the selector as PromQL: metric{label="value"}.
func (s Selector) String() string {
	if len(s.Matchers) == 0 {
		return s.Metric
	}
	texts := make([]string, len(s.Matchers))
	for i, m := range s.Matchers {
		texts[i] = m.String()
	}
	return s.Metric + "{" + strings.Join(texts, ",") + "}"
}

// Disjoint says whether no series can match both selectors, as far as their
// names and their matchers of whole values tell.
func (s Selector) Disjoint(other Selector) bool {
	if s.Metric != other.Metric {
		return true
	}
	for _, a := range s.Matchers {
		for _, b := range other.Matchers {
			if a.Label == b.Label && (a.Operator == "=" && !b.matches(a.Value) || b.Operator == "=" && !a.matches(b.Value)) {
				return true
			}
		}
	}
	return false
}

// matches says whether a label's value passes.
func (m Matcher) matches(value string) bool {
	switch m.Operator {
	case "=":
		return value == m.Value
	case "!=":
		return value != m.Value
	}
	re, err := regexp.Compile("^(?s:" + m.Value + ")$")
	return err == nil && re.MatchString(value) == (m.Operator == "=~")
}

const maxSelector = 4096 // bytes

var (
	metricPattern = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	matcherLabel  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*`)
	matcherOp     = regexp.MustCompile(`^(=~|!~|!=|=)`)
	rangeOrMore   = regexp.MustCompile(`^(\[|offset\b|@)`)
)

// ParseSelector reads an instant vector selector of a counter, such as
// http_requests_total{job="api",code=~"5.."}. The error says what is wrong with
// it, or why it cannot be a counter of events.
func ParseSelector(text string) (Selector, error) {
	const form = `a selector is a metric name and matchers, such as http_requests_total{job="api",code=~"5.."}`
	if len(text) > maxSelector {
		return Selector{}, fmt.Errorf("a selector has at most %d bytes", maxSelector)
	}
	var s Selector
	rest := strings.TrimSpace(text)
	s.Metric = metricPattern.FindString(rest)
	rest = strings.TrimSpace(rest[len(s.Metric):])
	switch {
	case s.Metric == "" && strings.HasPrefix(rest, "{"):
		return Selector{}, errors.New("the metric's name must stand before the {: other counters' events are added by further selectors")
	case s.Metric == "":
		return Selector{}, errors.New(form)
	case strings.HasPrefix(rest, "("):
		return Selector{}, fmt.Errorf("%s(…) is an expression; name the counter itself: rates and sums are taken of it", s.Metric)
	}
	if after, ok := strings.CutPrefix(rest, "{"); ok {
		var err error
		if s.Matchers, rest, err = parseMatchers(after); err != nil {
			return Selector{}, err
		}
	}
	switch rest = strings.TrimSpace(rest); {
	case rangeOrMore.MatchString(rest):
		return Selector{}, fmt.Errorf("%q: a counter is selected without range, offset and @: the windows are those of the SLO", clip(rest))
	case rest != "":
		return Selector{}, fmt.Errorf("%q does not belong there; %s", clip(rest), form)
	}
	return s, s.check()
}

func parseMatchers(text string) (matchers []Matcher, rest string, err error) {
	rest = text
	for {
		rest = strings.TrimSpace(rest)
		if after, ok := strings.CutPrefix(rest, "}"); ok {
			return matchers, after, nil
		}
		var m Matcher
		if m.Label = matcherLabel.FindString(rest); m.Label == "" {
			return nil, "", fmt.Errorf("a matcher begins with a label's name, not with %q", clip(rest))
		}
		rest = strings.TrimSpace(rest[len(m.Label):])
		if m.Operator = matcherOp.FindString(rest); m.Operator == "" {
			return nil, "", fmt.Errorf("after the label %s stands =, !=, =~ or !~, not %q", m.Label, clip(rest))
		}
		rest = strings.TrimSpace(rest[len(m.Operator):])
		if m.Value, rest, err = parseString(rest); err != nil {
			return nil, "", fmt.Errorf("label %s: %w", m.Label, err)
		}
		matchers = append(matchers, m)
		rest = strings.TrimSpace(rest)
		if after, ok := strings.CutPrefix(rest, ","); ok {
			rest = after
		} else if !strings.HasPrefix(rest, "}") {
			return nil, "", fmt.Errorf("after the matcher of %s stands a comma or }, not %q", m.Label, clip(rest))
		}
	}
}

// parseString reads a PromQL string: as in Go, single quotes too.
func parseString(text string) (value, rest string, err error) {
	if text == "" || !strings.ContainsRune("\"'`", rune(text[0])) {
		return "", "", fmt.Errorf("a value stands in quotes, not %q", clip(text))
	}
	quote := text[0]
	if quote == '`' {
		end := strings.IndexByte(text[1:], '`')
		if end < 0 {
			return "", "", errors.New("the ` has no other half")
		}
		return text[1 : 1+end], text[2+end:], nil
	}
	var out strings.Builder
	for rest = text[1:]; rest != "" && rest[0] != quote; {
		if rest[0] == '\n' {
			break
		}
		char, multibyte, tail, err := strconv.UnquoteChar(rest, quote)
		if err != nil {
			return "", "", fmt.Errorf("%q is no escape sequence; a \\ of a regular expression is written \\\\", clip(rest[:min(len(rest), 4)]))
		}
		if char < utf8.RuneSelf || !multibyte {
			out.WriteByte(byte(char))
		} else {
			out.WriteRune(char)
		}
		rest = tail
	}
	if rest == "" || rest[0] != quote {
		return "", "", fmt.Errorf("the %c has no other half", quote)
	}
	return out.String(), rest[1:], nil
}

var leAlternatives = regexp.MustCompile(`^[0-9.eE+\-\\|()?:Inf]+$`)

// check refuses what parses but cannot count events.
func (s Selector) check() error {
	buckets := strings.HasSuffix(s.Metric, "_bucket")
	for _, m := range s.Matchers {
		switch {
		case m.Label == "__name__":
			return errors.New("the metric's name stands before the {, not in a matcher")
		case !utf8.ValidString(m.Value):
			return fmt.Errorf("label %s: the value is no UTF-8", m.Label)
		case strings.HasSuffix(m.Operator, "~"):
			if _, err := regexp.Compile(m.Value); err != nil {
				return fmt.Errorf("label %s: %s", m.Label, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
			}
		}
		if m.Label == "le" && (m.Operator == "=" || m.Operator == "=~" && leAlternatives.MatchString(m.Value)) {
			buckets = false
		}
	}
	switch {
	case buckets:
		return fmt.Errorf(`the buckets of %s overlap, so their sum counts events several times; select one, such as le="0.5"`, s.Metric)
	case strings.HasSuffix(s.Metric, "_sum"):
		return fmt.Errorf("%s adds up what was measured; events are counted by its _count", s.Metric)
	}
	return nil
}
