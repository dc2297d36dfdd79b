// Package collector writes the configuration of an OpenTelemetry Collector
// with agentslo's two components, for the distribution of builder-config.yaml.
package collector

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// Options of the configuration. Addresses are host:port.
type Options struct {
	Files              []string // SLO files or folders, as the Collector finds them
	GRPC, HTTP         string   // where OTLP is received
	Metrics            string   // where Prometheus scrapes
	Storage            string   // folder for the state between restarts
	MemoryLimitMiB     int      // of the whole Collector
	ProcessorMemoryMiB int      // of agent_sli's open runs
}

// Defaults are the addresses of the examples.
func Defaults() Options {
	return Options{
		GRPC: "localhost:4317", HTTP: "localhost:4318", Metrics: "localhost:9464",
		Storage: "./agentslo-data/collector", MemoryLimitMiB: 1024, ProcessorMemoryMiB: 256,
	}
}

var configuration = template.Must(template.New("").Funcs(template.FuncMap{"quote": quote}).Parse(`# Made by sloctl generate collector, for the distribution of builder-config.yaml.
extensions:
  # A clean restart goes on where it stopped: counters with their birth, open and waiting runs.
  file_storage:
    directory: {{quote .Storage}}
    create_directory: true

receivers:
  otlp:
    protocols:
      grpc: {endpoint: {{quote .GRPC}}}
      http: {endpoint: {{quote .HTTP}}}

processors:
  # First in each pipeline: what it refuses is sent again, and is not counted twice.
  memory_limiter:
    check_interval: 1s
    limit_mib: {{.MemoryLimitMiB}}
    spike_limit_mib: {{.SpikeMiB}}
  agent_sli:
    files: {{.FileList}}
    storage: file_storage
    memory_limit_mib: {{.ProcessorMemoryMiB}}

exporters:
  agent_slo:
    files: {{.FileList}}
    storage: file_storage
    endpoint: {{quote .Metrics}}
  # Stands in for a log backend. A trace backend goes beside agent_slo in the
  # traces pipeline, and then shows each run's verdicts beside its spans.
  nop:

service:
  extensions: [file_storage]
  pipelines:
    # agent_sli stands before any sampler, and nothing stands between it and agent_slo.
    traces:
      receivers: [otlp]
      processors: [memory_limiter, agent_sli]
      exporters: [agent_slo]
    # Evaluations that come as log records meet their runs: agent_sli is one
    # instance over both pipelines.
    logs:
      receivers: [otlp]
      processors: [memory_limiter, agent_sli]
      exporters: [nop]
`))

// Write writes the configuration as YAML.
func Write(w io.Writer, o Options) error {
	files := make([]string, len(o.Files))
	for i, f := range o.Files {
		files[i] = quote(f)
	}
	err := configuration.Execute(w, struct {
		Options
		FileList string
		SpikeMiB int
	}{o, "[" + strings.Join(files, ", ") + "]", o.MemoryLimitMiB / 4})
	if err != nil {
		return fmt.Errorf("writing the Collector's configuration: %w", err)
	}
	return nil
}

// quote writes a YAML string that the Collector does not take for a reference
// such as ${env:HOME}. A JSON string is one.
func quote(s string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(strings.ReplaceAll(s, "$", "$$"))
	return strings.TrimSpace(out.String())
}
