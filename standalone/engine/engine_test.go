package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var events = prometheus.NewDesc("agentslo_events_total", "Events.", []string{"verdict"}, nil)

// counters is a collector whose counters a test sets by hand.
type counters []counter

type counter struct {
	verdict string
	value   float64
	created time.Time
	traceID string
}

func (c *counters) Describe(ch chan<- *prometheus.Desc) { ch <- events }

func (c *counters) Collect(ch chan<- prometheus.Metric) {
	for _, one := range *c {
		m := prometheus.MustNewConstMetricWithCreatedTimestamp(events, prometheus.CounterValue, one.value, one.created, one.verdict)
		if one.traceID != "" {
			m = prometheus.MustNewMetricWithExemplars(m, prometheus.Exemplar{
				Value: 1, Labels: prometheus.Labels{"trace_id": one.traceID}, Timestamp: time.Now(),
			})
		}
		ch <- m
	}
}

const evalInterval = 50 * time.Millisecond

func open(t *testing.T, directory string) *Engine {
	t.Helper()
	e, err := Open(Options{Directory: directory, Retention: 40 * 24 * time.Hour, EvalInterval: evalInterval})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// soon is after every collection so far: collections within a millisecond are
// spread over the next ones.
func soon() time.Time { return time.Now().Add(time.Second) }

func gatherer(t *testing.T, c *counters) prometheus.Gatherer {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(c)
	return r
}

func collect(t *testing.T, e *Engine, g prometheus.Gatherer) {
	t.Helper()
	if err := e.Collect(context.Background(), g); err != nil {
		t.Fatal(err)
	}
}

func query(t *testing.T, e *Engine, expr string) promql.Vector {
	t.Helper()
	q, err := e.Queries().NewInstantQuery(context.Background(), e.DB(), nil, expr, soon())
	if err != nil {
		t.Fatal(err)
	}
	result := q.Exec(context.Background())
	v, err := result.Vector()
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return v
}

// samples are the raw values of one series in the order of their times.
func samples(t *testing.T, e *Engine, selector string) []float64 {
	t.Helper()
	q, err := e.Queries().NewInstantQuery(context.Background(), e.DB(), nil, selector+"[1h]", soon())
	if err != nil {
		t.Fatal(err)
	}
	m, err := q.Exec(context.Background()).Matrix()
	if err != nil {
		t.Fatal(err)
	}
	if len(m) != 1 {
		t.Fatalf("%s: %d series, want 1", selector, len(m))
	}
	var values []float64
	for _, p := range m[0].Floats {
		values = append(values, p.F)
	}
	return values
}

func expect(t *testing.T, got []float64, want ...float64) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("samples %v, want %v", got, want)
	}
}

// The first failure is also the first event of its series: without the zero
// it would be no increase at all.
func TestNewbornSeriesStartsAtZero(t *testing.T) {
	e := open(t, t.TempDir())
	c := &counters{}
	g := gatherer(t, c)
	collect(t, e, g)
	*c = counters{{verdict: "bad", value: 1, created: time.Now()}}
	collect(t, e, g)
	(*c)[0].value = 3
	collect(t, e, g)
	expect(t, samples(t, e, `agentslo_events_total{verdict="bad"}`), 0, 1, 3)
}

// A restored series was counted before: a zero would count it again.
func TestRestoredSeriesGoesOn(t *testing.T) {
	directory := t.TempDir()
	birth := time.Now().Add(-10 * time.Millisecond)
	c := &counters{{verdict: "good", value: 41, created: birth}}
	e := open(t, directory)
	collect(t, e, gatherer(t, c))
	expect(t, samples(t, e, `agentslo_events_total`), 41)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, directory)
	(*c)[0].value = 42
	collect(t, e, gatherer(t, c))
	expect(t, samples(t, e, `agentslo_events_total`), 41, 42)
}

// After a kill the counter starts again with a new birth, and may be above its
// old value before anything looks at it: it shows 0 for two evaluations, so
// that the hidden reset is plain to rules and to every reader of the samples.
func TestRebornSeriesIsReset(t *testing.T) {
	directory := t.TempDir()
	c := &counters{}
	e := open(t, directory)
	g := gatherer(t, c)
	collect(t, e, g)
	*c = counters{{verdict: "bad", value: 2, created: time.Now()}}
	collect(t, e, g)
	_ = e.Close()

	e = open(t, directory)
	*c = nil
	collect(t, e, g)
	time.Sleep(2 * time.Millisecond)
	*c = counters{{verdict: "bad", value: 5, created: time.Now()}}
	collect(t, e, g)
	time.Sleep(2 * evalInterval)
	collect(t, e, g)
	expect(t, samples(t, e, `agentslo_events_total`), 0, 2, 0, 5)
	// 2 before the kill and 5 after it.
	if v := query(t, e, `increase(agentslo_events_total[1h] anchored)`); len(v) != 1 || v[0].F != 7 {
		t.Errorf("increase %v, want 7", v)
	}
}

// fullDisk refuses to store while it is full.
type fullDisk struct {
	storage.AppendableV2
	full bool
}

type refused struct{ storage.AppenderV2 }

