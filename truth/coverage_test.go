package truth_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/processor/convention"
	"github.com/agentslo/agentslo/processor/recording"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/truth"
)

// coverage counts, for one emitter and one fact, in how many runs it was read
// rightly, and from what.
type coverage struct{ data, derived, absent, asksEvaluation int }

const (
	fromData      = "●"
	isDerived     = "◐"
	inPart        = "○"
	notCarried    = "–"
	byEvaluations = "e"
)

func (c coverage) String() string {
	switch {
	case c.absent > 0 && c.data+c.derived+c.asksEvaluation > 0:
		known := c.data + c.derived + c.asksEvaluation
		return fmt.Sprintf("%s %d%%", inPart, 100*known/(known+c.absent))
	case c.absent > 0:
		return notCarried
	case c.asksEvaluation > 0:
		return byEvaluations
	case c.derived > 0:
		return isDerived
	case c.data > 0:
		return fromData
	}
	return ""
}

func (c *coverage) add(known, derived bool) {
	switch {
	case !known:
		c.absent++
	case derived:
		c.derived++
	default:
		c.data++
	}
}

var coverageFacts = []string{"run", "outcome", "tokens", "USD", "tools", "arguments, results", "retrieval", "evaluation"}

// emitterCoverage is a row of the table.
type emitterCoverage struct {
	name  string
	runs  int // that it should show
	facts map[string]*coverage
}

func (e *emitterCoverage) of(name string) *coverage {
	if e.facts[name] == nil {
		e.facts[name] = new(coverage)
	}
	return e.facts[name]
}

// add takes in what was read of one recording.
func (e *emitterCoverage) add(x *truth.Expected, judged []processor.Judged) {
	if e.runs += len(x.Runs); x.NoRun != "" {
		return
	}
	e.of("run").add(len(judged) == len(x.Runs), false)
	variant := strings.TrimPrefix(x.Name, x.Framework+"/")
	for i := range min(len(judged), len(x.Runs)) {
		r, want := judged[i].Run, &x.Runs[i]
		got := derivedOf(&judged[i])
		right := func(name string) bool {
			f := want.Fact(name)
			if f == nil {
				return true
			}
			grade, _ := f.Judge(got.Fact(name))
			return grade == truth.Right && got.Fact(name) != truth.Null
		}
		sources := map[string]run.Fact{}
		for _, f := range r.Sources {
			sources[f.Name] = f
		}
		e.of("outcome").add(right("outcome"), !saidOutright(sources["outcome"]))
		answered := want.Fact("outcome").Want == "answered" // no emitter has the tokens of a call that was cut short
		if answered {
			e.of("tokens").add(right("tokens.input") && right("tokens.output"), r.ModelCalls == nil)
			// Near enough where an emitter does not tell cached tokens apart.
			e.of("USD").add(r.CostUSD != nil, !says(sources["cost_usd"], convention.FieldCost))
		}
		if answered && (want.Fact("tool_calls.ok").Want != "0" || want.Fact("tool_calls.failed").Want != "0") {
			byMessage, content := false, true
			for k := range r.Tools {
				t := &r.Tools[k]
				byMessage = byMessage || t.ByMessage
				content = content && (t.Role != run.Evidence || t.HasArgs && (t.HasResult || t.Failed()))
			}
			e.of("tools").add(right("tool_calls.ok") && right("tool_calls.failed"), byMessage)
			if len(r.Tools) > 0 {
				e.of("arguments, results").add(content, byMessage)
			}
		}
		switch {
		case variant == "rag-plain" && len(r.Retrievals) > 0:
			e.of("retrieval").add(r.Retrievals[0].Documents > 0, false)
		case variant == "rag":
			found := false
			for k := range r.Tools {
				found = found || strings.HasSuffix(r.Tools[k].Name, "search_docs")
			}
			e.of("retrieval").add(found || len(r.Retrievals) > 0, len(r.Retrievals) == 0)
		}
		switch variant {
		case "scores", "scorer", "eval":
			e.of("evaluation").add(len(r.Evaluations) > 0, false)
		case "late-evaluation":
			// Elsewhere it is the application's own judge that speaks.
			if x.Framework == "genkit-go" {
				e.of("evaluation").add(len(r.Evaluations) > 0, false)
			}
		}
		for _, name := range truth.SLOs {
			f := want.Fact("slo." + name)
			if f.Want == "unknown" && (name == "correctness" || name == "grounding") {
				e.of("slo."+name).asksEvaluation++
				continue
			}
			e.of("slo."+name).add(right("slo."+name) && got.Fact("slo."+name) != "unknown", false)
		}
	}
}

