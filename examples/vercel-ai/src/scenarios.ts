// One course of a run: what the user asks, and what the scripted model replies
// turn by turn. The last reply repeats.

export type Call = { tool: string; arguments: Record<string, string> };
export type Reply = { text?: string; calls?: Call[]; finish?: 'stop' | 'tool_calls' | 'length'; status?: number };

export type Scenario = {
  question: string;
  replies: Reply[];
  /** How the run truly ends. */
  outcome: 'answered' | 'limit_reached' | 'cancelled' | 'error';
  stream?: boolean;
  /** The caller goes away after that many characters of the answer. */
  abortAfter?: number;
};

const order = (id: string): Call => ({ tool: 'get_order_status', arguments: { order_id: id } });
const search = (query: string): Call => ({ tool: 'search_docs', arguments: { query } });
const shipped = 'Order A-1001 has shipped with DHL and should arrive on 4 March 2026.';

export const scenarios: Record<string, Scenario> = {
  ok: { question: 'Where is my order A-1001?', outcome: 'answered', replies: [{ calls: [order('A-1001')] }, { text: shipped }] },
  rag: {
    question: 'Can I return worn shoes?', outcome: 'answered',
    replies: [{ calls: [search('return policy worn shoes')] }, { text: 'Shoes can be returned within 30 days if they are unworn.' }],
  },
  recovered: {
    question: 'Where is my order 1001?', outcome: 'answered',
    replies: [{ calls: [order('1001')] }, { calls: [order('A-1001')] }, { text: shipped }],
  },
  parallel: {
    question: 'Where are my orders A-1001 and A-3003?', outcome: 'answered',
    replies: [{ calls: [order('A-1001'), order('A-3003')] }, { text: 'A-1001 has shipped with DHL. I could not look up A-3003, please try again later.' }],
  },
  tool_failed: {
    question: 'Where is my order A-3003?', outcome: 'answered',
    replies: [{ calls: [order('A-3003')] }, { calls: [order('A-3004')] }, { text: 'Your order A-3003 was delivered yesterday at 14:05.' }],
  },
  tool_free: {
    question: 'Where is my order A-1001?', outcome: 'answered',
    replies: [{ text: 'Your order A-1001 was shipped yesterday and will arrive tomorrow.' }],
  },
  loop: { question: 'Has order A-2002 shipped yet?', outcome: 'limit_reached', replies: [{ calls: [order('A-2002')] }] },
  truncated: {
    question: 'Where is my order A-1001?', outcome: 'limit_reached',
    replies: [{ calls: [order('A-1001')] }, { text: 'Order A-1001 has shipped with', finish: 'length' }],
  },
  error: { question: 'Where is my order A-1001?', outcome: 'error', replies: [{ status: 500 }] },
  streaming: {
    question: 'Where is my order A-1001?', outcome: 'answered', stream: true,
    replies: [{ calls: [order('A-1001')] }, { text: shipped }],
  },
  cancelled: {
    question: 'Where is my order A-1001?', outcome: 'cancelled', stream: true, abortAfter: 20,
    replies: [{ calls: [order('A-1001')] }, { text: shipped }],
  },
};

/** Reads "ok:17,loop" as seventeen runs of ok and one of loop. */
export function parseScript(text: string): string[] {
  return text.split(',').filter((part) => part.trim() !== '').flatMap((part) => {
    const [name, times = '1'] = part.trim().split(':');
    if (!(name in scenarios)) throw new Error(`no scenario "${name}"; there are ${Object.keys(scenarios).join(', ')}`);
    if (!/^\d+$/.test(times)) throw new Error(`"${part}": want SCENARIO:TIMES`);
    return Array<string>(Number(times)).fill(name);
  });
}
