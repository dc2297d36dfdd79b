package truth_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
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

// Exporters send children first, collectors batch and resend, queues reorder:
// what is read of a recording must depend on none of that.
func TestOrderBatchesAndResendsChangeNothing(t *testing.T) {
	const permutations = 5
	set, err := slo.Load("../examples/support-agent/slo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := truth.Recordings()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range entries {
		e := &entries[i]
		if e.File == nil {
			continue
		}
		var requests []ptrace.Traces
		var logs []plog.Logs
		sink := recording.Sink{
			Traces: func(td ptrace.Traces) { requests = append(requests, td) },
			Logs:   func(ld plog.Logs) { logs = append(logs, ld) },
		}
		for _, name := range []*string{e.File, e.LogsFile} {
			if name != nil {
				file, err := truth.Open(*name)
				if err != nil {
					t.Fatal(err)
				}
				if err := recording.Read(*name, io.Reader(file), sink); err != nil {
					t.Fatal(err)
				}
				file.Close()
			}
		}
		want := reports(t, set, requests, logs)
		spans := split(requests)
		for p := range permutations {
			twice := append(slices.Clone(spans), spans...)
			random.Shuffle(len(twice), func(i, j int) { twice[i], twice[j] = twice[j], twice[i] })
			if got := reports(t, set, batches(random, twice), logs); got != want {
				t.Errorf("%s, permutation %d:\n%s\nin the order recorded:\n%s", e.Name(), p, got, want)
				break
			}
		}
	}
}

// reports are derive's objects as sorted lines.
func reports(t *testing.T, set *slo.Set, requests []ptrace.Traces, logs []plog.Logs) string {
	t.Helper()
	judged, _ := processor.Derive(set, func(e *processor.Engine) {
		for _, td := range requests {
			whole := ptrace.NewTraces()
			td.CopyTo(whole)
			e.Consume(whole, 0)
		}
		for _, ld := range logs {
			e.ConsumeLogs(ld)
		}
	})
	var lines []string
	for i := range judged {
		report := judged[i].Report()
		line, err := json.Marshal(&report)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// split gives each span a request of its own.
func split(requests []ptrace.Traces) []ptrace.Traces {
	var single []ptrace.Traces
	for _, td := range requests {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					one := ptrace.NewTraces()
					to := one.ResourceSpans().AppendEmpty()
					rs.Resource().CopyTo(to.Resource())
					scope := to.ScopeSpans().AppendEmpty()
					ss.Scope().CopyTo(scope.Scope())
					span.CopyTo(scope.Spans().AppendEmpty())
					single = append(single, one)
				}
			}
		}
	}
	return single
}

// batches joins requests into ones of one to nine spans.
func batches(random *rand.Rand, single []ptrace.Traces) []ptrace.Traces {
	var joined []ptrace.Traces
	for len(single) > 0 {
		n := min(1+random.IntN(9), len(single))
		batch := ptrace.NewTraces()
		for _, one := range single[:n] {
			one.ResourceSpans().At(0).CopyTo(batch.ResourceSpans().AppendEmpty())
		}
		joined, single = append(joined, batch), single[n:]
	}
	return joined
}
