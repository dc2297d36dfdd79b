package slo

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// kindKeys are the keys of an SLO that only some SLI kinds have, and those of
// them that the kind cannot do without. A correctness or grounding SLO without
// evaluations could only ever count bad runs.
var kindKeys = map[string]struct {
	allowed, required []string
}{
	"completion":  {slices.Concat([]string{"provider_faults"}, scopeKeys), nil},
	"correctness": {[]string{"evaluations", "combine", "wait", "expected_coverage", "judge", "provider_faults"}, []string{"evaluations"}},
	"grounding":   {[]string{"evaluations", "combine", "wait", "expected_coverage", "judge"}, []string{"evaluations"}},
	"latency":     {slices.Concat([]string{"threshold", "measure", "provider_faults"}, scopeKeys), []string{"threshold"}},
	"cost":        {[]string{"max_usd"}, []string{"max_usd"}},
	"tool_free":   {},
	"no_progress": {[]string{"repeats", "per_tool"}, nil},
	"abstention":  {[]string{"correct", "evaluations", "combine", "wait", "expected_coverage", "judge", "provider_faults"}, nil},
	"custom":      {[]string{"good"}, []string{"good"}},

	"abandoned_spend":     {[]string{"deadline", "grace"}, nil},
	"retry_discipline":    {[]string{"max_retries"}, nil},
	"duplicate_effects":   {[]string{"idempotency_keys"}, nil},
	"stuck_after_blocker": {[]string{"max_steps", "max_usd"}, nil},
	"handoff":             {[]string{"ticket_tools", "fields"}, nil},
	"forbidden_actions":   {[]string{"actions"}, []string{"actions"}},

	KindRatio: {[]string{"events"}, []string{"events"}},
}

// runKeys are the keys of SLOs about runs of agents, whatever their kind.
var runKeys = []string{"agents", "when"}

var keyExamples = map[string]string{
	"evaluations": "evaluations: [{name: correctness, min_score: 0.7}]", "threshold": "threshold: 30s",
	"max_usd": "max_usd: 0.25", "good": "good: 'run.tool_calls <= 20'", "objective": "objective: 99%",
	"events": "events: " + eventsExample, "actions": "actions: " + actionsExample,
}

func (r *reader) objectives(f *File, n *yaml.Node) {
	entries, ok := r.entries(n, "slos", "{completion: {objective: 99%}}")
	if ok && len(entries) == 0 {
		r.fault(n, "slos names no SLO; add one, such as completion: {objective: 99%%}")
	}
	for _, e := range entries {
		if o, ok := r.objective(f, e); ok {
			f.SLOs = append(f.SLOs, o)
			if o.Correct.IsPositive() {
				f.SLOs = append(f.SLOs, o.amongAnswered())
			}
		}
	}
}

