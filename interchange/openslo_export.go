package interchange

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

var (
	defaultFalsePages = decimal.RequireFromString("0.3")

	// What every implementation of OpenSLO must take.
	openSLOName     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	openSLOLabel    = regexp.MustCompile(`^[a-zA-Z0-9]([-._a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$`)
	notInOpenSLO    = regexp.MustCompile(`[^a-z0-9]+`)
	maxOpenSLOLabel = 63
)

func (e *exporter) openSLO() {
	service := newMapping()
	service.text("apiVersion", openSLOVersion)
	service.text("kind", kindService)
	metadata := newMapping()
	metadata.text("name", openSLOIdentifier(e.Service))
	service.mapping("metadata", metadata)
	service.add("spec", &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle})

	window, ok := e.openSLOWindow()
	if !ok {
		return
	}
	e.add(service)
	loud := map[string]bool{}
	names := map[string]string{}
	for i := range e.SLOs {
		o := &e.SLOs[i]
		id := openSLOIdentifier(o.Name)
		if first, taken := names[id]; taken {
			e.fail(fmt.Sprintf("its name would be %s, as that of %s", id, first), "slos", o.Name)
			continue
		}
		names[id] = o.Name
		e.add(e.openSLOObjective(o, id, window, loud))
	}
	if len(loud) > 0 {
		e.warn("the evidence that agentslo's alerts ask for, and their short windows, are not carried", "slos")
	}
	for _, severity := range []string{rules.SeverityPage, rules.SeverityTicket} {
		if !loud[severity] {
			continue
		}
		target := newMapping()
		target.text("apiVersion", openSLOVersion)
		target.text("kind", kindTarget)
		metadata := newMapping()
		metadata.text("name", e.targetName(severity))
		target.mapping("metadata", metadata)
		spec := newMapping()
		spec.text("target", exportTarget)
		target.mapping("spec", spec)
		e.add(target)
	}
}

// targetName is the notification target of a severity: one for each file.
func (e *exporter) targetName(severity string) string {
	name := openSLOIdentifier(e.Service)
	if e.Environment != "" {
		name = openSLOIdentifier(e.Service + "-" + e.Environment)
	}
	return openSLOIdentifier(name + "-" + severity)
}

// openSLOIdentifier is a name as OpenSLO allows it.
func openSLOIdentifier(name string) string {
	if openSLOName.MatchString(name) {
		return name
	}
	id := strings.Trim(notInOpenSLO.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if len(id) > maxOpenSLOLabel {
		id = strings.Trim(id[:maxOpenSLOLabel], "-")
	}
	if id == "" {
		id = "x"
	}
	return id
}

func (e *exporter) openSLOWindow() (*yaml.Node, bool) {
	m := newMapping()
	if e.Window.Calendar == "" {
		text, ok := openSLODuration(e.Window.Rolling)
		if !ok {
			e.fail("OpenSLO's durations are whole minutes", "window")
			return nil, false
		}
		m.text("duration", text)
		m.plain("isRolling", "true")
		return &m.node, true
	}
	m.text("duration", map[string]string{"week": "1w", "month": "1M", "quarter": "1Q"}[e.Window.Calendar])
	m.plain("isRolling", "false")
	calendar := newMapping()
	calendar.text("startTime", "2024-01-01 00:00:00") // a Monday, and the first day of a quarter
	zone := "UTC"
	if e.Window.Location != nil {
		zone = e.Window.Location.String()
	}
	calendar.text("timeZone", zone)
	m.mapping("calendar", calendar)
	return &m.node, true
}

func openSLODuration(d time.Duration) (string, bool) {
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}} {
		if d > 0 && d%unit.length == 0 {
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.name, true
		}
	}
	return "", false
}

func (e *exporter) openSLOObjective(o *slo.Objective, id string, window *yaml.Node, loud map[string]bool) *mapping {
	m := newMapping()
	m.text("apiVersion", openSLOVersion)
	m.text("kind", kindSLO)
	m.mapping("metadata", e.openSLOMetadata(o, id))

	spec := newMapping()
	spec.text("description", o.Description)
	spec.text("service", openSLOIdentifier(e.Service))
	spec.mapping("indicator", e.openSLOIndicator(o, id))
	spec.list("timeWindow", window)
	spec.text("budgetingMethod", "Occurrences")
	objective := newMapping()
	objective.plain("targetPercent", strings.TrimSuffix(slo.FormatRatio(o.Target), "%"))
	spec.list("objectives", &objective.node)
	var policies []*yaml.Node
	for _, t := range rules.Tiers(e.File, o) {
		loud[t.Severity] = true
		policies = append(policies, &e.openSLOPolicy(t, id).node)
	}
	spec.list("alertPolicies", policies...)
	m.mapping("spec", spec)
	return m
}

