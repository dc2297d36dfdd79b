//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const alertingFile = "e2e/testdata/alerting.yaml"

// The same outage, on Debian's Prometheus and on the embedded engine: runs
// fail, and with them completion and correctness. One page arrives, completion's
// fastest; what else fires is silenced; after the recovery the page resolves,
// and a ticket that it covered and that is still open comes.
func TestOutage(t *testing.T) {
	t.Run("Prometheus", func(t *testing.T) {
		t.Parallel()
		installed(t, "prometheus-alertmanager")
		var good, bad atomic.Int64
		r := newReceivers(t)
		am := startAlertmanager(t, r.server.URL)
		query := startPrometheus(t, am, &good, &bad)
		outage(t, am, r, query, func(g, b int64) { good.Add(g); bad.Add(b) })
	})
	t.Run("up", func(t *testing.T) {
		t.Parallel()
		installed(t, "prometheus-alertmanager")
		r := newReceivers(t)
		am := startAlertmanager(t, r.server.URL)
		p := newPipeline(t)
		p.process = start(t, nil, programs.sloctl, "up", "-f", alertingFile, "--data", p.data, "--otlp-grpc", p.grpc, "--otlp-http", p.http,
			"--listen", p.listen, "--alertmanager", "http://"+am, "--scrape-interval", "1s", "--eval-interval", "1s")
		p.says(t, "http://", time.Minute)
		eventually(t, time.Minute, func() error { _, err := get(p.prometheus() + "/-/ready"); return err })
		outage(t, am, r, prometheusAPI(p.prometheus()), func(g, b int64) {
			p.agent(t, "-environment", "prod", "-rate", "150", "-script", fmt.Sprintf("ok:%d,error:%d", g, b)).ends(t, time.Minute)
		})
		p.process.stop(t, terminate, time.Minute)
	})
}

// outage plays it. runs ends so many runs, which completion and correctness
// both count as good and as bad.
func outage(t *testing.T, am string, r *receivers, prometheus prometheusAPI, runs func(good, bad int64)) {
	t.Helper()
	counted := func(good, bad int) {
		t.Helper()
		eventually(t, time.Minute, func() error {
			got, err := prometheus.query(`agentslo:events:increase1d{verdict=~"good|bad"}`, "slo", "verdict")
			for _, name := range []string{"completion", "correctness"} {
				if err == nil && (got[name+" good"] != fmt.Sprint(good) || got[name+" bad"] != fmt.Sprint(bad)) {
					err = fmt.Errorf("%d good and %d bad are counted as %v", good, bad, got)
				}
			}
			return err
		})
	}
	runs(100, 0)
	counted(100, 0)
	if alerts, err := alertmanagerAlerts(am); err != nil || len(alerts) > 0 {
		t.Fatalf("alerts without a failure: %v %v", alerts, err)
	}

	runs(0, 100) // half of all: above every threshold
	want := map[string]string{
		"completion/page_fast": "active", "completion/page_slow": "suppressed", "completion/ticket_fast": "suppressed", "completion/ticket_slow": "suppressed",
		"correctness/page_fast": "suppressed", "correctness/page_slow": "suppressed", "correctness/ticket_fast": "suppressed", "correctness/ticket_slow": "suppressed",
	}
	eventually(t, 30*time.Second, func() error {
		got, err := alertmanagerAlerts(am)
		if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			err = fmt.Errorf("alerts %v, want %v", got, want)
		}
		return err
	})
	eventually(t, 30*time.Second, func() error { return r.told("/page", "firing completion/page_fast") })
	time.Sleep(ticketWait + 5*time.Second) // a ticket that nothing silences would have come
	r.only(t, "/page", "firing completion/page_fast")
	r.only(t, "/ticket")

	runs(4000, 0) // 100 of 4200 are below every threshold of a page
	counted(4100, 100)
	kept, err := prometheus.query(`ALERTS{alertstate="firing",tier="page_fast",slo="completion"}`, "slo")
	if err != nil || len(kept) != 1 {
		t.Errorf("the page ends at the first good runs: %v %v", kept, err)
	}
	eventually(t, 160*time.Second, func() error { return r.told("/page", "resolved completion/page_fast") })
	r.never(t, "/page", "correctness/page_fast")
	// The faster ticket may come first; it is kept for two minutes, and silences the slower one.
	eventually(t, 180*time.Second, func() error { return r.told("/ticket", "firing completion/ticket_slow") })
	for _, slow := range []string{"correctness/ticket_fast", "correctness/ticket_slow"} {
		r.never(t, "/ticket", slow)
	}
}

// ticketWait stands for the 5 minutes that a ticket waits for its page.
const ticketWait = 20 * time.Second

