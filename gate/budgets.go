package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
)

// Options selects budgets.
type Options struct {
	At   time.Time // when the windows end; the zero time: now
	SLOs []string  // names; empty: all
	By   string    // "agent", "tool" or a dimension: a budget per value; "": what the file says
}

// Read reads the budgets of a set of SLO files, in the order of the files. An
// SLO without any run has one empty budget. It is an error when the counters
// cannot be read whole, or when the server has none of the exporter at all.
func Read(ctx context.Context, api Prometheus, set *slo.Set, options Options) ([]Budget, error) {
	if options.At.IsZero() {
		options.At = time.Now()
	}
	options.At = options.At.Truncate(time.Millisecond) // as Prometheus keeps time
	if err := options.Check(set); err != nil {
		return nil, err
	}
	r := reader{api}
	var all []Budget
	for _, f := range set.Files {
		by, ok := options.split(f)
		objectives := selected(f, options.SLOs, by)
		if len(objectives) == 0 || !ok {
			continue
		}
		budgets, err := r.budgets(ctx, set, f, objectives, by, options.At)
		if err != nil {
			return nil, err
		}
		all = append(all, budgets...)
	}
	return all, nil
}

// Check is an error when an SLO or a dimension is named that no file has.
func (o Options) Check(set *slo.Set) error {
	var known []string
	for _, f := range set.Files {
		for i := range f.SLOs {
			known = append(known, f.SLOs[i].Name)
		}
	}
	for _, name := range o.SLOs {
		if !slices.Contains(known, name) {
			slices.Sort(known)
			return fmt.Errorf("no file has an SLO %q; there is %s", name, strings.Join(slices.Compact(known), ", "))
		}
	}
	if o.By == "" || o.By == "agent" {
		return nil
	}
	dimensions := []string{"agent"}
	for _, f := range set.Files {
		for _, d := range f.Dimensions {
			dimensions = append(dimensions, d.Name)
		}
		if f.HasScope(slo.ScopeTool) {
			dimensions = append(dimensions, slo.DimensionTool)
		}
	}
	if !slices.Contains(dimensions, o.By) {
		slices.Sort(dimensions[1:])
		return fmt.Errorf("no file has a dimension %q; budgets can be split by %s", o.By, strings.Join(slices.Compact(dimensions), ", "))
	}
	return nil
}

// split is the label that a file's budgets are split by; false when the file
// does not have it.
func (o Options) split(f *slo.File) (string, bool) {
	switch {
	case o.By == "agent" || o.By == "" && slices.Contains(f.By, "agent"):
		return "agent", true
	case o.By == "":
		return "", true
	case o.By == slo.DimensionTool:
		return o.By, f.HasScope(slo.ScopeTool)
	}
	return o.By, slices.ContainsFunc(f.Dimensions, func(d slo.Dimension) bool { return d.Name == o.By })
}

// selected are the file's SLOs of those names, or all; split by tool, only
// those that have tools.
func selected(f *slo.File, names []string, by string) []*slo.Objective {
	var out []*slo.Objective
	for i := range f.SLOs {
		o := &f.SLOs[i]
		if (len(names) == 0 || slices.Contains(names, o.Name)) && (by != slo.DimensionTool || o.Scope == slo.ScopeTool) {
			out = append(out, o)
		}
	}
	return out
}

// ofFile selects the exporter's series of a file. Those of a file without an
// environment carry the environments of their runs, and one budget covers them.
func ofFile(set *slo.Set, f *slo.File, metric string) selector {
	sel := selector{metric: metric}.equal("slo_service", f.Service)
	if f.Environment != "" {
		return sel.equal("environment", f.Environment)
	}
	var others []string // environments that another file of the service claims
	for _, other := range set.Files {
		if other.Service == f.Service && other.Environment != "" {
			others = append(others, other.Environment)
		}
	}
	if len(others) > 0 {
		sel = sel.noneOf("environment", others)
	}
	return sel
}

// counters selects the verdicts on a file's SLOs.
func counters(set *slo.Set, f *slo.File, objectives []*slo.Objective, by string) selector {
	sel := ofFile(set, f, eventsMetric)
	if by != "" && by != "agent" {
		sel.metric, sel.dimension = byDimension(by), by
	}
	names := make([]string, len(objectives))
	for i, o := range objectives {
		names[i] = o.Name
	}
	return sel.oneOf("slo", names)
}

