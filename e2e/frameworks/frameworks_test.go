package frameworks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
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
// model server, the tools and the application saw, also if it comes backwards
// and twice, the judges' scores first.
func TestRecordingsAreReadAsWhatHappened(t *testing.T) {
	entries, err := Recordings(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, deliver := range map[string]func(*processor.Engine, []ptrace.Traces, []plog.Logs){
		"as recorded": func(e *processor.Engine, spans []ptrace.Traces, records []plog.Logs) {
			for _, td := range spans {
				e.Consume(td, 0)
			}
			for _, ld := range records {
				e.ConsumeLogs(ld)
			}
		},
		"backwards and twice": func(e *processor.Engine, spans []ptrace.Traces, records []plog.Logs) {
			for range 2 {
				for _, ld := range records {
					e.ConsumeLogs(ld)
				}
				for _, td := range slices.Backward(apart(spans)) {
					e.Consume(td, 0)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			judge(t, entries, func(files []string) []truth.Derived { return derive(t, files, deliver) })
		})
	}
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

func derive(t *testing.T, files []string, deliver func(*processor.Engine, []ptrace.Traces, []plog.Logs)) []truth.Derived {
	t.Helper()
	set, err := slo.Load(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	var spans []ptrace.Traces
	var records []plog.Logs
	sink := recording.Sink{Traces: func(td ptrace.Traces) { spans = append(spans, td) }, Logs: func(ld plog.Logs) { records = append(records, ld) }}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err == nil {
			err = recording.Read(name, bytes.NewReader(text), sink)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	judged, _ := processor.Derive(set, func(e *processor.Engine) { deliver(e, spans, records) })
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

// apart gives each span a request of its own.
func apart(requests []ptrace.Traces) (single []ptrace.Traces) {
	for _, td := range requests {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					one := ptrace.NewTraces()
					r := one.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(r.Resource())
					s := r.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(s.Scope())
					span.CopyTo(s.Spans().AppendEmpty())
					single = append(single, one)
				}
			}
		}
	}
	return single
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
