package interchange

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

const (
	openSLOVersion = "openslo/v1"
	openSLOFormat  = "OpenSLO v1"
)

// Kinds of objects of OpenSLO.
const (
	kindSLO         = "SLO"
	kindSLI         = "SLI"
	kindService     = "Service"
	kindDataSource  = "DataSource"
	kindPolicy      = "AlertPolicy"
	kindCondition   = "AlertCondition"
	kindTarget      = "AlertNotificationTarget"
	annotationSpace = "agentslo/" // annotations that export writes for what OpenSLO has no key
)

var openSLOKinds = []string{kindSLO, kindSLI, kindService, kindDataSource, kindPolicy, kindCondition, kindTarget}

// openSLOObject is one object, inlined or a document of its own.
type openSLOObject struct {
	field
	kind, name     string
	metadata, spec object
	used           bool
}

func (i *importer) openSLODocument(o object) {
	kind := o.get("kind")
	name, ok := kind.required()
	if !ok {
		return
	}
	if !slices.Contains(openSLOKinds, name) {
		kind.fail("%s is no kind of OpenSLO v1 that is read; those are %s", name, strings.Join(openSLOKinds, ", "))
		return
	}
	x := newOpenSLOObject(o, name)
	if x.name == "" {
		x.metadata.get("name").fail("this is missing")
		return
	}
	if i.objects[name] == nil {
		i.objects[name] = map[string]*openSLOObject{}
	}
	if first, ok := i.objects[name][x.name]; ok {
		x.metadata.get("name").fail("there is a %s %s already (%s:%d:%d)", name, x.name, first.path, first.node.Line, first.node.Column)
		return
	}
	i.objects[name][x.name] = x
	i.order = append(i.order, x)
}

func newOpenSLOObject(o object, kind string) *openSLOObject {
	x := &openSLOObject{field: o.field, kind: kind, metadata: o.get("metadata").object(), spec: o.get("spec").object()}
	o.get("apiVersion")
	o.get("kind")
	o.rest(openSLOFormat)
	x.name = x.metadata.get("name").text()
	return x
}

// lostMetadata warns of what agentslo has no place for beside names.
func (x *openSLOObject) lostMetadata() {
	why := "agentslo has no place for it at " + article(x.kind)
	x.metadata.lost(why, "displayName", "labels", "annotations")
	x.metadata.rest(openSLOFormat)
	x.spec.lost(why, "description")
}

func article(kind string) string {
	if strings.ContainsRune("AS", rune(kind[0])) && kind != kindService {
		return "an " + kind // an SLI
	}
	return "a " + kind
}

// find is the object that a reference names.
func (i *importer) find(kind string, ref field) *openSLOObject {
	name, ok := ref.required()
	if !ok {
		return nil
	}
	x := i.objects[kind][name]
	if x == nil {
		ref.fail("there is no %s %s in what is read", kind, name)
		return nil
	}
	x.used = true
	return x
}

// openSLO reads the SLOs, and tells which other objects none of them uses.
func (i *importer) openSLO() {
	for _, x := range i.order {
		if x.kind == kindSLO {
			i.openSLOObjective(x)
		}
	}
	for _, x := range i.order {
		switch {
		case x.kind == kindSLO:
		case x.used:
		case x.kind == kindService && i.objects[kindSLO] == nil:
			x.warn("the service %s has no SLO here", x.name)
		default:
			x.warn("not carried: no SLO here refers to the %s %s", x.kind, x.name)
		}
	}
}

