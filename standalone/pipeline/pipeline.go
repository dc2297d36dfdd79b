// Package pipeline runs an OpenTelemetry Collector in this process: an OTLP
// receiver, agent_sli and agent_slo, with their checkpoint in a folder. The
// configuration is the Collector's own, only made here instead of in a file.
package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/nopexporter"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/prometheus/client_golang/prometheus"
)

// Options configure a [Pipeline].
type Options struct {
	Files     []string // SLO files and folders, for both components
	GRPC      string   // host:port of OTLP over gRPC
	HTTP      string   // host:port of OTLP over HTTP
	Directory string   // holds the checkpoint; created if missing
	Processor processor.Factory
	Exporter  exporter.Factory
	Version   string
	Log       io.Writer             // takes warnings and errors as lines for people
	Verbose   bool                  // also what the Collector says at level info
	Metrics   prometheus.Registerer // takes the Collector's own metrics; may be nil
}

// Pipeline is a running Collector.
type Pipeline struct {
	collector *otelcol.Collector
	stopped   chan struct{}
	err       error
	stop      sync.Once
}

// Start starts the Collector and returns when it receives. An error means
// that nothing is left running.
func Start(ctx context.Context, options Options) (*Pipeline, error) {
	telemetry := newTelemetry(options)
	collector, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "sloctl", Description: "agentslo", Version: options.Version},
		Factories: func() (otelcol.Factories, error) {
			return otelcol.Factories{
				Receivers:  byType[receiver.Factory](otlpreceiver.NewFactory()),
				Processors: byType(options.Processor),
				Exporters:  byType(options.Exporter, nopexporter.NewFactory()),
				Extensions: byType[extension.Factory](filestorage.NewFactory()),
				Telemetry:  telemetry,
			}, nil
		},
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{scheme + ":"},
			ProviderFactories: []confmap.ProviderFactory{memory(Config(options))},
		}},
		DisableGracefulShutdown: true, // the caller hears of signals
		SkipSettingGRPCLogger:   true, // it is global to the process
	})
	if err != nil {
		return nil, fmt.Errorf("collector: %w", err)
	}
	p := &Pipeline{collector: collector, stopped: make(chan struct{})}
	go func() {
		defer close(p.stopped)
		// Not ctx: its end must not cut the shutdown short.
		p.err = collector.Run(context.Background())
	}()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for collector.GetState() != otelcol.StateRunning {
		select {
		case <-p.stopped:
			return nil, fmt.Errorf("collector: %w", errors.Join(p.err, errIfNil(p.err)))
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), p.Stop())
		case <-ticker.C:
		}
	}
	return p, nil
}

// errStopped is the reason when the Collector gives none: it logs errors that
// come after the start, and returns nil.
var errStopped = errors.New("stopped by itself; the log above says why")

func errIfNil(err error) error {
	if err == nil {
		return errStopped
	}
	return nil
}

// Stopped is closed when the Collector has stopped, by itself or by Stop.
func (p *Pipeline) Stopped() <-chan struct{} { return p.stopped }

// Err says why the Collector stopped by itself. It may be called after Stopped is closed.
func (p *Pipeline) Err() error {
	return fmt.Errorf("collector: %w", errors.Join(p.err, errIfNil(p.err)))
}

// Stop stops receivers, then the processor, then the exporter, then the
// storage, so that all of them can write their checkpoint, and waits for it.
func (p *Pipeline) Stop() error {
	p.stop.Do(p.collector.Shutdown)
	<-p.stopped
	if p.err != nil {
		return fmt.Errorf("collector: %w", p.err)
	}
	return nil
}

func byType[F component.Factory](factories ...F) map[component.Type]F {
	m := make(map[component.Type]F, len(factories))
	for _, f := range factories {
		m[f.Type()] = f
	}
	return m
}
