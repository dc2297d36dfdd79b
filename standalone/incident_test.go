package standalone_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentslo/agentslo/standalone"
)

// inbox is an Alertmanager that remembers.
type inbox struct {
	mu     sync.Mutex
	labels []map[string]string
}

func (i *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var alerts []struct{ Labels map[string]string }
	_ = json.NewDecoder(r.Body).Decode(&alerts)
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, a := range alerts {
		i.labels = append(i.labels, a.Labels)
	}
}

func (i *inbox) has(want map[string]string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
next:
	for _, labels := range i.labels {
		for name, value := range want {
			if labels[name] != value {
				continue next
			}
		}
		return true
	}
	return false
}

// 20 failures of 20 at an objective of 90%: evidence 20·ln 10 = 46, burn 10.
func TestIncidentReachesAlertmanagerAndThePage(t *testing.T) {
	received := &inbox{}
	server := httptest.NewServer(received)
	defer server.Close()
	path, data := sloFile(t, file), t.TempDir()
	u := start(t, path, data, func(o *standalone.Options) { o.Alertmanager = server.URL })
	for range 20 {
		run := newRun()
		run.fails = true
		u.send(run)
	}
	page := map[string]string{"alertname": "AgentSLOBudgetBurn", "slo_service": "shop", "slo": "completion", "severity": "page"}
	for deadline := time.Now().Add(15 * time.Second); !received.has(page) && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
	}
	if !received.has(page) {
		t.Errorf("Alertmanager has no page; it has %v", received.labels)
	}
	for _, part := range []string{"shop / completion: error budget is burning", "used up", "page firing for"} {
		if body := u.get("/"); !strings.Contains(body, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	u.stop()

	// What fired is told after a restart too: as past, until the alert is found
	// anew, which on a busy machine may be before the page is asked for.
	u = start(t, path, data)
	if body := u.get("/"); !strings.Contains(body, "Alerts of the last 24 hours") && !strings.Contains(body, "page firing for") {
		t.Errorf("the page forgot the alert:\n%s", body)
	}
	u.stop()
}
