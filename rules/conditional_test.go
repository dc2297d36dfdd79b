package rules_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentslo/agentslo/rules"
)

// Most runs have nothing to do with a hand-over: that they are excluded is no
// gap. Those whose tickets cannot be read are one.
func TestCoverageOfRareThings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "service: bot\nslos: {handoff: {objective: 90%}, completion: {objective: 90%}, triage: {sli: completion, objective: 90%, agents: [triage]}, asked: {sli: completion, objective: 90%, when: 'run.model_calls > 1'}}")
	e := w.target()
	e.born("a", "handoff")
	e.born("a", "completion")
	e.born("a", "triage")
	e.born("a", "asked")
	low := func() (names []string) {
		for _, ls := range w.firing(rules.AlertCoverageLow) {
			for _, name := range []string{"completion", "handoff", "triage", "asked"} {
				if strings.Contains(ls, name) {
					names = append(names, name)
				}
			}
		}
		return names
	}
	w.run(3*time.Minute, nil)
	for _, name := range []string{"handoff", "completion", "triage", "asked"} { // most runs are not what these are about
		e.add("a", name, "good", 8)
		e.add("a", name, "excluded", 400)
	}
	w.run(2*time.Minute, nil)
	require.Equal(t, []string{"completion"}, low())
	e.add("a", "handoff", "unknown", 3)
	w.run(2*time.Minute, nil)
	require.Equal(t, []string{"completion"}, low(), "three of eleven are weak evidence against a fifth")
	e.add("a", "handoff", "unknown", 30)
	w.run(2*time.Minute, nil)
	require.Equal(t, []string{"completion", "handoff"}, low())
}
