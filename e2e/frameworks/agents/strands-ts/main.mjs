import { Agent, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { application, instructions, scenario, work, world } from '../application.mjs';

let root; // the run's span, which the judge names
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'order-support' }),
  spanProcessors: [
    { onStart: (span) => { root ??= span; }, onEnd: () => {}, forceFlush: async () => {}, shutdown: async () => {} },
    new BatchSpanProcessor(new OTLPTraceExporter()),
  ],
});
provider.register();

const model = () => new OpenAIModel({
  api: 'chat', modelId: 'gpt-4o-mini', apiKey: 'unused', clientConfig: { baseURL: `${world}/v1`, maxRetries: 0 },
});
const worker = (name, description, inputSchema) => tool({ name, description, inputSchema, callback: (args) => work(name, args) });
const agent = (name, tools) => new Agent({ name, id: name, model: model(), systemPrompt: instructions, tools, printer: false });
const orders = () => agent('order-support', [
  worker('get_order_status', 'Status of an order.', z.object({ order_id: z.string() })),
  worker('search_docs', 'Search the help centre.', z.object({ query: z.string() })),
]);
const supervisor = () => agent('supervisor', [tool({
  name: 'ask_orders_agent', description: 'Ask the agent that knows orders.', inputSchema: z.object({ input: z.string() }),
  callback: async ({ input }) => String(await orders().invoke(input)),
})]);

application({
  async answer({ abortSignal, give }) {
    const asked = scenario.name === 'subagent' ? supervisor() : orders();
    const options = { cancelSignal: abortSignal, limits: { turns: scenario.max_steps } };
    if (!scenario.stream) return String(await asked.invoke(scenario.question, options));
    for await (const { event } of asked.stream(scenario.question, options)) {
      if (event?.delta?.type === 'textDelta') give(event.delta.text);
    }
  },
  flush: () => provider.forceFlush(),
  // As a judge elsewhere does that knows the trace alone, straight as OTLP/JSON.
  async evaluate(scores) {
    const time = String(BigInt(Date.now()) * 1_000_000n);
    const logRecords = Object.entries(scores).map(([name, score]) => ({
      timeUnixNano: time, observedTimeUnixNano: time, eventName: 'gen_ai.evaluation.result', traceId: root.spanContext().traceId,
      attributes: [
        { key: 'gen_ai.evaluation.name', value: { stringValue: name } },
        { key: 'gen_ai.evaluation.score.value', value: { doubleValue: score } },
      ],
    }));
    const resource = { attributes: [{ key: 'service.name', value: { stringValue: 'order-judge' } }] };
    await fetch(`${process.env.OTEL_EXPORTER_OTLP_ENDPOINT}/v1/logs`, {
      method: 'POST', headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'order-judge' }, logRecords }] }] }),
    });
  },
});
