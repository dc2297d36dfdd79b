package standalone_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentslo/agentslo/gate"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/standalone"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const file = `
service: shop
runs: {quiet_period: 1s, idle_timeout: 1m}
tools: {expect: always}
slos:
  completion: {objective: 90%}
  tool_free:  {objective: 90%}
`

var browser = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}

func sloFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "slo.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// log is written by the process and read by the test.
type log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// up is a running process.
type up struct {
	t *testing.T
	standalone.Addresses
	log    *log
	cancel context.CancelFunc
	done   chan error
}

func options(path, data string) standalone.Options {
	return standalone.Options{
		Files: []string{path}, Data: data,
		Listen: "127.0.0.1:0", OTLPGRPC: "127.0.0.1:0", OTLPHTTP: "127.0.0.1:0",
		ScrapeInterval: 200 * time.Millisecond, EvalInterval: 500 * time.Millisecond,
	}
}

func start(t *testing.T, path, data string, changes ...func(*standalone.Options)) *up {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	u := &up{t: t, log: &log{}, cancel: cancel, done: make(chan error, 1)}
	o := options(path, data)
	for _, change := range changes {
		change(&o)
	}
	ready := make(chan standalone.Addresses, 1)
	o.Log, o.Ready = u.log, func(a standalone.Addresses) { ready <- a }
	go func() { u.done <- standalone.Run(ctx, o) }()
	select {
	case u.Addresses = <-ready:
	case err := <-u.done:
		cancel()
		t.Fatalf("did not start: %v\n%s", err, u.log)
	case <-time.After(30 * time.Second):
		cancel()
		t.Fatalf("not ready\n%s", u.log)
	}
	t.Cleanup(func() {
		cancel()
		if t.Failed() {
			t.Logf("said:\n%s", u.log)
		}
	})
	return u
}

func (u *up) stop() {
	u.t.Helper()
	u.cancel()
	select {
	case err := <-u.done:
		if err != nil {
			u.t.Errorf("stop: %v", err)
		}
	case <-time.After(20 * time.Second):
		u.t.Fatal("does not stop")
	}
}

func (u *up) get(path string) string {
	u.t.Helper()
	response, err := browser.Get(u.Page + path)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		u.t.Fatalf("%s: %s %v\n%s", path, response.Status, err, body)
	}
	return string(body)
}

