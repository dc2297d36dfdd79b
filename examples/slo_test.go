package examples_test

import (
	"slices"
	"testing"

	"github.com/agentslo/agentslo/slo"
)

var files = []string{"support-agent/slo.yaml", "rag-agent/slo.yaml", "coding-agent/slo.yaml", "operations-agent/slo.yaml"}

func TestFilesAreValid(t *testing.T) {
	for _, file := range files {
		set, err := slo.Load(file)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if len(set.Files) != 1 || len(set.Files[0].SLOs) < 5 {
			t.Errorf("%s: %d documents", file, len(set.Files))
		}
	}
}

// One Collector can serve all four: each agent belongs to one file.
func TestFilesGoTogether(t *testing.T) {
	set, err := slo.Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	for agent, service := range map[string]string{
		"docs-search": "docs-assistant", "rag-main": "docs-assistant", "coder": "coding-agent", "coding-reviewer": "coding-agent",
		"ops-night": "operations-agent", "deployer": "operations-agent",
		"support-agent": "support-agent", "order-support": "support-agent",
	} {
		f := set.Match("any-service", "", agent, func(string) (string, bool) { return "", false })
		if f == nil || f.Service != service {
			t.Errorf("agent %s belongs to %v, want %s", agent, f, service)
		}
	}
}

// The operations agent's file uses every kind about what an agent does after a
// failure.
func TestOperationsAgentUsesTheKindsAboutFailures(t *testing.T) {
	set, err := slo.Load("operations-agent/slo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"retry_discipline", "duplicate_effects", "stuck_after_blocker", "handoff", "forbidden_actions"} {
		if !slices.ContainsFunc(set.Files[0].SLOs, func(o slo.Objective) bool { return o.SLI == kind }) {
			t.Errorf("no SLO of kind %s", kind)
		}
	}
}
