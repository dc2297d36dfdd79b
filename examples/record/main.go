// Command record runs the example agents, one scenario after the other, and
// keeps their spans as OTLP JSON lines in examples/recordings, with the truth
// of each run in INDEX.json. Start it with examples/record.sh.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// An agent is a program that runs one scenario, sends its spans to an OTLP
// endpoint and writes the truth to a file.
type agent struct {
	name      string
	folder    string
	scenarios []string
	command   func(scenario, endpoint, truth string) []string
}

func agents(goAgent string) []agent {
	return []agent{
		{name: "support-agent-go", folder: "examples/support-agent/go",
			scenarios: []string{"ok", "rag", "refund", "parallel", "recovered", "tool_free", "tool_failed", "wrong", "ungrounded", "loop", "polling",
				"truncated", "error", "error_after_tool", "escalated", "cancelled", "expensive", "subagent"},
			command: func(scenario, endpoint, truth string) []string {
				return []string{goAgent, "-script", scenario, "-endpoint", endpoint, "-truth", truth}
			}},
		{name: "vercel-ai", folder: "examples/vercel-ai",
			scenarios: []string{"ok", "rag", "recovered", "parallel", "tool_failed", "tool_free", "loop", "truncated", "error", "streaming", "cancelled"},
			command: func(scenario, endpoint, truth string) []string {
				return []string{"npx", "tsx", "src/main.ts", "--script", scenario, "--endpoint", endpoint, "--truth", truth}
			}},
	}
}

func main() {
	if err := record("examples/recordings"); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(2)
	}
}

func record(into string) error {
	scratch, err := os.MkdirTemp("", "record")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	goAgent := filepath.Join(scratch, "support-agent")
	if out, err := exec.Command("go", "build", "-o", goAgent, "./examples/support-agent/go").CombinedOutput(); err != nil {
		return fmt.Errorf("building the Go agent: %w\n%s", err, out)
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}

	s := &sink{root: root}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	defer server.Close()
	go server.Serve(listener) //nolint:errcheck // ends with Close

	var index []json.RawMessage
	for _, a := range agents(goAgent) {
		if err := os.MkdirAll(filepath.Join(into, a.name), 0o755); err != nil {
			return err
		}
		for _, scenario := range a.scenarios {
			s.take()
			truth := filepath.Join(scratch, "truth.json")
			if err := runAgent(a, a.command(scenario, "http://"+listener.Addr().String(), truth)); err != nil {
				return fmt.Errorf("%s %s: %w", a.name, scenario, err)
			}
			lines := s.take()
			if len(lines) == 0 {
				return fmt.Errorf("%s %s: no spans came", a.name, scenario)
			}
			file := a.name + "/" + scenario + ".jsonl"
			if err := os.WriteFile(filepath.Join(into, file), lines, 0o644); err != nil {
				return err
			}
			entry, err := indexEntry(a.name, file, truth)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			index = append(index, entry)
			fmt.Fprintf(os.Stderr, "record: %s, %d bytes\n", file, len(lines))
		}
	}
	out := bytes.NewBufferString("[\n")
	for i, entry := range index {
		out.WriteString("  ")
		out.Write(entry)
		if i < len(index)-1 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
	}
	out.WriteString("]\n")
	return os.WriteFile(filepath.Join(into, "INDEX.json"), out.Bytes(), 0o644)
}

func runAgent(a agent, command []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Dir = a.folder
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// indexEntry is one line of the index: where the spans are and the truth of
// the runs in them.
func indexEntry(agent, file, truth string) (json.RawMessage, error) {
	text, err := os.ReadFile(truth)
	if err != nil {
		return nil, err
	}
	runs := json.RawMessage(bytes.ReplaceAll(bytes.TrimSpace(text), []byte("\n"), []byte(",")))
	return json.Marshal(struct {
		Emitter string          `json:"emitter"`
		File    string          `json:"file"`
		Runs    json.RawMessage `json:"runs"`
	}{agent, file, append(append(json.RawMessage("["), runs...), ']')})
}

// sink is an OTLP/HTTP receiver that keeps one JSON line per export request.
type sink struct {
	root  string
	mu    sync.Mutex
	lines []byte
}

func (s *sink) take() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	if _, err := body.ReadFrom(r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var unmarshaler ptrace.Unmarshaler = &ptrace.ProtoUnmarshaler{}
	asJSON := r.Header.Get("Content-Type") == "application/json"
	if asJSON {
		unmarshaler = &ptrace.JSONUnmarshaler{}
	}
	traces, err := unmarshaler.UnmarshalTraces(body.Bytes())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	line, err := (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// Stack traces name the folders of this machine.
	line = bytes.ReplaceAll(line, []byte(s.root), []byte("/app"))
	s.mu.Lock()
	s.lines = append(slices.Clip(s.lines), append(line, '\n')...)
	s.mu.Unlock()
	w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
	if asJSON {
		w.Write([]byte("{}")) //nolint:errcheck // the agent may be gone
	}
}