// group is the identity of one budget within a file.
type group struct{ slo, value string }

func (r reader) budgets(ctx context.Context, set *slo.Set, f *slo.File, objectives []*slo.Objective, by string, at time.Time) ([]Budget, error) {
	from := windowStart(f.Window, at)
	reach := from
	if recent := at.Add(-fineSpan); f.Window.Calendar != "" && recent.Before(from) {
		reach = recent // burn rates look back over the beginning of a month
	}
	over := grids(reach, from, at)
	agents, err := r.agentBudgets(ctx, set, f, objectives, by, over, from, at)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Service, err)
	}
	var out []Budget
	for _, o := range objectives {
		if by == "" && Predicts(f, o) {
			if err := r.predict(ctx, set, &agents[o][0], over); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Service, err)
			}
		}
		if o.CountsRuns() {
			out = append(out, agents[o]...)
			continue
		}
		b, err := r.ratioBudget(ctx, f, o, over, from, at)
		if err != nil {
			return nil, fmt.Errorf("%s/%s: %w", f.Service, o.Name, err)
		}
		out = append(out, b)
	}
	return out, nil
}

// agentBudgets reads the budgets of all SLOs of a file that are about runs.
func (r reader) agentBudgets(ctx context.Context, set *slo.Set, f *slo.File, objectives []*slo.Objective, by string, over []grid, from, at time.Time) (map[*slo.Objective][]Budget, error) {
	objectives = slices.DeleteFunc(slices.Clone(objectives), func(o *slo.Objective) bool { return !o.CountsRuns() })
	if len(objectives) == 0 {
		return nil, nil
	}
	h, err := r.read(ctx, counters(set, f, objectives, by), over)
	if err != nil {
		return nil, err
	}
	if len(h.series) == 0 {
		if err := r.exporterSeen(ctx, at); err != nil {
			return nil, err
		}
	}
	doubts, err := r.samplingDoubts(ctx, set, f, over, from, at)
	if err != nil {
		return nil, err
	}
	found := map[group][]*series{}
	for _, s := range h.series {
		g := group{slo: string(s.labels["slo"])}
		if by != "" {
			g.value = string(s.labels[model.LabelName(by)])
		}
		found[g] = append(found[g], s)
	}
	groups := slices.SortedFunc(maps.Keys(found), func(a, b group) int { return cmp.Compare(a.value, b.value) })
	out := map[*slo.Objective][]Budget{}
	for _, o := range objectives {
		for _, g := range groups {
			if g.slo == o.Name {
				b := newBudget(f, o, g, by, newLedger(verdicts(found[g])), from, at)
				b.notes(h, "exporter agent_slo", doubts)
				if n := b.Good + b.Bad + b.Unknown + b.Excluded; g.value == slo.OverflowValue && n > 0 {
					b.Notes = append(b.Notes, overflowNote(by, n))
				}
				out[o] = append(out[o], b)
			}
		}
		if len(out[o]) == 0 {
			b := newBudget(f, o, group{slo: o.Name}, "", ledger{}, from, at)
			b.nameless = fmt.Sprintf("Prometheus has no counters of %s/%s: no run of it was counted yet, or what is counted has another name", f.Service, o.Name)
			b.Notes = append(b.Notes, b.nameless)
			out[o] = []Budget{b}
		}
	}
	return out, nil
}

// exporterSeen is an error when the server has no series of the exporter: then
// "no runs" would be a guess.
func (r reader) exporterSeen(ctx context.Context, at time.Time) error {
	seen, err := r.vector(ctx, fmt.Sprintf("count(last_over_time(%s[%s]))", anyMetric, promDuration(fine)), at)
	if err != nil {
		return err
	}
	if len(seen) == 0 {
		return errors.New("Prometheus has no series of the exporter agent_slo in the last hour; is its /metrics scraped, and is --prometheus right?")
	}
	return nil
}

