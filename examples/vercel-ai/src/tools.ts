// The tools of the agent. They know fixed facts, and keep count of what really
// happened, whatever the telemetry will say.

import { tool } from 'ai';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';

export type ToolCounts = { ok: number; failed: Record<string, number> };

class ToolError extends Error {
  constructor(message: string, readonly failureClass: string) { super(message); }
}

export function makeTools(counts: ToolCounts) {
  const counted = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const result = await work();
      counts.ok++;
      return result;
    } catch (error) {
      const failure = error instanceof ToolError ? error.failureClass : 'unclassified';
      counts.failed[failure] = (counts.failed[failure] ?? 0) + 1;
      throw error;
    }
  };
  return {
    get_order_status: tool({
      description: 'Status of an order.',
      inputSchema: z.object({ order_id: z.string() }),
      execute: ({ order_id }) => counted(() => orderStatus(order_id)),
    }),
    search_docs: tool({
      description: 'Search the help centre.',
      inputSchema: z.object({ query: z.string() }),
      execute: () => counted(async () => [
        { id: 'doc-17', text: 'Items can be returned within 30 days if they are unworn.' },
        { id: 'doc-22', text: 'Refunds are paid within 5 days.' },
      ]),
    }),
  };
}

async function orderStatus(id: string) {
  if (!/^A-\d{4}$/.test(id)) throw new ToolError(`invalid order id "${id}": want A-0000`, 'bad_args');
  await sleep(id === 'A-3003' ? 50 : 5);
  if (id === 'A-3003') throw new ToolError('order service: timed out after 50ms', 'transient');
  if (id === 'A-3004') throw new ToolError('order service: HTTP 500 Internal Server Error', 'transient');
  if (id === 'A-2002') return { order_id: id, status: 'pending' };
  return { order_id: id, status: 'shipped', carrier: 'DHL', eta: '2026-03-04' };
}
