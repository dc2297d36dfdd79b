package processor

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/processor"

	"github.com/agentslo/agentslo/processor/internal/metadata"
)

// NewFactory returns the factory of agent_sli. All traces and logs pipelines
// that name one component id share one instance, so that evaluations in log
// records meet the runs in spans.
func NewFactory() processor.Factory {
	f := &factory{instances: map[component.ID]*instance{}}
	return processor.NewFactory(metadata.Type, createDefaultConfig,
		processor.WithTraces(f.traces, metadata.TracesStability),
		processor.WithLogs(f.logs, metadata.LogsStability))
}

type factory struct {
	mu        sync.Mutex
	instances map[component.ID]*instance
}

// instance returns the shared instance of the id, and a new one once the
// former was shut down, as after a reload.
func (f *factory) instance(set processor.Settings, config *Config) (*instance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in, ok := f.instances[set.ID]; ok && !in.over() {
		return in, nil
	}
	in, err := newInstance(set, config)
	if err != nil {
		return nil, err
	}
	f.instances[set.ID] = in
	return in, nil
}

func (f *factory) traces(_ context.Context, set processor.Settings, config component.Config, next consumer.Traces) (processor.Traces, error) {
	in, err := f.instance(set, config.(*Config))
	if err != nil {
		return nil, err
	}
	return &tracesSide{instance: in, pipeline: in.addPipeline(next), next: next}, nil
}

func (f *factory) logs(_ context.Context, set processor.Settings, config component.Config, next consumer.Logs) (processor.Logs, error) {
	in, err := f.instance(set, config.(*Config))
	if err != nil {
		return nil, err
	}
	return &logsSide{instance: in, next: next}, nil
}
