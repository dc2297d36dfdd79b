package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

const scopeName = "github.com/agentslo/agentslo/examples/support-agent/go"

type telemetryOptions struct {
	endpoint, service, version, environment string
}

// telemetry is the OpenTelemetry SDK: spans, and logs if evaluations go there.
type telemetry struct {
	traces *sdktrace.TracerProvider
	logs   *sdklog.LoggerProvider // nil: not used
}

func startTelemetry(ctx context.Context, o telemetryOptions, withLogs bool) (*telemetry, error) {
	endpoint, err := url.Parse(o.endpoint)
	if err != nil || endpoint.Host == "" || (endpoint.Scheme != "http" && endpoint.Scheme != "grpc") {
		return nil, fmt.Errorf("-endpoint %q: want http://host:port or grpc://host:port", o.endpoint)
	}
	attributes := []attribute.KeyValue{attribute.String("service.name", o.service), attribute.String("service.version", o.version)}
	if o.environment != "" {
		attributes = append(attributes, attribute.String("deployment.environment.name", o.environment))
	}
	r, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...))
	if err != nil {
		return nil, err
	}

	var client otlptrace.Client
	if endpoint.Scheme == "grpc" {
		client = otlptracegrpc.NewClient(otlptracegrpc.WithEndpoint(endpoint.Host), otlptracegrpc.WithInsecure())
	} else {
		client = otlptracehttp.NewClient(otlptracehttp.WithEndpoint(endpoint.Host), otlptracehttp.WithInsecure())
	}
	spans, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, err
	}
	t := &telemetry{traces: sdktrace.NewTracerProvider(sdktrace.WithResource(r), sdktrace.WithBatcher(spans,
		sdktrace.WithMaxQueueSize(1<<16), sdktrace.WithBlocking()))}
	if !withLogs {
		return t, nil
	}
	var records sdklog.Exporter
	if endpoint.Scheme == "grpc" {
		records, err = otlploggrpc.New(ctx, otlploggrpc.WithEndpoint(endpoint.Host), otlploggrpc.WithInsecure())
	} else {
		records, err = otlploghttp.New(ctx, otlploghttp.WithEndpoint(endpoint.Host), otlploghttp.WithInsecure())
	}
	if err != nil {
		return nil, err
	}
	t.logs = sdklog.NewLoggerProvider(sdklog.WithResource(r), sdklog.WithProcessor(sdklog.NewBatchProcessor(records)))
	return t, nil
}

func (t *telemetry) tracer() trace.Tracer { return t.traces.Tracer(scopeName) }

func (t *telemetry) logger() log.Logger { return t.logs.Logger(scopeName) }

func (t *telemetry) flush(ctx context.Context) error {
	err := t.traces.ForceFlush(ctx)
	if t.logs != nil {
		err = errors.Join(err, t.logs.ForceFlush(ctx))
	}
	return err
}

// shutdown flushes first: shutting down a provider alone hides export errors.
func (t *telemetry) shutdown(ctx context.Context) error {
	err := t.flush(ctx)
	err = errors.Join(err, t.traces.Shutdown(ctx))
	if t.logs != nil {
		err = errors.Join(err, t.logs.Shutdown(ctx))
	}
	return err
}
