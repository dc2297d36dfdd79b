package truth_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/agentslo/agentslo/truth"
)

const moreRecordings = "testdata/more"

// Further emitters and scenarios, recorded here the same way: the real
// framework against a scripted model, with the truth of each run from the model
// server, the tools and the application.
func TestMore(t *testing.T) {
	index, err := os.Open(filepath.Join(moreRecordings, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	entries, err := truth.ReadIndex(index)
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
			file, err := os.Open(filepath.Join(moreRecordings, name))
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

var ofMachine = regexp.MustCompile(`/(tmp|root|home)/|127\.0\.0\.1|localhost|"host\.name"|"process\.`)

// A recording must not say where it was made.
func TestMoreIsNeutral(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moreRecordings, "*", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, filepath.Join(moreRecordings, "index.json")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if told := ofMachine.Find(text); told != nil {
			t.Errorf("%s: %s", name, told)
		}
	}
}
