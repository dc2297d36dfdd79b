package rules_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
	"github.com/agentslo/agentslo/slo"
)

func TestDump(t *testing.T) {
	s, err := slo.Load("../examples/support-agent/slo.yaml")
	require.NoError(t, err)
	f, _ := os.Create("/tmp/dump/rules.yaml")
	require.NoError(t, rules.Write(f, s, rules.FormatPrometheus))
	f.Close()
	f, _ = os.Create("/tmp/dump/tests.yaml")
	require.NoError(t, rules.Tests(f, s, "rules.yaml"))
	f.Close()
}
