package truth

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite EXPECTED.md")

func expectedOfAll(t *testing.T) []*Expected {
	t.Helper()
	entries, err := Recordings()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*Expected, 0, len(entries))
	for i := range entries {
		x, err := Expect(&entries[i])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	return all
}

// The table is what people read and review; it must be what the tests hold.
func TestTableIsWhatIsExpected(t *testing.T) {
	var table bytes.Buffer
	WriteTable(&table, expectedOfAll(t))
	if *update {
		if err := os.WriteFile("EXPECTED.md", table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile("EXPECTED.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(committed, table.Bytes()) {
		t.Error("EXPECTED.md is not what the rows say: go test ./truth -run Table -update, and read the difference")
	}
}

// What happened was recorded in three places that know nothing of each other;
// where a row misreads a scenario, they disagree.
func TestEveryRecordingIsThereAndExplained(t *testing.T) {
	all := expectedOfAll(t)
	if len(all) != 230 {
		t.Errorf("%d recordings, the index had 230", len(all))
	}
	frameworks := map[string]int{}
	for _, x := range all {
		frameworks[x.Framework]++
		if x.NoRun == "" && len(x.Runs) == 0 {
			t.Errorf("%s: neither runs nor a reason for none", x.Name)
		}
		for _, file := range x.Files {
			f, err := Open(file)
			if err != nil {
				t.Errorf("%s: %v", x.Name, err)
				continue
			}
			if n, err := io.Copy(io.Discard, f); err != nil || n == 0 {
				t.Errorf("%s: %s: %d bytes, %v", x.Name, file, n, err)
			}
			f.Close()
		}
		for i := range x.Runs {
			if x.Runs[i].Why == "" {
				t.Errorf("%s run %d: no reasoning", x.Name, i+1)
			}
			for _, f := range x.Runs[i].Facts {
				for _, a := range f.Accept {
					if a.Why == "" {
						t.Errorf("%s: %s may be %q for no reason", x.Name, f.Name, a.Value)
					}
				}
			}
		}
	}
	if len(frameworks) != 12 {
		t.Errorf("%d frameworks: %v", len(frameworks), frameworks)
	}
}

func TestJudge(t *testing.T) {
	f := Fact{Name: "tokens.input", Want: "475", Accept: []Accept{{Value: Null, Why: "not carried"}, {Value: "200", Why: "one call only"}}}
	for got, want := range map[string]Grade{"475": Right, Null: RightUnknown, "200": Less, "0": Wrong, "347": Wrong} {
		if grade, _ := f.Judge(got); grade != want {
			t.Errorf("%s: %v, want %v", got, grade, want)
		}
	}
	carried := Fact{Name: "slo.tool_free", Want: "bad"}
	for got, want := range map[string]Grade{"bad": Right, "unknown": Unexplained, "good": Wrong, "excluded": Wrong} {
		if grade, _ := carried.Judge(got); grade != want {
			t.Errorf("%s: %v, want %v", got, grade, want)
		}
	}
}

// A reader that says of every run that all is well must not pass: it would
// agree with most of the table and contradict what matters.
func TestAllIsWellIsWrong(t *testing.T) {
	var report Report
	for _, x := range expectedOfAll(t) {
		runs := make([]Derived, len(x.Runs))
		for i := range runs {
			runs[i].Outcome = "answered"
			runs[i].SLOs = nil
		}
		report.Add(x, runs)
	}
	wrong := map[string]bool{}
	for _, f := range report.Findings {
		if f.Grade == Wrong && f.Fact == "outcome" {
			wrong[f.Recording] = true
		}
	}
	for _, name := range []string{"vercel-ai-v6/loop", "mastra/aborted", "google-adk-js/loop", "openllmetry-js/aborted", "vercel-ai-v7/client-tool"} {
		if !wrong[name] {
			t.Errorf("%s may be read as answered", name)
		}
	}
}

// sloctl builds the command line once and returns its path.
func sloctl(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "sloctl")
	build := exec.Command("go", "build", "-o", binary, "../cmd/sloctl")
	if output, err := build.CombinedOutput(); err != nil {
		t.Skipf("the command line does not build: %s", output)
	}
	return binary
}

func derive(t *testing.T, binary string, files ...string) []Derived {
	t.Helper()
	command := exec.Command(binary, append([]string{"derive", "-f", "../examples/support-agent/slo.yaml", "-o", "json"}, files...)...)
	var output, talk bytes.Buffer
	command.Stdout, command.Stderr = &output, &talk
	if err := command.Run(); err != nil {
		t.Errorf("derive %s: %v\n%s", strings.Join(files, " "), err, talk.String())
		return nil
	}
	runs, err := ReadDerived(output.Bytes())
	if err != nil {
		t.Errorf("derive %s: %v", strings.Join(files, " "), err)
	}
	return runs
}

func judge(t *testing.T, report *Report, least float64) {
	t.Helper()
	var text strings.Builder
	report.Write(&text)
	t.Log(text.String())
	tally := report.Required()
	if tally[Wrong] > 0 {
		t.Errorf("%d facts contradict the truth", tally[Wrong])
	}
	if tally[Unexplained] > 0 {
		t.Errorf("%d facts are unknown although the telemetry carries them", tally[Unexplained])
	}
	if agreement := tally.Agreement(); agreement < least {
		t.Errorf("%.1f%% of the facts agree with the truth, want %.0f%%", 100*agreement, 100*least)
	}
	for _, f := range report.Findings {
		if f.Grade == Wrong {
			t.Logf("WRONG %s run %d: %s is %s, truth %s", f.Recording, f.Run, f.Fact, f.Got, f.Want)
		}
	}
}

// Over the conventions that must be read nothing contradicts what happened, and
// nine facts in ten agree with it; the others say why they are less.
func TestRecorded(t *testing.T) {
	binary := sloctl(t)
	folder := t.TempDir()
	var report Report
	for _, x := range expectedOfAll(t) {
		var files []string
		for _, file := range x.Files {
			files = append(files, extract(t, folder, file))
		}
		var runs []Derived
		if len(files) > 0 {
			runs = derive(t, binary, files...)
		}
		report.Add(x, runs)
	}
	judge(t, &report, 0.9)
}

func extract(t *testing.T, folder, file string) string {
	t.Helper()
	path := filepath.Join(folder, filepath.FromSlash(file))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	from, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	data, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The published dumps are not copied into the repository: without them beside
// it, there is nothing to compare.
func TestPublic(t *testing.T) {
	const folder = "../../shared/data/public"
	if _, err := os.Stat(folder); err != nil {
		t.Skip("no published dumps beside the repository")
	}
	binary := sloctl(t)
	var report Report
	for _, x := range Public {
		report.Add(x, derive(t, binary, filepath.Join(folder, x.Files[0])))
	}
	judge(t, &report, 0.9)
}
