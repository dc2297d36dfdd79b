import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbacks from '@langchain/core/callbacks/manager';
import { Document } from '@langchain/core/documents';
import { StringOutputParser } from '@langchain/core/output_parsers';
import { ChatPromptTemplate } from '@langchain/core/prompts';
import { BaseRetriever } from '@langchain/core/retrievers';
import { RunnablePassthrough, RunnableSequence } from '@langchain/core/runnables';
import { Command, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { createAgent, createMiddleware, tool, ToolMessage } from 'langchain';
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
new LangChainInstrumentation({ tracerProvider: provider }).manuallyInstrument(callbacks);

const model = new ChatOpenAI({ model: 'gpt-4o-mini', apiKey: 'unused', maxRetries: 0, configuration: { baseURL: `${world}/v1` } });
const worker = (name, description, schema) => tool((args) => work(name, args), { name, description, schema });
// A failed tool is told to the model, as LangChain's guide has it.
const told = createMiddleware({
  name: 'told',
  wrapToolCall: async (request, handler) => {
    try {
      return await handler(request);
    } catch (error) {
      return new ToolMessage({ content: `Error: ${error.message}`, tool_call_id: request.toolCall.id, status: 'error' });
    }
  },
});
const orders = createAgent({
  name: 'order_support', model, systemPrompt: instructions, middleware: [told],
  tools: [
    worker('get_order_status', 'Status of an order.', z.object({ order_id: z.string() })),
    worker('search_docs', 'Search the help centre.', z.object({ query: z.string() })),
  ],
});

/** Two agents of one graph; the first hands over with a Command. */
function graph() {
  const transfer = tool(
    (_, config) => new Command({
      goto: 'order_support', graph: Command.PARENT,
      update: { messages: [...config.state.messages, new ToolMessage({ content: 'Handed over.', tool_call_id: config.toolCall.id })] },
    }),
    { name: 'transfer_to_order_support', description: 'Hand over to the agent that knows orders.', schema: z.object({}) },
  );
  const triage = createAgent({ name: 'triage', model, systemPrompt: 'Hand over to who knows.', tools: [transfer] });
  return new StateGraph(MessagesAnnotation)
    .addNode('triage', triage.graph, { ends: ['order_support', END] })
    .addNode('order_support', orders.graph)
    .addEdge(START, 'triage').addEdge('order_support', END)
    .compile({ name: 'support' });
}

class HelpCentre extends BaseRetriever {
  lc_namespace = ['agentslo'];
  async _getRelevantDocuments(query) {
    return (await work('retrieve', { query })).map(({ id, text }) => new Document({ id, pageContent: text, metadata: { id } }));
  }
}

function rag() {
  return RunnableSequence.from([
    { question: new RunnablePassthrough(), context: new HelpCentre().pipe((found) => found.map((d) => d.pageContent).join('\n')) },
    ChatPromptTemplate.fromMessages([['system', 'Answer from this: {context}'], ['user', '{question}']]),
    model,
    new StringOutputParser(),
  ]).withConfig({ runName: 'help_centre_rag' });
}

application({
  async answer({ abortSignal, give }) {
    const input = { messages: [{ role: 'user', content: scenario.question }] };
    // A step of the graph is a model call or the tools that it asked for.
    const options = { signal: abortSignal, recursionLimit: 2 * scenario.max_steps };
    if (scenario.name === 'rag-plain') return rag().invoke(scenario.question, options);
    if (!scenario.stream) {
      const agent = scenario.name === 'handoff' ? graph() : orders;
      return (await agent.invoke(input, options)).messages.at(-1).content;
    }
    for await (const [message] of await orders.stream(input, { ...options, streamMode: 'messages' })) {
      if (message.type === 'ai') give(message.text);
    }
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
