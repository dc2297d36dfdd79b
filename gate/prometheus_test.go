package gate_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"sort"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/standalone/api"
	"github.com/agentslo/agentslo/standalone/engine"
)

// end is the time at which budgets are read in tests: a minute off the hour, so
// that nothing is aligned by accident.
var end = time.Date(2026, 3, 31, 12, 1, 7, 250_000_000, time.UTC)

// sample is one scrape of one series.
type sample struct {
	at    time.Time
	value float64
}

// stream is one exported series as it was scraped, in order of time.
type stream struct {
	metric  string // default agentslo_events_total
	labels  map[string]string
	samples []sample
}

// serve runs the API of a Prometheus engine that holds the streams.
func serve(t testing.TB, retention time.Duration, streams ...stream) gate.Prometheus {
	t.Helper()
	e, err := engine.Open(engine.Options{Directory: t.TempDir(), Retention: retention})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(api.New(e, api.Options{Flags: map[string]string{"storage.tsdb.retention.time": model.Duration(retention).String()}}))
	t.Cleanup(func() { server.Close(); _ = e.Close() })
	store(t, e, streams)
	prometheus, err := gate.Dial(server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	return prometheus
}

// store appends all samples in order of time, as scrapes do.
func store(t testing.TB, e *engine.Engine, streams []stream) {
	t.Helper()
	type row struct {
		sample
		labels labels.Labels
	}
	var rows []row
	for _, s := range streams {
		b := labels.NewScratchBuilder(8)
		if s.metric == "" {
			s.metric = "agentslo_events_total"
		}
		b.Add(model.MetricNameLabel, s.metric)
		for name, value := range s.labels {
			b.Add(name, value)
		}
		b.Sort()
		l := b.Labels()
		for _, p := range s.samples {
			rows = append(rows, row{p, l})
		}
	}
	sort.SliceStable(rows, func(i, j int) bool { return rows[i].at.Before(rows[j].at) })
	ctx := context.Background()
	appender := e.DB().Appender(ctx)
	for i, r := range rows {
		if i%1_000_000 == 999_999 { // as a server does, or the head would hold a month
			if err := errors.Join(appender.Commit(), e.DB().Compact(ctx)); err != nil {
				t.Fatal(err)
			}
			appender = e.DB().Appender(ctx)
		}
		if _, err := appender.Append(0, r.labels, r.at.UnixMilli(), r.value); err != nil {
			t.Fatal(err)
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, document string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	return &slo.Set{Files: files}
}

func read(t testing.TB, p gate.Prometheus, set *slo.Set, o gate.Options) []gate.Budget {
	t.Helper()
	if o.At.IsZero() {
		o.At = end
	}
	budgets, err := gate.Read(context.Background(), p, set, o)
	if err != nil {
		t.Fatal(err)
	}
	return budgets
}
