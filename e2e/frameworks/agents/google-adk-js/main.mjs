import { FunctionTool, InMemoryRunner, LlmAgent, StreamingMode } from '@google/adk';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { application, instructions, scenario, work, world } from '../application.mjs';

process.env.GOOGLE_GEMINI_BASE_URL = world;
process.env.GOOGLE_API_KEY = 'unused';

let root; // the run's span, which the judge names
const provider = new NodeTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'order-support' }),
  spanProcessors: [
    { onStart: (span) => { root ??= span; }, onEnd: () => {}, forceFlush: async () => {}, shutdown: async () => {} },
    new BatchSpanProcessor(new OTLPTraceExporter()),
  ],
});
provider.register();

const tool = (name, description, parameters) => new FunctionTool({
  name, description, parameters,
  execute: async (args) => ({ result: await work(name, args) }),
});
const orders = new LlmAgent({
  name: 'order_support', description: 'Knows orders.', model: 'gemini-2.0-flash', instruction: instructions,
  tools: [
    tool('get_order_status', 'Status of an order.', z.object({ order_id: z.string() })),
    tool('search_docs', 'Search the help centre.', z.object({ query: z.string() })),
  ],
});

application({
  async answer({ abortSignal, give }) {
    const agent = scenario.name !== 'handoff' ? orders
      : new LlmAgent({ name: 'triage', model: 'gemini-2.0-flash', instruction: 'Hand over to who knows.', subAgents: [orders] });
    const runner = new InMemoryRunner({ agent, appName: 'support' });
    const session = await runner.sessionService.createSession({ appName: 'support', userId: 'customer', sessionId: 'session-1' });
    const events = runner.runAsync({
      userId: 'customer', sessionId: session.id, abortSignal,
      newMessage: { role: 'user', parts: [{ text: scenario.question }] },
      runConfig: { maxLlmCalls: scenario.max_steps, streamingMode: scenario.stream ? StreamingMode.SSE : StreamingMode.NONE },
    });
    let answer = '';
    let failure;
    for await (const event of events) {
      failure ??= event.errorMessage;
      const text = (event.content?.parts ?? []).map((part) => part.text ?? '').join('');
      if (event.partial) give(text);
      else if (text) answer = text;
    }
    if (failure) throw new Error(failure);
    return answer;
  },
  flush: () => provider.forceFlush(),
  // A span event on a span of its own that links to the judged one.
  evaluate(scores) {
    const judge = provider.getTracer('order-judge').startSpan('judge', {
      root: true, attributes: { 'openinference.span.kind': 'EVALUATOR' }, links: [{ context: root.spanContext() }],
    });
    for (const [name, score] of Object.entries(scores)) {
      judge.addEvent('gen_ai.evaluation.result', { 'gen_ai.evaluation.name': name, 'gen_ai.evaluation.score.value': score });
    }
    judge.end();
  },
});
