// The scripted model: a small server that speaks OpenAI's chat completions,
// streamed or not. The request's headers name the scenario and the run; the
// turn is how many replies of the model the conversation holds.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { scenarios, type Reply } from './scenarios.ts';

export type Tokens = { input: number; cached_input: number; output: number; reasoning: number };
export type Served = { calls: number; tokens: Tokens };

type ChatRequest = { model: string; stream?: boolean; messages: { role: string; content?: unknown; tool_calls?: unknown[] }[] };

export type Model = { url: string; served(run: string): Served; close(): void };

export async function startModel(): Promise<Model> {
  const ledger = new Map<string, Served>();
  let response = 0;
  const server = createServer(async (request, reply) => {
    const body = JSON.parse(await text(request)) as ChatRequest;
    const scenario = scenarios[String(request.headers['x-scenario'])];
    const turn = body.messages.filter((message) => message.role === 'assistant').length;
    const next = scenario.replies[Math.min(turn, scenario.replies.length - 1)];
    const usage = madeUp(body, next);

    const run = String(request.headers['x-run']);
    const entry = ledger.get(run) ?? { calls: 0, tokens: { input: 0, cached_input: 0, output: 0, reasoning: 0 } };
    ledger.set(run, entry);
    entry.calls++;
    await sleep(15); // a model takes its time
    if (next.status) {
      reply.writeHead(next.status, { 'content-type': 'application/json' });
      reply.end(JSON.stringify({ error: { message: 'The server had an error while processing your request.', type: 'server_error' } }));
      return;
    }
    for (const key of Object.keys(usage) as (keyof Tokens)[]) entry.tokens[key] += usage[key];
    await answer(reply, body, next, usage, `chatcmpl-${run}-${++response}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    served: (run) => ledger.get(run) ?? { calls: 0, tokens: { input: 0, cached_input: 0, output: 0, reasoning: 0 } },
    close: () => { server.close(); server.closeAllConnections(); },
  };
}

async function answer(reply: ServerResponse, request: ChatRequest, next: Reply, tokens: Tokens, id: string) {
  const head = { id, created: Math.floor(Date.now() / 1000), model: `${request.model}-2024-07-18` };
  const finish_reason = next.finish ?? (next.calls ? 'tool_calls' : 'stop');
  const tool_calls = next.calls?.map((call, index) => ({
    index, id: `call_${id.slice(-6)}_${index}`, type: 'function', function: { name: call.tool, arguments: JSON.stringify(call.arguments) },
  }));
  const usage = {
    prompt_tokens: tokens.input, completion_tokens: tokens.output, total_tokens: tokens.input + tokens.output,
    prompt_tokens_details: { cached_tokens: tokens.cached_input }, completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  };
  if (!request.stream) {
    reply.writeHead(200, { 'content-type': 'application/json' });
    const message = { role: 'assistant', content: next.text ?? null, tool_calls };
    reply.end(JSON.stringify({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage }));
    return;
  }
  reply.writeHead(200, { 'content-type': 'text/event-stream' });
  const chunk = (delta: object, finish: string | null = null) =>
    reply.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  chunk({ role: 'assistant' });
  if (tool_calls) chunk({ tool_calls });
  for (const word of next.text?.split(/(?<= )/) ?? []) {
    if (reply.destroyed) return;
    chunk({ content: word });
    await sleep(10);
  }
  chunk({}, finish_reason);
  reply.write(`data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`);
  reply.end('data: [DONE]\n\n');
}

/** A usage that looks like a real one: it grows with the conversation, later turns are cached, text costs thought. */
function madeUp(request: ChatRequest, next: Reply): Tokens {
  const tokens = { input: 200, cached_input: 0, output: 18 * (next.calls?.length ?? 0), reasoning: 0 };
  for (const message of request.messages) {
    tokens.input += JSON.stringify(message.content ?? '').split(' ').length + 40 * (message.tool_calls?.length ?? 0);
    if (message.role === 'tool') tokens.cached_input = 128;
  }
  if (next.text) {
    tokens.output += 2 * next.text.split(' ').length + 16;
    tokens.reasoning = 16;
  }
  return tokens;
}

async function text(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part;
  return body;
}
