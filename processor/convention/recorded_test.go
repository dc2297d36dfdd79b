package convention

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// recorded reads a file of OTLP/JSON: one document, or one a line.
func recorded(t testing.TB, path string) []ptrace.Traces {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) && strings.HasPrefix(path, "../../../shared/") {
		t.Skip("no shared recordings here")
	}
	if err != nil {
		t.Fatal(err)
	}
	documents := [][]byte{data}
	if strings.HasSuffix(path, ".jsonl") {
		documents = bytes.Split(data, []byte("\n"))
	}
	var out []ptrace.Traces
	for _, d := range documents {
		if len(bytes.TrimSpace(d)) == 0 {
			continue
		}
		td, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(d)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, td)
	}
	return out
}

// recordedFiles are the traces in testdata.
func recordedFiles(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	return files
}
