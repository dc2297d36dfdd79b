// A small order agent on the Vercel AI SDK. The model is a scripted server in
// this process, so it runs without a network; the loop, the tools, the spans
// and their export are the SDK's own.
//
//   npm start -- --script ok:17,tool_free,loop,tool_failed --endpoint http://localhost:4318

import { createOpenAI } from '@ai-sdk/openai';
import { generateText, stepCountIs, streamText } from 'ai';
import { appendFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startModel, type Model } from './model.ts';
import { parseScript, scenarios } from './scenarios.ts';
import { startTelemetry, type Telemetry } from './telemetry.ts';
import { makeTools, type ToolCounts } from './tools.ts';

const agentName = 'order-support';

async function run(name: string, number: number, model: Model, telemetry: Telemetry) {
  const scenario = scenarios[name];
  const id = `run-${number}`;
  const counts: ToolCounts = { ok: 0, failed: {} };
  const abort = new AbortController();
  const options = {
    model: createOpenAI({ baseURL: model.url, apiKey: 'unused' }).chat('gpt-4o-mini'),
    headers: { 'x-scenario': name, 'x-run': id },
    system: 'You help customers of a shop. Look orders up; never guess.',
    prompt: scenario.question,
    tools: makeTools(counts),
    stopWhen: stepCountIs(6),
    maxRetries: 1,
    abortSignal: abort.signal,
    experimental_telemetry: { isEnabled: true, functionId: agentName, metadata: { sessionId: `session-${number}` } },
  };

  let answer = '';
  try {
    if (scenario.stream) {
      for await (const part of streamText({ ...options, onError: () => {} }).textStream) {
        answer += part;
        if (scenario.abortAfter !== undefined && answer.length >= scenario.abortAfter) abort.abort();
      }
    } else {
      answer = (await generateText(options)).text;
    }
  } catch (error) {
    if (scenario.outcome !== 'error') throw error;
  }
  const { calls, tokens } = model.served(id);
  return {
    scenario: name, trace_id: telemetry.lastTrace(), agent: agentName, outcome: scenario.outcome,
    model_calls: calls, tool_calls: counts, tokens, answer: answer || undefined,
  };
}

async function main() {
  const { values } = parseArgs({
    options: {
      script: { type: 'string', default: 'ok' },
      endpoint: { type: 'string', default: 'http://localhost:4318' },
      version: { type: 'string', default: '2.1.0' },
      truth: { type: 'string' },
    },
  });
  const script = parseScript(values.script);
  const telemetry = startTelemetry(values.endpoint, values.version);
  const model = await startModel();
  if (values.truth) writeFileSync(values.truth, '');
  for (const [number, name] of script.entries()) {
    const truth = await run(name, number, model, telemetry);
    if (values.truth) appendFileSync(values.truth, JSON.stringify(truth) + '\n');
  }
  await telemetry.shutdown();
  model.close();
  console.error(`order-support: ${script.length} runs sent to ${values.endpoint}`);
}

main().catch((error) => {
  console.error(`order-support: ${error.message}`);
  process.exit(2);
});
