package interchange

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

const (
	slothVersion       = "prometheus/v1"
	slothObjectVersion = "sloth.slok.dev/v1"
	slothFormat        = "Sloth"
)

// slothAlertName is the alert that the generated rules have.
const slothAlertName = "AgentSLOBudgetBurn"

// slothKeys are the keys whose spelling the file and the Kubernetes object do
// not share.
type slothNames struct {
	errorQuery, totalQuery, errorRatioQuery, pageAlert, ticketAlert, plugins string
}

var (
	slothKeys       = slothNames{"error_query", "total_query", "error_ratio_query", "page_alert", "ticket_alert", "slo_plugins"}
	slothObjectKeys = slothNames{"errorQuery", "totalQuery", "errorRatioQuery", "pageAlert", "ticketAlert", "sloPlugins"}
)

// slothObject reads the specification within a Kubernetes object.
func (i *importer) slothObject(o object) {
	if kind := o.get("kind"); kind.text() != "PrometheusServiceLevel" {
		kind.fail("the kind of %s is PrometheusServiceLevel", slothObjectVersion)
		return
	}
	for _, f := range o.get("metadata").pairs() {
		f.warn("not carried: agentslo files are no Kubernetes objects")
	}
	spec := o.get("spec")
	if !spec.present() {
		spec.fail("spec is missing")
	}
	o.rest(slothFormat)
	i.sloth(spec.object(), slothObjectKeys)
}

func (i *importer) sloth(o object, keys slothNames) {
	service, ok := o.get("service").required()
	if ok {
		if err := slo.CheckName(service); err != nil {
			o.get("service").fail("%q: %s", service, err)
			ok = false
		}
	}
	labels := o.get("labels").pairs()
	slothPlugins(o.get(keys.plugins))
	slos := o.get("slos")
	items := slos.list()
	if len(items) == 0 {
		slos.fail("there is no SLO")
	}
	for _, item := range items {
		read := objective{field: item, service: service, alert: slo.AlertPage}
		read.window = i.options.Window
		if whole := i.slothSLO(&read, item.object(), labels, keys); whole && ok {
			i.objectives = append(i.objectives, &read)
		}
	}
	o.rest(slothFormat)
}

// slothPlugins warns of plugins that change what Sloth generates.
func slothPlugins(f field) {
	o := f.object()
	for _, p := range o.get("chain").list() {
		id := p.object().get("id")
		id.key = p.key
		id.warn("the plugin %s is not carried: it changes what Sloth generates", id.text())
	}
	o.lost("it orders Sloth's plugins", "overridePrevious", "override_previous")
	o.rest(slothFormat)
}

// slothSLO reads one SLO; it is not whole if it cannot be carried.
func (i *importer) slothSLO(to *objective, o object, labels []field, keys slothNames) (whole bool) {
	before := i.notices.Errors()
	name := o.get("name")
	if s, ok := name.required(); ok {
		to.name = s
		if err := slo.CheckName(s); err != nil {
			name.fail("%q: %s", s, err)
		}
		to.field.name = name.node
	}
	to.description = o.get("description").text()
	to.target, _ = target(o.get("objective"), true)
	for _, f := range labels {
		to.label(f, f.text())
	}
	for _, f := range o.get("labels").pairs() { // an SLO's own win
		to.label(f, f.text())
	}
	to.events = slothEvents(o.get("sli"), keys)
	slothAlerting(to, o.get("alerting"), keys)
	slothPlugins(o.get("plugins"))
	o.rest(slothFormat)
	if i.notices.Errors() > before {
		return false
	}
	to.loudness()
	return true
}

// target reads an objective, exactly.
func target(f field, percent bool) (slo.Decimal, bool) {
	text, ok := f.required()
	if !ok {
		return slo.Decimal{}, false
	}
	if percent {
		text = strings.TrimSuffix(text, "%") + "%"
	}
	d, err := slo.ParseRatio(text)
	switch {
	case err != nil:
		f.fail("%s", err)
	case !d.LessThan(decimal.NewFromInt(1)):
		f.fail("an objective of %s leaves no error budget", slo.FormatRatio(d))
	case !d.IsPositive():
		f.fail("an objective of %s asks for nothing", slo.FormatRatio(d))
	default:
		return d, true
	}
	return slo.Decimal{}, false
}

