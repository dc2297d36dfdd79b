package metadata

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
)

// TelemetryBuilder holds the instruments of the component's own telemetry.
// Every counter is there at 0 from the start.
type TelemetryBuilder struct {
	ExporterAgentSloSummariesCounted   metric.Int64Counter
	ExporterAgentSloSummariesDuplicate metric.Int64Counter
	ExporterAgentSloSummariesMalformed metric.Int64Counter
	ExporterAgentSloSpansIgnored       metric.Int64Counter
	ExporterAgentSloCheckpointErrors   metric.Int64Counter
}

// NewTelemetryBuilder makes the instruments.
func NewTelemetryBuilder(settings component.TelemetrySettings) (*TelemetryBuilder, error) {
	meter := settings.MeterProvider.Meter(ScopeName)
	var b TelemetryBuilder
	var errs error
	counter := func(to *metric.Int64Counter, name, description, unit string) {
		c, err := meter.Int64Counter(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs = errors.Join(errs, err)
		if err == nil {
			c.Add(context.Background(), 0)
		}
		*to = c
	}
	counter(&b.ExporterAgentSloSummariesCounted, "otelcol_exporter_agent_slo_summaries_counted",
		"Summary spans that were counted.", "{summaries}")
	counter(&b.ExporterAgentSloSummariesDuplicate, "otelcol_exporter_agent_slo_summaries_duplicate",
		"Summary spans that came again and were not counted again.", "{summaries}")
	counter(&b.ExporterAgentSloSummariesMalformed, "otelcol_exporter_agent_slo_summaries_malformed",
		"Summary spans that could not be read and were not counted.", "{summaries}")
	counter(&b.ExporterAgentSloSpansIgnored, "otelcol_exporter_agent_slo_spans_ignored",
		"Other spans, which this exporter does not look at.", "{spans}")
	counter(&b.ExporterAgentSloCheckpointErrors, "otelcol_exporter_agent_slo_checkpoint_errors",
		"Checkpoints that could not be read or written.", "{checkpoints}")
	return &b, errs
}