func (r refused) Commit() error {
	_ = r.Rollback()
	return errors.New("no space left on device")
}

func (d *fullDisk) AppenderV2(ctx context.Context) storage.AppenderV2 {
	app := d.AppendableV2.AppenderV2(ctx)
	if d.full {
		return refused{app}
	}
	return app
}

// While nothing can be stored, counting goes on in memory; afterwards neither a
// first event nor any other is lost or counted twice.
func TestFullDiskLosesNothing(t *testing.T) {
	e := open(t, t.TempDir())
	disk := &fullDisk{AppendableV2: e.DB()}
	e.collect.db = disk
	c := &counters{{verdict: "good", value: 1, created: time.Now()}}
	g := gatherer(t, c)
	collect(t, e, g)
	disk.full = true
	*c = counters{{verdict: "good", value: 3, created: (*c)[0].created}, {verdict: "bad", value: 1, created: time.Now()}}
	if err := e.Collect(context.Background(), g); err == nil {
		t.Error("a full disk is no error")
	}
	disk.full = false
	time.Sleep(2 * evalInterval)
	collect(t, e, g)
	time.Sleep(2 * evalInterval)
	collect(t, e, g)
	for verdict, want := range map[string]float64{"good": 3, "bad": 1} {
		v := query(t, e, `increase(agentslo_events_total{verdict="`+verdict+`"}[1h] anchored)`)
		if len(v) != 1 || v[0].F != want {
			t.Errorf("%s: increase %v, want %v", verdict, v, want)
		}
	}
}

func TestExemplarsAreKept(t *testing.T) {
	e := open(t, t.TempDir())
	c := &counters{{verdict: "bad", value: 1, created: time.Now(), traceID: "4bf92f3577b34da6a3ce929d0e0e4736"}}
	g := gatherer(t, c)
	collect(t, e, g)
	collect(t, e, g)
	q, err := e.DB().ExemplarQuerier(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	expr, err := e.Parser().ParseMetricSelector(`agentslo_events_total`)
	if err != nil {
		t.Fatal(err)
	}
	found, err := q.Select(0, time.Now().UnixMilli(), expr)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Exemplars[0].Labels.Get("trace_id") != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("exemplars %v", found)
	}
}

// Samples of a clock that was wrong must not shut out those that follow.
func TestTimeOnlyGoesForward(t *testing.T) {
	e := open(t, t.TempDir())
	c := &counters{{verdict: "good", value: 1, created: time.Now().Add(-time.Hour)}}
	g := gatherer(t, c)
	collect(t, e, g)
	ahead := time.Now().Add(3 * time.Hour).UnixMilli()
	e.collect.last = ahead // as if the clock had been three hours ahead, and was set back
	(*c)[0].value = 2
	collect(t, e, g)
	(*c)[0].value = 4
	collect(t, e, g)
	q, err := e.Queries().NewInstantQuery(context.Background(), e.DB(), nil, `agentslo_events_total[4h]`, time.UnixMilli(ahead+1000))
	if err != nil {
		t.Fatal(err)
	}
	m, err := q.Exec(context.Background()).Matrix()
	if err != nil || len(m) != 1 {
		t.Fatalf("%v %v", m, err)
	}
	points := m[0].Floats
	if len(points) != 3 || points[2].F != 4 || points[1].T <= ahead || points[2].T <= points[1].T {
		t.Errorf("points %v, want 1 2 4 at rising times after %d", points, ahead)
	}
}

// A series that is no longer published ends at once, not after the lookback.
func TestVanishedSeriesEnds(t *testing.T) {
	e := open(t, t.TempDir())
	c := &counters{{verdict: "good", value: 1, created: time.Now()}, {verdict: "bad", value: 1, created: time.Now()}}
	g := gatherer(t, c)
	collect(t, e, g)
	*c = (*c)[:1]
	collect(t, e, g)
	if v := query(t, e, `agentslo_events_total`); len(v) != 1 || v[0].Metric.Get("verdict") != "good" {
		t.Errorf("%v, want only good", v)
	}
	if v := query(t, e, `up{job="agentslo"}`); len(v) != 1 || v[0].F != 1 {
		t.Errorf("up %v, want 1", v)
	}
}

// Every part of a histogram is a counter with the same birth.
func TestHistogramsAsTheServerStoresThem(t *testing.T) {
	e := open(t, t.TempDir())
	r := prometheus.NewRegistry()
	collect(t, e, r)
	time.Sleep(2 * time.Millisecond)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "run_duration_seconds", Buckets: []float64{1, 2.5}})
	r.MustRegister(h)
	h.Observe(2)
	collect(t, e, r)
	for series, want := range map[string][]float64{
		`run_duration_seconds_bucket{le="1.0"}`:  {0, 0},
		`run_duration_seconds_bucket{le="2.5"}`:  {0, 1},
		`run_duration_seconds_bucket{le="+Inf"}`: {0, 1},
		`run_duration_seconds_sum`:               {0, 2},
		`run_duration_seconds_count`:             {0, 1},
	} {
		expect(t, samples(t, e, series), want...)
	}
}