func newBudget(f *slo.File, o *slo.Objective, g group, by string, l ledger, from, at time.Time) Budget {
	a := l.sum(from, at)
	b := Budget{
		Service: f.Service, Environment: f.Environment, SLO: o.Name,
		Objective: Number{o.Target}, Window: f.Window.Name,
		Good: a.good, Bad: a.bad, Unknown: a.unknown, Excluded: a.excluded,
		ErrorRatio: a.errorRatio(o), Remaining: Number{a.remaining(o)}, Interval: a.interval(o),
		file: f, objective: o, ledger: l, from: from, at: at,
	}
	if by != "" {
		b.Split = &Split{by, g.value}
	}
	for _, w := range burnWindows {
		if f.Window.Calendar == "" && w.length > f.Window.Rolling {
			break
		}
		b.BurnRate = append(b.BurnRate, BurnRate{w.name, l.sum(at.Add(-w.length), at).burn(o)})
	}
	b.ExhaustedIn = l.exhaustedIn(a, o, f.Window, at)
	b.Status = b.status()
	return b
}

// seconds in which a budget counts as at risk.
const soon = 3 * 24 * 60 * 60

func (b *Budget) status() Status {
	a := b.account()
	switch judge(a, b.objective, b.file) {
	case frozen:
		if b.Remaining.Sign() <= 0 {
			return Exhausted
		}
		return AtRisk
	case tooFew, unseen:
		return Insufficient
	case between:
		return AtRisk
	}
	if b.ExhaustedIn != nil && *b.ExhaustedIn <= soon {
		return AtRisk
	}
	return OK
}

func (b *Budget) account() account { return account{b.Good, b.Bad, b.Unknown, b.Excluded} }

// exhaustedIn is how many seconds the failures that are still allowed last at
// the rate of the shortest burn window with three failures in it, or else of
// the longest. It is nil while the error ratio of that window is within the
// budget: then the budget never runs out.
func (l ledger) exhaustedIn(a account, o *slo.Objective, window slo.Window, at time.Time) *int64 {
	left := a.tolerated(o).Sub(whole(a.bad))
	if a.events() > 0 && left.Sign() <= 0 {
		none := int64(0)
		return &none
	}
	var rate account
	var length time.Duration
	for _, w := range burnWindows {
		if window.Calendar == "" && w.length > window.Rolling {
			break
		}
		if rate, length = l.sum(at.Add(-w.length), at), w.length; rate.bad >= 3 {
			break
		}
	}
	if rate.burn(o).LessThanOrEqual(decimal.NewFromInt(1)) {
		return nil
	}
	// A judge's false alarms are tolerated already: what is left, and the rate, are
	// of runs that are truly bad.
	spent := whole(rate.bad)
	if o.Judge != nil {
		left = left.Div(o.Judge.Gain())
		spent = o.Judge.Corrected(whole(rate.bad).DivRound(whole(rate.events()), 2*ratioDigits)).Mul(whole(rate.events()))
	}
	seconds := left.Mul(decimal.NewFromFloat(length.Seconds())).Div(spent).IntPart()
	return &seconds
}

// notes says what the reader of the numbers must know. Doubts are reasons not
// to go by them.
func (b *Budget) notes(h history, source string, doubts []string) {
	if b.from.Before(h.kept) {
		b.Notes = append(b.Notes, fmt.Sprintf("Prometheus keeps samples for %s, less than the window: what was counted before is missing", wordsFor(h.retention)))
	}
	if c := b.file.Window.Calendar; c != "" && len(h.series) > 0 {
		// A stretch may begin before its first sample does.
		if first := h.firstSeen(b.SLO); !first.IsZero() && first.Sub(b.from) > firstLate {
			b.Notes = append(b.Notes, fmt.Sprintf("partial: of this %s only what came after %s is counted, when the counters began", c, first.UTC().Format(moment)))
		}
	}
	if seen := h.lastSeen(); len(h.series) > 0 && b.at.Sub(seen) >= staleAfter {
		b.doubts = append(b.doubts, fmt.Sprintf("no sample of the %s since %s: it is down or not scraped, and what happened since then is missing", source, seen.UTC().Format(moment)))
	}
	b.doubts = append(b.doubts, doubts...)
	b.Notes = append(b.Notes, b.doubts...)
}

// firstLate is how long after its start a calendar window may begin to be
// counted and still be whole: longer than a restart takes.
const firstLate = 2 * time.Hour

// staleAfter is how old the newest sample may be before the gate will not go by it.
const staleAfter = time.Hour

// moment is how notes write a time.
const moment = "2006-01-02 15:04 MST"