func hexID(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// agentRun is one run: an agent that calls a tool and answers.
type agentRun struct {
	trace, root string
	fails       bool // the run ends with an error
	noTool      bool // it answers without a tool call
}

func newRun() agentRun { return agentRun{trace: hexID(16), root: hexID(8)} }

func (u *up) send(runs ...agentRun) {
	u.t.Helper()
	for _, r := range runs {
		u.sendSpans(r.children())
		u.sendSpans([]map[string]any{r.rootSpan()})
	}
}

func span(trace, id, parent, name string, status int, attributes map[string]any) map[string]any {
	var list []map[string]any
	for k, v := range attributes {
		list = append(list, map[string]any{"key": k, "value": map[string]any{"stringValue": v}})
	}
	end := time.Now()
	s := map[string]any{
		"traceId": trace, "spanId": id, "name": name, "kind": 1, "attributes": list,
		"startTimeUnixNano": fmt.Sprint(end.Add(-100 * time.Millisecond).UnixNano()), "endTimeUnixNano": fmt.Sprint(end.UnixNano()),
	}
	if parent != "" {
		s["parentSpanId"] = parent
	}
	if status != 0 {
		s["status"] = map[string]any{"code": status, "message": "boom"}
	}
	return s
}

func (r agentRun) children() []map[string]any {
	var spans []map[string]any
	if !r.noTool {
		spans = append(spans, span(r.trace, hexID(8), r.root, "execute_tool search", 0, map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.call.arguments": `{"q":"x"}`, "gen_ai.tool.call.result": `{"hits":3}`,
		}))
	}
	return append(spans, span(r.trace, hexID(8), r.root, "chat gpt-5", 0, map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5", "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"done"}],"finish_reason":"stop"}]`,
	}))
}

func (r agentRun) rootSpan() map[string]any {
	attributes := map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
	status := 0
	if r.fails {
		attributes["error.type"] = "TimeoutError"
		status = 2
	}
	return span(r.trace, r.root, "", "invoke_agent clerk", status, attributes)
}

func (u *up) sendSpans(spans []map[string]any) {
	u.t.Helper()
	body, _ := json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": []any{map[string]any{"key": "service.name", "value": map[string]any{"stringValue": "shop"}}}},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "test"}, "spans": spans}},
	}}})
	response, err := browser.Post(u.HTTP+"/v1/traces", "application/json", bytes.NewReader(body))
	if err != nil {
		u.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		u.t.Fatalf("OTLP: %s", response.Status)
	}
}

// counts are good and bad events by SLO, as `sloctl budget` reads them.
func (u *up) counts(path string) map[string][2]int64 {
	u.t.Helper()
	set, err := slo.Load(path)
	if err != nil {
		u.t.Fatal(err)
	}
	prom, err := gate.Dial(u.Page, nil)
	if err != nil {
		u.t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	budgets, err := gate.Read(context.Background(), prom, set, gate.Options{})
	if err != nil {
		return nil // nothing is counted yet
	}
	counts := map[string][2]int64{}
	for _, b := range budgets {
		counts[b.SLO] = [2]int64{b.Good, b.Bad}
	}
	return counts
}

func (u *up) expect(path string, want map[string][2]int64) {
	u.t.Helper()
	var got map[string][2]int64
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = u.counts(path); fmt.Sprint(got) == fmt.Sprint(want) {
			return
		}
	}
	u.t.Errorf("events %v, want %v", got, want)
}

// recorded is the value of a recorded series, as rules made it.
func (u *up) recorded(query string) string {
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any
			}
		}
	}
	_ = json.Unmarshal([]byte(u.get("/api/v1/query?query="+strings.ReplaceAll(query, " ", "%20"))), &answer)
	if len(answer.Data.Result) != 1 {
		return fmt.Sprintf("%d series", len(answer.Data.Result))
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}

func (u *up) expectRecorded(query, want string) {
	u.t.Helper()
	var got string
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = u.recorded(query); got == want {
			return
		}
	}
	u.t.Errorf("%s is %s, want %s", query, got, want)
}

// The whole way, twice over the same folder: the first event of all is a
// failure, a run is open while the process stops, and every count stays exact.
func TestRunsAreCountedOnceAndKept(t *testing.T) {
	path, data := sloFile(t, file), t.TempDir()
	u := start(t, path, data)
	if page := u.get("/"); !strings.Contains(page, "No run has come to its end yet") {
		t.Error("the page does not say that no run came")
	}
	bad := newRun()
	bad.fails = true
	u.send(bad)
	u.expect(path, map[string][2]int64{"completion": {0, 1}, "tool_free": {0, 0}})
	u.expectRecorded(`sum(agentslo:events:increase30d{slo="completion",verdict="bad"})`, "1")

	noTool := newRun()
	noTool.noTool = true
	u.send(newRun(), newRun(), newRun(), noTool)
	want := map[string][2]int64{"completion": {4, 1}, "tool_free": {3, 1}}
	u.expect(path, want)
	u.expectRecorded(`sum(agentslo:events:increase30d{slo="completion",verdict="good"})`, "4")
	u.expectRecorded(`sum(agentslo:events:increase30d{slo="tool_free",verdict="bad"})`, "1")

	page := u.get("/")
	for _, part := range []string{"shop", "completion", "tool_free", "4 answered", "1 error", bad.trace, "Prometheus API"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if metrics := u.get("/metrics"); !strings.Contains(metrics, `agentslo_events_total{`) || !strings.Contains(metrics, "otelcol_") {
		t.Error("/metrics lacks the counters or the Collector's own metrics")
	}
	if !strings.Contains(u.get("/-/ready"), "ready") || !strings.Contains(u.get("/api/v1/status/buildinfo"), `"version":"3.`) {
		t.Error("probes or version")
	}

	open := newRun()
	u.sendSpans(open.children())
	closed := newRun()
	u.send(closed) // ended, but within its quiet period when the process stops
	u.stop()

	u = start(t, path, data)
	u.expect(path, map[string][2]int64{"completion": {5, 1}, "tool_free": {4, 1}})
	u.sendSpans([]map[string]any{open.rootSpan()})
	u.expect(path, map[string][2]int64{"completion": {6, 1}, "tool_free": {5, 1}})
	u.expectRecorded(`sum(agentslo:events:increase30d{slo="completion",verdict="good"})`, "6")
	u.send(bad) // a resend of a run that was counted before the restart
	time.Sleep(2 * time.Second)
	u.expect(path, map[string][2]int64{"completion": {6, 1}, "tool_free": {5, 1}})
	u.stop()
}

