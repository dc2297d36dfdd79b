package exporter

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/agentslo/agentslo/exporter/internal/metadata"
	"github.com/agentslo/agentslo/processor/sli"
	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exportertest.CheckConsumeContract does not fit: it wants every item that is
// consumed to arrive at a receiver, and this exporter sends nothing on. What
// the contract is about, that a sender may repeat what it sent, is tested by
// TestResendsAndOtherSpans.

// host has extensions.
type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

// running is an exporter with what its tests look at.
type running struct {
	exporter.Traces
	inner     *sloExporter
	telemetry *componenttest.Telemetry
	logs      *observer.ObservedLogs
}

func testConfig(change ...func(*Config)) *Config {
	c := createDefaultConfig().(*Config)
	c.ServerConfig.NetAddr.Endpoint = "localhost:0"
	c.BirthHold = 0
	for _, f := range change {
		f(c)
	}
	return c
}

// newRunning makes an exporter as the factory does, and keeps its inside.
func newRunning(t *testing.T, config *Config, take func(prometheus.Collector)) *running {
	t.Helper()
	r := &running{telemetry: componenttest.NewTelemetry()}
	t.Cleanup(func() { _ = r.telemetry.Shutdown(context.Background()) })
	set := exportertest.NewNopSettings(metadata.Type)
	set.ID = component.NewID(metadata.Type)
	set.TelemetrySettings = r.telemetry.NewTelemetrySettings()
	core, logs := observer.New(zap.InfoLevel)
	set.Logger, r.logs = zap.New(core), logs
	var err error
	if r.inner, err = newSLOExporter(set, config, func(c prometheus.Collector) {
		if take != nil {
			take(c)
		}
	}); err != nil {
		t.Fatal(err)
	}
	f := &factory{}
	if r.Traces, err = f.wrap(context.Background(), set, config, r.inner); err != nil {
		t.Fatal(err)
	}
	return r
}

func started(t *testing.T, config *Config, h component.Host) *running {
	t.Helper()
	r := newRunning(t, config, nil)
	if err := r.Start(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.stop(t) })
	return r
}

func (r *running) stop(t *testing.T) {
	t.Helper()
	if err := r.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// own is the value of one of the component's own counters.
func (r *running) own(t *testing.T, name string) int64 {
	t.Helper()
	m, err := r.telemetry.GetMetric("otelcol_exporter_agent_slo_" + name)
	if err != nil {
		t.Fatal(err)
	}
	return sumOf(t, m.Data)
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}

func (r *running) scrape(t testing.TB, accept string) (body, contentType string) {
	t.Helper()
	request, _ := http.NewRequest(http.MethodGet, "http://"+r.inner.server.address.String()+"/metrics", nil)
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v\n%s", response.Status, err, data)
	}
	return string(data), response.Header.Get("Content-Type")
}

func parse(t testing.TB, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return families
}

// events is agentslo_events_total by "slo verdict", of all agents.
func (r *running) events(t testing.TB) map[string]float64 {
	t.Helper()
	body, _ := r.scrape(t, "text/plain")
	got := map[string]float64{}
	for _, m := range parse(t, body)["agentslo_events_total"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.Label {
			labels[l.GetName()] = l.GetValue()
		}
		got[labels["slo"]+" "+labels["verdict"]] += m.Counter.GetValue()
	}
	return got
}

func wantEvents(t *testing.T, r *running, want map[string]float64) {
	t.Helper()
	if got := r.events(t); !maps.Equal(got, want) {
		t.Errorf("events are %v, should be %v", got, want)
	}
}

// run is a summary of the n-th run.
func run(n int, results ...sli.Result) *summary.Summary {
	s := &summary.Summary{TraceID: pcommon.TraceID{0: 1, 15: byte(n)}, First: true, Matched: true, Service: "support", Environment: "prod",
		Agent: "triage", Outcome: "answered", Start: 1, End: uint64(time.Now().UnixNano()), Results: results}
	for i := range 8 {
		s.Run[i] = byte(n >> (8 * i))
	}
	return s
}

