package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"

	"github.com/agentslo/agentslo/standalone/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ruleFile = `
groups:
- name: recorded
  interval: 1s
  rules:
  - record: agentslo:events:sum
    expr: sum by (verdict) (agentslo_events_total)
    labels: {team: support}
- name: alerts
  interval: 1s
  rules:
  - alert: Bad
    expr: agentslo_events_total{verdict="bad"} > 0
    labels: {severity: page}
    annotations: {summary: "{{ $value }} bad"}
  - alert: Quiet
    expr: absent(agentslo_events_total)
    for: 5m
`

// serve starts an engine with two counters and rules, and its API.
func serve(t *testing.T) (*engine.Engine, string) {
	t.Helper()
	e, err := engine.Open(engine.Options{Directory: t.TempDir(), Retention: 40 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(New(e, Options{Version: "3.16.0", Config: "global: {}\n", Started: time.Now()}))
	t.Cleanup(func() { server.Close(); _ = e.Close() })

	registry := prometheus.NewRegistry()
	events := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentslo_events_total", Help: "Events of the error budget."}, []string{"verdict"})
	registry.MustRegister(events)
	ctx := context.Background()
	_ = e.Collect(ctx, registry)
	events.WithLabelValues("good").Add(3)
	events.WithLabelValues("bad").(prometheus.ExemplarAdder).AddWithExemplar(1, prometheus.Labels{"trace_id": "abc"})
	if err := e.Collect(ctx, registry); err != nil {
		t.Fatal(err)
	}
	if err := e.StartRules(engine.RuleOptions{Name: "slo.yaml", Content: []byte(ruleFile)}); err != nil {
		t.Fatal(err)
	}
	return e, server.URL
}

// What Grafana and our own gate read comes through client_golang's client.
func TestClientReadsEveryEndpoint(t *testing.T) {
	e, url := serve(t)
	c, err := client.NewClient(client.Config{Address: url, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}})
	if err != nil {
		t.Fatal(err)
	}
	prom := v1.NewAPI(c)
	ctx := context.Background()
	now := time.Now().Add(time.Second)

	value, _, _, err := prom.Query(ctx, `sum by (verdict) (agentslo_events_total)`, now)
	if err != nil {
		t.Fatal(err)
	}
	if got := value.(model.Vector); len(got) != 2 || got[0].Value+got[1].Value != 4 {
		t.Errorf("query: %v, want 3 good and 1 bad", value)
	}
	value, _, _, err = prom.QueryRange(ctx, `agentslo_events_total{verdict="good"}`, v1.Range{Start: now.Add(-time.Second), End: now.Add(time.Second), Step: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if m := value.(model.Matrix); len(m) != 1 || m[0].Values[len(m[0].Values)-1].Value != 3 {
		t.Errorf("query_range: %v, want up to 3", value)
	}
	series, _, _, err := prom.Series(ctx, []string{`agentslo_events_total`, `up`}, time.Time{}, now)
	if err != nil || len(series) != 3 {
		t.Errorf("series: %v %v, want 3", series, err)
	}
	names, _, _, err := prom.LabelNames(ctx, []string{`agentslo_events_total`}, time.Time{}, now)
	if err != nil || fmt.Sprint(names) != "__name__, instance, job, verdict" {
		t.Errorf("labels: %v %v", names, err)
	}
	values, _, _, err := prom.LabelValues(ctx, "verdict", nil, time.Time{}, now)
	if err != nil || len(values) != 2 || values[0] != "bad" {
		t.Errorf("label values: %v %v, want bad good", values, err)
	}
	exemplars, err := prom.QueryExemplars(ctx, `rate(agentslo_events_total{verdict="bad"}[5m])`, now.Add(-time.Hour), now)
	if err != nil || len(exemplars) != 1 || exemplars[0].Exemplars[0].Labels["trace_id"] != "abc" {
		t.Errorf("exemplars: %v %v", exemplars, err)
	}
	metadata, err := prom.Metadata(ctx, "agentslo_events_total", "")
	if err != nil || metadata["agentslo_events_total"][0].Type != v1.MetricTypeCounter {
		t.Errorf("metadata: %v %v", metadata, err)
	}
	info, err := prom.Buildinfo(ctx)
	if err != nil || info.Version != "3.16.0" {
		t.Errorf("buildinfo: %v %v", info, err)
	}
	config, err := prom.Config(ctx)
	if err != nil || config.YAML == "" {
		t.Errorf("config: %v %v", config, err)
	}
	if _, err := prom.Flags(ctx); err != nil {
		t.Errorf("flags: %v", err)
	}
	if _, err := prom.Runtimeinfo(ctx); err != nil {
		t.Errorf("runtimeinfo: %v", err)
	}

	deadline := time.Now().Add(10 * time.Second)
	for len(e.AlertingRules()[0].ActiveAlerts()) == 0 && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	alerts, err := prom.Alerts(ctx)
	if err != nil || len(alerts.Alerts) != 1 || alerts.Alerts[0].State != v1.AlertStateFiring || alerts.Alerts[0].Annotations["summary"] != "1 bad" {
		t.Errorf("alerts: %+v %v", alerts, err)
	}
	groups, err := prom.Rules(ctx, nil)
	if err != nil || len(groups.Groups) != 2 {
		t.Fatalf("rules: %+v %v", groups, err)
	}
	if rule, ok := groups.Groups[0].Rules[0].(v1.AlertingRule); !ok || rule.Name != "Bad" || rule.State != "firing" {
		t.Errorf("rules: %+v", groups.Groups[0].Rules[0])
	}

	_, _, _, err = prom.Query(ctx, `sum(`, now)
	if e, ok := err.(*v1.Error); !ok || e.Type != v1.ErrBadData {
		t.Errorf("a query that does not parse: %v, want bad_data", err)
	}
}

func TestPromtoolQueries(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed")
	}
	_, url := serve(t)
	for _, args := range [][]string{
		{"query", "instant", "--time", time.Now().Add(time.Second).Format(time.RFC3339), url, `agentslo_events_total{verdict="bad"}`},
		{"query", "series", "--match", "agentslo_events_total", url},
		{"query", "labels", url, "verdict"},
	} {
		out, err := exec.Command(promtool, args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "bad") {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// A reader that goes away does not leave its query running.
func TestCanceledQuery(t *testing.T) {
	e, _ := serve(t)
	a := New(e, Options{MaxConcurrent: 1})
	a.slots <- struct{}{} // all slots taken
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/query?query=1", nil).WithContext(ctx))
	if w.Code != 499 || !strings.Contains(w.Body.String(), `"canceled"`) {
		t.Errorf("%d %s, want 499 canceled", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/query?query=1&timeout=1ms", nil))
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"timeout"`) {
		t.Errorf("%d %s, want 503 timeout", w.Code, w.Body)
	}
}
