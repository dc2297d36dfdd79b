package processor

import (
	"os/exec"
	"strings"
	"testing"
)

// The Collector Builder imports processor and exporter: they must not pull in
// the Prometheus server. slo is the root of the import graph.
func TestDependencies(t *testing.T) {
	const module = "github.com/agentslo/agentslo/"
	for _, x := range []struct {
		pkg    string
		barred []string
	}{
		{"processor", []string{"github.com/prometheus/prometheus/", module + "rules", module + "gate", module + "standalone", module + "exporter"}},
		{"exporter", []string{"github.com/prometheus/prometheus/", module + "rules", module + "gate", module + "standalone"}},
		{"slo", []string{"github.com/prometheus/", "go.opentelemetry.io/collector/", module}},
		{"processor/sli", []string{"go.opentelemetry.io/collector/component", module + "exporter"}},
		{"rules", []string{"go.opentelemetry.io/collector/component", module + "processor", module + "standalone"}},
	} {
		out, err := exec.Command("go", "list", "-deps", module+x.pkg).Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", x.pkg, err)
		}
		for dep := range strings.Lines(string(out)) {
			dep = strings.TrimSpace(dep)
			if dep == module+x.pkg || strings.HasPrefix(dep, module+x.pkg+"/") {
				continue
			}
			for _, b := range x.barred {
				if strings.HasPrefix(dep, b) {
					t.Errorf("%s depends on %s", x.pkg, dep)
				}
			}
		}
	}
}
