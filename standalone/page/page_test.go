package page

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	client "github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/shopspring/decimal"

	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/standalone/api"
	"github.com/agentslo/agentslo/standalone/engine"
)

const file = `
service: support-agent
environment: prod
agents: ["*"]
slos:
  completion:  {objective: 99%}
  correctness: {objective: 95%, evaluations: [{name: correctness, min_score: 0.7}]}
  latency:     {objective: 95%, threshold: 30s}
  cost:        {objective: 99%, max_usd: 0.25}
  tool_free:   {objective: 98%}
  short_runs:  {sli: custom, objective: 99%, good: 'run.tool_calls <= 20'}
`

// world is an engine with three hours of counters behind it.
type world struct {
	t      *testing.T
	engine *engine.Engine
	set    *slo.Set
	now    time.Time
	series []series
}

func newWorld(t *testing.T) *world {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(engine.Options{Directory: t.TempDir(), Retention: 40 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return &world{t: t, engine: e, set: &slo.Set{Files: files}, now: time.Now()}
}

const minutes = 180

// series is one series of the world: value(i) is its value in minute i.
type series struct {
	labels labels.Labels
	value  func(i int) float64
}

func (w *world) add(metric string, value func(i int) float64, pairs ...string) {
	w.series = append(w.series, series{labels.FromStrings(append(pairs, model.MetricNameLabel, metric)...), value})
}

// store stores one sample a minute of every series, for three hours. The
// database takes no sample that is much older than its newest.
func (w *world) store() {
	w.t.Helper()
	for i := range minutes + 1 {
		app := w.engine.DB().AppenderV2(context.Background())
		at := w.now.Add(time.Duration(i-minutes) * time.Minute)
		for _, s := range w.series {
			var options storage.AOptions
			if s.labels.Get("verdict") == "bad" && i > 0 && s.value(i) > s.value(i-1) {
				options.Exemplars = []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", fmt.Sprintf("%032x", 0xabc000+i)), Value: 1, Ts: at.UnixMilli(), HasTs: true}}
			}
			if _, err := app.Append(0, s.labels, 0, at.UnixMilli(), s.value(i), nil, nil, options); err != nil {
				w.t.Fatal(err)
			}
		}
		if err := app.Commit(); err != nil {
			w.t.Fatal(err)
		}
	}
}

// events has the counters of one SLO reach the totals in the course of the three hours.
func (w *world) events(name string, good, bad, unknown, excluded float64) {
	w.t.Helper()
	for verdict, total := range map[string]float64{"good": good, "bad": bad, "unknown": unknown, "excluded": excluded} {
		w.add("agentslo_events_total", func(i int) float64 { return float64(int(total * float64(i) / minutes)) },
			"job", engine.Job, "instance", engine.Instance, "slo_service", "support-agent", "environment", "prod", "agent", "support-main", "slo", name, "verdict", verdict)
	}
}

func (w *world) handler(counters prometheus.Gatherer) http.Handler {
	w.t.Helper()
	queries := api.New(w.engine, api.Options{})
	server := httptest.NewServer(queries)
	w.t.Cleanup(server.Close)
	c, err := client.NewClient(client.Config{Address: server.URL})
	if err != nil {
		w.t.Fatal(err)
	}
	return New(Sources{
		Set: w.set, Engine: w.engine, API: promv1.NewAPI(c), Counters: counters, Started: w.now.Add(-3 * time.Hour),
		BaseURL: "http://localhost:9500", OTLPGRPC: "localhost:4317", OTLPHTTP: "http://localhost:4318",
		TraceURL: "http://localhost:16686/trace/{trace_id}",
	})
}

func get(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

// runs are agentslo_runs_total as the exporter would publish them.
func runs(outcomes map[string]float64) prometheus.Gatherer {
	r := prometheus.NewRegistry()
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "agentslo_runs_total"}, []string{"slo_service", "environment", "agent", "outcome"})
	unmatched := prometheus.NewCounter(prometheus.CounterOpts{Name: "agentslo_unmatched_runs_total"})
	r.MustRegister(c, unmatched)
	for outcome, n := range outcomes {
		if outcome == "unmatched" {
			unmatched.Add(n)
			continue
		}
		c.WithLabelValues("support-agent", "prod", "support-main", outcome).Add(n)
	}
	return r
}

func (w *world) busy() http.Handler {
	w.t.Helper()
	w.events("completion", 700, 2, 0, 5)
	w.events("correctness", 400, 12, 260, 35)
	w.events("latency", 690, 9, 0, 8)
	w.events("cost", 690, 14, 0, 3)
	w.events("tool_free", 660, 34, 0, 13)
	w.events("short_runs", 20, 0, 0, 0)
	for name, end := range map[string]float64{"completion": 0.71, "correctness": 0.4, "latency": 0.74, "cost": -0.98, "tool_free": -1.4} {
		w.add("agentslo:budget_remaining:ratio", func(i int) float64 {
			if i > 80 && i < 95 && name == "latency" {
				return 0.8 // it stays level for a while
			}
			return 1 - (1-end)*float64(i*i)/(minutes*minutes)
		}, "slo_service", "support-agent", "environment", "prod", "slo", name)
	}
	for reason, n := range map[string]float64{"no_call": 21, "all_calls_failed": 13} {
		w.add("agentslo_reasons_total", func(i int) float64 { return float64(int(n * float64(i) / minutes)) },
			"slo_service", "support-agent", "environment", "prod", "agent", "support-main", "slo", "tool_free", "verdict", "bad", "reason", reason)
	}
	w.store()
	err := w.engine.StartRules(engine.RuleOptions{Name: "slo.yaml", EvalInterval: 100 * time.Millisecond, Content: []byte(`
groups:
- name: alerts
  rules:
  - alert: AgentSLOBudgetBurn
    expr: max by (slo_service, environment, slo) (agentslo_events_total{verdict="bad", slo="tool_free"}) > 30
    labels: {severity: page, tier: page_fast}
    annotations: {summary: "4.9% of runs answered without a tool call in the last hour; 2% are tolerated.", runbook_url: "https://runbooks.example.com/tool_free"}
  - alert: AgentSLOBudgetBurn
    expr: max by (slo_service, environment, slo) (agentslo_events_total{verdict="bad", slo="cost"}) > 10
    for: 1h
    labels: {severity: ticket, tier: ticket_fast}
`)})
	if err != nil {
		w.t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if rules := w.engine.AlertingRules(); len(rules[0].ActiveAlerts()) > 0 && len(rules[1].ActiveAlerts()) > 0 {
			break
		}
	}
	time.Sleep(300 * time.Millisecond) // ALERTS is stored
	return w.handler(runs(map[string]float64{"answered": 690, "escalated": 8, "error": 2, "limit_reached": 3, "cancelled": 4, "unmatched": 6}))
}

func expectAll(t *testing.T, body string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(body, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
}

// Budgets: 34 bad of 694 at 98% is 1 − 34/13.88 = −144.9…%; 2 of 702 at 99% is 1 − 2/7.02 = 71.5%.
func TestPageShowsEachSLO(t *testing.T) {
	w := newWorld(t)
	body := get(t, w.busy())
	expectAll(t, body,
		"98% of runs rest their answer on a tool call that worked", "−145%", "71.5%",
		"34 bad", "used up", "on track", "insufficient evidence",
		"page", "firing for", "ticket", "pending for",
		"4.9% of runs answered without a tool call", `href="https://runbooks.example.com/tool_free"`,
		"no call", "all calls failed", `http://localhost:16686/trace/00000000000000000000000000abc0b4`,
		"260 unknown", "6 runs matched no SLO file", "690 answered", "3 limit reached", "Alerts of the last 24 hours",
		"satisfy run.tool_calls &lt;= 20", "<polyline",
	)
	if strings.Contains(body, "ZgotmplZ") {
		t.Error("the template refused a value")
	}
}

func TestPageBeforeTheFirstRun(t *testing.T) {
	w := newWorld(t)
	body := get(t, w.handler(prometheus.NewRegistry()))
	expectAll(t, body, "No run has come to its end yet", "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318", "99% of runs cost at most $0.25", "no runs yet")
	for _, never := range []string{"100%</strong>", "on track", "Budgets cannot be read"} {
		if strings.Contains(body, never) {
			t.Errorf("before any run the page says %q", never)
		}
	}
}

// A name from telemetry or a file cannot become markup.
func TestPageEscapes(t *testing.T) {
	w := newWorld(t)
	const evil = `<script>alert(1)</script>`
	w.set.Files[0].Service = evil
	if body := get(t, w.handler(prometheus.NewRegistry())); strings.Contains(body, evil) {
		t.Error("a service name became markup")
	}
}

func TestPercentNeverRoundsToWhatItIsNot(t *testing.T) {
	for share, want := range map[string]string{
		"1": "100%", "0.9999": "99.9%", "0": "0%", "0.0001": "<0.1%", "-0.0001": "−<0.1%", "-1.449": "−145%", "0.715": "71.5%",
	} {
		if got := percent(decimal.RequireFromString(share)); got != want {
			t.Errorf("percent(%s) = %s, want %s", share, got, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for d, want := range map[time.Duration]string{
		300 * time.Millisecond: "<1 s", 65 * time.Second: "1 min 5 s", 24 * time.Hour: "1 d", 49*time.Hour + 59*time.Minute: "2 d 1 h", time.Hour + 5*time.Second: "1 h",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%s) = %q, want %q", d, got, want)
		}
	}
}
