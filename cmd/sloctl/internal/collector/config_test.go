package collector_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"

	"github.com/agentslo/agentslo/cmd/sloctl/internal/collector"
)

// resolve reads a configuration as a Collector does.
func resolve(t *testing.T, o collector.Options) *confmap.Conf {
	t.Helper()
	var out bytes.Buffer
	if err := collector.Write(&out, o); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "collector.yaml")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	resolver, err := confmap.NewResolver(confmap.ResolverSettings{URIs: []string{path}, ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()}, DefaultScheme: "file"})
	if err != nil {
		t.Fatal(err)
	}
	conf, err := resolver.Resolve(context.Background())
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return conf
}

// A Collector reads back what was given, whatever is in a file's name.
func TestFilesAreTakenLiterally(t *testing.T) {
	o := collector.Defaults()
	o.Files = []string{"slo.yaml", `C:\slo "x"\${env:HOME}$1 # no comment.yaml`, "a: b, [c]\n<&é"}
	conf := resolve(t, o)
	for _, key := range []string{"processors::agent_sli::files", "exporters::agent_slo::files"} {
		files, _ := conf.Get(key).([]any)
		if len(files) != len(o.Files) {
			t.Fatalf("%s: %v", key, files)
		}
		for i, f := range files {
			if f != o.Files[i] {
				t.Errorf("%s: %q, want %q", key, f, o.Files[i])
			}
		}
	}
}

// agent_sli stands last, right before agent_slo, in front of no other exporter
// that could make it wait; and both pipelines have the memory limiter first.
func TestPipelines(t *testing.T) {
	conf := resolve(t, collector.Defaults())
	for pipeline, exporter := range map[string]string{"traces": "agent_slo", "logs": "nop"} {
		processors, _ := conf.Get("service::pipelines::" + pipeline + "::processors").([]any)
		if len(processors) != 2 || processors[0] != "memory_limiter" || processors[1] != "agent_sli" {
			t.Errorf("%s: %v", pipeline, processors)
		}
		exporters, _ := conf.Get("service::pipelines::" + pipeline + "::exporters").([]any)
		if len(exporters) != 1 || exporters[0] != exporter {
			t.Errorf("%s: %v", pipeline, exporters)
		}
	}
}
