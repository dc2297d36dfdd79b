//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// events of one SLO.
type events struct{ Good, Bad, Unknown, Excluded int }

func (e events) total() int { return e.Good + e.Bad + e.Unknown + e.Excluded }

// The script begins with a failure, so that the first event of several series
// is a bad one: one made-up answer without a tool, seventeen good runs, one
// loop that the step limit ends, one answer although every tool call failed.
const script = "tool_free:1,ok:17,loop:1,tool_failed:1"

// What each SLO of testdata/slo.yaml must have counted after the script:
// by the verdict table, from what the scenarios do.
var afterScript = map[string]events{
	"completion":  {Good: 19, Bad: 1},              // the loop
	"correctness": {Good: 17, Bad: 3},              // scores 0.2 of the made-up answers; the loop has no answer
	"latency":     {Good: 19, Excluded: 1},         // the loop: failing fast is not being fast
	"grounding":   {Good: 17, Bad: 2, Excluded: 1}, // scores 0.1; the loop did not answer
	"cost":        {Good: 20},                      // cents
	"tool_free":   {Good: 17, Bad: 2, Excluded: 1}, // no call; all calls failed; the loop did not answer
	"no_progress": {Good: 19, Bad: 1},              // the loop
	"tool_calls":  {Good: 23, Bad: 2},              // one of each good run, six of the loop; two that failed
}

// with adds n good runs to every SLO.
func with(counted map[string]events, n int) map[string]events {
	sum := maps.Clone(counted)
	for name, e := range sum {
		e.Good += n
		sum[name] = e
	}
	return sum
}

// budget is what `sloctl budget -o json` says of each SLO.
func budget(t *testing.T, file, prometheus string) (map[string]events, error) {
	t.Helper()
	stdout, stderr, code := output(t, programs.sloctl, "budget", "-f", file, "--prometheus", prometheus, "-o", "json")
	if code != 0 {
		return nil, fmt.Errorf("sloctl budget: exit %d: %s", code, stderr)
	}
	var rows []struct {
		SLO                          string
		Good, Bad, Unknown, Excluded int
	}
	if err := json.Unmarshal([]byte(stdout), &rows); err != nil {
		return nil, permanent{fmt.Errorf("sloctl budget: %w\n%s", err, stdout)}
	}
	counted := map[string]events{}
	for _, row := range rows {
		counted[row.SLO] = events{row.Good, row.Bad, row.Unknown, row.Excluded}
	}
	return counted, nil
}

// counts waits until the budget is what it must be, and fails at once when an
// SLO has counted too much: no waiting mends that.
func counts(t *testing.T, file, prometheus string, want map[string]events, within time.Duration) {
	t.Helper()
	eventually(t, within, func() error {
		got, err := budget(t, file, prometheus)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name].Bad > want[name].Bad || got[name].total() > want[name].total() {
				return permanent{fmt.Errorf("%s: %+v, want %+v", name, got[name], want[name])}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				return fmt.Errorf("%s: %+v, want %+v", name, got[name], want[name])
			}
		}
		if len(got) != len(want) {
			return permanent{fmt.Errorf("%d SLOs, want %d: %v", len(got), len(want), got)}
		}
		return nil
	})
}

// stays checks that the budget does not move for a while.
func stays(t *testing.T, file, prometheus string, want map[string]events, during time.Duration) {
	t.Helper()
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(time.Second) {
		got, err := budget(t, file, prometheus)
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("the budget moved to %v, want %v", got, want)
		}
	}
}
