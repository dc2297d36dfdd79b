// What the programs have in common and no framework brings: the world's
// addresses, the tools' work, and the report of what the application saw.

import { setTimeout as sleep } from 'node:timers/promises';

export const scenario = JSON.parse(process.env.SCENARIO);
export const world = process.env.WORLD;

/** Does a tool's work; a failure is thrown. */
export async function work(tool, args) {
  const response = await fetch(`${world}/tools/${tool}`, { method: 'POST', body: JSON.stringify(args) });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

export const instructions = 'You help customers of a shop. Look orders up; never guess.';

/**
 * Runs the scenario. answer() gives the final text, or takes part after part
 * of a streamed one to give(); evaluate(scores) sends what a judge says, once
 * the spans of the run have long left.
 */
export async function application({ answer, flush, evaluate }) {
  const abort = new AbortController();
  const report = { label: 'run', answer: '', threw: false };
  const give = (text) => {
    report.answer += text;
    if (scenario.abort_after && report.answer.length >= scenario.abort_after) abort.abort();
  };
  const start = performance.now();
  try {
    const whole = await answer({ abortSignal: abort.signal, give });
    if (!scenario.stream) report.answer = whole ?? '';
  } catch (error) {
    if (process.env.DEBUG) console.error(error);
    report.threw = true;
    report.error = `${error.name}: ${error.message}`;
  }
  report.ms = Math.round(performance.now() - start);
  await sleep(200); // some end their spans after they have answered
  await flush();
  if (scenario.scores) {
    await sleep(1500);
    await evaluate(scenario.scores);
    await flush();
  }
  console.log(JSON.stringify(report));
  process.exit(0);
}
