package gate

import (
	"regexp"
	"strconv"
	"strings"
)

// eventsMetric is the exporter's counter of verdicts; byDimension the family
// of counters that split it by one dimension.
const (
	eventsMetric = "agentslo_events_total"
	anyMetric    = `{__name__=~"agentslo_.+"}`
)

func byDimension(name string) string { return "agentslo_events_by_" + name + "_total" }

// selector is a PromQL vector selector. Values are quoted, so that no name
// from a file can leave its matcher.
type selector struct {
	metric    string
	dimension string // label that the metric's family splits by; "" for none
	foreign   bool   // not a counter of the exporter
	matchers  []string
}

func (s selector) equal(label, value string) selector {
	return s.with(label + "=" + strconv.Quote(value))
}

// oneOf matches any of the values, noneOf all but them.
func (s selector) oneOf(label string, values []string) selector {
	return s.with(label + "=~" + strconv.Quote(alternatives(values)))
}

func (s selector) noneOf(label string, values []string) selector {
	return s.with(label + "!~" + strconv.Quote(alternatives(values)))
}

func (s selector) with(matcher string) selector {
	s.matchers = append(s.matchers[:len(s.matchers):len(s.matchers)], matcher)
	return s
}

func (s selector) String() string { return s.metric + "{" + strings.Join(s.matchers, ",") + "}" }

func alternatives(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = regexp.QuoteMeta(v)
	}
	return strings.Join(quoted, "|")
}