func (r *reader) objective(f *File, e entry) (Objective, bool) {
	o := Objective{
		Name: e.key.Value, Line: e.key.Line, Col: e.key.Column, Alert: AlertPage,
		Combine: CombineAll, Wait: time.Hour, ExpectedCoverage: one, Measure: MeasureRun, Repeats: 3,
		ProviderFaults: ProviderFaultsBlame, Grace: 5 * time.Second, Scope: ScopeRun,
		MaxRetries: defaultRetries, MaxSteps: defaultSteps, IdempotencyKeys: defaultIdempotencyKeys, Fields: defaultFields,
	}
	if err := CheckName(o.Name); err != nil {
		r.fault(e.key, "slos: %q: %s", clip(o.Name), err)
	}
	what := "SLO " + clip(o.Name)
	entries, ok := r.entries(e.value, what, "{objective: 99%}")
	if !ok {
		return o, false
	}
	o.SLI = r.sliKind(e.key, entries)

	keys := []key{
		{"sli", func(*yaml.Node, string) {}},
		{"objective", func(v *yaml.Node, what string) { o.Target, _ = r.target(v, what) }},
		{"description", func(v *yaml.Node, what string) { o.Description = r.description(v, what) }},
		{"agents", func(v *yaml.Node, what string) { o.Agents, _ = r.globs(v, what, `["triage"]`) }},
		{"when", func(v *yaml.Node, what string) { o.When = r.expression(v, what) }},
		{"alert", func(v *yaml.Node, what string) {
			if s, ok := r.word(v, what, string(AlertPage), string(AlertTicket), string(AlertNone)); ok {
				o.Alert = Alert(s)
			}
		}},
	}
	own := []key{
		{"evaluations", func(v *yaml.Node, what string) { o.Evaluations = r.evaluations(v, what) }},
		{"combine", func(v *yaml.Node, what string) {
			if s, ok := r.word(v, what, string(CombineAll), string(CombineAny), string(CombineFirst)); ok {
				o.Combine = Combine(s)
			}
		}},
		{"wait", func(v *yaml.Node, what string) { o.Wait = r.wait(f, v, what) }},
		{"expected_coverage", func(v *yaml.Node, what string) {
			if d, ok := r.ratio(v, what, positiveShare); ok {
				o.ExpectedCoverage = d
			}
		}},
		{"judge", func(v *yaml.Node, what string) { o.Judge = r.judge(v, what) }},
		{"threshold", func(v *yaml.Node, what string) { o.Threshold = r.threshold(f, v, what) }},
		{"measure", func(v *yaml.Node, what string) {
			if s, ok := r.word(v, what, string(MeasureRun), string(MeasureFirstToken)); ok {
				o.Measure = Measure(s)
			}
		}},
		{"max_usd", func(v *yaml.Node, what string) { o.MaxUSD, _ = r.number(v, what, positiveNumber) }},
		{"repeats", func(v *yaml.Node, what string) {
			if i, ok := r.integer(v, what, minRepeats, maxRepeats); ok {
				o.Repeats = i
			}
		}},
		{"per_tool", func(v *yaml.Node, what string) { o.PerTool = r.perTool(v, what) }},
		{"good", func(v *yaml.Node, what string) { o.Good = r.expression(v, what) }},
		{"events", func(v *yaml.Node, what string) { o.Events = r.events(v, what) }},
		{"provider_faults", func(v *yaml.Node, what string) {
			if s, ok := r.word(v, what, string(ProviderFaultsBlame), string(ProviderFaultsExclude)); ok {
				o.ProviderFaults = ProviderFaults(s)
			}
		}},
		{"correct", func(v *yaml.Node, what string) { o.Correct, _ = r.target(v, what) }},
		{"deadline", func(v *yaml.Node, what string) { o.Deadline = r.deadline(f, v, what) }},
		{"grace", func(v *yaml.Node, what string) {
			if d, ok := r.duration(v, what, 0); ok {
				o.Grace = d
			}
		}},
		{"scope", func(v *yaml.Node, what string) { r.scope(&o, v, what) }},
		{"tools", func(v *yaml.Node, what string) { o.Tools, _ = r.globs(v, what, `["search_*"]`) }},
		{"max_retries", func(v *yaml.Node, what string) {
			if i, ok := r.integer(v, what, 0, maxCount); ok {
				o.MaxRetries = i
			}
		}},
		{"max_steps", func(v *yaml.Node, what string) {
			if i, ok := r.integer(v, what, 0, maxCount); ok {
				o.MaxSteps = i
			}
		}},
		{"idempotency_keys", func(v *yaml.Node, what string) { o.IdempotencyKeys = r.argumentNames(v, what, "[idempotency_key]") }},
		{"ticket_tools", func(v *yaml.Node, what string) { o.TicketTools, _ = r.globs(v, what, `["open_ticket"]`) }},
		{"fields", func(v *yaml.Node, what string) { o.Fields = r.fields(v, what) }},
		{"actions", func(v *yaml.Node, what string) { o.Actions = r.actions(v, what) }},
	}
	kind, known := kindKeys[o.SLI]
	var foreign []entry
	if o.SLI == KindRatio {
		keys = slices.DeleteFunc(keys, func(k key) bool { return slices.Contains(runKeys, k.name) })
		for _, e := range entries {
			if slices.Contains(runKeys, e.key.Value) {
				r.fault(e.key, "%s is about runs of agents; an SLO of kind ratio counts the events of other services", e.key.Value)
				foreign = append(foreign, e)
			}
		}
	}
	for _, k := range own {
		if !known || slices.Contains(kind.allowed, k.name) {
			keys = append(keys, k)
		} else if i := slices.IndexFunc(entries, func(e entry) bool { return e.key.Value == k.name }); i >= 0 {
			if k.name == "scope" {
				r.foreignScope(entries[i].key, o.SLI)
			} else {
				r.foreignKey(entries[i].key, o.SLI)
			}
			foreign = append(foreign, entries[i])
		}
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return slices.Contains(foreign, e) })

	found := r.readKeys(entries, what, keys)
	for name, e := range found {
		f.at.note(e, "slos", o.Name, name)
	}
	// A verdict that may come later than a page looks back wakes nobody, unless
	// the file says so.
	if _, said := found["alert"]; !said && o.Wait > longestPagedWait && o.Waits() {
		o.Alert = AlertTicket
	}
	for _, name := range slices.Concat([]string{"objective"}, kind.required) {
		if _, ok := found[name]; !ok {
			r.fault(e.key, "%s is missing in %s; add it, such as %s", name, what, keyExamples[name])
		}
	}
	r.checkScope(&o, found)
	if _, ok := found["alert"]; !ok && o.OfSteps() {
		o.Alert = AlertTicket // the steps of one run fail together, which is no reason to wake anybody
	}
	if o.SLI == "abstention" {
		r.abstention(e, what, found)
	}
	for _, asked := range []struct {
		key    string
		target Decimal
	}{{"objective", o.Target}, {"correct", o.Correct}} {
		if target, ok := found[asked.key]; ok && o.Alert == AlertPage && asked.target.IsPositive() && asked.target.LessThan(minPaged) {
			r.fault(target.value, "%s: no traffic could ever reach a page: with every run bad the budget burns %s times as fast as tolerated, and a page needs %d; say alert: ticket, or ask for at least %s",
				what, one.Div(one.Sub(asked.target)).StringFixed(2), minPageBurn, FormatRatio(minPaged))
		}
	}
	return o, true
}

