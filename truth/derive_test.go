package truth_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/processor/recording"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/truth"
)

// derive reads telemetry as `sloctl derive -f examples/support-agent/slo.yaml
// -o json` does: the same engine, and its runs as the same JSON objects.
func derive(t *testing.T, files map[string]io.Reader) []truth.Derived {
	t.Helper()
	judged, _ := processor.Derive(sixSLOs(t), func(e *processor.Engine) {
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
		line, err := encodeReport(&report)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(line)
	}
	runs, err := truth.ReadDerived(lines.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func encodeReport(r *processor.Report) ([]byte, error) {
	var line bytes.Buffer
	err := json.NewEncoder(&line).Encode(r)
	return line.Bytes(), err
}

func sixSLOs(t *testing.T) *slo.Set {
	t.Helper()
	set, err := slo.Load("../examples/support-agent/slo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// Over the conventions that must be read nothing contradicts what happened, and
// nine facts in ten agree with it; the others say why they are less.
func TestRecorded(t *testing.T) {
	entries, err := truth.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	var report truth.Report
	for i := range entries {
		x, err := truth.Expect(&entries[i])
		if err != nil {
			t.Fatal(err)
		}
		files := map[string]io.Reader{}
		for _, name := range x.Files {
			file, err := truth.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			files[name] = file
		}
		var runs []truth.Derived
		if len(files) > 0 {
			runs = derive(t, files)
		}
		report.Add(x, runs)
	}
	judge(t, &report)
}

// The published dumps are not copied into the repository: without them beside
// it, there is nothing to compare.
func TestPublic(t *testing.T) {
	const folder = "../../shared/data/public"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("no published dumps beside the repository")
	}
	var report truth.Report
	for _, x := range truth.Public {
		file, err := os.Open(filepath.Join(folder, x.Files[0]))
		if err != nil {
			t.Fatal(err)
		}
		report.Add(x, derive(t, map[string]io.Reader{x.Files[0]: file}))
		file.Close()
	}
	judge(t, &report)
}

func judge(t *testing.T, report *truth.Report) {
	t.Helper()
	var text strings.Builder
	report.Write(&text)
	t.Log(text.String())
	tally := report.Required()
	if n := tally[truth.Wrong]; n > 0 {
		t.Errorf("%d facts contradict the truth", n)
	}
	if n := tally[truth.Unexplained]; n > 0 {
		t.Errorf("%d facts are unknown although the telemetry carries them", n)
	}
	if agreement := tally.Agreement(); agreement < 0.9 {
		t.Errorf("%.1f%% of the facts agree with the truth, want 90%%", 100*agreement)
	}
	// Of conventions that need not be read, nothing may be said that is wrong.
	for _, f := range report.Findings {
		if f.Grade == truth.Wrong {
			t.Errorf("%s run %d: %s is %s, truth %s", f.Recording, f.Run, f.Fact, f.Got, f.Want)
		}
	}
}
