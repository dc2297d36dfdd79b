package main

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/connector"
	"go.opentelemetry.io/collector/connector/connectortest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/open-telemetry/opentelemetry-collector-contrib/connector/spanmetricsconnector"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/groupbytraceprocessor"
	"github.com/open-telemetry/opentelemetry-collector-contrib/processor/tailsamplingprocessor"

	sli "github.com/agentslo/agentslo/processor"
)

// subject is what is measured: something that takes export requests.
type subject struct {
	name string
	// open starts a new one in front of next; nil for unmarshalling itself.
	open func(next consumer.Traces) (target, error)
	// patient: it hands spans on in its own time, so the sink has to be waited for.
	patient bool
	// keeps: it holds open runs, so its heap says something.
	keeps bool
}

type target interface {
	component.Component
	consumer.Traces
}

func subjects() []subject {
	return []subject{
		{name: "unmarshal"},
		{name: "agent_sli", keeps: true, open: ofProcessor(sli.NewFactory(), map[string]any{
			"files": []any{"../examples/support-agent/slo.yaml"}, "memory_limit_mib": 1024,
		})},
		{name: "spanmetrics", open: ofConnector(spanmetricsconnector.NewFactory(), nil)},
		{name: "tail_sampling", keeps: true, open: ofProcessor(tailsamplingprocessor.NewFactory(), map[string]any{
			"decision_wait": "1h", "num_traces": 1_000_000,
			"policies": []any{map[string]any{"name": "all", "type": "always_sample"}},
		})},
		{name: "groupbytrace", keeps: true, patient: true, open: ofProcessor(groupbytraceprocessor.NewFactory(), map[string]any{
			"wait_duration": "2s", "num_traces": 1_000_000,
		})},
	}
}

func ofProcessor(factory processor.Factory, settings map[string]any) func(consumer.Traces) (target, error) {
	return func(next consumer.Traces) (target, error) {
		config, err := configured(factory, settings)
		if err != nil {
			return nil, err
		}
		return factory.CreateTraces(context.Background(), processortest.NewNopSettings(factory.Type()), config, next)
	}
}

func ofConnector(factory connector.Factory, settings map[string]any) func(consumer.Traces) (target, error) {
	return func(consumer.Traces) (target, error) {
		config, err := configured(factory, settings)
		if err != nil {
			return nil, err
		}
		return factory.CreateTracesToMetrics(context.Background(), connectortest.NewNopSettings(factory.Type()), config, consumertest.NewNop())
	}
}

func configured(factory component.Factory, settings map[string]any) (component.Config, error) {
	config := factory.CreateDefaultConfig()
	if err := confmap.NewFromStringMap(settings).Unmarshal(config); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return config, nil
}

// sink counts what it is handed.
type sink struct {
	consumer.Traces
	spans chan int
}

func newSink() (*sink, error) {
	s := &sink{spans: make(chan int, 1<<16)}
	traces, err := consumer.NewTraces(func(_ context.Context, td ptrace.Traces) error {
		select {
		case s.spans <- td.SpanCount():
		default:
		}
		return nil
	})
	s.Traces = traces
	return s, err
}

// wait until the sink was handed that many spans.
func (s *sink) wait(spans int) error {
	deadline := time.After(30 * time.Second)
	for spans > 0 {
		select {
		case n := <-s.spans:
			spans -= n
		case <-deadline:
			return fmt.Errorf("%d spans were not handed on", spans)
		}
	}
	return nil
}

var host = componenttest.NewNopHost()
