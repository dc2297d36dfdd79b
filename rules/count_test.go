package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const oneSLO = `
apiVersion: agentslo/v1
kind: AgentSLO
service: bot
environment: prod
slos:
  completion: {objective: 99%}
`

func TestFirstFailureEver(t *testing.T) {
	w := newWorld(t, oneSLO)
	e := w.target()
	e.born("a", "completion")
	w.run(2*time.Minute, nil)
	e.add("a", "completion", "bad", 1)
	w.run(2*time.Minute, nil)
	require.Equal(t, 1.0, w.increase("completion", "bad", "5m"))
	require.Equal(t, 1.0, w.increase("completion", "bad", "30d"))
	require.Equal(t, 0.0, w.increase("completion", "good", "30d"))
	require.Equal(t, 1.0, w.number("agentslo:error_ratio:30d"))
	require.InDelta(t, -99, w.number("agentslo:budget_remaining:ratio"), 1e-9)
}
