package backtest

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"sort"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	promrules "github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

var day0 = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func parse(t testing.TB, text string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(text))
	require.NoError(t, err)
	return &slo.Set{Files: files}
}

// churn is traffic with what makes counting hard: a second exporter that comes,
// restarts at 0 and goes for good, a gap in scraping, and an outage that alerts.
type churn struct{ f *slo.File }

func (c churn) Scrape(_ context.Context, from, to time.Time, into *Storage) error {
	o := &c.f.SLOs[0]
	a, b := newCounters(c.f, o, "agent"), newCounters(c.f, o, "agent")
	for i, ls := range b.labels {
		b.labels[i] = labels.NewBuilder(ls).Set("instance", "b").Labels()
	}
	for i := range int(to.Sub(day0)/(30*time.Second)) + 1 {
		at := day0.Add(time.Duration(i) * 30 * time.Second)
		since := at.Sub(day0)
		outage := since > 3*time.Hour && since < 4*time.Hour
		if i > 4 && i%7 == 0 {
			if outage || i%70 == 0 {
				a.add(slo.Bad, 1)
			} else {
				a.add(slo.Good, 1)
			}
		}
		if i%11 == 0 && since > time.Hour+3*time.Minute {
			b.add(slo.Good, 2)
		}
		if since == 2*time.Hour {
			b.values = [4]float64{}
		}
		if !at.After(from) || since > 4*time.Hour+10*time.Minute && since < 4*time.Hour+30*time.Minute {
			continue
		}
		a.show(into, at)
		if since >= time.Hour && since < 3*time.Hour+30*time.Minute {
			b.show(into, at)
		}
		if since == 3*time.Hour+30*time.Minute {
			for _, ls := range b.labels {
				into.Append(ls, at.UnixMilli(), stale)
			}
		}
	}
	return nil
}

type sample struct {
	t int64
	v uint64 // its bits, so that stale markers compare
}

func (s *Storage) all() map[string][]sample {
	out := map[string][]sample{}
	for _, all := range s.byName {
		for _, x := range all {
			for i, t := range x.times {
				out[x.labels.String()] = append(out[x.labels.String()], sample{t, math.Float64bits(x.values[i])})
			}
		}
	}
	return out
}

// The rule manager of Prometheus over its own database, rule by rule and
// instant by instant, is what the short ways must agree with, bit by bit.
func TestReplayRecordsWhatTheRuleManagerDoes(t *testing.T) {
	for name, by := range map[string]string{"budget per service": "[]", "budget per agent": "[agent]"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := parse(t, "{apiVersion: agentslo/v1, kind: AgentSLO, service: bot, environment: prod, by: "+by+", slos: {completion: {objective: 99%}}}")
			end := day0.Add(4*time.Hour + 50*time.Minute)
			r := &Replay{Groups: rules.Groups(set), Traffic: churn{set.Files[0]}, Start: day0.Add(time.Minute), End: end, Step: time.Minute, stretch: 70 * time.Minute, Wanted: []string{`{__name__=~".+"}`}}
			for _, g := range r.Groups {
				for _, one := range g.Rules {
					if one.Record != "" {
						r.Wanted = append(r.Wanted, one.Record)
					}
				}
			}
			r.Wanted = append(r.Wanted[1:], "agentslo_events_total", "agentslo_unmatched_runs_total", "ALERTS", "ALERTS_FOR_STATE")
			fired, err := r.Run(context.Background())
			require.NoError(t, err)
			require.NotEmpty(t, fired, "the outage pages")
			got := r.storage.all()
			want := managed(t, set, r.storage, r.Start, end)
			require.ElementsMatch(t, keys(want), keys(got))
			for series := range want {
				require.Equal(t, want[series], got[series], series)
			}
		})
	}
}

