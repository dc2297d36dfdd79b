import { createOpenAI } from '@ai-sdk/openai';
import { OpenTelemetry } from '@ai-sdk/otel';
import { ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { generateText, isStepCount, registerTelemetry, streamText, tool } from 'ai';
import { z } from 'zod';
import { application, instructions, scenario, work, world } from '../application.mjs';

let root; // the run's span, which the judge names
const resource = resourceFromAttributes({ 'service.name': 'order-support' });
const spans = new NodeTracerProvider({
  resource,
  spanProcessors: [
    { onStart: (span) => { root ??= span; }, onEnd: () => {}, forceFlush: async () => {}, shutdown: async () => {} },
    new BatchSpanProcessor(new OTLPTraceExporter()),
  ],
});
spans.register();
registerTelemetry(new OpenTelemetry());
const logs = new LoggerProvider({ resource, processors: [new BatchLogRecordProcessor({ exporter: new OTLPLogExporter() })] });

const openai = createOpenAI({ baseURL: `${world}/v1`, apiKey: 'unused' });
const shared = (name) => ({ model: openai.chat('gpt-4o-mini'), maxRetries: 0, telemetry: { functionId: name } });
const tools = {
  get_order_status: tool({
    description: 'Status of an order.',
    inputSchema: z.object({ order_id: z.string() }),
    execute: (args) => work('get_order_status', args),
  }),
  search_docs: tool({
    description: 'Search the help centre.',
    inputSchema: z.object({ query: z.string() }),
    execute: (args) => work('search_docs', args),
  }),
};
const supervisor = {
  ask_orders_agent: tool({
    description: 'Ask the agent that knows orders.',
    inputSchema: z.object({ input: z.string() }),
    execute: async ({ input }) => (await generateText({
      ...shared('order-support'), instructions, prompt: input, tools, stopWhen: isStepCount(scenario.max_steps),
    })).text,
  }),
};

application({
  async answer({ abortSignal, give }) {
    const delegates = scenario.name === 'subagent';
    const options = {
      ...shared(delegates ? 'supervisor-agent' : 'order-support'), instructions, prompt: scenario.question, abortSignal,
      tools: delegates ? supervisor : tools, stopWhen: isStepCount(scenario.max_steps),
    };
    if (!scenario.stream) return (await generateText(options)).text;
    for await (const part of streamText({ ...options, onError: () => {} }).textStream) give(part);
  },
  async flush() {
    await spans.forceFlush();
    await logs.forceFlush();
  },
  // As the OpenTelemetry conventions have it: a log record in the context of
  // the judged span.
  evaluate(scores) {
    for (const [name, score] of Object.entries(scores)) {
      logs.getLogger('order-judge').emit({
        eventName: 'gen_ai.evaluation.result', severityNumber: SeverityNumber.INFO,
        context: trace.setSpanContext(ROOT_CONTEXT, root.spanContext()),
        attributes: { 'gen_ai.evaluation.name': name, 'gen_ai.evaluation.score.value': score },
      });
    }
  },
});
