// Package metadata names the agent_slo component, as metadata.yaml says it.
package metadata

import "go.opentelemetry.io/collector/component"

// Type is the component's type in a Collector configuration.
var Type = component.MustNewType("agent_slo")

// ScopeName is the instrumentation scope of the component's own telemetry.
const ScopeName = "github.com/agentslo/agentslo/exporter"

// TracesStability is the component's stability for traces.
const TracesStability = component.StabilityLevelAlpha