// longestPagedWait is the longest wait for evaluations with which an SLO pages
// by default.
const longestPagedWait = time.Hour

// minPageBurn is the burn rate below which nobody needs to be woken: the
// budget then lasts for more than half of its window. The most that an SLO can
// burn is 1 / (1 − objective), when every run is bad; thresholds of alerts are
// capped below that, but an SLO whose most is too little has no page to reach.
const minPageBurn = 2

var minPaged = one.Sub(ratioOf(1, minPageBurn))

// sliKind is the kind that an SLO names, or its own name; "" when it is unknown.
func (r *reader) sliKind(name *yaml.Node, entries []entry) string {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.key.Value == "sli" })
	if i < 0 {
		if slices.Contains(Kinds, name.Value) {
			return name.Value
		}
		r.fault(name, "%s is no SLI kind; say which one the SLO has, sli: %s%s", clip(name.Value), oneOf(Kinds), didYouMean(name.Value, Kinds))
		return ""
	}
	kind, _ := r.word(entries[i].value, "sli", Kinds...)
	return kind
}

func (r *reader) foreignKey(k *yaml.Node, kind string) {
	var owners []string
	for _, name := range Kinds {
		if slices.Contains(kindKeys[name].allowed, k.Value) {
			owners = append(owners, name)
		}
	}
	takes := "takes no key of its own"
	if own := kindKeys[kind].allowed; len(own) > 0 {
		takes = "takes " + strings.Join(own, ", ")
	}
	r.fault(k, "%s belongs to %s; an SLO of kind %s %s", k.Value, allOf(owners), kind, takes)
}

// allOf lists names as a sentence does: a, b and c.
func allOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// target reads an objective: a share that leaves some budget and asks for something.
func (r *reader) target(n *yaml.Node, what string) (Decimal, bool) {
	d, ok := r.ratio(n, what, bounds{})
	if !ok {
		return Decimal{}, false
	}
	switch {
	case !d.LessThan(one):
		hint := ""
		if value := r.resolve(n).Value; value == "1" {
			hint = " (1 is 100%; 1% is written 1%)"
		}
		r.fault(n, "%s: an objective of %s%s leaves no error budget; it must be below 100%%, such as 99%%", what, FormatRatio(d), hint)
	case !d.IsPositive():
		r.fault(n, "%s: an objective of %s asks for nothing; it must be above 0%%", what, FormatRatio(d))
	default:
		return d, true
	}
	return Decimal{}, false
}

func (r *reader) wait(f *File, n *yaml.Node, what string) time.Duration {
	d, ok := r.duration(n, what, 0)
	if ok && f.Window.Rolling > 0 && d > f.Window.Rolling {
		r.fault(n, "%s: %s is longer than the window (%s): its verdicts would come too late to count", what, FormatDuration(d), f.Window.Name)
	}
	return d
}

func (r *reader) threshold(f *File, n *yaml.Node, what string) time.Duration {
	d, ok := r.duration(n, what, time.Millisecond)
	if ok && d > f.Runs.MaxAge {
		r.fault(n, "%s: %s is longer than runs.max_age (%s): no run could ever be found too slow", what, FormatDuration(d), FormatDuration(f.Runs.MaxAge))
	}
	return d
}