func verdict(name string, v slo.Verdict) sli.Result { return sli.Result{SLO: name, Verdict: v} }

func traces(summaries ...*summary.Summary) ptrace.Traces {
	td := ptrace.NewTraces()
	for _, s := range summaries {
		summary.Append(td, s)
	}
	return td
}

func (r *running) consume(t testing.TB, td ptrace.Traces) {
	t.Helper()
	if err := r.ConsumeTraces(context.Background(), td); err != nil {
		t.Error(err)
	}
}

func TestResendsAndOtherSpans(t *testing.T) {
	r := started(t, testConfig(), componenttest.NewNopHost())
	td := traces(run(1, verdict("latency", slo.Good)), run(2, verdict("latency", slo.Bad)))
	other := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	other.Scope().SetName("ai")
	other.Spans().AppendEmpty()
	broken := traces(run(3, verdict("latency", slo.Bad)))
	broken.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutStr("agentslo.verdict.latency", "fine")
	broken.ResourceSpans().At(0).MoveTo(td.ResourceSpans().AppendEmpty())
	td.MarkReadOnly() // shared with other consumers

	for range 3 {
		r.consume(t, td)
	}
	wantEvents(t, r, map[string]float64{"latency good": 1, "latency bad": 1, "latency unknown": 0, "latency excluded": 0})
	for name, want := range map[string]int64{"summaries_counted": 2, "summaries_duplicate": 4, "summaries_malformed": 3, "spans_ignored": 3} {
		if got := r.own(t, name); got != want {
			t.Errorf("%s is %d, should be %d", name, got, want)
		}
	}
	if r.logs.FilterMessageSnippet("not counted").Len() == 0 {
		t.Error("a span that is not counted is not logged")
	}
}

func TestOwnCountersAreThereFromTheStart(t *testing.T) {
	r := newRunning(t, testConfig(), nil)
	for _, name := range []string{"summaries_counted", "summaries_duplicate", "summaries_malformed", "spans_ignored", "checkpoint_errors"} {
		if n := r.own(t, name); n != 0 {
			t.Errorf("%s is %d", name, n)
		}
	}
}

func TestFormats(t *testing.T) {
	r := started(t, testConfig(), componenttest.NewNopHost())
	r.consume(t, traces(run(7, verdict("latency", slo.Bad))))
	const series = `agentslo_events_total{agent="triage",environment="prod",slo="latency",slo_service="support",verdict="bad"} 1.0`

	body, contentType := r.scrape(t, "application/openmetrics-text;version=1.0.0")
	if !strings.HasPrefix(contentType, "application/openmetrics-text") || !strings.HasSuffix(body, "# EOF\n") {
		t.Errorf("content type %s", contentType)
	}
	if !strings.Contains(body, series+` # {trace_id="01000000000000000000000000000007"} 1.0 `) {
		t.Errorf("no exemplar in\n%s", body)
	}
	if strings.Contains(body, "_created") {
		t.Error("created timestamps double the series of servers that do not know them")
	}
	// expfmt does not read exemplars; without them OpenMetrics is what it reads.
	parse(t, regexp.MustCompile(` # \{.*`).ReplaceAllString(body, ""))

	body, _ = r.scrape(t, "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited")
	decoder := expfmt.NewDecoder(strings.NewReader(body), expfmt.NewFormat(expfmt.TypeProtoDelim))
	found := false
	for {
		var f dto.MetricFamily
		if err := decoder.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if f.GetName() == "agentslo_events_total" {
			found = true
			for _, m := range f.Metric {
				if age := time.Since(m.Counter.CreatedTimestamp.AsTime()); age < 0 || age > time.Minute {
					t.Errorf("created %v ago", age)
				}
			}
		}
	}
	if !found {
		t.Error("no events in protobuf")
	}

	body, _ = r.scrape(t, "text/plain;version=0.0.4")
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(body)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
}