func (i *importer) openSLOObjective(x *openSLOObject) {
	before := i.notices.Errors()
	base := objective{field: x.field, name: x.name, alert: slo.AlertNone}
	base.field.name = x.metadata.get("name").node
	spec := x.spec
	base.description = spec.get("description").text()
	if f := x.metadata.get("displayName"); f.present() && base.description == "" {
		base.description = f.text()
	} else if f.present() {
		f.warn("not carried: the description is")
	}
	service := spec.get("service")
	base.service, _ = service.required()
	if s := i.objects[kindService][base.service]; s != nil {
		if !s.used {
			s.lostMetadata()
			s.spec.rest(openSLOFormat)
		}
		s.used = true
	}
	i.openSLOLabels(&base, x.metadata.get("labels"))
	own := i.openSLOAnnotations(&base, x.metadata.get("annotations"))
	x.metadata.rest(openSLOFormat)
	for _, n := range []struct{ what, name string }{{"SLO", base.name}, {"service", base.service}} {
		if err := slo.CheckName(n.name); n.name != "" && err != nil {
			base.fail("the %s %q: %s", n.what, n.name, err)
		}
	}
	switch method := spec.get("budgetingMethod"); method.text() {
	case "Occurrences":
	case "Timeslices", "RatioTimeslices":
		method.fail("%s budgets count slices of time, agentslo counts events: the objective would mean something else", method.text())
	case "":
		method.fail("this is missing")
	default:
		method.fail("this is Occurrences, Timeslices or RatioTimeslices, not %s", method.text())
	}
	i.openSLOWindow(&base, spec.get("timeWindow"))
	objectives := spec.get("objectives").list()
	if len(objectives) == 0 {
		spec.get("objectives").fail("there is no objective")
	}
	composite := slices.ContainsFunc(objectives, func(f field) bool {
		o := field{reader: reader{path: f.path, notices: &Notices{}}, node: f.node}.object()
		return o.has("indicator") || o.has("indicatorRef")
	})
	if composite {
		spec.get("indicator")
		spec.get("indicatorRef")
		spec.get("objectives").fail("a composite SLO weighs several indicators into one; agentslo has an SLO for each: write one for each indicator")
	} else {
		base.events = i.openSLOIndicator(&base, spec)
	}
	var read []*objective
	for _, f := range objectives {
		o := base
		if i.openSLOTarget(&o, f.object(), len(objectives) > 1) {
			read = append(read, &o)
		}
	}
	conditions, policies := i.openSLOPolicies(spec.get("alertPolicies"))
	spec.rest(openSLOFormat)
	for _, o := range read {
		o.alert = slo.AlertNone
		for _, c := range conditions {
			if c.severity == slo.AlertPage || o.alert == slo.AlertNone {
				o.alert = c.severity
			}
		}
	}
	if policies == 0 && !own["alert"] {
		x.warn("the SLO has no alertPolicies, so it gets alert: none; take that out of the file to be alerted")
	}
	if i.notices.Errors() > before {
		return
	}
	for _, o := range read {
		o.loudness()
		o.compare(conditions)
		i.objectives = append(i.objectives, o)
	}
}

func (i *importer) openSLOLabels(to *objective, f field) {
	o := f.object()
	for _, name := range o.names() {
		l := o.get(name)
		if l.node != nil && l.node.Kind == yaml.SequenceNode {
			items := l.list()
			if len(items) != 1 {
				l.warn("not carried: a label has one value")
				continue
			}
			to.label(l, items[0].text())
			continue
		}
		to.label(l, l.text())
	}
}

// openSLOAnnotations reads what export wrote there, and warns of the others.
func (i *importer) openSLOAnnotations(to *objective, f field) (own map[string]bool) {
	own = map[string]bool{}
	for _, a := range f.pairs() {
		name, ok := strings.CutPrefix(a.label(), annotationSpace)
		value := a.text()
		if !ok {
			a.warn("not carried: agentslo has no annotations")
			continue
		}
		own[name] = true
		page, isPage := strings.CutPrefix(name, "page-label.")
		ticket, isTicket := strings.CutPrefix(name, "ticket-label.")
		label, isLabel := strings.CutPrefix(name, "label.")
		switch {
		case isPage:
			alertLabel(&to.pageLabels, a, page, value)
		case isTicket:
			alertLabel(&to.ticketLabels, a, ticket, value)
		case isLabel:
			l := a
			l.name = &yaml.Node{Kind: yaml.ScalarNode, Value: label, Line: a.name.Line, Column: a.name.Column}
			to.label(l, value)
		case name == "name":
			to.name = value
		case name == "service":
			to.service = value
		case name == "environment":
			to.environment = value
		case name == "runbook":
			to.runbook = value
		case name == "dashboard":
			to.dashboard = value
		case name == "false-pages":
			to.falsePages = value
		case name == "dispersion":
			to.dispersion = value
		case name == "alert":
			if value != string(slo.AlertNone) {
				a.warn("not carried: how loud the SLO is comes from its alertPolicies")
				delete(own, name)
			}
		default:
			a.warn("not carried: agentslo knows no such annotation")
		}
	}
	return own
}

