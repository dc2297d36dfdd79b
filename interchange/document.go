package interchange

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/slo"
)

// objective is one SLO that was read from another format: what a file says for
// it, and where it stands.
type objective struct {
	field
	service, environment, name string
	description                string
	target                     slo.Decimal
	events                     *slo.Events
	alert                      slo.Alert
	settings
}

// settings belong to a whole agentslo document: objectives of a service that
// differ in them stand in several.
type settings struct {
	window                   string // 28d, or calendar month Europe/Berlin
	calendar, timezone       string
	labels                   map[string]string
	pageLabels, ticketLabels map[string]string
	runbook, dashboard       string
	falsePages, dispersion   string
}

func (s settings) equal(other settings) bool {
	return s.window == other.window && s.calendar == other.calendar && s.timezone == other.timezone &&
		maps.Equal(s.labels, other.labels) && maps.Equal(s.pageLabels, other.pageLabels) && maps.Equal(s.ticketLabels, other.ticketLabels) &&
		s.runbook == other.runbook && s.dashboard == other.dashboard && s.falsePages == other.falsePages && s.dispersion == other.dispersion
}

// loudness lowers an alert that no traffic could reach.
func (o *objective) loudness() {
	if half := decimal.RequireFromString("0.5"); o.alert == slo.AlertPage && o.target.LessThan(half) {
		o.alert = slo.AlertTicket
		o.warn("no traffic could ever page at an objective of %s: alert: ticket", slo.FormatRatio(o.target))
	}
}

// label puts a label where agentslo has it. environment is a key of its own.
func (o *objective) label(f field, value string) {
	name := f.label()
	switch err := slo.CheckLabel(name); {
	case name == "environment":
		o.environment = value
	case err != nil:
		f.warn("not carried: %s", err)
	case value == "":
		f.warn("not carried: it is empty")
	default:
		if o.labels == nil {
			o.labels = map[string]string{}
		}
		o.labels[name] = value
	}
}

// alertLabel puts a label on pages or tickets.
func alertLabel(to *map[string]string, f field, name, value string) {
	switch err := slo.CheckAlertLabel(name); {
	case err != nil:
		f.warn("not carried: %s", err)
	case value == "":
		f.warn("not carried: it is empty")
	default:
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[name] = value
	}
}

// document is one agentslo document.
type document struct {
	service, environment string
	settings
	objectives []*objective
}

// documents sorts objectives into documents, in the order in which they were
// read. An SLO that is there already is an error.
func documents(objectives []*objective) []*document {
	var all []*document
	seen := map[[3]string]*objective{}
	for _, o := range objectives {
		id := [3]string{o.service, o.environment, o.name}
		if first, ok := seen[id]; ok {
			where := ""
			if at := first.at(); at != nil {
				where = fmt.Sprintf(" (%s:%d:%d)", first.path, at.Line, at.Column)
			}
			o.fail("service %s has an SLO %s already%s", o.service, o.name, where)
			continue
		}
		seen[id] = o
		i := slices.IndexFunc(all, func(d *document) bool {
			return d.service == o.service && d.environment == o.environment && d.settings.equal(o.settings)
		})
		if i < 0 {
			i = len(all)
			all = append(all, &document{service: o.service, environment: o.environment, settings: o.settings})
		}
		all[i].objectives = append(all[i].objectives, o)
	}
	return all
}

// mapping builds a YAML mapping in order.
type mapping struct{ node yaml.Node }

func newMapping() *mapping { return &mapping{yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (m *mapping) add(key string, value *yaml.Node) {
	m.node.Content = append(m.node.Content, textNode(key), value)
}

// text adds a text, but no empty one.
func (m *mapping) text(key, value string) {
	if value != "" {
		m.add(key, textNode(value))
	}
}

// plain adds a scalar that is written as it is: 99.9%, 30d, 99.9, true.
func (m *mapping) plain(key, value string) {
	if value != "" {
		m.add(key, &yaml.Node{Kind: yaml.ScalarNode, Value: value})
	}
}

// texts adds a mapping of texts, sorted; but no empty one.
func (m *mapping) texts(key string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	inner := newMapping()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		inner.add(name, textNode(values[name]))
	}
	m.add(key, &inner.node)
}

// mapping adds a mapping, but no empty one.
func (m *mapping) mapping(key string, inner *mapping) {
	if len(inner.node.Content) > 0 {
		m.add(key, &inner.node)
	}
}

func (m *mapping) list(key string, items ...*yaml.Node) {
	if len(items) > 0 {
		m.add(key, &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items})
	}
}

// textNode is a text that reads as one: the encoder quotes what would not.
func textNode(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	return n
}

func queryNode(value string) *yaml.Node {
	style := yaml.SingleQuotedStyle
	if strings.ContainsAny(value, "\n\r\t") {
		style = 0
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value, Style: style}
}

// yaml is the document as agentslo reads it.
func (d *document) yaml() *yaml.Node {
	m := newMapping()
	m.text("apiVersion", "agentslo/v1")
	m.text("kind", "AgentSLO")
	m.text("service", d.service)
	m.text("environment", d.environment)
	if d.calendar != "" {
		w := newMapping()
		w.text("calendar", d.calendar)
		w.text("timezone", d.timezone)
		m.mapping("window", w)
	} else {
		m.plain("window", d.window)
	}
	m.texts("labels", d.labels)
	slos := newMapping()
	for _, o := range d.objectives {
		s := newMapping()
		s.text("sli", slo.KindRatio)
		s.plain("objective", slo.FormatRatio(o.target))
		s.text("description", o.description)
		events := newMapping()
		for _, role := range slo.Roles {
			var selectors []*yaml.Node
			for _, selector := range o.events.Of(role) {
				selectors = append(selectors, queryNode(selector.String()))
			}
			events.list(string(role), selectors...)
		}
		s.mapping("events", events)
		if o.alert != slo.AlertPage {
			s.text("alert", string(o.alert))
		}
		slos.add(o.name, &s.node)
	}
	m.mapping("slos", slos)
	alerting := newMapping()
	alerting.text("runbook", d.runbook)
	alerting.text("dashboard", d.dashboard)
	for _, severity := range []struct {
		name   string
		labels map[string]string
	}{{"page", d.pageLabels}, {"ticket", d.ticketLabels}} {
		inner := newMapping()
		inner.texts("labels", severity.labels)
		alerting.mapping(severity.name, inner)
	}
	alerting.plain("false_pages", d.falsePages)
	alerting.plain("dispersion", d.dispersion)
	m.mapping("alerting", alerting)
	return &m.node
}