func TestATakenPortIsAClearError(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r := newRunning(t, testConfig(func(c *Config) { c.ServerConfig.NetAddr.Endpoint = l.Addr().String() }), nil)
	err = r.Start(context.Background(), componenttest.NewNopHost())
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) || !strings.Contains(err.Error(), "address already in use") || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("error %v", err)
	}
	r.stop(t)
}

func TestWithoutAnEndpointNothingIsServed(t *testing.T) {
	r := started(t, testConfig(func(c *Config) { c.ServerConfig.NetAddr.Endpoint = "" }), componenttest.NewNopHost())
	if r.inner.server.http != nil {
		t.Errorf("serves on %v", r.inner.server.address)
	}
}

func TestLifecycle(t *testing.T) {
	f := NewFactory()
	if f.Type() != metadata.Type {
		t.Errorf("type %s", f.Type())
	}
	if err := componenttest.CheckConfigStruct(f.CreateDefaultConfig()); err != nil {
		t.Error(err)
	}
	config := testConfig()
	set := exportertest.NewNopSettings(metadata.Type)
	t.Run("shutdown without start, and twice", func(t *testing.T) {
		e, err := f.CreateTraces(context.Background(), set, config)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := e.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("start, consume, shutdown twice", func(t *testing.T) {
		e, err := f.CreateTraces(context.Background(), set, config)
		if err != nil {
			t.Fatal(err)
		}
		if e.Capabilities().MutatesData {
			t.Error("says that it changes its input")
		}
		if err := e.Start(context.Background(), componenttest.NewNopHost()); err != nil {
			t.Fatal(err)
		}
		td := traces(run(1, verdict("latency", slo.Good)))
		td.MarkReadOnly()
		if err := e.ConsumeTraces(context.Background(), td); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := e.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
}

// The embedding program reads the counters too, and after the shutdown.
func TestWithCollector(t *testing.T) {
	var taken []prometheus.Collector
	f := NewFactory(WithCollector(func(c prometheus.Collector) { taken = append(taken, c) }))
	config := testConfig(func(c *Config) { c.ServerConfig.NetAddr.Endpoint, c.BirthHold = "", time.Hour })
	e, err := f.CreateTraces(context.Background(), exportertest.NewNopSettings(metadata.Type), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(context.Background(), componenttest.NewNopHost()); err != nil || len(taken) != 1 {
		t.Fatalf("%d collectors were handed over: %v", len(taken), err)
	}
	if err := e.ConsumeTraces(context.Background(), traces(run(1, verdict("latency", slo.Bad)))); err != nil {
		t.Error(err)
	}
	if err := e.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(taken[0])
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() == "agentslo_events_total" {
			for _, m := range family.Metric {
				sum += m.Counter.GetValue()
			}
		}
	}
	if sum != 1 {
		t.Errorf("%v events are shown after the shutdown, should be the one that was held", sum)
	}
}

// fileStorage starts a real filestorage extension on the folder.
func fileStorage(t *testing.T, folder string) (host, component.ID) {
	t.Helper()
	f := filestorage.NewFactory()
	config := f.CreateDefaultConfig().(*filestorage.Config)
	config.Directory = folder
	config.Compaction.Directory = folder
	e, err := f.Create(context.Background(), extensiontest.NewNopSettings(f.Type()), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	id := component.NewID(f.Type())
	t.Cleanup(func() { _ = e.Shutdown(context.Background()) })
	return host{id: e}, id
}

func stopExtensions(t *testing.T, h host) {
	t.Helper()
	for _, e := range h {
		if err := e.(extension.Extension).Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

func TestRestartGoesOnWhereItWas(t *testing.T) {
	folder := t.TempDir()
	// Each round is a process of its own.
	for round := 1; round <= 3; round++ {
		h, id := fileStorage(t, folder)
		r := newRunning(t, testConfig(func(c *Config) { c.Storage = &id }), nil)
		if err := r.Start(context.Background(), h); err != nil {
			t.Fatal(err)
		}
		// All runs up to now again, and one more.
		for n := 1; n <= round; n++ {
			r.consume(t, traces(run(n, verdict("latency", slo.Bad))))
		}
		wantEvents(t, r, map[string]float64{"latency good": 0, "latency bad": float64(round), "latency unknown": 0, "latency excluded": 0})
		if n := r.own(t, "summaries_counted"); n != 1 {
			t.Errorf("round %d counts %d summaries anew", round, n)
		}
		r.stop(t)
		stopExtensions(t, h)
	}
}

// After a kill there is no checkpoint: counters of the time before the last
// clean shutdown must not come back.
func TestAStaleCheckpointDoesNotComeBack(t *testing.T) {
	folder := t.TempDir()
	h, id := fileStorage(t, folder)
	withStorage := testConfig(func(c *Config) { c.Storage = &id })

	clean := newRunning(t, withStorage, nil)
	if err := clean.Start(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	clean.consume(t, traces(run(1, verdict("latency", slo.Bad))))
	clean.stop(t)

	killed := newRunning(t, withStorage, nil)
	if err := killed.Start(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	killed.consume(t, traces(run(2, verdict("latency", slo.Bad))))
	// Its end, without the checkpoint that a shutdown writes.
	if err := killed.inner.server.shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := killed.inner.closeStorage(context.Background()); err != nil {
		t.Error(err)
	}

	next := newRunning(t, withStorage, nil)
	if err := next.Start(context.Background(), h); err != nil {
		t.Fatal(err)
	}
	wantEvents(t, next, map[string]float64{})
	next.stop(t)
	stopExtensions(t, h)
}

func TestACheckpointThatCannotBeReadIsReported(t *testing.T) {
	good, err := encodeCheckpoint(newRunning(t, testConfig(), nil).inner.book.Snapshot())
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, good...)
	flipped[len(flipped)-3] ^= 1
	newer := append([]byte{}, good...)
	newer[3] = 99
	for name, c := range map[string]struct {
		data []byte
		says string
	}{
		"empty":        {[]byte{}, "0 bytes long"},
		"cut short":    {good[:len(good)/2], "checksum"},
		"one bit":      {flipped, "checksum"},
		"from tomorow": {newer, "version 99"},
	} {
		t.Run(name, func(t *testing.T) {
			h, id := fileStorage(t, t.TempDir())
			defer stopExtensions(t, h)
			config := testConfig(func(c *Config) { c.Storage = &id })
			client, err := h[id].(storage.Extension).GetClient(context.Background(), component.KindExporter, component.NewID(metadata.Type), "")
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Set(context.Background(), checkpointKey, c.data); err != nil {
				t.Fatal(err)
			}
			if err := client.Close(context.Background()); err != nil {
				t.Fatal(err)
			}

			r := newRunning(t, config, nil)
			if err := r.Start(context.Background(), h); err != nil {
				t.Fatal(err)
			}
			defer r.stop(t)
			r.consume(t, traces(run(1, verdict("latency", slo.Good))))
			wantEvents(t, r, map[string]float64{"latency good": 1, "latency bad": 0, "latency unknown": 0, "latency excluded": 0})
			lines := r.logs.FilterMessage("counters start at 0").All()
			if len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0].ContextMap()["error"]), c.says) {
				t.Errorf("logged %v", r.logs.All())
			}
			if n := r.own(t, "checkpoint_errors"); n != 1 {
				t.Errorf("checkpoint_errors is %d", n)
			}
		})
	}
}

func TestStorageMustBeThere(t *testing.T) {
	id := component.MustNewID("file_storage")
	for name, h := range map[string]host{"no extension": {}, "another kind": {id: nopComponent{}}} {
		r := newRunning(t, testConfig(func(c *Config) { c.Storage = &id }), nil)
		err := r.Start(context.Background(), h)
		if err == nil || !strings.Contains(err.Error(), "file_storage") {
			t.Errorf("%s: %v", name, err)
		}
		r.stop(t)
	}
}

type nopComponent struct{ component.StartFunc }

func (nopComponent) Shutdown(context.Context) error { return nil }

const sloFile = `apiVersion: agentslo/v1
kind: AgentSLO
service: support
environment: prod
agents: ["triage", "orders-*"]
dimensions:
  version: {attribute: service.version, keep: 2}
slos:
  completion: {objective: 99%}
  latency: {objective: 95%, threshold: 30s}
`

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slo.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFilesSayWhatIsExpected(t *testing.T) {
	path := writeFile(t, sloFile)
	r := started(t, testConfig(func(c *Config) { c.Files = []string{path} }), componenttest.NewNopHost())
	zeros := map[string]float64{}
	for _, name := range []string{"completion", "latency"} {
		for _, v := range slo.Verdicts {
			zeros[name+" "+v.String()] = 0
		}
	}
	wantEvents(t, r, zeros) // of triage; orders-* is not known yet
	for v := range 3 {
		s := run(v, verdict("latency", slo.Good))
		s.Dimensions = map[string]string{"version": fmt.Sprint(v)}
		r.consume(t, traces(s))
	}
	body, _ := r.scrape(t, "text/plain")
	got := map[string]float64{}
	for _, m := range parse(t, body)["agentslo_events_by_version_total"].GetMetric() {
		for _, l := range m.Label {
			if l.GetName() == "version" {
				got[l.GetValue()] += m.Counter.GetValue()
			}
		}
	}
	if want := map[string]float64{"1": 1, "2": 1, "__overflow__": 1}; !maps.Equal(got, want) {
		t.Errorf("versions are %v, should be %v", got, want)
	}
}

// A ratio of other counters has no series of its own here.
func TestRatiosAreNotExpected(t *testing.T) {
	path := writeFile(t, `
service: orders
environment: prod
agents: [triage]
slos:
  ratio: {objective: 99%, events: {bad: [failed_total], total: [all_total]}}
  completion: {objective: 99%}
`)
	r := started(t, testConfig(func(c *Config) { c.Files = []string{path} }), componenttest.NewNopHost())
	zeros := map[string]float64{}
	for _, v := range slo.Verdicts {
		zeros["completion "+v.String()] = 0
	}
	wantEvents(t, r, zeros)
}

// Scrapes while runs are counted, over HTTP: good and bad are never torn, and
// what is counted never falls.
func TestConcurrentConsumeAndScrape(t *testing.T) {
	r := started(t, testConfig(), componenttest.NewNopHost())
	const writers, each = 4, 200
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				v := slo.Good
				if i%2 == 0 {
					v = slo.Bad
				}
				r.consume(t, traces(run(w*each+i, verdict("latency", v), verdict("cost", slo.Good))))
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	last := 0.0
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		e := r.events(t)
		n := e["latency good"] + e["latency bad"]
		if n != e["cost good"] || n < last {
			t.Fatalf("torn: %v after %v", e, last)
		}
		last = n
	}
	wantEvents(t, r, map[string]float64{"latency good": writers * each / 2, "latency bad": writers * each / 2, "latency unknown": 0, "latency excluded": 0,
		"cost good": writers * each, "cost bad": 0, "cost unknown": 0, "cost excluded": 0})
}

// From a summary span to counters, as it costs in the pipeline: about seven
// SLOs, 64 summaries a batch.
func BenchmarkConsume(b *testing.B) {
	config := testConfig(func(c *Config) { c.ServerConfig.NetAddr.Endpoint = "" })
	e, err := NewFactory().CreateTraces(context.Background(), exportertest.NewNopSettings(metadata.Type), config)
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = e.Shutdown(context.Background()) }()
	const batch = 64
	var results []sli.Result
	for _, name := range slo.Kinds[:7] {
		results = append(results, verdict(name, slo.Good))
	}
	td := ptrace.NewTraces()
	for n := range batch {
		summary.Append(td, run(n, results...))
	}
	spans := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	b.ReportAllocs()
	n := uint64(0)
	for b.Loop() {
		for i := range batch { // new runs, without the cost of making them
			n++
			var id pcommon.SpanID
			for k := range id {
				id[k] = byte(n >> (8 * k))
			}
			spans.At(i).SetSpanID(id)
		}
		if err := e.ConsumeTraces(context.Background(), td); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/summary")
}
