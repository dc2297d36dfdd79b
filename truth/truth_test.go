package truth

import (
	"bytes"
	"flag"
	"io"
	"os"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "rewrite EXPECTED.md")

func expected(t *testing.T, entries []Entry, err error) []*Expected {
	t.Helper()
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

func expectedOfAll(t *testing.T) []*Expected {
	t.Helper()
	entries, err := Recordings()
	return expected(t, entries, err)
}

func expectedOfMore(t *testing.T) []*Expected {
	t.Helper()
	index, err := os.Open("testdata/more/index.json")
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	entries, err := ReadIndex(index)
	return expected(t, entries, err)
}

// The table is what people read and review; it must be what the tests hold.
func TestTableIsWhatIsExpected(t *testing.T) {
	var table bytes.Buffer
	all := append(expectedOfAll(t), expectedOfMore(t)...)
	place := map[string]int{} // an emitter's recordings stand together
	for _, x := range all {
		if _, ok := place[x.Framework]; !ok {
			place[x.Framework] = len(place)
		}
	}
	if len(all) != 333 || len(place) != 17 {
		t.Errorf("%d recordings of %d emitters; README and CONTRIBUTING say 333 of 17", len(all), len(place))
	}
	slices.SortStableFunc(all, func(a, b *Expected) int { return place[a.Framework] - place[b.Framework] })
	WriteTable(&table, all)
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
