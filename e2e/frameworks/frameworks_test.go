package frameworks

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/processor/recording"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/truth"
)

const (
	root = "../.."
	file = "examples/support-agent/slo.yaml" // whose verdicts the truth is of
)

// What the frameworks emitted when they were last recorded is read as what the
// model server, the tools and the application saw.
func TestRecordingsAreReadAsWhatHappened(t *testing.T) {
	entries, err := Recordings(root)
	if err != nil {
		t.Fatal(err)
	}
	judge(t, entries, func(files []string) []truth.Derived {
		texts := map[string]io.Reader{}
		for _, name := range files {
			text, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			texts[name] = bytes.NewReader(text)
		}
		return derive(t, texts)
	})
}

// judge compares what is derived from recordings with their truth.
func judge(t *testing.T, entries []truth.Entry, derive func(files []string) []truth.Derived) {
	t.Helper()
	var report truth.Report
	for i := range entries {
		x, err := truth.Expect(&entries[i])
		if err != nil {
			t.Fatal(err)
		}
		report.Add(x, derive(x.Files))
	}
	var text strings.Builder
	report.Write(&text)
	t.Log(text.String())
	for _, f := range report.Findings {
		if f.Grade >= truth.Unexplained {
			t.Errorf("%s run %d: %s is %s, truth %s", f.Recording, f.Run, f.Fact, f.Got, f.Want)
		}
	}
}

func derive(t *testing.T, files map[string]io.Reader) []truth.Derived {
	t.Helper()
	set, err := slo.Load(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	judged, _ := processor.Derive(set, func(e *processor.Engine) {
		sink := recording.Sink{Traces: func(td ptrace.Traces) { e.Consume(td, 0) }, Logs: e.ConsumeLogs}
		for name, file := range files {
			if err := recording.Read(name, file, sink); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	var lines bytes.Buffer
	for i := range judged {
		report := judged[i].Report()
		if err := json.NewEncoder(&lines).Encode(&report); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := truth.ReadDerived(lines.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

var ofPlace = regexp.MustCompile(`/(tmp|root|home)/|127\.0\.0\.1|localhost|"host\.name"|"process\.`)

// A recording must not say where it was made.
func TestRecordingsAreNeutral(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.json")
	if err != nil || len(files) < 10*len(Agents) {
		t.Fatal(files, err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if told := ofPlace.Find(text); told != nil {
			t.Errorf("%s: %s", name, told)
		}
	}
}

// Each agent has run each scenario, in its own way of it.
func TestEveryAgentHasRunEveryScenario(t *testing.T) {
	entries, err := Recordings(root)
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for i := range Agents {
		scenarios := Agents[i].scenarios()
		if len(scenarios) != 10 {
			t.Errorf("%s: %d scenarios, want 10", Agents[i].Name, len(scenarios))
		}
		for _, s := range scenarios {
			want = append(want, Agents[i].Name+"/"+s.Name)
		}
	}
	for i := range entries {
		got = append(got, entries[i].Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
