// Package examples holds spans that the example agents really sent, and what
// truly happened in those runs. Demo and tests replay them.
//
// The agents are examples/support-agent/go (OpenTelemetry Go SDK, GenAI
// conventions) and examples/vercel-ai (Vercel AI SDK); examples/record.sh
// records them anew.
package examples

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

//go:embed recordings
var recordings embed.FS

// Recording is one file of spans: one run of one agent in one scenario.
type Recording struct {
	Name     string // such as support-agent-go/tool_free
	Emitter  string // support-agent-go or vercel-ai
	Scenario string // such as ok, tool_free, loop
	Data     []byte // OTLP JSON, one export request a line, in the order in which they came
	Truth    Truth
}

// Truth is what happened in a run, as the model server and the tools saw it,
// independent of the telemetry. Of a call that the caller left, it has the
// tokens that the server produced, which no span carries.
type Truth struct {
	Scenario   string             `json:"scenario"`
	TraceID    string             `json:"trace_id"`
	Agent      string             `json:"agent"`
	Outcome    string             `json:"outcome"`
	ModelCalls int                `json:"model_calls"` // requests at the server, refused ones and retries included
	ToolCalls  ToolCalls          `json:"tool_calls"`  // ordinary tools; a call that is a delegation is not one
	Tokens     Tokens             `json:"tokens"`
	Scores     map[string]float64 `json:"evaluations"` // that the run's judge sent; nil: none
	Answer     string             `json:"answer"`      // "" without one
}

// ToolCalls counts tool calls by how they ended.
type ToolCalls struct {
	OK     int            `json:"ok"`
	Failed map[string]int `json:"failed"` // by failure class
}

// Tokens are a run's token counts: input includes cached input, output
// includes reasoning.
type Tokens struct {
	Input       int64 `json:"input"`
	CachedInput int64 `json:"cached_input"`
	Output      int64 `json:"output"`
	Reasoning   int64 `json:"reasoning"`
}

// Recordings returns all recordings, in the order of the index.
func Recordings() ([]Recording, error) {
	text, err := recordings.ReadFile("recordings/INDEX.json")
	if err != nil {
		return nil, err
	}
	var index []struct {
		Emitter string  `json:"emitter"`
		File    string  `json:"file"`
		Runs    []Truth `json:"runs"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, fmt.Errorf("recordings/INDEX.json: %w", err)
	}
	list := make([]Recording, 0, len(index))
	for _, entry := range index {
		data, err := recordings.ReadFile("recordings/" + entry.File)
		if err != nil {
			return nil, err
		}
		if len(entry.Runs) != 1 {
			return nil, fmt.Errorf("recordings/INDEX.json: %s has %d runs, want 1", entry.File, len(entry.Runs))
		}
		truth := entry.Runs[0]
		list = append(list, Recording{Name: entry.Emitter + "/" + truth.Scenario, Emitter: entry.Emitter, Scenario: truth.Scenario, Data: data, Truth: truth})
	}
	return list, nil
}

// Traces parses the recording's export requests.
func (r *Recording) Traces() ([]ptrace.Traces, error) {
	var requests []ptrace.Traces
	for line := range bytes.Lines(r.Data) {
		traces, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", r.Name, len(requests)+1, err)
		}
		requests = append(requests, traces)
	}
	return requests, nil
}