var shorthand = regexp.MustCompile(`^([1-9]\d{0,5})([mhdwMQY])$`)

// openSLOWindow reads the one time window that an SLO has.
func (i *importer) openSLOWindow(to *objective, f field) {
	windows := f.list()
	switch {
	case !f.present():
		to.window = i.options.Window
		f.warn("the SLO has no timeWindow, so its window is %s", to.window)
		return
	case len(windows) != 1:
		f.fail("an SLO has one time window; this has %d", len(windows))
		return
	}
	o := windows[0].object()
	duration := o.get("duration")
	text, ok := duration.required()
	calendar := o.get("calendar")
	rolling := o.get("isRolling").boolean(false)
	o.rest(openSLOFormat)
	m := shorthand.FindStringSubmatch(text)
	switch {
	case !ok:
	case m == nil:
		duration.fail("%q: a duration is a positive whole number and m, h, d, w, M, Q or Y", text)
	case rolling && calendar.present():
		calendar.fail("a rolling window has no calendar")
	case rolling:
		days := map[string]int{"M": 30, "Q": 90, "Y": 365}[m[2]]
		if days == 0 {
			to.window = text
			return
		}
		n, _ := strconv.Atoi(m[1])
		to.window = fmt.Sprintf("%dd", n*days)
		duration.warn("a rolling %s has no fixed length; it is carried as %s", text, to.window)
	case !calendar.present():
		o.get("isRolling").fail("a window is rolling (isRolling: true) or has a calendar")
	default:
		to.calendarWindow(text, duration, calendar.object())
	}
}

// calendarPeriods are the periods that agentslo has, by how OpenSLO writes them.
var calendarPeriods = map[string]string{"1w": "week", "7d": "week", "1M": "month", "1Q": "quarter", "3M": "quarter"}

func (o *objective) calendarWindow(text string, duration field, calendar object) {
	start, zone := calendar.get("startTime"), calendar.get("timeZone")
	calendar.rest(openSLOFormat)
	period := calendarPeriods[text]
	if period == "" {
		duration.fail("a calendar window of %s is not carried; there are weeks (1w), months (1M) and quarters (1Q)", text)
		return
	}
	o.calendar, o.timezone = period, zone.text()
	if _, err := time.LoadLocation(o.timezone); err != nil {
		zone.fail("%q is no IANA time zone", o.timezone)
	}
	startText, ok := start.required()
	if !ok {
		return
	}
	at, err := time.Parse(time.DateTime, startText)
	if err != nil {
		start.fail("%q is no date with time, such as 2024-01-01 00:00:00", startText)
		return
	}
	aligned := at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0
	switch period {
	case "week":
		aligned = aligned && at.Weekday() == time.Monday
	case "month":
		aligned = aligned && at.Day() == 1
	case "quarter":
		aligned = aligned && at.Day() == 1 && (at.Month()-1)%3 == 0
	}
	if !aligned {
		start.fail("a %s of agentslo begins at midnight of its first day, not like %s", period, startText)
	}
}

