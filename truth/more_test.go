package truth_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
		name := entries[i].Name()
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
		if why, ok := notYetRight[name]; ok {
			var alone truth.Report
			alone.Add(x, runs)
			misread := false
			for _, f := range alone.Findings {
				if f.Grade < truth.Unexplained {
					continue
				}
				misread = true
				t.Logf("not yet right: %s: %s is %q, truth %q (%s)", name, f.Fact, f.Got, f.Want, why)
				if f.Grade == truth.Wrong && strings.HasPrefix(f.Fact, "slo.") && !strings.HasSuffix(f.Fact, ".reason") {
					t.Errorf("%s: %s is %s, truth %s: what is misread may cost a verdict, not turn it", name, f.Fact, f.Got, f.Want)
				}
			}
			if !misread {
				t.Errorf("%s is read right: take it off the list (%s)", name, why)
			}
			continue
		}
		report.Add(x, runs)
	}
	judge(t, &report)
}

// notYetRight are recordings whose runs are still misread, and what it takes.
var notYetRight = map[string]string{
	"claude-native/nocontent-tool-all-failed-answer": failedExecution,
	"google-adk-js/aborted-in-tool":                  "a limit shows as one more call_llm; a run that ends on a tool without one was given up",
	"langfuse-js/plain-ok-tool":                      unseenTools,
	"langfuse-js/plain-tool-all-failed-answer":       unseenTools,
	"langfuse-js/plain-loop-then-answer":             unseenTools,
}

const (
	failedExecution = "a call has failed if the span of its execution, below it and with its call id, has"
	unseenTools     = "tools that a model asked for, and that have no span though the model went on, may have been called"
)

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
