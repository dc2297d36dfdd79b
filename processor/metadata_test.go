package processor

import (
	"context"
	"os"
	"sort"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.yaml.in/yaml/v3"

	"github.com/agentslo/agentslo/processor/internal/metadata"
	"github.com/agentslo/agentslo/processor/summary"
)

type declared struct {
	Type   string
	Status struct {
		Stability map[string][]string
	}
	Telemetry struct {
		Metrics map[string]struct {
			Description, Unit string
			Sum, Gauge        *struct{ Monotonic bool }
		}
	}
}

// metadata.yaml is written by hand: what it says of the component's own
// telemetry is what the component registers.
func TestMetadataAgreesWithTheComponent(t *testing.T) {
	text, err := os.ReadFile("metadata.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want declared
	if err := yaml.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if want.Type != metadata.Type.String() {
		t.Errorf("type %q, want %q", want.Type, metadata.Type)
	}
	if got := strings.Join(want.Status.Stability["alpha"], " "); got != "traces logs" || metadata.TracesStability.String() != "Alpha" || metadata.LogsStability.String() != "Alpha" {
		t.Errorf("stability alpha: %q; the component says %s, %s", got, metadata.TracesStability, metadata.LogsStability)
	}

	tel := componenttest.NewTelemetry()
	stats := NewEngine(parseFiles(t, everyKind), EngineOptions{}, func(Judged, int) {}).Stats()
	own, err := newTelemetry(tel.NewTelemetrySettings(), stats)
	if err != nil {
		t.Fatal(err)
	}
	var got metricdata.ResourceMetrics
	if err := tel.Reader.Collect(context.Background(), &got); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, sm := range got.ScopeMetrics {
		if sm.Scope.Name != metadata.ScopeName {
			continue
		}
		for _, m := range sm.Metrics {
			name := strings.TrimPrefix(m.Name, "otelcol_")
			seen[name] = true
			w, ok := want.Telemetry.Metrics[name]
			if !ok {
				t.Errorf("%s is not in metadata.yaml", name)
				continue
			}
			_, isGauge := m.Data.(metricdata.Gauge[int64])
			if m.Description != w.Description || m.Unit != w.Unit || isGauge != (w.Gauge != nil) {
				t.Errorf("%s: %q %q, gauge %v; metadata.yaml says %q %q, gauge %v", name, m.Description, m.Unit, isGauge, w.Description, w.Unit, w.Gauge != nil)
			}
		}
	}
	var missing []string
	for name := range want.Telemetry.Metrics {
		if !seen[name] && name != "processor_agent_sli_unrecognised_spans" { // no scope to count yet
			missing = append(missing, name)
		}
	}
	sort.Strings(missing)
	if len(missing) > 0 {
		t.Errorf("metadata.yaml lists what nothing registers: %v", missing)
	}
	if err := own.shutdown(); err != nil {
		t.Error(err)
	}
	if err := tel.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestReadmeHasTheSummaryTable(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), summary.Table()) {
		t.Errorf("README.md lacks the table of summary attributes:\n%s", summary.Table())
	}
}
