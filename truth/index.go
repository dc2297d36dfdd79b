package truth

import (
	"encoding/json"
	"fmt"
	"io"
)

// Entry is one recording: what its emitter exported, and what really happened
// while it did.
type Entry struct {
	Framework string `json:"framework"`
	// File and LogsFile are the recorded trace and log export requests, one a
	// line; nil where nothing was exported.
	File     *string `json:"file"`
	LogsFile *string `json:"logsFile"`
	Scenario string  `json:"scenario"`
	Variant  string  `json:"variant"` // a scenario under other settings

	// ClientClosedStream: the client went away while the last model call streamed.
	ClientClosedStream int         `json:"clientClosedStream"`
	ModelCalls         []ModelCall `json:"modelCalls"`
	Tools              []ToolCall  `json:"tools"`
	Runs               []AppRun    `json:"runs"`
}

// ModelCall is one request as the model server answered it. In includes cached
// input, Out includes reasoning.
type ModelCall struct {
	In        int64  `json:"in"`
	Out       int64  `json:"out"`
	Cached    int64  `json:"cached"`
	Reasoning int64  `json:"reasoning"`
	Finish    string `json:"finish"`
	HTTPError int    `json:"httpError,omitempty"`
}

// ToolCall is one tool execution as the tool saw it.
type ToolCall struct {
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// AppRun is one run as the application that started it saw it.
type AppRun struct {
	Label  string  `json:"label"`
	Answer string  `json:"answer"`
	Threw  bool    `json:"threw"`
	Error  string  `json:"error,omitempty"`
	Millis float64 `json:"ms"`
	// ServedMillis is from the first request at the model server to the beginning
	// of its last reply; 0 where it was not noted.
	ServedMillis float64 `json:"servedMs,omitempty"`
	// Scores that a judge of the application gave, by name of the evaluation.
	Scores map[string]float64 `json:"scores,omitempty"`
}

// Name is how reports call the recording: framework/variant.
func (e *Entry) Name() string { return e.Framework + "/" + e.Variant }

// ReadIndex reads index.json of a folder of recordings.
func ReadIndex(r io.Reader) ([]Entry, error) {
	var entries []Entry
	if err := json.NewDecoder(r).Decode(&entries); err != nil {
		return nil, fmt.Errorf("index of recordings: %w", err)
	}
	return entries, nil
}
