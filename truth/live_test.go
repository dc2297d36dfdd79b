package truth_test

import (
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/agentslo/agentslo/processor"
	"github.com/agentslo/agentslo/processor/recording"
	"github.com/agentslo/agentslo/processor/run"
	"github.com/agentslo/agentslo/slo"
	"github.com/agentslo/agentslo/truth"
)

// A recording that arrives as it did when it was made, request by request, is
// read as derive reads it from a file: nothing is completed too early, and
// nothing but a run without a root waits for the idle timeout.
func TestLiveIsReadAsRecorded(t *testing.T) {
	set, err := slo.Load("../examples/support-agent/slo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := truth.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		x := &entries[i]
		if x.File == nil {
			continue
		}
		requests := readRequests(t, *x.File)
		want := lines(t, func(take func(processor.Judged, int)) {
			e := processor.NewEngine(set, processor.EngineOptions{}, take)
			for _, td := range requests {
				e.Consume(td, 0)
			}
			e.Finish(run.EndOfInput)
		})
		now := time.Unix(1_800_000_000, 0)
		var waited []string
		got := lines(t, func(take func(processor.Judged, int)) {
			e := processor.NewEngine(set, processor.EngineOptions{Now: func() time.Time { return now }}, func(j processor.Judged, p int) {
				if j.First && j.Run.Completion == run.Idle {
					waited = append(waited, j.Run.Outcome.String())
				}
				take(j, p)
			})
			var last time.Time
			for _, td := range requests {
				if end := latest(td); end.After(last) {
					if !last.IsZero() {
						now = now.Add(end.Sub(last))
					}
					last = end
				}
				e.Tick()
				e.Consume(td, 0)
			}
			for range 20 {
				now = now.Add(time.Second)
				e.Tick()
			}
			for range 150 {
				now = now.Add(time.Minute)
				e.Tick()
			}
			e.Finish(run.Shutdown)
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: live\n%s\nfrom the file\n%s", *x.File, got, want)
		}
		for _, outcome := range waited {
			if outcome != slo.Lost.String() {
				t.Errorf("%s: a run that is %s waited for the idle timeout", *x.File, outcome)
			}
		}
	}
}

func readRequests(t *testing.T, file string) (requests []ptrace.Traces) {
	t.Helper()
	in, err := truth.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	sink := recording.Sink{Traces: func(td ptrace.Traces) { requests = append(requests, td) }, Logs: func(plog.Logs) {}}
	if err := recording.Read(file, io.Reader(in), sink); err != nil {
		t.Fatal(err)
	}
	return requests
}

func latest(td ptrace.Traces) (end time.Time) {
	for i := range td.ResourceSpans().Len() {
		for j := range td.ResourceSpans().At(i).ScopeSpans().Len() {
			spans := td.ResourceSpans().At(i).ScopeSpans().At(j).Spans()
			for k := range spans.Len() {
				if at := spans.At(k).EndTimestamp().AsTime(); at.After(end) {
					end = at
				}
			}
		}
	}
	return end
}

// lines collects what is said of each run, but for the reason of its
// completion, which differs.
func lines(t *testing.T, feed func(take func(processor.Judged, int))) []string {
	t.Helper()
	runs := map[[16]byte]*processor.Judged{}
	feed(func(j processor.Judged, _ int) {
		if first := runs[j.Run.ID]; first != nil {
			first.Results = append(first.Results, j.Results...)
			return
		}
		runs[j.Run.ID] = &j
	})
	var out []string
	for _, j := range runs {
		r := j.Report()
		r.Completion = ""
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(line))
	}
	slices.Sort(out)
	return out
}
