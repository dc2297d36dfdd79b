package rules_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

// BenchmarkGenerate writes the rules of 1000 SLOs: 100 services of 10.
func BenchmarkGenerate(b *testing.B) {
	var text strings.Builder
	for s := range 100 {
		fmt.Fprintf(&text, "---\napiVersion: agentslo/v1\nkind: AgentSLO\nservice: bot-%d\nagents: [bot-%d]\nslos:\n", s, s)
		for i := range 10 {
			fmt.Fprintf(&text, "  slo_%d: {sli: latency, objective: 9%d%%, threshold: 30s}\n", i, i)
		}
	}
	files, err := slo.Parse("slo.yaml", []byte(text.String()))
	require.NoError(b, err)
	set := &slo.Set{Files: files}
	for b.Loop() {
		var out bytes.Buffer
		require.NoError(b, rules.Write(&out, set, rules.FormatPrometheus))
	}
}

// BenchmarkEvaluate is one evaluation of all rules of one SLO with a day of
// history behind it, scrapes included. samples/op is what its queries read.
func BenchmarkEvaluate(b *testing.B) {
	w := newWorld(b, oneSLO)
	e := w.target()
	e.born("a", "completion")
	n := 0
	step := func() {
		if n++; n%720 == 0 && !e.holds(w.now) {
			e.add("a", "completion", "good", 1)
		}
	}
	w.run(25*time.Hour, step)
	w.samples = 0
	b.ResetTimer()
	for b.Loop() {
		w.run(rules.Interval, step)
	}
	b.ReportMetric(float64(w.samples)/float64(b.N), "samples/op")
}