// openSLOTarget reads one objective of an SLO; several make an SLO each.
func (i *importer) openSLOTarget(to *objective, o object, several bool) bool {
	fraction, percent := o.get("target"), o.get("targetPercent")
	ok := false
	switch {
	case fraction.present() == percent.present():
		o.fail("an objective has either target or targetPercent")
	case percent.present():
		to.target, ok = target(percent, true)
	default:
		to.target, ok = target(fraction, false)
	}
	o.lost("it belongs to a thresholdMetric", "op", "value")
	o.lost("it belongs to Timeslices", "timeSliceTarget", "timeSliceWindow")
	o.lost("an SLO of one indicator has no weight", "compositeWeight")
	o.get("indicator")
	o.get("indicatorRef")
	if several && ok {
		to.field = o.field
		to.name += "-" + strings.TrimSuffix(slo.FormatRatio(to.target), "%")
	}
	o.lost("the SLO's description and name are", "displayName")
	o.rest(openSLOFormat)
	return ok
}

// openSLOIndicator reads the SLI; nil if it cannot be carried.
func (i *importer) openSLOIndicator(to *objective, spec object) *slo.Events {
	inline, ref := spec.get("indicator"), spec.get("indicatorRef")
	var x *openSLOObject
	switch {
	case inline.present() == ref.present():
		spec.fail("an SLO has either indicator or indicatorRef")
		return nil
	case ref.present():
		if x = i.find(kindSLI, ref); x == nil {
			return nil
		}
	default:
		x = newOpenSLOObject(inline.object(), kindSLI)
	}
	if d := x.spec.get("description"); d.present() && to.description == "" {
		to.description = d.text()
	}
	x.metadata.lost("agentslo has no place for it at an SLI", "displayName", "labels", "annotations")
	x.metadata.rest(openSLOFormat)
	if d := x.spec.get("description"); d.present() && to.description != d.text() {
		d.warn("not carried: the SLO's own description is")
	}
	threshold, metric := x.spec.get("thresholdMetric"), x.spec.get("ratioMetric")
	x.spec.rest(openSLOFormat)
	switch {
	case threshold.present():
		threshold.fail("a value over time has no events to count; count those that meet the threshold, as good of total")
		return nil
	case !metric.present():
		x.spec.fail("an SLI has ratioMetric or thresholdMetric")
		return nil
	}
	return i.openSLORatio(metric.object())
}

func (i *importer) openSLORatio(m object) *slo.Events {
	good, bad, total, raw := m.get("good"), m.get("bad"), m.get("total"), m.get("raw")
	counter, rawType := m.get("counter"), m.get("rawType")
	m.rest(openSLOFormat)
	if raw.present() {
		role, known := map[string]slo.Role{"success": slo.RoleGood, "failure": slo.RoleBad}[rawType.text()]
		switch {
		case good.present() || bad.present() || total.present():
			raw.fail("raw stands alone, without good, bad and total")
		case !known:
			rawType.fail("this is success or failure")
		default:
			if query, _, ok := i.openSLOQuery(raw); ok {
				return ratioEvents(openSLODialect, query, role)
			}
		}
		return nil
	}
	if rawType.present() {
		rawType.warn("not carried: there is no raw query")
	}
	if !counter.boolean(false) {
		counter.fail("agentslo counts events by counters that only grow; this says that the metric is none (counter: true)")
		return nil
	}
	role, part := slo.RoleBad, bad
	if good.present() {
		role, part = slo.RoleGood, good
	}
	if good.present() == bad.present() || !total.present() {
		m.fail("a ratio has total, and either good or bad")
		return nil
	}
	a, source, first := i.openSLOQuery(part)
	b, other, second := i.openSLOQuery(total)
	if !first || !second {
		return nil
	}
	if source != other {
		m.fail("the %s events are in the data source %q, all events in %q; a ratio's counters are in one", role, source, other)
		return nil
	}
	return countedEvents(openSLODialect, role, a, b)
}

// queryKeys are what a Prometheus query is called: the format leaves it open.
var queryKeys = []string{"query", "promql", "expr"}

