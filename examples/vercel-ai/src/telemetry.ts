// OpenTelemetry as an application sets it up: spans over OTLP/HTTP.

import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace-node';

export type Telemetry = {
  /** Trace id of the newest root span: the AI SDK starts it and does not tell. */
  lastTrace(): string;
  shutdown(): Promise<void>;
};

export function startTelemetry(endpoint: string, version: string): Telemetry {
  let lastTrace = '';
  const roots: SpanProcessor = {
    onStart: (span) => { if (!span.parentSpanContext) lastTrace = span.spanContext().traceId; },
    onEnd: () => {},
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const exporter = new OTLPTraceExporter({ url: new URL('/v1/traces', endpoint).href });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'order-support', 'service.version': version }),
    spanProcessors: [roots, new BatchSpanProcessor(exporter, { scheduledDelayMillis: 500, maxQueueSize: 1 << 16 })],
  });
  provider.register();
  return { lastTrace: () => lastTrace, shutdown: () => provider.shutdown() };
}