func (e *exporter) openSLOMetadata(o *slo.Objective, id string) *mapping {
	labels, annotations := map[string]string{}, map[string]string{}
	note := func(name, value string) {
		switch key := annotationSpace + name; {
		case value == "":
		case !openSLOLabel.MatchString(name):
			e.warn(fmt.Sprintf("the label is not carried: %s is no key that OpenSLO allows", name), "labels")
		default:
			annotations[key] = value
		}
	}
	for name, value := range e.Labels {
		if openSLOLabel.MatchString(name) {
			labels[name] = value
		} else {
			note("label."+name, value)
		}
	}
	if id != o.Name {
		note("name", o.Name)
	}
	if service := openSLOIdentifier(e.Service); service != e.Service {
		note("service", e.Service)
	}
	note("environment", e.Environment)
	if e.Alerting.Runbook != "" {
		note("runbook", e.Alerting.Runbook)
	}
	note("dashboard", e.Alerting.Dashboard)
	if !e.Alerting.FalsePages.Equal(defaultFalsePages) {
		note("false-pages", e.Alerting.FalsePages.String())
	}
	if !e.Alerting.Dispersion.Equal(decimal.NewFromInt(1)) {
		note("dispersion", e.Alerting.Dispersion.String())
	}
	for name, value := range e.Alerting.PageLabels {
		note("page-label."+name, value)
	}
	for name, value := range e.Alerting.TicketLabels {
		note("ticket-label."+name, value)
	}
	if o.Alert == slo.AlertNone {
		note("alert", string(slo.AlertNone))
	}
	m := newMapping()
	m.text("name", id)
	m.texts("labels", labels)
	m.texts("annotations", annotations)
	return m
}

func (e *exporter) openSLOIndicator(o *slo.Objective, id string) *mapping {
	role, part, total := queries(e.counted(o), slo.Selector.String)
	source := func(query string) *mapping {
		spec := newMapping()
		spec.add("query", queryNode(query))
		source := newMapping()
		source.text("type", "Prometheus")
		source.mapping("spec", spec)
		metric := newMapping()
		metric.mapping("metricSource", source)
		return metric
	}
	ratio := newMapping()
	ratio.plain("counter", "true")
	ratio.mapping(string(role), source(part))
	ratio.mapping(string(slo.RoleTotal), source(total))
	spec := newMapping()
	spec.mapping("ratioMetric", ratio)
	metadata := newMapping()
	metadata.text("name", id)
	m := newMapping()
	m.mapping("metadata", metadata)
	m.mapping("spec", spec)
	return m
}

// openSLOPolicy has one condition: the format allows no more.
func (e *exporter) openSLOPolicy(t rules.Tier, id string) *mapping {
	named := func(kind string) *mapping {
		metadata := newMapping()
		metadata.text("name", openSLOIdentifier(t.Name))
		m := newMapping()
		m.text("kind", kind)
		m.mapping("metadata", metadata)
		return m
	}
	burn := newMapping()
	burn.text("kind", "burnrate")
	burn.text("op", "gt")
	burn.plain("threshold", t.BurnThreshold.String())
	lookback, _ := openSLODuration(t.Long)
	burn.text("lookbackWindow", lookback)
	burn.text("alertAfter", "0m")
	inner := newMapping()
	inner.text("severity", t.Severity)
	inner.mapping("condition", burn)
	condition := named(kindCondition)
	condition.mapping("spec", inner)

	target := newMapping()
	target.text("targetRef", e.targetName(t.Severity))
	spec := newMapping()
	spec.plain("alertWhenBreaching", "true")
	spec.list("conditions", &condition.node)
	spec.list("notificationTargets", &target.node)
	policy := named(kindPolicy)
	policy.mapping("spec", spec)
	return policy
}
