package slo

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // calendar windows must not depend on the machine's zone files
	"unicode"

	"github.com/shopspring/decimal"
	"go.yaml.in/yaml/v3"
)

func ratioOf(a, b int64) Decimal { return decimal.NewFromInt(a).Div(decimal.NewFromInt(b)) }

// document reads one YAML document; nil when it is no mapping.
func (r *reader) document(n *yaml.Node) *File {
	f := defaults()
	f.Path = r.path
	n = r.resolve(n)
	f.at.line, f.at.column = n.Line, n.Column
	f.at.agentsLine, f.at.agentsColumn = n.Line, n.Column
	f.at.runsLine, f.at.runsColumn = n.Line, n.Column
	if n.Kind != yaml.MappingNode {
		r.fault(n, "an SLO file is a mapping with service and slos; this is %s", kindOf(n))
		return nil
	}
	var slos *yaml.Node
	found := r.mapping(n, "the file", "service: support-agent", []key{
		{"apiVersion", func(v *yaml.Node, what string) { r.word(v, what, apiVersion) }},
		{"kind", func(v *yaml.Node, what string) { r.word(v, what, fileKind) }},
		{"service", func(v *yaml.Node, what string) { f.Service, _ = r.name(v, what) }},
		{"environment", func(v *yaml.Node, what string) {
			if s, ok := r.text(v, what); ok {
				if err := checkPrintable(s); err != nil {
					r.fault(v, "%s: %q: %s", what, clip(s), err)
				} else {
					f.Environment = s
				}
			}
		}},
		{"agents", func(v *yaml.Node, what string) { r.agents(f, v, what) }},
		{"aliases", func(v *yaml.Node, what string) { f.Aliases = r.aliases(v, what) }},
		{"match", func(v *yaml.Node, what string) { r.match(f, v, what) }},
		{"window", func(v *yaml.Node, what string) { r.window(f, v, what) }},
		{"labels", func(v *yaml.Node, what string) { f.Labels = r.labels(v, what, reservedLabels) }},
		{"sampling", func(v *yaml.Node, what string) {
			if s, ok := r.word(v, what, string(SamplingNone), string(SamplingUniform)); ok {
				f.Sampling = Sampling(s)
			}
		}},
		{"runs", func(v *yaml.Node, what string) { r.runs(f, v, what) }},
		{"dimensions", func(v *yaml.Node, what string) { f.Dimensions = r.dimensions(v, what) }},
		{"exclude", func(v *yaml.Node, what string) { f.Exclude = r.exclusions(v, what) }},
		{"max_excluded", func(v *yaml.Node, what string) {
			if d, ok := r.ratio(v, what, anyShare); ok {
				f.MaxExcluded = d
			}
		}},
		{"tools", func(v *yaml.Node, what string) { r.tools(f, v, what) }},
		{"prices", func(v *yaml.Node, what string) { f.Prices = r.prices(v, what) }},
		{"outcomes", func(v *yaml.Node, what string) { f.Outcomes = r.outcomes(v, what) }},
		{"slos", func(v *yaml.Node, what string) { slos = v }},
		{"by", func(v *yaml.Node, what string) {
			f.By, _ = r.texts(v, what, "[agent]", func(s string) error {
				if s != "agent" {
					return errors.New("a budget is split by agent, or not at all; other splits are dimensions")
				}
				return nil
			})
		}},
		{"alerting", func(v *yaml.Node, what string) { r.alerting(f, v, what) }},
		{"policy", func(v *yaml.Node, what string) { r.policy(f, v, what) }},
	})
	for _, required := range []struct{ name, example string }{
		{"service", "service: support-agent"}, {"slos", "slos: {completion: {objective: 99%}}"},
	} {
		if _, ok := found[required.name]; !ok {
			r.fault(n, "%s is missing; add it, such as %s", required.name, required.example)
		}
	}
	for name, e := range found {
		f.at.note(e, name)
	}
	// An SLO's own faults need the file's windows and waits.
	if slos != nil {
		r.objectives(f, slos)
		r.effects(f)
	}
	r.ratios(f, found)
	return f
}

