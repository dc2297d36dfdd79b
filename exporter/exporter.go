package exporter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/agentslo/agentslo/exporter/internal/metadata"
	"github.com/agentslo/agentslo/exporter/internal/series"
	"github.com/agentslo/agentslo/processor/summary"
	"github.com/agentslo/agentslo/slo"
)

// sloExporter is one agent_slo component.
type sloExporter struct {
	config    *Config
	files     *slo.Set
	id        component.ID
	settings  component.TelemetrySettings
	telemetry *metadata.TelemetryBuilder
	take      func(prometheus.Collector)

	book    *series.Book
	server  server
	storage storage.Client // nil without the extension, and after shutdown
}

func newSLOExporter(set exporter.Settings, config *Config, take func(prometheus.Collector)) (*sloExporter, error) {
	files, err := config.load()
	if err != nil {
		return nil, err
	}
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	e := &sloExporter{config: config, files: files, id: set.ID, settings: set.TelemetrySettings, telemetry: telemetry, take: take}
	e.book = e.newBook()
	return e, nil
}

func (e *sloExporter) newBook() *series.Book {
	return series.NewBook(series.Options{
		BirthHold: e.config.BirthHold, Limit: e.config.MaxLabelSets, Seen: e.config.MaxSeenSpans, Keep: e.keep, LateAfter: e.lateAfter,
	})
}

// keep is how many values of a dimension the files say to keep, or 0.
func (e *sloExporter) keep(service, environment, dimension string) int {
	kept := 0
	for _, f := range e.files.Files {
		if f.Service != service || f.Environment != "" && f.Environment != environment {
			continue
		}
		for _, d := range f.Dimensions {
			if d.Name == dimension {
				kept = max(kept, d.Keep)
			}
		}
	}
	return kept
}

// lateAfter is how long after its run's end a verdict is late, by the files.
func (e *sloExporter) lateAfter(service, environment, objective string) time.Duration {
	after := time.Duration(0)
	for _, f := range e.files.Files {
		if f.Service != service || f.Environment != "" && f.Environment != environment {
			continue
		}
		if o := f.Objective(objective); o != nil {
			after = max(after, f.LateAfter(o))
		}
	}
	if after == 0 {
		return 3 * time.Hour
	}
	return after
}

func (e *sloExporter) start(ctx context.Context, host component.Host) error {
	if err := e.openStorage(ctx, host); err != nil {
		return err
	}
	if err := e.restore(ctx); err != nil {
		return errors.Join(err, e.closeStorage(ctx))
	}
	e.expect()
	e.take(e.book)
	if err := e.server.start(ctx, e.config, host, e.settings, e.book); err != nil {
		return errors.Join(err, e.closeStorage(ctx))
	}
	return nil
}

// expect makes the label sets that the files name without a wildcard.
func (e *sloExporter) expect() {
	for _, f := range e.files.Files {
		if f.Environment == "" {
			continue // it is that of the runs
		}
		for i := range f.SLOs {
			o := &f.SLOs[i]
			if !o.CountsRuns() {
				continue
			}
			agents := f.Agents
			if o.OfSteps() {
				agents = o.Agents // whoever makes the steps need not be the run's agent
			}
			for _, agent := range agents {
				if !strings.ContainsAny(agent, `*?\`) {
					e.book.Expect(f.Service, f.Environment, f.AgentLabel(agent), o.Name)
				}
			}
		}
	}
}

// consume counts. It returns no error: a sender would send the whole batch
// again, and what cannot be read now cannot be read then.
func (e *sloExporter) consume(ctx context.Context, td ptrace.Traces) error {
	var counted, duplicate, malformed, ignored int64
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			if !summary.Is(ss.Scope()) {
				ignored += int64(ss.Spans().Len())
				continue
			}
			for _, span := range ss.Spans().All() {
				s, err := summary.Parse(span)
				switch {
				case err != nil:
					malformed++
					e.settings.Logger.Warn("a summary span is not counted", zap.Error(err),
						zap.Stringer("trace_id", span.TraceID()), zap.Stringer("span_id", span.SpanID()))
				case e.book.Count(s) == series.Duplicate:
					duplicate++
				default:
					counted++
				}
			}
		}
	}
	add := func(c metric.Int64Counter, n int64) {
		if n > 0 {
			c.Add(ctx, n)
		}
	}
	add(e.telemetry.ExporterAgentSloSummariesCounted, counted)
	add(e.telemetry.ExporterAgentSloSummariesDuplicate, duplicate)
	add(e.telemetry.ExporterAgentSloSummariesMalformed, malformed)
	add(e.telemetry.ExporterAgentSloSpansIgnored, ignored)
	return nil
}

func (e *sloExporter) shutdown(ctx context.Context) error {
	e.book.Release()
	return errors.Join(e.server.shutdown(ctx), e.save(ctx), e.closeStorage(ctx))
}

func (e *sloExporter) openStorage(ctx context.Context, host component.Host) error {
	if e.config.Storage == nil {
		return nil
	}
	extension, ok := host.GetExtensions()[*e.config.Storage]
	if !ok {
		return fmt.Errorf("storage: there is no extension %q", e.config.Storage)
	}
	s, ok := extension.(storage.Extension)
	if !ok {
		return fmt.Errorf("storage: extension %q stores nothing", e.config.Storage)
	}
	client, err := s.GetClient(ctx, component.KindExporter, e.id, "")
	if err != nil {
		return fmt.Errorf("storage: %w", err)
	}
	e.storage = client
	return nil
}

func (e *sloExporter) closeStorage(ctx context.Context) error {
	if e.storage == nil {
		return nil
	}
	client := e.storage
	e.storage = nil
	return client.Close(ctx)
}
