package processor

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/agentslo/agentslo/processor/internal/metadata"
	"github.com/agentslo/agentslo/processor/run"
)

// telemetry is what agent_sli says of itself; metadata.yaml lists it. The
// counters are read from the engine when they are collected.
type telemetry struct {
	failed       metric.Int64Counter
	registration metric.Registration
}

// ownMetric is one row of the component's own telemetry.
type ownMetric struct {
	name, description, unit string
	gauge                   bool
	value                   func(*run.Stats) int64
}

var ownMetrics = []ownMetric{
	{"spans", "Spans seen.", "{spans}", false, func(s *run.Stats) int64 { return s.Spans.Load() }},
	{"ai_spans", "Spans that a convention recognised as an agent's work.", "{spans}", false, func(s *run.Stats) int64 { return s.AISpans.Load() }},
	{"malformed_spans", "Spans without a trace id or span id.", "{spans}", false, func(s *run.Stats) int64 { return s.Malformed.Load() }},
	{"duplicate_spans", "Spans that had come before.", "{spans}", false, func(s *run.Stats) int64 { return s.Duplicates.Load() }},
	{"late_spans", "Spans of a run that was completed already.", "{spans}", false, func(s *run.Stats) int64 { return s.Late.Load() }},
	{"unattached_spans", "AI spans that belong to no run.", "{spans}", false, func(s *run.Stats) int64 { return s.Unattached.Load() }},
	{"orphaned_evaluations", "Evaluations whose run never came.", "{evaluations}", false, func(s *run.Stats) int64 { return s.EvaluationsOrphaned.Load() }},
	{"late_evaluations", "Evaluations of a run whose verdicts were decided already.", "{evaluations}", false, func(s *run.Stats) int64 { return s.EvaluationsLate.Load() }},
	{"mixed_sampling_runs", "Runs whose spans were sampled with different probabilities.", "{runs}", false, func(s *run.Stats) int64 { return s.MixedSampling.Load() }},
	{"open_traces", "Traces that are held because a run in them may still be open.", "{traces}", true, func(s *run.Stats) int64 { return s.OpenRuns.Load() }},
	{"state_size", "Memory that open and finished runs hold.", "By", true, func(s *run.Stats) int64 { return s.Bytes.Load() }},
}

const metricPrefix = "otelcol_processor_agent_sli_"

func newTelemetry(set component.TelemetrySettings, stats *run.Stats) (*telemetry, error) {
	meter := set.MeterProvider.Meter(metadata.ScopeName)
	t := &telemetry{}
	var errs error
	check := func(err error) { errs = errors.Join(errs, err) }
	var err error
	t.failed, err = meter.Int64Counter(metricPrefix+"refused_summaries",
		metric.WithDescription("Summaries that the next component refused."), metric.WithUnit("{summaries}"))
	check(err)
	if err == nil {
		t.failed.Add(context.Background(), 0)
	}
	completed, err := meter.Int64ObservableCounter(metricPrefix+"completed_runs",
		metric.WithDescription("Runs handed on, by the reason of their completion."), metric.WithUnit("{runs}"))
	check(err)
	unrecognised, err := meter.Int64ObservableCounter(metricPrefix+"unrecognised_spans",
		metric.WithDescription("Spans of a known AI scope that said nothing usable, by scope."), metric.WithUnit("{spans}"))
	check(err)
	instruments := []metric.Observable{completed, unrecognised}
	observers := make([]func(metric.Observer), 0, len(ownMetrics))
	for _, m := range ownMetrics {
		if m.gauge {
			g, err := meter.Int64ObservableGauge(metricPrefix+m.name, metric.WithDescription(m.description), metric.WithUnit(m.unit))
			check(err)
			instruments = append(instruments, g)
			observers = append(observers, func(o metric.Observer) { o.ObserveInt64(g, m.value(stats)) })
			continue
		}
		c, err := meter.Int64ObservableCounter(metricPrefix+m.name, metric.WithDescription(m.description), metric.WithUnit(m.unit))
		check(err)
		instruments = append(instruments, c)
		observers = append(observers, func(o metric.Observer) { o.ObserveInt64(c, m.value(stats)) })
	}
	if errs != nil {
		return nil, errs
	}
	t.registration, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, observe := range observers {
			observe(o)
		}
		for _, why := range []run.Completion{run.RootEnded, run.Idle, run.MaxAge, run.MaxSpans, run.Evicted, run.Shutdown} {
			o.ObserveInt64(completed, stats.Completed()[why], metric.WithAttributes(attribute.String("completion", string(why))))
		}
		for scope, n := range stats.Unrecognised() {
			o.ObserveInt64(unrecognised, n, metric.WithAttributes(attribute.String("scope", scope)))
		}
		return nil
	}, instruments...)
	return t, err
}

func (t *telemetry) summaryFailed() { t.failed.Add(context.Background(), 1) }

func (t *telemetry) shutdown() error {
	if t.registration == nil {
		return nil
	}
	return t.registration.Unregister()
}