func keys(m map[string][]sample) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// managed steps the rule manager's groups over the exporters' samples.
func managed(t *testing.T, set *slo.Set, scraped *Storage, start, end time.Time) map[string][]sample {
	t.Helper()
	db, err := tsdb.Open(t.TempDir(), slog.New(slog.DiscardHandler), nil, tsdb.DefaultOptions(), nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	var text bytes.Buffer
	require.NoError(t, rules.Write(&text, set, rules.FormatPrometheus))
	file := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	manager := promrules.NewManager(&promrules.ManagerOptions{
		QueryFunc: promrules.EngineQueryFunc(newEngine(), db), AppendableV2: db, Queryable: db, Context: context.Background(),
		NotifyFunc: func(context.Context, string, ...*promrules.Alert) {}, Logger: slog.New(slog.DiscardHandler), Parser: promql,
	})
	groups, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	require.Empty(t, errs)
	ctx := context.Background()
	next := map[*series]int{}
	for at := start; !at.After(end); at = at.Add(time.Minute) {
		app := db.AppenderV2(ctx)
		for _, name := range []string{"agentslo_events_total", "agentslo_unmatched_runs_total"} {
			for _, x := range scraped.byName[name] {
				for ; next[x] < len(x.times) && x.times[next[x]] <= at.UnixMilli(); next[x]++ {
					_, err := app.Append(0, x.labels, 0, x.times[next[x]], x.values[next[x]], nil, nil, storage.AOptions{})
					require.NoError(t, err)
				}
			}
		}
		require.NoError(t, app.Commit())
		for _, g := range groups {
			for _, one := range g.Rules() {
				if a, ok := one.(*promrules.AlertingRule); ok {
					a.SetRestored(true)
				}
			}
			g.Eval(ctx, at)
			for _, one := range g.Rules() {
				require.NoError(t, one.LastError())
			}
		}
	}
	q, err := db.Querier(0, math.MaxInt64)
	require.NoError(t, err)
	defer func() { require.NoError(t, q.Close()) }()
	found := q.Select(ctx, false, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	out := map[string][]sample{}
	for found.Next() {
		x := found.At()
		for it := x.Iterator(nil); it.Next() == chunkenc.ValFloat; {
			ts, v := it.At()
			out[x.Labels().String()] = append(out[x.Labels().String()], sample{ts, math.Float64bits(v)})
		}
	}
	require.NoError(t, found.Err())
	return out
}

// A month of one SLO at a step of a minute is to take less than a minute on two
// cores; most of it is evaluated by range queries.
func BenchmarkMonth(b *testing.B) {
	set := parse(b, "{apiVersion: agentslo/v1, kind: AgentSLO, service: bot, slos: {completion: {objective: 99%}}}")
	f := set.Files[0]
	for b.Loop() {
		s := Scenario{PerHour: 10, ErrorRatio: 0.01, Seed: 1, Start: day0, Scrape: 30 * time.Second}
		_, err := Test{Set: set, File: f, Objective: &f.SLOs[0], Traffic: s.Traffic(f, &f.SLOs[0]), Start: day0.Add(65 * time.Second), End: day0.Add(month), Step: time.Minute}.Run(context.Background())
		require.NoError(b, err)
	}
}

// What rules count is what exporters counted, with an environment or without:
// a label that is empty is none.
func TestRulesCountTheScenario(t *testing.T) {
	for _, environment := range []string{"", ", environment: prod"} {
		set := parse(t, "{apiVersion: agentslo/v1, kind: AgentSLO, service: bot"+environment+", by: [agent], slos: {completion: {objective: 99%}}}")
		f := set.Files[0]
		o := &f.SLOs[0]
		s := Scenario{PerHour: 60, ErrorRatio: 0.1, Seed: 1, Start: day0, Scrape: 30 * time.Second}
		r := &Replay{Groups: rules.Groups(set), Traffic: s.Traffic(f, o), Start: day0.Add(65 * time.Second), End: day0.Add(5 * time.Hour), Step: time.Minute,
			Wanted: []string{rules.Events(f, o, slo.Bad, month), eventsMetric}}
		_, err := r.Run(context.Background())
		require.NoError(t, err)
		lines, err := r.Query(context.Background(), rules.Events(f, o, slo.Bad, month), time.Minute)
		require.NoError(t, err)
		require.Len(t, lines, 1)
		last := lines[0].Points[len(lines[0].Points)-1]
		require.Equal(t, r.Counted(slo.Bad), last.Value)
		require.Greater(t, last.Value, 10.0)
	}
}