// openSLOQuery is the Prometheus query of a metric source.
func (i *importer) openSLOQuery(f field) (query field, source string, ok bool) {
	outer := f.object()
	m := outer.get("metricSource")
	outer.rest(openSLOFormat)
	if !m.present() {
		m.fail("metricSource is missing")
		return field{}, "", false
	}
	o := m.object()
	ref, kind := o.get("metricSourceRef"), o.get("type")
	spec := o.get("spec").object()
	o.rest(openSLOFormat)
	typ := kind.text()
	source = ref.text()
	if ref.present() {
		if x := i.objects[kindDataSource][source]; x != nil {
			if !x.used {
				x.lostMetadata()
				x.spec.lost("rules are evaluated where the data is, and sloctl is told by --prometheus", "connectionDetails")
			}
			x.used = true
			if t := x.spec.get("type").text(); typ == "" {
				typ = t
			} else if t != "" && !strings.EqualFold(t, typ) {
				kind.fail("the data source %s is of type %s, not %s", source, t, typ)
				return field{}, "", false
			}
		} else if typ == "" {
			ref.fail("there is no DataSource %s in what is read, and no type", source)
			return field{}, "", false
		} else {
			ref.warn("not carried: there is no DataSource %s in what is read", source)
		}
	}
	switch {
	case typ == "":
		kind.fail("this is missing: only queries of Prometheus are carried")
		return field{}, "", false
	case !strings.EqualFold(typ, "prometheus"):
		kind.fail("queries of %s are not carried, only those of Prometheus", typ)
		return field{}, "", false
	}
	for _, name := range queryKeys {
		if spec.has(name) && !query.present() {
			query = spec.get(name)
		}
	}
	if t := spec.get("queryType"); t.present() && !strings.EqualFold(t.text(), "promql") {
		t.fail("the query is %s; only PromQL is carried", t.text())
		return field{}, "", false
	}
	spec.rest(openSLOFormat)
	if !query.present() {
		spec.fail("there is no query (%s)", strings.Join(queryKeys, ", "))
		return field{}, "", false
	}
	return query, source, true
}

// condition is when an alert policy alerts.
type condition struct {
	field
	severity  slo.Alert
	burn      slo.Decimal
	lookback  time.Duration
	immediate bool // without waiting for the condition to last
}

// openSLOPolicies reads when an SLO alerts, and how many policies it has.
func (i *importer) openSLOPolicies(f field) (conditions []condition, policies int) {
	for _, item := range f.list() {
		x := i.resolved(item, kindPolicy, "alertPolicyRef")
		if x == nil {
			continue
		}
		policies++
		x.lostMetadata()
		spec := x.spec
		breaching := spec.get("alertWhenBreaching")
		alerts := breaching.boolean(false)
		spec.get("alertWhenNoData").boolean(false) // agentslo always has such an alert
		if r := spec.get("alertWhenResolved"); r.boolean(false) {
			r.warn("not carried: that an alert is over is told by Alertmanager (send_resolved)")
		}
		for _, c := range spec.get("conditions").list() {
			condition := i.openSLOCondition(c)
			if alerts && condition != nil {
				conditions = append(conditions, *condition)
			}
		}
		if !alerts {
			breaching.warn("the policy %s does not alert when the condition is breached, so it makes no alert", x.name)
		}
		for _, t := range spec.get("notificationTargets").list() {
			to := i.resolved(t, kindTarget, "targetRef")
			if to == nil {
				continue
			}
			target := to.spec.get("target")
			to.lostMetadata()
			to.spec.rest(openSLOFormat)
			if !strings.EqualFold(target.text(), exportTarget) {
				t.warn("the target %s (%s) is not carried: Alertmanager routes by the labels of alerts (slo_service, slo, severity)", to.name, target.text())
			}
		}
		spec.rest(openSLOFormat)
	}
	return conditions, policies
}

// exportTarget is the notification target that export names.
const exportTarget = "alertmanager"

// resolved is an object that is inlined or referred to; nil if there is none.
func (i *importer) resolved(f field, kind, ref string) *openSLOObject {
	o := f.object()
	if r := o.get(ref); r.present() {
		o.rest(openSLOFormat)
		return i.find(kind, r)
	}
	if !o.has("spec") {
		f.fail("this is either %s or %s", ref, article(kind))
		return nil
	}
	if k := o.get("kind").text(); k != "" && k != kind {
		o.get("kind").fail("this must be %s", kind)
		return nil
	}
	return newOpenSLOObject(o, kind)
}

