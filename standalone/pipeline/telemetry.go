package pipeline

import (
	"context"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/service/telemetry"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newTelemetry makes the Collector's own logs and metrics: lines for a person
// at the terminal, and metrics for the /metrics page. The Collector's usual
// telemetry would export them over OTLP and look for a cloud to describe.
func newTelemetry(options Options) telemetry.Factory {
	return telemetry.NewFactory(
		func() component.Config { return &struct{}{} },
		telemetry.WithCreateLogger(func(context.Context, telemetry.LoggerSettings, component.Config) (*zap.Logger, component.ShutdownFunc, error) {
			logger := newLogger(options)
			return logger, func(context.Context) error { return nil }, nil
		}),
		telemetry.WithCreateMeterProvider(func(context.Context, telemetry.MeterSettings, component.Config) (telemetry.MeterProvider, error) {
			return newMeterProvider(options)
		}),
	)
}

func newLogger(options Options) *zap.Logger {
	level := zapcore.WarnLevel
	if options.Verbose {
		level = zapcore.InfoLevel
	}
	encoder := zapcore.NewConsoleEncoder(zapcore.EncoderConfig{
		TimeKey: "time", LevelKey: "level", MessageKey: "message", NameKey: "logger",
		EncodeTime:       zapcore.TimeEncoderOfLayout(time.TimeOnly),
		EncodeLevel:      zapcore.LowercaseLevelEncoder,
		EncodeDuration:   zapcore.StringDurationEncoder,
		ConsoleSeparator: " ",
	})
	core := zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(options.Log)), level)
	// The same fault once a second is enough to be seen.
	return zap.New(zapcore.NewSamplerWithOptions(core, time.Second, 3, 1000))
}

func newMeterProvider(options Options) (*metric.MeterProvider, error) {
	if options.Metrics == nil {
		return metric.NewMeterProvider(), nil // no reader: nothing is kept
	}
	reader, err := otelprometheus.New(
		otelprometheus.WithRegisterer(options.Metrics),
		otelprometheus.WithoutTargetInfo(),
		otelprometheus.WithoutScopeInfo(),
	)
	if err != nil {
		return nil, err
	}
	return metric.NewMeterProvider(
		metric.WithReader(reader),
		metric.WithView(
			without("go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"),
			without("go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"),
		),
	), nil
}

// without drops the metrics of an instrumentation: histograms of every request
// to the receiver say nothing of agents.
func without(scope string) metric.View {
	return metric.NewView(
		metric.Instrument{Name: "*", Scope: instrumentation.Scope{Name: scope}},
		metric.Stream{Aggregation: metric.AggregationDrop{}},
	)
}