// slothEvents reads an SLI; nil if it cannot be carried.
func slothEvents(f field, keys slothNames) *slo.Events {
	o := f.object()
	of, raw, plugin := o.get("events"), o.get("raw"), o.get("plugin")
	o.rest(slothFormat)
	kinds := 0
	for _, k := range []field{of, raw, plugin} {
		if k.present() {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		f.fail("an SLI is one of events, raw and plugin; this has %d of them", kinds)
	case plugin.present():
		id := plugin.object().get("id").text()
		plugin.fail("the plugin %s makes its queries when Sloth runs; write out what it makes as events", id)
	case raw.present():
		r := raw.object()
		q := r.get(keys.errorRatioQuery)
		r.rest(slothFormat)
		return ratioEvents(slothDialect, q, slo.RoleBad)
	default:
		e := of.object()
		bad, total := e.get(keys.errorQuery), e.get(keys.totalQuery)
		e.rest(slothFormat)
		return countedEvents(slothDialect, slo.RoleBad, bad, total)
	}
	return nil
}

// countedEvents reads the queries of good or bad and of all events.
func countedEvents(d dialect, role slo.Role, part, total field) *slo.Events {
	a, first := counted(d, part)
	b, second := counted(d, total)
	if !first || !second {
		return nil
	}
	return combined(role, a, b, part)
}

func combined(role slo.Role, part, total count, at field) *slo.Events {
	e, warnings, err := events(role, part, total)
	if err != nil {
		at.fail("%s", err)
		return nil
	}
	for _, w := range warnings {
		at.warn("%s", w)
	}
	return e
}

func counted(d dialect, f field) (count, bool) {
	query, ok := f.required()
	if !ok {
		return count{}, false
	}
	expr, err := d.parse(query)
	if err != nil {
		f.fail("%s", err)
		return count{}, false
	}
	c, err := d.count(expr)
	if err != nil {
		f.fail("%s", err)
		return count{}, false
	}
	return c, true
}

// ratioEvents takes the query of a ratio apart, where it can be.
func ratioEvents(d dialect, f field, role slo.Role) *slo.Events {
	query, ok := f.required()
	if !ok {
		return nil
	}
	expr, err := d.parse(query)
	if err != nil {
		f.fail("%s", err)
		return nil
	}
	numerator, total, inverted, err := ratio(expr)
	if err != nil {
		f.fail("%s", err)
		return nil
	}
	if inverted && role == slo.RoleBad {
		role = slo.RoleGood
	} else if inverted {
		role = slo.RoleBad
	}
	a, err := d.count(numerator)
	if err != nil {
		f.fail("%s", err)
		return nil
	}
	b, err := d.count(total)
	if err != nil {
		f.fail("%s", err)
		return nil
	}
	return combined(role, a, b, f)
}

func slothAlerting(to *objective, f field, keys slothNames) {
	o := f.object()
	if name := o.get("name"); name.text() != "" && name.text() != slothAlertName {
		name.warn("not carried: the alert's name is %s; its labels tell SLOs apart", slothAlertName)
	}
	page, pageOff := slothAlert(o.get(keys.pageAlert))
	ticket, ticketOff := slothAlert(o.get(keys.ticketAlert))
	for _, l := range o.get("labels").pairs() {
		if !pageOff {
			alertLabel(&to.pageLabels, l, l.label(), l.text())
		}
		if !ticketOff {
			alertLabel(&to.ticketLabels, l, l.label(), l.text())
		}
	}
	for _, l := range page {
		alertLabel(&to.pageLabels, l, l.label(), l.text())
	}
	for _, l := range ticket {
		alertLabel(&to.ticketLabels, l, l.label(), l.text())
	}
	for _, a := range o.get("annotations").pairs() {
		slothAnnotation(to, a)
	}
	switch {
	case pageOff && ticketOff:
		to.alert = slo.AlertNone
	case pageOff:
		to.alert = slo.AlertTicket
	case ticketOff:
		o.get(keys.ticketAlert).warn("not carried: an SLO that pages has tickets for slow burns too; route them to nobody if nobody wants them")
	}
	o.rest(slothFormat)
}

// slothAlert reads the labels of a severity, and whether it is off.
func slothAlert(f field) (labels []field, off bool) {
	o := f.object()
	off = o.get("disable").boolean(false)
	labels = o.get("labels").pairs()
	if off {
		for _, l := range labels {
			l.warn("not carried: the alert is disabled")
		}
		labels = nil
	}
	for _, a := range o.get("annotations").pairs() {
		a.warn("not carried: agentslo writes the annotations of its alerts")
	}
	o.rest(slothFormat)
	return labels, off
}

func slothAnnotation(to *objective, f field) {
	switch name, value := f.label(), f.text(); {
	case name != "runbook" && name != "runbook_url":
		f.warn("not carried: agentslo writes the annotations of its alerts")
	case !isLink(value):
		f.warn("not carried: a runbook is a URL without template, not %q", firstWords(value))
	case to.runbook != "" && to.runbook != value:
		f.warn("not carried: the runbook is %s", to.runbook)
	default:
		to.runbook = value
		to.generalize()
	}
}

// generalize makes the link of one SLO that of all: where it names the SLO, it
// is a template that gives the same link, so that SLOs that differ in nothing
// else can share a document.
func (o *objective) generalize() {
	parts := strings.Split(o.runbook, "/")
	if !slices.Contains(parts[min(3, len(parts)):], o.name) {
		return
	}
	for i := 3; i < len(parts); i++ {
		switch parts[i] {
		case "":
		case o.name:
			parts[i] = "{{slo}}"
		case o.service:
			parts[i] = "{{service}}"
		case o.environment:
			parts[i] = "{{environment}}"
		}
	}
	o.runbook = strings.Join(parts, "/")
}

func isLink(s string) bool {
	return (strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://")) && !strings.Contains(s, "{{") && !strings.Contains(s, "}}")
}