// aboutRuns are the keys of a file that say something about runs of agents.
var aboutRuns = []string{"agents", "aliases", "match", "sampling", "runs", "dimensions", "exclude", "max_excluded", "tools", "prices", "outcomes"}

// ratios finds keys that ratio SLOs make void.
func (r *reader) ratios(f *File, found map[string]entry) {
	if len(f.SLOs) > 0 && !f.CountsRuns() {
		for _, name := range aboutRuns {
			if e, ok := found[name]; ok {
				r.fault(e.key, "%s is about runs of agents; all SLOs of this file are ratios of other counters", name)
			}
		}
	}
	i := slices.IndexFunc(f.SLOs, func(o Objective) bool { return !o.CountsRuns() })
	if e, ok := found["by"]; ok && i >= 0 && len(f.By) > 0 {
		r.fault(e.key, "by: an SLO of kind ratio has no agents to split by; put %s into a document of its own", clip(f.SLOs[i].Name))
	}
}

// name reads a name that ends up in label values, file names and queries.
func (r *reader) name(n *yaml.Node, what string) (string, bool) {
	s, ok := r.text(n, what)
	if !ok {
		return "", false
	}
	if err := CheckName(s); err != nil {
		r.fault(r.resolve(n), "%s: %q: %s", what, clip(s), err)
		return "", false
	}
	return s, true
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

func checkPrintable(s string) error {
	switch {
	case strings.TrimSpace(s) != s:
		return errors.New("it begins or ends with a space")
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return errors.New("it holds a control character")
	case len(s) > 255:
		return errors.New("it is longer than 255 bytes")
	}
	return nil
}

func (r *reader) agents(f *File, n *yaml.Node, what string) {
	f.at.agentsLine, f.at.agentsColumn = n.Line, n.Column
	globs, ok := r.globs(n, what, `["support-*"]`)
	if ok && len(globs) == 0 {
		r.fault(n, `%s names no agent, so no run would count; leave it out for every agent`, what)
		ok = false
	}
	if f.at.badAgents = !ok; ok {
		f.Agents = globs
	}
}

func (r *reader) aliases(n *yaml.Node, what string) map[string]string {
	entries, _ := r.entries(n, what, "{old-name: new-name}")
	aliases := map[string]string{}
	for _, e := range entries {
		old := e.key.Value
		label, ok := r.text(e.value, "the label of agent "+clip(old))
		switch {
		case !ok:
		case strings.ContainsAny(old, "*?"):
			r.fault(e.key, "%s: %q: an alias is one agent's whole name, not a glob", what, clip(old))
		case label == old:
			r.fault(e.value, "%s: agent %s is an alias of itself", what, clip(old))
		default:
			aliases[old] = label
		}
	}
	for _, e := range entries {
		if next, ok := aliases[aliases[e.key.Value]]; ok {
			r.fault(e.value, "%s: %s is itself renamed, to %s; name that label", what, clip(aliases[e.key.Value]), clip(next))
		}
	}
	return aliases
}

func (r *reader) match(f *File, n *yaml.Node, what string) {
	before := len(r.faults)
	f.Match = r.attributeValues(n, what)
	f.at.badMatch = len(r.faults) > before
}

func (r *reader) attributeValues(n *yaml.Node, what string) map[string]string {
	entries, _ := r.entries(n, what, "{cloud.region: eu-west-1}")
	values := map[string]string{}
	for _, e := range entries {
		if strings.TrimSpace(e.key.Value) == "" {
			r.fault(e.key, "%s: an attribute needs a name", what)
			continue
		}
		if s, ok := r.text(e.value, "the value of "+clip(e.key.Value)); ok {
			values[e.key.Value] = s
		}
	}
	return values
}

var labelPattern = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// Labels that agentslo, Prometheus or a scrape configuration sets itself.
var (
	scrapeLabels   = []string{"job", "instance", "service", "namespace", "pod", "endpoint", "container"}
	ownLabels      = []string{"slo_service", "environment", "agent", "slo", "verdict", "reason", "outcome", "tool", "result", "model", "type", "tier", "alertname", "le", "quantile"}
	reservedLabels = slices.Concat(ownLabels, []string{"severity"})
	reservedNames  = slices.Concat(scrapeLabels, reservedLabels)
)

func checkLabelName(name string, reserved []string) error {
	switch {
	case !labelPattern.MatchString(name):
		return errors.New("a Prometheus label name has letters, digits and _, and begins with no digit")
	case strings.HasPrefix(name, "__"):
		return errors.New("label names that begin with __ belong to Prometheus")
	case slices.Contains(reserved, name):
		return fmt.Errorf("the name is taken; reserved are %s", strings.Join(reserved, ", "))
	}
	return nil
}

func (r *reader) labels(n *yaml.Node, what string, reserved []string) map[string]string {
	entries, _ := r.entries(n, what, "{team: support}")
	labels := map[string]string{}
	for _, e := range entries {
		if err := checkLabelName(e.key.Value, reserved); err != nil {
			r.fault(e.key, "%s: %q: %s", what, clip(e.key.Value), err)
			continue
		}
		if s, ok := r.text(e.value, "the label "+e.key.Value); ok {
			labels[e.key.Value] = s
		}
	}
	return labels
}

// Below an hour, the short windows of the alerts would be shorter than a few scrapes.
const minWindow = time.Hour

func (r *reader) window(f *File, n *yaml.Node, what string) {
	if n := r.resolve(n); n.Kind != yaml.MappingNode {
		if s, ok := r.scalar(n, what, "a duration such as 30d, or {calendar: month, timezone: Europe/Berlin}"); ok {
			if calendarPeriods[s] {
				r.fault(n, "%s: a calendar window is written {calendar: %s}", what, s)
			} else if plainNumber.MatchString(s) {
				r.fault(n, "%s: %s has no unit; did you mean %sd?", what, clip(s), clip(s))
			} else if d, ok := r.duration(n, what, minWindow); ok {
				if d%time.Minute != 0 {
					r.fault(n, "%s: %s: it must be whole minutes", what, clip(s))
					return
				}
				f.Window = Window{Rolling: d, Name: FormatDuration(d)}
			}
		}
		return
	}
	w := Window{Location: time.UTC}
	found := r.mapping(n, what, "{calendar: month}", []key{
		{"calendar", func(v *yaml.Node, what string) {
			w.Calendar, _ = r.word(v, what, "week", "month", "quarter")
			w.Name = w.Calendar
		}},
		{"timezone", func(v *yaml.Node, what string) {
			s, ok := r.text(v, what)
			if !ok {
				return
			}
			location, err := time.LoadLocation(s)
			if err != nil || s == "Local" {
				r.fault(v, "%s: %q is no IANA time zone, such as UTC or Europe/Berlin", what, clip(s))
				return
			}
			w.Location = location
		}},
	})
	if _, ok := found["calendar"]; !ok {
		r.fault(n, "%s: calendar is missing: week, month or quarter", what)
	}
	if w.Calendar != "" {
		f.Window = w
	}
}

var calendarPeriods = map[string]bool{"week": true, "month": true, "quarter": true}

func (r *reader) runs(f *File, n *yaml.Node, what string) {
	f.at.runsLine, f.at.runsColumn = n.Line, n.Column
	before := len(r.faults)
	found := r.mapping(n, what, "{quiet_period: 10s}", []key{
		{"root", func(v *yaml.Node, what string) {
			if s, ok := r.word(v, what, string(RootAgent), string(RootTrace)); ok {
				f.Runs.Root = RunRoot(s)
			}
		}},
		{"key", func(v *yaml.Node, what string) { f.Runs.Key, _ = r.texts(v, what, "[session.id]", checkPrintable) }},
		{"quiet_period", func(v *yaml.Node, what string) { r.runDuration(v, what, &f.Runs.QuietPeriod) }},
		{"idle_timeout", func(v *yaml.Node, what string) { r.runDuration(v, what, &f.Runs.IdleTimeout) }},
		{"max_age", func(v *yaml.Node, what string) { r.runDuration(v, what, &f.Runs.MaxAge) }},
		{"max_spans", func(v *yaml.Node, what string) {
			if i, ok := r.integer(v, what, 1, 10_000_000); ok {
				f.Runs.MaxSpans = i
			}
		}},
	})
	// A default gives way to a max_age that is shorter; what is written must fit.
	for _, wait := range []struct {
		name  string
		value *time.Duration
	}{{"quiet_period", &f.Runs.QuietPeriod}, {"idle_timeout", &f.Runs.IdleTimeout}} {
		if *wait.value <= f.Runs.MaxAge {
			continue
		}
		if e, ok := found[wait.name]; ok {
			r.fault(e.value, "%s: %s is longer than max_age (%s), at which a run is handed on anyway", wait.name,
				FormatDuration(*wait.value), FormatDuration(f.Runs.MaxAge))
		} else {
			*wait.value = f.Runs.MaxAge
		}
	}
	f.at.badRuns = len(r.faults) > before
}

func (r *reader) runDuration(v *yaml.Node, what string, to *time.Duration) {
	if d, ok := r.duration(v, what, time.Millisecond); ok {
		*to = d
	}
}

const maxKeep = 1000

// sourceKeys are the keys of a dimension that say where its value comes from.
var sourceKeys = [...]string{FromAttribute: "attribute", FromBaggage: "baggage", FromResource: "resource"}

func (r *reader) dimensions(n *yaml.Node, what string) []Dimension {
	const example = "{version: {attribute: service.version, keep: 20}}"
	entries, _ := r.entries(n, what, example)
	var dimensions []Dimension
	for _, e := range entries {
		d := Dimension{Name: e.key.Value, Keep: 20}
		if err := checkLabelName(d.Name, reservedNames); err != nil {
			r.fault(e.key, "%s: %q: %s", what, clip(d.Name), err)
		}
		found := r.mapping(e.value, "dimension "+clip(d.Name), "{attribute: service.version, keep: 20}", []key{
			{"attribute", func(v *yaml.Node, what string) { d.Attribute, _ = r.text(v, what) }},
			{"baggage", func(v *yaml.Node, what string) { d.Attribute, _ = r.text(v, what) }},
			{"resource", func(v *yaml.Node, what string) { d.Attribute, _ = r.text(v, what) }},
			{"keep", func(v *yaml.Node, what string) {
				if i, ok := r.integer(v, what, 1, maxKeep); ok {
					d.Keep = i
				}
			}},
			{"alert", func(v *yaml.Node, what string) {
				if r.resolve(v).Value == string(AlertPage) {
					r.fault(v, "%s: one value of a dimension is a ticket at most; what is to page is an SLO of its own, with when", what)
				} else if s, ok := r.word(v, what, string(AlertTicket), string(AlertNone)); ok {
					d.Alert = Alert(s)
				}
			}},
		})
		var sources []string
		for source, name := range sourceKeys {
			if _, ok := found[name]; ok {
				sources, d.Source = append(sources, name), Source(source)
			}
		}
		switch {
		case found == nil:
		case len(sources) == 0:
			r.fault(e.key, "dimension %s: attribute is missing; add it, such as attribute: service.version (or baggage: tenant, resource: service.version)", clip(d.Name))
		case len(sources) > 1:
			r.fault(found[sources[1]].key, "dimension %s: its value comes from one place, not from %s", clip(d.Name), strings.Join(sources, " and "))
		}
		dimensions = append(dimensions, d)
	}
	slices.SortFunc(dimensions, func(a, b Dimension) int { return strings.Compare(a.Name, b.Name) })
	return dimensions
}

func (r *reader) exclusions(n *yaml.Node, what string) []Exclusion {
	var exclusions []Exclusion
	r.list(n, what, `[{name: load_test, when: 'attributes["app.synthetic"] == "true"'}]`, func(item *yaml.Node) {
		var x Exclusion
		found := r.mapping(item, "an exclusion", `{name: load_test, when: 'attributes["app.synthetic"] == "true"'}`, []key{
			{"name", func(v *yaml.Node, what string) {
				x.Name, _ = r.name(v, what)
				if x.Name != "" && slices.ContainsFunc(exclusions, func(o Exclusion) bool { return o.Name == x.Name }) {
					r.fault(v, "two exclusions are named %s", x.Name)
				}
			}},
			{"when", func(v *yaml.Node, what string) { x.When = r.expression(v, what) }},
		})
		if found == nil {
			return
		}
		for _, name := range []string{"name", "when"} {
			if _, ok := found[name]; !ok {
				r.fault(item, "the exclusion has no %s; write {name: load_test, when: 'CEL'}", name)
			}
		}
		exclusions = append(exclusions, x)
	})
	return exclusions
}

func (r *reader) tools(f *File, n *yaml.Node, what string) {
	t := &f.Tools
	globs := func(to *[]string) func(*yaml.Node, string) {
		return func(v *yaml.Node, what string) { *to, _ = r.globs(v, what, `["search_*"]`) }
	}
	r.mapping(n, what, "{expect: always}", []key{
		{"expect", func(v *yaml.Node, what string) { r.expect(t, v, what) }},
		{"evidence", globs(&t.Evidence)},
		{"required", globs(&t.Required)},
		{"answer", globs(&t.Answer)},
		{"not_counted", globs(&t.NotCounted)},
		{"retrieval", globs(&t.Retrieval)},
		{"write", globs(&t.Write)},
	})
}

var expectWord = regexp.MustCompile(`^[A-Za-z_-]+$`)

func (r *reader) expect(t *Tools, n *yaml.Node, what string) {
	words := []string{string(ExpectAlways), string(ExpectWhenOffered), string(ExpectNever)}
	s, ok := r.text(n, what)
	switch {
	case !ok:
	case slices.Contains(words, s):
		t.Expect = Expect(s)
	case expectWord.MatchString(s) && s != "true" && s != "false":
		r.fault(n, "%s is %s, or a CEL expression, not %q%s", what, oneOf(words), clip(s), didYouMean(s, words))
	default:
		t.Expect, t.ExpectWhen = ExpectCEL, r.expression(n, what)
	}
}

func (r *reader) outcomes(n *yaml.Node, what string) []OutcomeMarker {
	// lost and unknown say something of the telemetry, not of the run.
	var allowed []string
	for _, o := range Outcomes {
		if o != Lost && o != OutcomeUnknown {
			allowed = append(allowed, o.String())
		}
	}
	entries, _ := r.entries(n, what, `{escalated: 'run.last_tool == "open_ticket"'}`)
	var markers []OutcomeMarker
	for _, e := range entries {
		if !slices.Contains(allowed, e.key.Value) {
			r.fault(e.key, "%s: an outcome that a marker can give is %s, not %q%s", what, oneOf(allowed), clip(e.key.Value), didYouMean(e.key.Value, allowed))
		}
		outcome, _ := ParseOutcome(e.key.Value)
		markers = append(markers, OutcomeMarker{outcome, r.expression(e.value, "outcome "+clip(e.key.Value))})
	}
	return markers
}

func (r *reader) prices(n *yaml.Node, what string) map[string]Price {
	const example = "{gpt-5: {input: 1.25, cached_input: 0.125, output: 10}}"
	entries, _ := r.entries(n, what, example)
	prices := map[string]Price{}
	for _, e := range entries {
		var p Price
		found := r.mapping(e.value, "the price of "+clip(e.key.Value), "{input: 1.25, output: 10}", []key{
			{"input", func(v *yaml.Node, what string) { p.Input, _ = r.number(v, what, nonNegative) }},
			{"cached_input", func(v *yaml.Node, what string) {
				if d, ok := r.number(v, what, nonNegative); ok {
					p.CachedInput = &d
				}
			}},
			{"cache_write", func(v *yaml.Node, what string) {
				if d, ok := r.number(v, what, nonNegative); ok {
					p.CacheWrite = &d
				}
			}},
			{"output", func(v *yaml.Node, what string) { p.Output, _ = r.number(v, what, nonNegative) }},
		})
		if found == nil {
			continue
		}
		for _, name := range []string{"input", "output"} {
			if _, ok := found[name]; !ok {
				r.fault(e.key, "the price of %s has no %s, in US dollars per million tokens", clip(e.key.Value), name)
			}
		}
		prices[e.key.Value] = p
	}
	return prices
}

var templateField = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

func (r *reader) alerting(f *File, n *yaml.Node, what string) {
	a := &f.Alerting
	link := func(to *string, fields ...string) func(*yaml.Node, string) {
		return func(v *yaml.Node, what string) {
			s, ok := r.text(v, what)
			if !ok {
				return
			}
			for _, m := range templateField.FindAllStringSubmatch(s, -1) {
				if !slices.Contains(fields, m[1]) {
					r.fault(v, "%s: {{%s}} is not known%s (allowed: %s)", what, clip(m[1]), didYouMean(m[1], fields), strings.Join(fields, ", "))
				}
			}
			if bare := templateField.ReplaceAllString(s, ""); strings.Contains(bare, "{{") || strings.Contains(bare, "}}") {
				r.fault(v, "%s: a {{ or }} without its other half", what)
			}
			if !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://") {
				r.fault(v, "%s is a URL that begins with https:// or http://, not %q", what, clip(s))
			}
			// One spelling for those who fill it in.
			*to = templateField.ReplaceAllString(s, "{{$1}}")
		}
	}
	severity := func(to *map[string]string) func(*yaml.Node, string) {
		return func(v *yaml.Node, what string) {
			r.mapping(v, what, "{labels: {severity: "+what+"}}", []key{
				{"labels", func(v *yaml.Node, name string) { *to = r.labels(v, what+" labels", ownLabels) }},
			})
		}
	}
	r.mapping(n, what, "{page: {labels: {severity: page}}}", []key{
		{"runbook", link(&a.Runbook, "service", "slo", "environment")},
		{"dashboard", link(&a.Dashboard)},
		{"page", severity(&a.PageLabels)},
		{"ticket", severity(&a.TicketLabels)},
		{"false_pages", func(v *yaml.Node, what string) {
			if d, ok := r.number(v, what, positiveNumber); ok {
				a.FalsePages = d
			}
		}},
		{"expected_every", func(v *yaml.Node, what string) {
			if d, ok := r.duration(v, what, time.Millisecond); ok {
				a.ExpectedEvery = (d + time.Minute - 1).Truncate(time.Minute)
			}
		}},
		{"dispersion", func(v *yaml.Node, what string) {
			if d, ok := r.number(v, what, atLeastOne); ok {
				a.Dispersion = d
			}
		}},
	})
}

func (r *reader) policy(f *File, n *yaml.Node, what string) {
	p := &f.Policy
	below := bounds{low: &zero, high: &one, openHigh: true, says: "it must be at least 0% and below 100%: there is never more budget than all of it"}
	found := r.mapping(n, what, "{freeze_below: 0%, resume_above: 10%}", []key{
		{"freeze_below", func(v *yaml.Node, what string) {
			if d, ok := r.ratio(v, what, below); ok {
				p.FreezeBelow = d
			}
		}},
		{"resume_above", func(v *yaml.Node, what string) {
			if d, ok := r.ratio(v, what, below); ok {
				p.ResumeAbove = d
			}
		}},
	})
	if p.ResumeAbove.LessThan(p.FreezeBelow) {
		e, ok := found["resume_above"]
		if !ok { // the default gives way
			p.ResumeAbove = p.FreezeBelow
			return
		}
		r.fault(e.value, "resume_above (%s) is below freeze_below (%s): a release would be frozen and free at once", FormatRatio(p.ResumeAbove), FormatRatio(p.FreezeBelow))
	}
}
