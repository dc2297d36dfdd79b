import { OpenAIAgentsInstrumentation } from '@arizeai/openinference-instrumentation-openai-agents';
import * as agents from '@openai/agents';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
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
new OpenAIAgentsInstrumentation({ tracerProvider: provider }).manuallyInstrument(agents);

const runner = new agents.Runner({ modelProvider: new agents.OpenAIProvider({ apiKey: 'unused', baseURL: `${world}/v1` }) });
const tool = (name, description, parameters) => agents.tool({ name, description, parameters, execute: (args) => work(name, args) });
const orders = new agents.Agent({
  name: 'order-support', instructions, model: 'gpt-4o-mini',
  tools: [
    tool('get_order_status', 'Status of an order.', z.object({ order_id: z.string() })),
    tool('search_docs', 'Search the help centre.', z.object({ query: z.string() })),
  ],
});
const triage = new agents.Agent({ name: 'triage', instructions: 'Hand over to who knows.', model: 'gpt-4o-mini', handoffs: [orders] });

application({
  async answer({ abortSignal, give }) {
    const agent = scenario.name === 'handoff' ? triage : orders;
    const options = { maxTurns: scenario.max_steps, signal: abortSignal };
    if (!scenario.stream) return (await runner.run(agent, scenario.question, options)).finalOutput;
    const result = await runner.run(agent, scenario.question, { ...options, stream: true });
    for await (const part of result.toTextStream()) give(part);
    await result.completed;
  },
  flush: () => provider.forceFlush(),
  // As OpenInference has it: a span of its own that links to the judged one.
  evaluate(scores) {
    const attributes = { 'openinference.span.kind': 'EVALUATOR' };
    for (const [n, [name, score]] of Object.entries(scores).entries()) {
      attributes[`evaluations.${n}.evaluation.name`] = name;
      attributes[`evaluations.${n}.evaluation.score`] = score;
      attributes[`evaluations.${n}.evaluation.annotator_kind`] = 'CODE';
    }
    provider.getTracer('order-judge').startSpan('judge', { root: true, attributes, links: [{ context: root.spanContext() }] }).end();
  },
});