// startAlertmanager runs it with the generated configuration, its receivers
// filled in and its waits shortened, and returns its address.
func startAlertmanager(t *testing.T, receiver string) string {
	t.Helper()
	config := succeeds(t, programs.sloctl, "generate", "alertmanager", "-f", alertingFile)
	for _, change := range [][2]string{
		{"  - name: agentslo-page\n", fmt.Sprintf("  - name: agentslo-page\n    webhook_configs: [{url: %q}]\n", receiver+"/page")},
		{"  - name: agentslo-ticket\n", fmt.Sprintf("  - name: agentslo-ticket\n    webhook_configs: [{url: %q}]\n", receiver+"/ticket")},
		{"group_wait: 5m\n", fmt.Sprintf("group_wait: %s\n", ticketWait)},
		{"group_interval: 2m\n", "group_interval: 2s\n"},
		{"group_interval: 15m\n", "group_interval: 2s\n"},
	} {
		if strings.Count(config, change[0]) != 1 {
			t.Fatalf("the configuration has not one %q:\n%s", change[0], config)
		}
		config = strings.Replace(config, change[0], change[1], 1)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "alertmanager.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	succeeds(t, installed(t, "amtool"), "check-config", path)
	address := port(t)
	start(t, nil, installed(t, "prometheus-alertmanager"), "--config.file="+path, "--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	eventually(t, 30*time.Second, func() error { _, err := get("http://" + address + "/-/ready"); return err })
	return address
}

// startPrometheus runs the installed server with the generated rules, evaluated
// each second, over counters of both SLOs.
func startPrometheus(t *testing.T, alertmanager string, good, bad *atomic.Int64) prometheusAPI {
	t.Helper()
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		g, b := good.Load(), bad.Load()
		for _, name := range []string{"completion", "correctness"} {
			for verdict, n := range map[string]int64{"good": g, "bad": b, "unknown": 0, "excluded": 0} {
				fmt.Fprintf(w, "agentslo_events_total{slo_service=\"support-agent\",environment=\"prod\",agent=\"a\",slo=%q,verdict=%q} %d\n", name, verdict, n)
			}
		}
		fmt.Fprintln(w, "agentslo_unmatched_runs_total 0")
	}))
	t.Cleanup(exporter.Close)

	dir := t.TempDir()
	text := succeeds(t, programs.sloctl, "generate", "rules", "-f", alertingFile)
	for name, content := range map[string]string{
		"rules.yaml": strings.ReplaceAll(text, "interval: 1m", "interval: 1s"),
		"prometheus.yaml": fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
rule_files: [rules.yaml]
scrape_configs: [{job_name: agentslo, static_configs: [{targets: [%q]}]}]
alerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}
`, strings.TrimPrefix(exporter.URL, "http://"), alertmanager),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := port(t)
	p := start(t, nil, installed(t, "prometheus"), "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	t.Cleanup(func() {
		if strings.Contains(p.output.String(), "Evaluating rule failed") {
			t.Error("a rule could not be evaluated")
		}
	})
	query := prometheusAPI("http://" + address)
	eventually(t, time.Minute, func() error { // the zeros: what came before the first scrape is history
		seen, err := query.query(`agentslo:events:state{agentslo_part="seen"}`, "slo", "verdict")
		if err == nil && len(seen) != 8 {
			err = errorf("not all counters are seen: %v", seen)
		}
		return err
	})
	return query
}

// alertmanagerAlerts are the states of the alerts that it holds, by SLO and tier.
func alertmanagerAlerts(address string) (map[string]string, error) {
	body, err := get("http://" + address + "/api/v2/alerts")
	if err != nil {
		return nil, err
	}
	var alerts []struct {
		Labels map[string]string
		Status struct{ State string }
	}
	if err := json.Unmarshal([]byte(body), &alerts); err != nil {
		return nil, err
	}
	states := map[string]string{}
	for _, a := range alerts {
		states[a.Labels["slo"]+"/"+a.Labels["tier"]] = a.Status.State
	}
	return states, nil
}

// receivers are the webhooks of pages and tickets.
type receivers struct {
	server *httptest.Server
	mu     sync.Mutex
	events map[string][]string // by path: "firing completion/page_fast", each once
	faults []string
}

func newReceivers(t *testing.T) *receivers {
	r := &receivers{events: map[string][]string{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(func() {
		r.server.Close()
		for _, fault := range r.faults {
			t.Error(fault)
		}
	})
	return r
}

func (r *receivers) ServeHTTP(_ http.ResponseWriter, q *http.Request) {
	var notice struct {
		GroupLabels map[string]string
		Alerts      []struct {
			Status              string
			Labels, Annotations map[string]string
		}
	}
	var body bytes.Buffer
	_, _ = body.ReadFrom(q.Body)
	err := json.Unmarshal(body.Bytes(), &notice)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || fmt.Sprint(notice.GroupLabels) != "map[environment:prod slo_service:support-agent]" {
		r.faults = append(r.faults, fmt.Sprintf("%s: not one service's: %v %s", q.URL.Path, err, &body))
	}
	for _, a := range notice.Alerts {
		if a.Annotations["summary"] == "" {
			r.faults = append(r.faults, fmt.Sprintf("an alert without a summary: %v", a.Labels))
		}
		if "/"+a.Labels["severity"] != q.URL.Path {
			r.faults = append(r.faults, fmt.Sprintf("%s gets a %s", q.URL.Path, a.Labels["severity"]))
		}
		event := a.Status + " " + a.Labels["slo"] + "/" + a.Labels["tier"]
		if !slices.Contains(r.events[q.URL.Path], event) {
			r.events[q.URL.Path] = append(r.events[q.URL.Path], event)
		}
	}
}

func (r *receivers) of(path string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events[path])
}

func (r *receivers) told(path, event string) error {
	if got := r.of(path); !slices.Contains(got, event) {
		return fmt.Errorf("%s was told %q, not %q", path, got, event)
	}
	return nil
}

func (r *receivers) only(t *testing.T, path string, events ...string) {
	t.Helper()
	if got := r.of(path); !slices.Equal(got, events) {
		t.Errorf("%s was told %q, want %q", path, got, events)
	}
}

// never says that the alert was not told of as firing. What was silenced until
// it ended may stand among a notification's resolved.
func (r *receivers) never(t *testing.T, path, alert string) {
	t.Helper()
	if r.told(path, "firing "+alert) == nil {
		t.Errorf("%s was told that %s fires", path, alert)
	}
}
