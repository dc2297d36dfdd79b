package truth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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

const failureSLOs = `
service: order-support
tools: {write: ["*refund_order"]}
slos:
  retry_discipline: {objective: 95%}
  duplicate_effects: {objective: 95%}
  stuck_after_blocker: {objective: 95%}
  handoff: {objective: 95%}
  forbidden_actions: {objective: 95%, actions: [{tool: "*get_order_status", arguments: 'A-3003|A-8008'}]}
`

// failuresOf is what the kinds about failures must say of a run, from what its
// tools and the model server saw.
type failuresOf struct {
	verdicts    map[string]string
	persistence map[string]int
	firstWrong  string // "" nothing
}

func failuresExpected(e *truth.Entry) failuresOf {
	x := failuresOf{persistence: map[string]int{}, verdicts: map[string]string{
		"retry_discipline": "excluded", "duplicate_effects": "excluded", "forbidden_actions": "good"}}
	effects := map[string]int{}
	for i, c := range e.Tools {
		args := compact(c.Args)
		if strings.Contains(args, "A-3003") || strings.Contains(args, "A-8008") {
			x.verdicts["forbidden_actions"] = "bad"
		}
		if c.OK && c.Tool == "refund_order" {
			effects[args]++
			x.verdicts["duplicate_effects"] = "good"
		}
		what := ""
		for _, before := range e.Tools[:i] {
			if before.OK && c.OK && before.Tool == c.Tool && compact(before.Args) == args && compact(before.Result) == compact(c.Result) {
				what = "repeated_call"
			}
		}
		if !c.OK {
			what = "failed_call"
			x.verdicts["retry_discipline"] = "good" // no scenario tries the same again
			became := "permanent"
			for _, later := range e.Tools[i+1:] {
				if later.OK && later.Tool == c.Tool && (compact(later.Args) == args || strings.Contains(c.Error, "invalid order id")) {
					became = "recovered"
				}
			}
			x.persistence[became]++
		}
		if x.firstWrong == "" {
			x.firstWrong = what
		}
	}
	for _, n := range effects {
		if n > 1 {
			x.verdicts["duplicate_effects"] = "bad"
		}
	}
	// The model server refused every call from some point on, or the SDK did not
	// take what it answered; where a tool went wrong as well, that came first.
	refused := strings.HasPrefix(e.Scenario, "run-error") || e.Scenario == "truncated" && e.Runs[0].Threw
	if x.firstWrong == "" && refused {
		x.firstWrong = "failed_model_call"
	}
	return x
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// What is said of failures in recorded runs is what happened, or that it is not
// known.
func TestFailuresInRecordings(t *testing.T) {
	files, err := slo.Parse("slo.yaml", []byte(failureSLOs))
	if err != nil {
		t.Fatal(err)
	}
	set := &slo.Set{Files: files}
	right, unknown := 0, 0
	check := func(e *truth.Entry, open func(string) (io.ReadCloser, error)) {
		x, err := truth.Expect(e)
		if err != nil {
			t.Fatal(err)
		}
		if len(e.Runs) != 1 || e.Scenario == "unknown-tool" {
			return // which of its runs did what, the index does not say; a tool that is not there is not executed
		}
		judged, _ := processor.Derive(set, func(engine *processor.Engine) {
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
		if len(judged) != 1 {
			return // a lost run, or calls in traces of their own
		}
		want, got := failuresExpected(e), judged[0].Report()
		for name, verdict := range want.verdicts {
			switch is := got.SLOs[name]; {
			case is.Verdict == verdict:
				right++
			case is.Verdict == "unknown", is.Verdict == "excluded" && is.Reason == "cancelled":
				unknown++
			default:
				t.Errorf("%s: %s is %s (%s), it happened to be %s", e.Name(), name, is.Verdict, is.Reason, verdict)
			}
		}
		failed := 0
		for _, n := range got.ToolCalls.Failed {
			failed += n
		}
		if failed == want.persistence["permanent"]+want.persistence["recovered"] {
			if is := fmt.Sprint(got.ToolCalls.Persistence); is == fmt.Sprint(want.persistence) {
				right++
			} else if captured := got.SLOs["forbidden_actions"].Reason != "content_not_captured"; captured && got.ToolCalls.Failed["unclassified"] == 0 {
				t.Errorf("%s: failures were %s, it happened to be %v", e.Name(), is, want.persistence)
			} else {
				unknown++
			}
		}
		first := ""
		if got.FirstWrong != nil {
			first = got.FirstWrong.What
		}
		switch {
		case first == want.firstWrong:
			right++
		case first == "":
			unknown++ // its emitter does not show it
		default:
			t.Errorf("%s: first wrong was %s (%+v), it happened to be %q", e.Name(), first, got.FirstWrong, want.firstWrong)
		}
	}
	entries, err := truth.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		check(&entries[i], func(name string) (io.ReadCloser, error) { return truth.Open(name) })
	}
	index, err := os.Open(filepath.Join(moreRecordings, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	more, err := truth.ReadIndex(index)
	if err != nil {
		t.Fatal(err)
	}
	for i := range more {
		check(&more[i], func(name string) (io.ReadCloser, error) { return os.Open(filepath.Join(moreRecordings, name)) })
	}
	t.Logf("%d right, %d unknown", right, unknown)
	if right < 900 || unknown*8 > right {
		t.Errorf("%d right and %d unknown", right, unknown)
	}
}
