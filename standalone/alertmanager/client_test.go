package alertmanager

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/rules"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is an Alertmanager that answers with the given codes, then 200.
type receiver struct {
	mu    sync.Mutex
	codes []int
	got   []map[string]any
	users []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.URL.Path != "/am/api/v2/alerts" || q.Method != http.MethodPost {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	user, password, _ := q.BasicAuth()
	r.users = append(r.users, user+":"+password)
	if len(r.codes) > 0 {
		w.WriteHeader(r.codes[0])
		r.codes = r.codes[1:]
		return
	}
	var alerts []map[string]any
	_ = json.NewDecoder(q.Body).Decode(&alerts)
	r.got = append(r.got, alerts...)
}

func (r *receiver) wait(t *testing.T, n int) []map[string]any {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		got := r.got
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
	}
	t.Fatalf("%d alerts came, want %d", len(r.got), n)
	return nil
}

func dial(t *testing.T, r *receiver) *Client {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	c, err := Dial(strings.Replace(server.URL, "http://", "http://me:secret@", 1)+"/am/", "http://localhost:9500", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	c.retry = 5 * time.Millisecond
	return c
}

func alert(name string, resolved time.Time) *rules.Alert {
	fired := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	return &rules.Alert{
		Labels: labels.FromStrings("alertname", name, "severity", "page"), Annotations: labels.FromStrings("summary", "s"),
		FiredAt: fired, ValidUntil: fired.Add(4 * time.Minute), ResolvedAt: resolved,
	}
}

func TestAlertsAreSentAgainUntilTaken(t *testing.T) {
	r := &receiver{codes: []int{503, 500, 429}}
	c := dial(t, r)
	c.Notify(context.Background(), `up == 0`, alert("Burn", time.Time{}))
	got := r.wait(t, 1)
	c.Close(context.Background())
	if len(got) != 1 || got[0]["labels"].(map[string]any)["alertname"] != "Burn" {
		t.Errorf("got %v, want Burn once", got)
	}
	if got[0]["startsAt"] != "2026-11-01T12:00:00Z" || got[0]["endsAt"] != "2026-11-01T12:04:00Z" {
		t.Errorf("a firing alert ends when it is no longer repeated: %v", got[0])
	}
	if link, _ := got[0]["generatorURL"].(string); !strings.HasPrefix(link, "http://localhost:9500/graph?") {
		t.Errorf("generatorURL %q", link)
	}
	if r.users[0] != "me:secret" {
		t.Errorf("authentication %q", r.users[0])
	}
}

// While Alertmanager is away an alert resolves: only that is worth sending.
func TestLatestStateWaits(t *testing.T) {
	r := &receiver{codes: []int{500, 500, 500, 500, 500, 500}}
	c := dial(t, r)
	resolved := time.Date(2026, 11, 1, 12, 1, 0, 0, time.UTC)
	c.Notify(context.Background(), `x`, alert("Burn", time.Time{}))
	c.Notify(context.Background(), `x`, alert("Burn", resolved))
	got := r.wait(t, 1)
	c.Close(context.Background())
	if len(got) != 1 || got[0]["endsAt"] != "2026-11-01T12:01:00Z" {
		t.Errorf("got %v, want one alert, resolved", got)
	}
}

// What Alertmanager refuses for good does not hold up what follows.
func TestRefusedAlertsAreNotRepeated(t *testing.T) {
	r := &receiver{codes: []int{400}}
	c := dial(t, r)
	c.Notify(context.Background(), `x`, alert("Bad", time.Time{}))
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		r.mu.Lock()
		refused := len(r.codes) == 0
		r.mu.Unlock()
		if refused {
			break
		}
	}
	c.Notify(context.Background(), `x`, alert("Good", time.Time{}))
	got := r.wait(t, 1)
	c.Close(context.Background())
	if len(got) != 1 || got[0]["labels"].(map[string]any)["alertname"] != "Good" {
		t.Errorf("got %v, want only Good", got)
	}
}

func TestCloseSendsWhatWaits(t *testing.T) {
	r := &receiver{codes: []int{500}}
	c := dial(t, r)
	c.retry = time.Hour
	c.Notify(context.Background(), `x`, alert("Burn", time.Time{}))
	time.Sleep(20 * time.Millisecond)
	c.Close(context.Background())
	if got := r.wait(t, 1); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestQueueIsBounded(t *testing.T) {
	c := &Client{waiting: map[string]message{}, wake: make(chan struct{}, 1)}
	for i := range maxQueued + 5 {
		c.Notify(context.Background(), `x`, alert(time.Duration(i).String(), time.Time{}))
	}
	if len(c.waiting) != maxQueued || c.dropped != 5 {
		t.Errorf("%d wait and %d are dropped, want %d and 5", len(c.waiting), c.dropped, maxQueued)
	}
}

func TestUnusableAddress(t *testing.T) {
	for _, base := range []string{"", "localhost:9093", "ftp://x", "http://", "http://%zz"} {
		if c, err := Dial(base, "", nil); err == nil {
			c.Close(context.Background())
			t.Errorf("%q was taken for an Alertmanager", base)
		}
	}
}

// A real Alertmanager takes the alert and shows it.
func TestRealAlertmanager(t *testing.T) {
	binary, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Skip("prometheus-alertmanager is not installed")
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "config.yml")
	if err := os.WriteFile(config, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	command := exec.Command(binary, "--config.file="+config, "--storage.path="+folder, "--web.listen-address="+address, "--cluster.listen-address=", "--log.level=error")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Signal(os.Interrupt); _ = command.Wait() })
	c, err := Dial("http://"+address, "http://localhost:9500", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	c.retry = 50 * time.Millisecond
	a := alert("AgentSLOBudgetBurn", time.Time{})
	a.FiredAt, a.ValidUntil = time.Now(), time.Now().Add(time.Minute)
	c.Notify(context.Background(), `up`, a)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		response, err := client.Get("http://" + address + "/api/v2/alerts")
		if err != nil {
			continue
		}
		var alerts []struct{ Labels map[string]string }
		err = json.NewDecoder(response.Body).Decode(&alerts)
		_ = response.Body.Close()
		if err == nil && len(alerts) == 1 && alerts[0].Labels["alertname"] == "AgentSLOBudgetBurn" {
			return
		}
	}
	t.Error("Alertmanager does not show the alert")
}