// abstention checks the keys of an abstention SLO that only go together.
func (r *reader) abstention(of entry, what string, found map[string]entry) {
	if _, ok := found["correct"]; ok {
		if _, ok := found["evaluations"]; !ok {
			r.fault(of.key, "evaluations is missing in %s; correct needs it, such as %s", what, keyExamples["evaluations"])
		}
		return
	}
	for _, name := range []string{"evaluations", "combine", "wait", "expected_coverage", "judge"} {
		if e, ok := found[name]; ok {
			r.fault(e.key, "%s: %s says which answers are correct; say how many should be, such as correct: 95%%", what, name)
			return
		}
	}
}

// CorrectnessSuffix ends the name of the SLO that an abstention SLO with
// correct brings along.
const CorrectnessSuffix = "_correctness"

// amongAnswered is the correctness SLO over the runs that an abstention SLO
// finds answered: both stand in one place of the file, and each has its budget.
func (o *Objective) amongAnswered() Objective {
	c := *o
	c.Name, c.SLI, c.Target, c.Correct = o.Name+CorrectnessSuffix, "correctness", o.Correct, Decimal{}
	c.ProviderFaults = ProviderFaultsBlame // an answered run did not fail
	source := `run.outcome == "answered"`
	if o.When != nil {
		source = "(" + o.When.Source + ") && " + source
	}
	c.When, _ = Compile(source) // both halves compile by themselves
	return c
}

// deadline reads a duration, or the name of the attribute that says it.
func (r *reader) deadline(f *File, n *yaml.Node, what string) (d Deadline) {
	if r.resolve(n).Kind != yaml.MappingNode {
		d.After = r.threshold(f, n, what)
		return d
	}
	found := r.mapping(n, what, deadlineExample, []key{
		{"attribute", func(v *yaml.Node, what string) { d.Attribute, _ = r.text(v, what) }},
	})
	if _, ok := found["attribute"]; !ok && found != nil {
		r.fault(n, "%s names no attribute; write a duration such as 60s, or %s", what, deadlineExample)
	}
	return d
}

const deadlineExample = "{attribute: app.deadline}"

const maxDescription = 1050 // characters; what other formats allow

func (r *reader) description(n *yaml.Node, what string) string {
	s, ok := r.text(n, what)
	if ok && utf8.RuneCountInString(s) > maxDescription {
		r.fault(n, "%s has at most %d characters", what, maxDescription)
	}
	return strings.TrimSpace(s)
}

const eventsExample = `{bad: ['http_requests_total{job="api",code=~"5.."}'], total: ['http_requests_total{job="api"}']}`

// events reads the counters of a ratio SLO.
func (r *reader) events(n *yaml.Node, what string) *Events {
	e := &Events{}
	list := func(to *[]Selector) func(*yaml.Node, string) {
		return func(v *yaml.Node, what string) { *to = r.selectors(v, what) }
	}
	found := r.mapping(n, what, eventsExample, []key{
		{string(RoleGood), list(&e.Good)}, {string(RoleBad), list(&e.Bad)}, {string(RoleTotal), list(&e.Total)},
	})
	if found != nil && len(found) != 2 {
		r.fault(n, "%s has %d of good, bad and total; it needs two, from which the third follows, such as %s", what, len(found), eventsExample)
		return e
	}
	// The same counter in good and in bad would count each event as both.
	for _, s := range e.Good {
		for i, b := range e.Bad {
			if s.String() == b.String() {
				r.fault(r.resolve(found["bad"].value).Content[i], "%s: %s is good as well", what, clip(b.String()))
			}
		}
	}
	return e
}

func (r *reader) selectors(n *yaml.Node, what string) []Selector {
	var selectors []Selector
	before := len(r.faults)
	ok := r.list(n, what, `['http_requests_total{job="api"}']`, func(item *yaml.Node) {
		text, ok := r.text(item, "an item of "+what)
		if !ok {
			return
		}
		s, err := ParseSelector(text)
		if err != nil {
			r.fault(item, "%s: %s", what, err)
			return
		}
		if slices.ContainsFunc(selectors, func(o Selector) bool { return o.String() == s.String() }) {
			r.fault(item, "%s stands twice in %s", clip(s.String()), what)
			return
		}
		selectors = append(selectors, s)
	})
	if ok && len(selectors) == 0 && len(r.faults) == before {
		r.fault(n, "%s names no counter; add one, such as http_requests_total{job=\"api\"}", what)
	}
	return selectors
}