// says whether any source of the fact is that field.
func says(f run.Fact, field convention.Field) bool {
	for _, s := range f.From {
		if s.Field == field {
			return true
		}
	}
	return false
}

// saidOutright: a word on a span says how the run ended; the rest is concluded
// from what is there and what is not.
func saidOutright(f run.Fact) bool {
	return len(f.From) == 1 && (says(f, convention.FieldFinish) || says(f, convention.FieldFailure) || says(f, convention.FieldClientSide))
}

func derivedOf(j *processor.Judged) *truth.Derived {
	report := j.Report()
	line, err := encodeReport(&report)
	if err != nil {
		panic(err)
	}
	runs, err := truth.ReadDerived(line)
	if err != nil || len(runs) != 1 {
		panic(fmt.Sprint(len(runs), err))
	}
	return &runs[0]
}

func writeCoverage(w io.Writer, rows []*emitterCoverage) {
	fmt.Fprint(w, "| emitter | ", strings.Join(coverageFacts, " | "), " | ", strings.Join(truth.SLOs, " | "), " |\n|---")
	fmt.Fprint(w, strings.Repeat("|:-:", len(coverageFacts)+len(truth.SLOs)), "|\n")
	var clients []string
	for _, e := range rows {
		if e.runs == 0 {
			clients = append(clients, e.name)
			continue
		}
		fmt.Fprintf(w, "| %s", e.name)
		for _, name := range coverageFacts {
			fmt.Fprintf(w, " | %s", e.of(name))
		}
		for _, name := range truth.SLOs {
			fmt.Fprintf(w, " | %s", e.of("slo."+name))
		}
		fmt.Fprint(w, " |\n")
	}
	fmt.Fprintf(w, "\nEmitters that see the model client only, so that nothing of theirs is a run: %s.\n", strings.Join(clients, ", "))
}

const (
	coverageBegin = "<!-- what follows is written by: go test ./truth -run Coverage -update -->\n"
	coverageEnd   = "<!-- end of what is written by a test -->\n"
)

// The table in the README is what the recordings show.
func TestCoverageInReadme(t *testing.T) {
	var rows []*emitterCoverage
	byName := map[string]*emitterCoverage{}
	add := func(entries []truth.Entry, open func(string) (io.ReadCloser, error)) {
		for i := range entries {
			if strings.HasPrefix(entries[i].Variant, "nocontent") {
				continue // of emitters as they come, or with content switched on
			}
			x, err := truth.Expect(&entries[i])
			if err != nil {
				t.Fatal(err)
			}
			e := byName[x.Framework]
			if e == nil {
				e = &emitterCoverage{name: x.Framework, facts: map[string]*coverage{}}
				byName[x.Framework] = e
				rows = append(rows, e)
			}
			judged, _ := processor.DeriveSources(sixSLOs(t), func(engine *processor.Engine) {
				sink := recording.Sink{Traces: func(td ptrace.Traces) { engine.Consume(td, 0) }, Logs: engine.ConsumeLogs}
				for _, name := range x.Files {
					file, err := open(name)
					if err != nil {
						t.Fatal(err)
					}
					defer file.Close()
					if err := recording.Read(name, file, sink); err != nil {
						t.Fatal(err)
					}
				}
			})
			e.add(x, judged)
		}
	}
	entries, err := truth.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	add(entries, func(name string) (io.ReadCloser, error) { return truth.Open(name) })
	for _, folder := range []string{moreRecordings, "../e2e/frameworks/testdata"} {
		index, err := os.Open(filepath.Join(folder, "index.json"))
		if err != nil {
			t.Fatal(err)
		}
		defer index.Close()
		if entries, err = truth.ReadIndex(index); err != nil {
			t.Fatal(err)
		}
		add(entries, func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(folder, name)) })
	}

	var table bytes.Buffer
	writeCoverage(&table, rows)
	const readme = "../README.md"
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), coverageBegin)
	written, after, ok2 := strings.Cut(rest, coverageEnd)
	if !ok || !ok2 {
		t.Fatalf("README.md has no place for the table: %q … %q", coverageBegin, coverageEnd)
	}
	if want := "\n" + table.String() + "\n"; written != want {
		if flag.Lookup("update").Value.String() == "true" {
			if err := os.WriteFile(readme, []byte(before+coverageBegin+want+coverageEnd+after), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("the table in README.md is not what the recordings show: go test ./truth -run Coverage -update, and read the difference\n%s", table.String())
	}
}
