package rules_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// world is a Prometheus in simulated time: a database, the engine and the
// generated rules, and exporters that it scrapes.
type world struct {
	t       testing.TB
	db      *tsdb.DB
	engine  *promql.Engine
	groups  []*promrules.Group
	options *promrules.ManagerOptions
	samples int64 // read by all queries of rules
	now     time.Time
	targets []*target
	// evaluates and scrapes can switch off either for a while.
	evaluates, scrapes bool
	scrapeEvery        time.Duration
	each, scraped      func() // after each evaluation and each scrape
}

// target is one exporter as Prometheus knows it.
type target struct {
	labels map[string]string
	values map[string]float64 // "agent/slo/verdict", or "agent/slo@tenant/verdict" → counter
	late   map[string]float64 // "agent/slo" → bad events counted late
	up     bool
	was    map[string]labels.Labels // at the last scrape
	shown  time.Time                // when the newest life or series was first scraped
}

var start = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func newWorld(t testing.TB, text string) *world {
	t.Helper()
	o := tsdb.DefaultOptions()
	o.RetentionDuration = int64(200 * 24 * time.Hour / time.Millisecond)
	// Everything stays in the head: time passes too fast for compaction.
	o.MinBlockDuration, o.MaxBlockDuration = o.RetentionDuration, o.RetentionDuration
	db, err := tsdb.Open(t.TempDir(), slog.New(slog.DiscardHandler), nil, o, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	w := &world{
		t: t, db: db, now: start, evaluates: true, scrapes: true, scrapeEvery: 30 * time.Second,
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 50e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }, Parser: parser.NewParser(parser.Options{}),
		}),
	}
	w.load(text)
	return w
}

func set(t testing.TB, text string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(text))
	require.NoError(t, err)
	return &slo.Set{Files: files}
}

// load replaces the rules, as a reload of the server does.
func (w *world) load(text string) {
	w.t.Helper()
	var out bytes.Buffer
	require.NoError(w.t, rules.Write(&out, set(w.t, text), rules.FormatPrometheus))
	file := filepath.Join(w.t.TempDir(), "rules.yaml")
	require.NoError(w.t, os.WriteFile(file, out.Bytes(), 0o600))
	w.options = &promrules.ManagerOptions{
		QueryFunc:    w.exec,
		AppendableV2: w.db, Queryable: w.db, Context: context.Background(),
		NotifyFunc: func(context.Context, string, ...*promrules.Alert) {},
		Logger:     slog.New(slog.NewTextHandler(io.Discard, nil)),
		Parser:     parser.NewParser(parser.Options{}),
	}
	manager := promrules.NewManager(w.options)
	loaded, errs := manager.LoadGroups(rules.Interval, labels.EmptyLabels(), "", nil, false, file)
	require.Empty(w.t, errs)
	before := w.groups
	w.groups = nil
	for _, g := range loaded {
		for _, old := range before {
			if old.Name() == g.Name() {
				g.CopyState(old)
			}
		}
		for _, r := range g.Rules() {
			if a, ok := r.(*promrules.AlertingRule); ok {
				a.SetRestored(true)
			}
		}
		w.groups = append(w.groups, g)
	}
	slices.SortFunc(w.groups, func(a, b *promrules.Group) int { return strings.Compare(a.Name(), b.Name()) })
}

// exec is what rules query with. It counts the samples read.
func (w *world) exec(ctx context.Context, text string, at time.Time) (promql.Vector, error) {
	q, err := w.engine.NewInstantQuery(ctx, w.db, nil, text, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(ctx)
	w.samples += q.Stats().Samples.TotalSamples
	switch v := result.Value.(type) {
	case promql.Vector:
		return slices.Clone(v), result.Err
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V, Metric: labels.EmptyLabels()}}, result.Err
	}
	return nil, result.Err
}

// keepPages drops the rules that no page depends on, to save time; keep those
// that none of the records does.
func (w *world) keepPages() {
	w.keepRules(func(r promrules.Rule) bool { return r.Labels().Get("severity") == rules.SeverityPage })
}

func (w *world) keep(records ...string) {
	w.keepRules(func(r promrules.Rule) bool { return slices.Contains(records, r.Name()) })
}

func (w *world) keepRules(wanted func(promrules.Rule) bool) {
	needed := map[string]bool{}
	for i, g := range w.groups {
		var kept []promrules.Rule
		for _, r := range slices.Backward(g.Rules()) {
			if !wanted(r) && !needed[r.Name()] {
				continue
			}
			kept = append(kept, r)
			parser.Inspect(r.Query(), func(n parser.Node, _ []parser.Node) error {
				if v, ok := n.(*parser.VectorSelector); ok {
					needed[v.Name] = true
				}
				return nil
			})
		}
		slices.Reverse(kept)
		w.groups[i] = promrules.NewGroup(promrules.GroupOptions{Name: g.Name(), File: g.File(), Interval: g.Interval(), Rules: kept, Opts: w.options})
	}
}

func (w *world) target(pairs ...string) *target {
	t := &target{labels: map[string]string{"job": "agentslo", "instance": "a:9464"}, values: map[string]float64{}, late: map[string]float64{}, up: true}
	for i := 0; i < len(pairs); i += 2 {
		t.labels[pairs[i]] = pairs[i+1]
	}
	w.targets = append(w.targets, t)
	return t
}