// One call is no repetition.
const minRepeats, maxRepeats = 2, 1_000_000

func (r *reader) perTool(n *yaml.Node, what string) map[string]int {
	entries, _ := r.entries(n, what, "{check_job_status: 20}")
	repeats := map[string]int{}
	for _, e := range entries {
		if err := checkGlob(e.key.Value); err != nil {
			r.fault(e.key, "%s: %q: %s", what, clip(e.key.Value), err)
		}
		if i, ok := r.integer(e.value, "the repeats of "+clip(e.key.Value), minRepeats, maxRepeats); ok {
			repeats[e.key.Value] = i
		}
	}
	return repeats
}

func (r *reader) evaluations(n *yaml.Node, what string) []Evaluation {
	const example = "[{name: correctness, min_score: 0.7}]"
	var evaluations []Evaluation
	ok := r.list(n, what, example, func(item *yaml.Node) {
		var e Evaluation
		found := r.mapping(item, "an evaluation", "{name: correctness, min_score: 0.7}", []key{
			{"name", func(v *yaml.Node, what string) {
				e.Name, _ = r.text(v, what)
				if e.Name != "" && slices.ContainsFunc(evaluations, func(o Evaluation) bool { return o.Name == e.Name }) {
					r.fault(v, "evaluation %s stands twice", clip(e.Name))
				}
			}},
			{"min_score", func(v *yaml.Node, what string) {
				if d, ok := r.number(v, what, anyNumber); ok {
					e.MinScore = &d
				}
			}},
			{"max_score", func(v *yaml.Node, what string) {
				if d, ok := r.number(v, what, anyNumber); ok {
					e.MaxScore = &d
				}
			}},
			{"good_labels", func(v *yaml.Node, what string) { e.GoodLabels, _ = r.texts(v, what, "[pass]", nil) }},
			{"bad_labels", func(v *yaml.Node, what string) { e.BadLabels, _ = r.texts(v, what, "[fail]", nil) }},
		})
		if found == nil {
			return
		}
		if _, ok := found["name"]; !ok {
			r.fault(item, "the evaluation has no name; add the evaluator's, such as name: correctness")
		} else if len(found) == 1 {
			r.fault(item, "evaluation %s says not when it passes: give min_score, max_score, good_labels or bad_labels", clip(e.Name))
		}
		if e.MinScore != nil && e.MaxScore != nil && e.MinScore.GreaterThan(*e.MaxScore) {
			r.fault(found["min_score"].value, "min_score %s is above max_score %s: nothing could pass", e.MinScore, e.MaxScore)
		}
		for _, label := range e.BadLabels {
			if slices.Contains(e.GoodLabels, label) {
				r.fault(found["bad_labels"].value, "the label %q is good and bad at once", clip(label))
			}
		}
		evaluations = append(evaluations, e)
	})
	if ok && len(r.resolve(n).Content) == 0 {
		r.fault(n, "%s names no evaluation; add one, such as %s", what, example)
	}
	return evaluations
}

// Waits says whether verdicts may wait for evaluations.
func (o *Objective) Waits() bool { return slices.Contains(kindKeys[o.SLI].allowed, "wait") }

// LateAfter is how long after its run's end a verdict counts as late: an hour
// after every usual wait is over, the idle timeout and up to six hours for
// evaluations. What late verdicts show is past: last week's labels, a queue that
// is caught up with.
func (f *File) LateAfter(o *Objective) time.Duration {
	after := f.Runs.IdleTimeout + time.Hour
	if o.Waits() {
		after += min(o.Wait, 6*time.Hour)
	}
	return after
}

// AppliesTo says whether the SLO is about an agent, by its label or by the name
// that its telemetry gives; see [File.AgentLabel].
func (o *Objective) AppliesTo(agents ...string) bool {
	if len(o.Agents) == 0 {
		return true
	}
	return slices.ContainsFunc(agents, func(a string) bool { return matchAny(o.Agents, a) })
}

// RepeatsOf is how many same calls of the tool are no progress: per_tool by
// its most specific glob, else repeats.
func (o *Objective) RepeatsOf(tool string) int {
	repeats, best := o.Repeats, specificity{literals: -1}
	for glob, n := range o.PerTool {
		if s := globSpecificity(glob); MatchGlob(glob, tool) {
			if c := s.compare(best); c > 0 || c == 0 && n > repeats {
				repeats, best = n, s
			}
		}
	}
	return repeats
}
