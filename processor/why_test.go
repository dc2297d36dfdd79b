package processor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

// Telemetry that means harm is explained as well, and what is said of it is what
// the report says.
func TestWhyOfHostileTelemetry(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(names) < 3 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range parseHostile(string(text)) {
			t.Run(c.name, func(t *testing.T) {
				files, err := slo.Parse("slo.yaml", []byte(c.file))
				if err != nil {
					t.Fatal(err)
				}
				x := NewExplainer()
				x.Traces(c.td)
				x.Logs(c.ld)
				judged, _ := DeriveSources(&slo.Set{Files: files}, func(e *Engine) {
					e.Consume(c.td, 0)
					e.ConsumeLogs(c.ld)
				})
				for i := range judged {
					report := judged[i].Report()
					report.Why = x.Why(&judged[i])
					data, err := json.Marshal(report)
					if err != nil {
						t.Fatal(err)
					}
					var read struct {
						Tokens struct{ Input any }
						Why    map[string]struct {
							Value   any
							How     string
							From    []WhySource
							Missing []WhyMissing
						}
					}
					if err := json.Unmarshal(data, &read); err != nil {
						t.Fatalf("%v\n%s", err, data)
					}
					in, ok := read.Why["tokens.input"]
					if !ok || in.Value != read.Tokens.Input {
						t.Errorf("tokens.input is %v, explained %v", read.Tokens.Input, in.Value)
					}
					for fact, w := range read.Why {
						if w.Value != nil && w.How == "" && len(w.From) == 0 {
							t.Errorf("%s = %v from nowhere", fact, w.Value)
						}
					}
				}
			})
		}
	}
}

// Nothing of it is kept where nobody asks.
func TestNoSourcesUnlessAsked(t *testing.T) {
	c := parseHostile("== x\n| service: s\n| slos: {completion: {objective: 99%}}\n1 - 0 9 ia:bot\n2 1 1 8 chat:m\n")[0]
	files, err := slo.Parse("slo.yaml", []byte(c.file))
	if err != nil {
		t.Fatal(err)
	}
	judged, _ := Derive(&slo.Set{Files: files}, func(e *Engine) { e.Consume(c.td, 0) })
	if len(judged) != 1 || judged[0].Run.Sources != nil {
		t.Errorf("%d runs, sources %v", len(judged), judged[0].Run.Sources)
	}
}
