package exporter

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/agentslo/agentslo/exporter/internal/metadata"
)

// Option changes what [NewFactory] makes.
type Option func(*factory)

// WithCollector hands each exporter's counters to the embedding program when
// the exporter starts, with what an earlier process left already in them. They
// stay readable after the exporter's shutdown, which shows what was held.
//
// The created timestamp of a series is its birth: an embedder that takes
// birth_hold away appends a zero sample there.
func WithCollector(take func(prometheus.Collector)) Option {
	return func(f *factory) { f.take = take }
}

type factory struct {
	take func(prometheus.Collector)
}

// NewFactory returns the factory of agent_slo.
func NewFactory(options ...Option) exporter.Factory {
	f := &factory{take: func(prometheus.Collector) {}}
	for _, o := range options {
		o(f)
	}
	return exporter.NewFactory(metadata.Type, createDefaultConfig, exporter.WithTraces(f.traces, metadata.TracesStability))
}

func (f *factory) traces(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Traces, error) {
	e, err := newSLOExporter(set, config.(*Config), f.take)
	if err != nil {
		return nil, err
	}
	return f.wrap(ctx, set, config, e)
}

// wrap makes a Collector component. It has no queue: what agent_sli hands over
// at its shutdown is counted before this exporter's own begins.
func (f *factory) wrap(ctx context.Context, set exporter.Settings, config component.Config, e *sloExporter) (exporter.Traces, error) {
	return exporterhelper.NewTraces(ctx, set, config, e.consume,
		exporterhelper.WithStart(e.start),
		exporterhelper.WithShutdown(e.shutdown),
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}))
}
