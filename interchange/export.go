package interchange

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/slo"
)

// Format is a format that SLOs are exported to.
type Format string

const (
	// OpenSLO is openslo/v1.
	OpenSLO Format = "openslo"
	// Sloth is prometheus/v1.
	Sloth Format = "sloth"
)

// Formats lists what [Export] writes.
var Formats = []Format{OpenSLO, Sloth}

// Export writes the files of a set as YAML documents of another format. SLOs
// about runs of agents become ratios of the exporter's counters: how a run is
// judged has no place in those formats.
//
// SLOs that cannot be carried are left out and have an error among the
// notices. The error is not nil when the format is unknown.
func Export(set *slo.Set, format Format) ([]byte, Notices, error) {
	write := map[Format]func(*exporter){OpenSLO: (*exporter).openSLO, Sloth: (*exporter).sloth}[format]
	if write == nil {
		return nil, nil, fmt.Errorf("unknown format %q: it is one of %v", format, Formats)
	}
	var notices Notices
	var out bytes.Buffer
	for _, f := range set.Files {
		e := &exporter{File: f, notices: &notices}
		e.lost()
		write(e)
		for _, d := range e.documents {
			if out.Len() > 0 {
				out.WriteString("---\n")
			}
			text, err := encode(d)
			if err != nil {
				return nil, nil, err
			}
			out.Write(text)
		}
	}
	return out.Bytes(), notices.sorted(), nil
}

// exporter writes one file.
type exporter struct {
	*slo.File
	notices   *Notices
	documents []*yaml.Node
}

func (e *exporter) add(m *mapping) { e.documents = append(e.documents, &m.node) }

func (e *exporter) notice(isError bool, message string, keys ...string) {
	line, column, _ := e.Position(keys...)
	if len(keys) == 2 && keys[0] == "slos" {
		if o := e.Objective(keys[1]); o != nil {
			line, column = o.Line, o.Col
		}
	}
	*e.notices = append(*e.notices, Notice{Path: e.Path, Line: line, Column: column, Key: strings.Join(keys, "."), Error: isError, Message: message})
}

func (e *exporter) warn(message string, keys ...string) { e.notice(false, message, keys...) }
func (e *exporter) fail(message string, keys ...string) { e.notice(true, message, keys...) }

// aboutRuns are the keys that say how runs are found and judged.
var aboutRuns = []string{"agents", "aliases", "match", "sampling", "runs", "dimensions", "exclude", "max_excluded", "tools", "prices", "outcomes"}

// lost warns of what neither format has a place for.
func (e *exporter) lost() {
	for _, key := range aboutRuns {
		if _, _, ok := e.Position(key); ok {
			e.warn("not carried: how runs of agents are found and judged has no place in other formats", key)
		}
	}
	if len(e.By) > 0 {
		e.warn("not carried: the budget is over all agents", "by")
	}
	if _, _, ok := e.Position("policy"); ok {
		e.warn("not carried: what a release gate asks is agentslo's own", "policy")
	}
	for i := range e.SLOs {
		if o := &e.SLOs[i]; o.CountsRuns() {
			e.warn(fmt.Sprintf("how a run is judged (%s) is not carried: the SLO becomes a ratio of counters that agentslo's exporter publishes", o.SLI), "slos", o.Name)
		}
	}
}

// counted are the counters of an SLO, of whatever kind.
func (e *exporter) counted(o *slo.Objective) *slo.Events {
	if !o.CountsRuns() {
		return o.Events
	}
	runs := func(operator, verdict string) []slo.Selector {
		s := slo.Selector{Metric: "agentslo_events_total", Matchers: []slo.Matcher{{Label: "slo_service", Operator: "=", Value: e.Service}}}
		if e.Environment != "" {
			s.Matchers = append(s.Matchers, slo.Matcher{Label: "environment", Operator: "=", Value: e.Environment})
		}
		s.Matchers = append(s.Matchers, slo.Matcher{Label: "slo", Operator: "=", Value: o.Name}, slo.Matcher{Label: "verdict", Operator: operator, Value: verdict})
		return []slo.Selector{s}
	}
	return &slo.Events{Bad: runs("=", slo.Bad.String()), Total: runs("=~", slo.Good.String()+"|"+slo.Bad.String())}
}

// sum writes counters as one query. A counter that is not there yet counts 0:
// the first failure makes its series.
func sum(selectors []slo.Selector, of func(slo.Selector) string, optional bool) string {
	terms := make([]string, len(selectors))
	for i, s := range selectors {
		terms[i] = "sum(" + of(s) + ")"
		if optional || len(selectors) > 1 {
			terms[i] = "(" + terms[i] + " or vector(0))"
		}
	}
	return strings.Join(terms, " + ")
}

// queries are those of bad or good, and of all events.
func queries(e *slo.Events, of func(slo.Selector) string) (role slo.Role, part, total string) {
	role = slo.RoleBad
	if len(e.Bad) == 0 {
		role = slo.RoleGood
	}
	all := e.Total
	if len(all) == 0 {
		all = slices.Concat(e.Good, e.Bad)
	}
	return role, sum(e.Of(role), of, true), sum(all, of, false)
}