func TestSecondProcessIsRefused(t *testing.T) {
	// A folder's name is not a reference to the environment.
	path, data := sloFile(t, file), filepath.Join(t.TempDir(), "kept ${HOME} $1")
	u := start(t, path, data)
	// An SDK sends all three signals to one address; none of them is an error.
	for signal, body := range map[string]string{
		"traces": `{"resourceSpans":[]}`, "logs": `{"resourceLogs":[]}`, "metrics": `{"resourceMetrics":[]}`,
	} {
		response, err := browser.Post(u.HTTP+"/v1/"+signal, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", signal, response.Status)
		}
	}
	err := standalone.Run(context.Background(), options(path, data))
	if err == nil || !strings.Contains(err.Error(), data) || !strings.Contains(err.Error(), "--data") {
		t.Errorf("a second process on the folder: %v", err)
	}
	u.stop()
	for _, kept := range []string{"checkpoint", "metrics"} {
		if _, err := os.Stat(filepath.Join(data, kept)); err != nil {
			t.Error(err)
		}
	}
}

// Each address that is taken names its own flag, and leaves nothing running.
func TestTakenPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	path, taken := sloFile(t, file), l.Addr().String()
	for flag, change := range map[string]func(*standalone.Options){
		"--listen":    func(o *standalone.Options) { o.Listen = taken },
		"--otlp-grpc": func(o *standalone.Options) { o.OTLPGRPC = taken },
		"--otlp-http": func(o *standalone.Options) { o.OTLPHTTP = taken },
	} {
		o := options(path, t.TempDir())
		change(&o)
		err := standalone.Run(context.Background(), o)
		if err == nil || !strings.Contains(err.Error(), flag+" "+taken+" is in use") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	same := free.Addr().String()
	_ = free.Close()
	o := options(path, t.TempDir())
	o.OTLPGRPC, o.OTLPHTTP = same, same
	if err := standalone.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--otlp-grpc and --otlp-http") {
		t.Errorf("one address twice: %v", err)
	}
}

func TestFaultyFile(t *testing.T) {
	path := sloFile(t, "service: shop\nslos: {completion: {objective: 95}}\n")
	err := standalone.Run(context.Background(), options(path, t.TempDir()))
	if faults, ok := err.(slo.Faults); !ok || len(faults) == 0 {
		t.Errorf("%T %v, want faults", err, err)
	}
	if err := standalone.Run(context.Background(), options(filepath.Join(t.TempDir(), "absent.yaml"), t.TempDir())); err == nil {
		t.Error("a file that is not there was accepted")
	}
}

func TestUnusableAlertmanager(t *testing.T) {
	o := options(sloFile(t, file), t.TempDir())
	o.Alertmanager = "localhost:9093"
	if err := standalone.Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), "--alertmanager") {
		t.Errorf("%v", err)
	}
}