// severities are how loud the words are that people use.
var severities = map[string]slo.Alert{
	"page": slo.AlertPage, "critical": slo.AlertPage, "crit": slo.AlertPage, "high": slo.AlertPage, "sev0": slo.AlertPage, "sev1": slo.AlertPage,
	"p0": slo.AlertPage, "p1": slo.AlertPage, "emergency": slo.AlertPage, "fatal": slo.AlertPage,
	"ticket": slo.AlertTicket, "warning": slo.AlertTicket, "warn": slo.AlertTicket, "medium": slo.AlertTicket, "low": slo.AlertTicket,
	"minor": slo.AlertTicket, "info": slo.AlertTicket, "sev2": slo.AlertTicket, "sev3": slo.AlertTicket, "sev4": slo.AlertTicket,
	"p2": slo.AlertTicket, "p3": slo.AlertTicket, "p4": slo.AlertTicket,
}

func (i *importer) openSLOCondition(f field) *condition {
	x := i.resolved(f, kindCondition, "conditionRef")
	if x == nil {
		return nil
	}
	x.lostMetadata()
	severity := x.spec.get("severity")
	c := condition{field: f}
	word, ok := severity.required()
	if !ok {
		return nil
	}
	loud, known := severities[strings.ToLower(word)]
	if !known {
		loud = slo.AlertPage
		severity.warn("the severity %s is carried as a page", word)
	}
	c.severity = loud
	o := x.spec.get("condition").object()
	x.spec.rest(openSLOFormat)
	if kind := o.get("kind"); !strings.EqualFold(kind.text(), "burnrate") && kind.present() {
		kind.fail("a condition is a burnrate, not %s", kind.text())
	}
	threshold := o.get("threshold")
	if plainNumber.MatchString(threshold.text()) {
		c.burn = decimal.RequireFromString(threshold.text())
	} else {
		threshold.fail("this must be a number such as 14.4")
	}
	c.lookback = duration(o.get("lookbackWindow"), true)
	c.immediate = duration(o.get("alertAfter"), false) == 0
	if op := o.get("op"); op.present() && op.text() != "gt" && op.text() != "gte" {
		op.fail("a burn rate alerts above its threshold (gt, gte), not %s", op.text())
	}
	o.rest(openSLOFormat)
	return &c
}

// plainNumber has no exponent: as an exact decimal, 1e999999999 fills the memory.
var plainNumber = regexp.MustCompile(`^\d{1,9}(\.\d{1,9})?$`)

var units = map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "M": 30 * 24 * time.Hour, "Q": 90 * 24 * time.Hour, "Y": 365 * 24 * time.Hour}

func duration(f field, needed bool) time.Duration {
	text := f.text()
	m := shorthand.FindStringSubmatch(text)
	if m == nil {
		if needed || text != "" && text != "0m" && text != "0" {
			f.fail("%q: a duration is a positive whole number and m, h, d, w, M, Q or Y", text)
		}
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return time.Duration(n) * units[m[2]]
}

// compare warns of conditions that are none of the tiers that the SLO gets.
func (o *objective) compare(conditions []condition) {
	f := &slo.File{Window: slo.Window{Calendar: o.calendar}}
	if o.calendar == "" {
		f.Window.Rolling, _ = slo.ParseDuration(o.window)
	}
	tiers := rules.Tiers(f, &slo.Objective{Target: o.target, Alert: o.alert})
	for _, c := range conditions {
		same := slices.ContainsFunc(tiers, func(t rules.Tier) bool {
			return t.Severity == string(c.severity) && t.BurnThreshold.Equal(c.burn) && t.Long == c.lookback && c.immediate
		})
		if !same {
			c.warn("the condition burn rate > %s over %s is not carried: agentslo has its own tiers, which ask for evidence too (sloctl explain)", c.burn, slo.FormatDuration(c.lookback))
		}
	}
}
