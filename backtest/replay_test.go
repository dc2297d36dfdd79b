package backtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

func parse(t testing.TB, text string) *slo.Set {
	t.Helper()
	files, err := slo.Parse("slo.yaml", []byte(text))
	require.NoError(t, err)
	return &slo.Set{Files: files}
}

func TestSpeed(t *testing.T) {
	set := parse(t, "{apiVersion: agentslo/v1, kind: AgentSLO, service: bot, slos: {completion: {objective: 99%}}}")
	f := set.Files[0]
	o := &f.SLOs[0]
	began := time.Now()
	s := Scenario{PerHour: 4, ErrorRatio: 0.01, Seed: 1, Start: day0, Scrape: 30 * time.Second}
	r := &Replay{Groups: rules.Groups(set), Traffic: s.Traffic(f, o), Start: day0.Add(time.Minute), End: day0.Add(30 * 24 * time.Hour), Step: time.Minute,
		Wanted:   []string{rules.BudgetRemaining(f, o)},
		Progress: func(at time.Time) { fmt.Fprintln(os.Stderr, at, time.Since(began)) }}
	fired, err := r.Run(context.Background())
	require.NoError(t, err)
	for _, x := range fired {
		t.Log(x)
	}
	t.Log(time.Since(began))
}

var day0 = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
