// Package metadata names the agent_sli component, as metadata.yaml says it.
package metadata

import "go.opentelemetry.io/collector/component"

// Type is the component's type in a Collector configuration.
var Type = component.MustNewType("agent_sli")

// ScopeName is the instrumentation scope of the component's own telemetry.
const ScopeName = "github.com/agentslo/agentslo/processor"

// Stability of the component by signal.
const (
	TracesStability = component.StabilityLevelAlpha
	LogsStability   = component.StabilityLevelAlpha
)