// born shows all verdicts of an SLO at 0, as the exporter does.
func (t *target) born(agent, name string) {
	for _, v := range slo.Verdicts {
		t.values[agent+"/"+name+"/"+v.String()] = 0
	}
	t.late[agent+"/"+name] = 0
	t.shown = time.Time{}
}

// holds says whether the exporter still shows its zeros: until they were
// scraped, and for a minute more.
func (t *target) holds(now time.Time) bool {
	return t.shown.IsZero() || now.Sub(t.shown) < time.Minute
}

func (t *target) add(agent, name, verdict string, n float64) {
	t.values[agent+"/"+name+"/"+verdict] += n
}

// restart loses the counters: they are born again.
func (t *target) restart() {
	for k := range t.values {
		t.values[k] = 0
	}
	t.shown = time.Time{}
}

const service = "bot"

func (w *world) scrape() {
	app := w.db.AppenderV2(context.Background())
	at := w.now.UnixMilli()
	for _, t := range w.targets {
		is := map[string]labels.Labels{}
		if t.up {
			if t.shown.IsZero() {
				t.shown = w.now
			}
			for k, v := range t.values {
				part := strings.SplitN(k, "/", 3)
				name, tenant, split := strings.Cut(part[1], "@")
				ls := map[string]string{"__name__": "agentslo_events_total", "slo_service": service, "environment": "prod",
					"agent": part[0], "slo": name, "verdict": part[2]}
				if split {
					ls["__name__"], ls["tenant"] = "agentslo_events_by_tenant_total", tenant
				}
				for name, value := range t.labels {
					ls[name] = value
				}
				is[k] = labels.FromMap(ls)
				_, err := app.Append(0, is[k], 0, at, v, nil, nil, storage.AOptions{})
				require.NoError(w.t, err)
			}
			for k, v := range t.late {
				agent, name, _ := strings.Cut(k, "/")
				ls := map[string]string{"__name__": "agentslo_late_bad_events_total", "slo_service": service, "environment": "prod", "agent": agent, "slo": name}
				for name, value := range t.labels {
					ls[name] = value
				}
				is["late/"+k] = labels.FromMap(ls)
				_, err := app.Append(0, is["late/"+k], 0, at, v, nil, nil, storage.AOptions{})
				require.NoError(w.t, err)
			}
			ls := map[string]string{"__name__": "agentslo_unmatched_runs_total"}
			for name, value := range t.labels {
				ls[name] = value
			}
			is[""] = labels.FromMap(ls)
			_, err := app.Append(0, is[""], 0, at, 0, nil, nil, storage.AOptions{})
			require.NoError(w.t, err)
		}
		for k, ls := range t.was {
			if _, there := is[k]; !there {
				_, err := app.Append(0, ls, 0, at, math.Float64frombits(value.StaleNaN), nil, nil, storage.AOptions{})
				require.NoError(w.t, err)
			}
		}
		t.was = is
	}
	require.NoError(w.t, app.Commit())
	if w.scraped != nil {
		w.scraped()
	}
}

func (w *world) evaluate() {
	for _, g := range w.groups {
		g.Eval(context.Background(), w.now)
		for _, r := range g.Rules() {
			require.NoError(w.t, r.LastError(), "%s at %s: %s", r.Name(), w.now.Sub(start), r.Query())
		}
	}
	if w.each != nil {
		w.each()
	}
}

// run lets time pass in steps of 5 seconds; what happens in a step (nil:
// nothing) happens before the scrape.
func (w *world) run(d time.Duration, step func()) {
	w.t.Helper()
	for end := w.now.Add(d); w.now.Before(end); {
		w.now = w.now.Add(5 * time.Second)
		if step != nil {
			step()
		}
		since := w.now.Sub(start)
		if w.scrapes && since%w.scrapeEvery == 10*time.Second {
			w.scrape()
		}
		if w.evaluates && since%rules.Interval == 35*time.Second {
			w.evaluate()
		}
	}
}

// query returns the instant vector at the current time: labels, without the
// metric's name, to values.
func (w *world) query(expr string) map[string]float64 {
	w.t.Helper()
	q, err := w.engine.NewInstantQuery(context.Background(), w.db, nil, expr, w.now)
	require.NoError(w.t, err)
	defer q.Close()
	vector, err := q.Exec(context.Background()).Vector()
	require.NoError(w.t, err, expr)
	got := map[string]float64{}
	for _, s := range vector {
		got[s.Metric.DropReserved(func(n string) bool { return n == "__name__" }).String()] = s.F
	}
	return got
}

// number is the one value of an expression.
func (w *world) number(expr string) float64 {
	w.t.Helper()
	got := w.query(expr)
	require.Len(w.t, got, 1, "%s at %s", expr, w.now.Sub(start))
	for _, v := range got {
		return v
	}
	return 0
}

func (w *world) increase(name, verdict, window string) float64 {
	w.t.Helper()
	return w.number(fmt.Sprintf(`agentslo:events:increase%s{slo=%q,verdict=%q}`, window, name, verdict))
}

func (w *world) firing(alert string) []string {
	var tiers []string
	for ls := range w.query(fmt.Sprintf(`sum by (slo, severity, tier) (ALERTS{alertname=%q,alertstate="firing"})`, alert)) {
		tiers = append(tiers, ls)
	}
	slices.Sort(tiers)
	return tiers
}

// verdictOf is the verdict in a key of [target.values].
func verdictOf(key string) string { return key[strings.LastIndex(key, "/")+1:] }
