package interchange

import (
	"github.com/shopspring/decimal"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/slo"
)

// slothPeriod is the window that Sloth gives an SLO.
const slothPeriod = "30d"

func (e *exporter) sloth() {
	if e.Window.Calendar != "" {
		e.fail("Sloth's windows are rolling: over a calendar "+e.Window.Calendar+" the objective means something else", "window")
		return
	}
	if e.Window.Name != slothPeriod {
		e.warn("not carried: Sloth takes the window from its command line, --default-slo-period="+e.Window.Name, "window")
	}
	if e.Alerting.Dashboard != "" {
		e.warn("not carried: Sloth links no dashboard", "alerting")
	}
	if !e.Alerting.FalsePages.Equal(defaultFalsePages) {
		e.warn("not carried: Sloth has no allowance for false pages (false_pages)", "alerting")
	}
	if !e.Alerting.Dispersion.Equal(decimal.NewFromInt(1)) {
		e.warn("not carried: Sloth's alerts weigh no evidence, so there is nothing to disperse (dispersion)", "alerting")
	}
	labels := map[string]string{}
	for name, value := range e.Labels {
		labels[name] = value
	}
	if e.Environment != "" {
		labels["environment"] = e.Environment
	}
	m := newMapping()
	m.text("version", slothVersion)
	m.text("service", e.Service)
	m.texts("labels", labels)
	var slos []*yaml.Node
	for i := range e.SLOs {
		o := &e.SLOs[i]
		if len(o.Name) < 2 || len(e.Service) < 2 {
			e.fail("Sloth refuses names of one character", "slos", o.Name)
			continue
		}
		slos = append(slos, &e.slothSLO(o).node)
	}
	if len(slos) == 0 {
		return
	}
	if slices.ContainsFunc(e.SLOs, func(o slo.Objective) bool { return o.Alert != slo.AlertNone }) {
		e.warn("Sloth makes alerts of its own: agentslo's tiers, and the evidence that they ask for, are not carried", "slos")
	}
	m.list("slos", slos...)
	e.add(m)
}

func (e *exporter) slothSLO(o *slo.Objective) *mapping {
	m := newMapping()
	m.text("name", o.Name)
	m.plain("objective", strings.TrimSuffix(slo.FormatRatio(o.Target), "%"))
	m.text("description", o.Description)
	of := func(s slo.Selector) string { return "rate(" + s.String() + "[" + window + "])" }
	role, part, total := queries(e.counted(o), of)
	if role == slo.RoleGood {
		part = total + " - " + minuend(part)
	}
	events := newMapping()
	events.add("error_query", queryNode(part))
	events.add("total_query", queryNode(total))
	sli := newMapping()
	sli.mapping("events", events)
	m.mapping("sli", sli)

	alerting := newMapping()
	alerting.text("name", slothAlertName)
	if e.Alerting.Runbook != "" {
		alerting.texts("annotations", map[string]string{"runbook_url": e.runbook(o)})
	}
	alert := func(key string, off bool, labels map[string]string) {
		inner := newMapping()
		if off {
			inner.plain("disable", "true")
		} else {
			inner.texts("labels", labels)
		}
		alerting.mapping(key, inner)
	}
	alert("page_alert", o.Alert != slo.AlertPage, e.Alerting.PageLabels)
	alert("ticket_alert", o.Alert == slo.AlertNone, e.Alerting.TicketLabels)
	m.mapping("alerting", alerting)
	return m
}

// minuend puts a sum of several behind a minus.
func minuend(query string) string {
	if strings.Contains(query, ") + (") {
		return "(" + query + ")"
	}
	return query
}

// runbook is the SLO's own link.
func (e *exporter) runbook(o *slo.Objective) string {
	return strings.NewReplacer("{{service}}", e.Service, "{{slo}}", o.Name, "{{environment}}", e.Environment).Replace(e.Alerting.Runbook)
}
