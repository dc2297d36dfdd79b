package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// backend is an OTLP/HTTP receiver that keeps the names of spans by trace.
type backend struct {
	mu     sync.Mutex
	traces map[string][]string
	logs   int
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	if r.URL.Path == "/v1/logs" {
		b.logs++
		return
	}
	traces, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, resource := range traces.ResourceSpans().All() {
		for _, scope := range resource.ScopeSpans().All() {
			for _, span := range scope.Spans().All() {
				id := span.TraceID().String()
				b.traces[id] = append(b.traces[id], span.Name())
			}
		}
	}
}

// roots counts the traces with a run's root, and those without.
func (b *backend) roots() (with, without int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, names := range b.traces {
		if strings.Contains(strings.Join(names, "|"), "invoke_agent support-agent") {
			with++
		} else {
			without++
		}
	}
	return with, without
}

func start(t *testing.T) (*backend, string) {
	b := &backend{traces: map[string][]string{}}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	return b, server.URL
}

func TestEveryScenarioEndsAsItSays(t *testing.T) {
	b, url := start(t)
	var out, log bytes.Buffer
	if err := run([]string{"-script", strings.Join(scenarioNames(), ","), "-endpoint", url, "-truth", "-", "-slow", "10ms"}, &out, &log); err != nil {
		t.Fatal(err, log.String())
	}
	truths := map[string]truth{}
	for line := range strings.Lines(out.String()) {
		var one struct {
			truth
			TraceID string `json:"trace_id"`
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		truths[one.Scenario] = one.truth
	}
	if with, without := b.roots(); with != len(scenarios) || without != 0 {
		t.Errorf("%d traces with a root and %d without, want %d and 0", with, without, len(scenarios))
	}
	// What each course is, read off its script by hand.
	for name, want := range map[string]struct {
		outcome      string
		calls, tools int
		failed       map[string]int
		answer       bool
	}{
		"ok":          {"answered", 2, 1, nil, true},
		"recovered":   {"answered", 3, 1, map[string]int{"bad_args": 1}, true},
		"tool_free":   {"answered", 1, 0, nil, true},
		"tool_failed": {"answered", 3, 0, map[string]int{"transient": 2}, true},
		"loop":        {"limit_reached", 6, 6, nil, false},
		"polling":     {"answered", 4, 3, nil, true},
		"error":       {"error", 1, 0, nil, false},
		"escalated":   {"escalated", 1, 1, nil, false},
		"cancelled":   {"cancelled", 2, 1, nil, false},
		"subagent":    {"answered", 4, 1, nil, true},
	} {
		got := truths[name]
		if got.Outcome != want.outcome || got.ModelCalls != want.calls || got.ToolCalls.OK != want.tools || (got.Answer != "") != want.answer {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
		for class, n := range want.failed {
			if got.ToolCalls.Failed[class] != n {
				t.Errorf("%s: %d calls failed as %s, want %d", name, got.ToolCalls.Failed[class], class, n)
			}
		}
	}
}

func TestHeldRunsAreOpenUntilInterrupted(t *testing.T) {
	b, url := start(t)
	done := make(chan error)
	var out, log bytes.Buffer
	go func() {
		done <- run([]string{"-script", "ok:2", "-hold", "3", "-endpoint", url, "-truth", "-"}, &out, &log)
	}()
	deadline := time.Now().Add(10 * time.Second)
	for {
		with, without := b.roots()
		if with == 2 && without == 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d finished and %d open runs, want 2 and 3", with, without)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if with, without := b.roots(); with != 5 || without != 0 {
		t.Errorf("%d finished and %d open runs after the interrupt, want 5 and 0", with, without)
	}
	if got := strings.Count(out.String(), `"outcome":"answered"`); got != 5 {
		t.Errorf("%d answered runs, want 5", got)
	}
}

func TestEvaluationsMayBeLogRecords(t *testing.T) {
	b, url := start(t)
	if err := run([]string{"-evaluations", "logs", "-endpoint", url}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	if b.logs == 0 {
		t.Error("no log record came")
	}
}

func TestScript(t *testing.T) {
	for text, want := range map[string]string{
		"ok:2,loop": "ok ok loop", "3": "ok ok ok", " ok , tool_free:1": "ok tool_free", "": "", "ok:0": "",
	} {
		script, err := parseScript(text)
		var names []string
		for _, s := range script {
			names = append(names, s.name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"nonsense", "ok:x", "ok:-1"} {
		if _, err := parseScript(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestRunsRepeatOrCutTheScript(t *testing.T) {
	_, url := start(t)
	for runs, want := range map[string]int{"5": 5, "1": 1} {
		var out bytes.Buffer
		if err := run([]string{"-script", "ok,tool_free", "-runs", runs, "-endpoint", url, "-truth", "-", "-rate", "200"}, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(out.String(), "\n"); got != want {
			t.Errorf("-runs %s: %d runs", runs, got)
		}
	}
	if err := run([]string{"-script", ",", "-runs", "3", "-endpoint", url}, io.Discard, io.Discard); err == nil {
		t.Error("three runs of an empty script: no error")
	}
}

func TestAnUnreachableEndpointIsAnError(t *testing.T) {
	if err := run([]string{"-endpoint", "http://127.0.0.1:1"}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("error %v, want one that names the endpoint", err)
	}
	if err := run([]string{"-endpoint", "localhost"}, io.Discard, io.Discard); err == nil {
		t.Error("an endpoint without a scheme: no error")
	}
}
