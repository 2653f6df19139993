/**
 * Checks the properties of forks on very many random conversations and logs.
 *
 * - `SOAK_RUNS`: how many of each, 10,000 by default.
 * - `SOAK_SEED`, `SOAK_PATH`: what a failure prints at once, to replay it.
 */
import fc from 'fast-check';
import { converse } from '../test/support/conversation.ts';
import type { Conversation, Outcome } from '../test/support/conversation.ts';
import { holds } from '../test/support/properties.ts';

const { SOAK_RUNS = '10000', SOAK_SEED, SOAK_PATH } = process.env;

// Cordis takes a stack for each effect, which is a third of the time. A failure has its seed and path instead.
Error.stackTraceLimit = 0;

/**
 * @param name - what stands before the figures.
 * @param conversations - what to draw from.
 * @param share - the part of all runs.
 */
export async function soak(name: string, conversations: fc.Arbitrary<Conversation>, share: number): Promise<void> {
  const seen = { logs: 0, moments: 0, forks: 0, 'events of the longest log': 0 };
  const check = async (outcome: Outcome): Promise<void> => {
    const { moments } = outcome;
    seen.logs++;
    seen.moments += moments.length;
    seen.forks += moments.flat().length;
    seen['events of the longest log'] = Math.max(seen['events of the longest log'], ...moments.map(([fork]) => fork!.log.length));
    await holds(outcome);
  };
  await soakProperty(name, fc.asyncProperty(conversations, (conversation) => converse(conversation, check)), share, seen);
}

/**
 * @param name - what stands before the figures.
 * @param property - what has to hold.
 * @param share - the part of all runs.
 * @param seen - the figures.
 */
export async function soakProperty(
  name: string, property: fc.IRawProperty<unknown>, share: number, seen: Readonly<Record<string, number>>,
): Promise<void> {
  const start = performance.now();
  const details = await fc.check(property, {
    numRuns: Math.round(Number(SOAK_RUNS) * share),
    ...(SOAK_SEED !== undefined && { seed: Number(SOAK_SEED) }),
    ...(SOAK_PATH !== undefined && { path: SOAK_PATH }),
  });
  console.log(name, JSON.stringify({ ...seen, seconds: Math.round((performance.now() - start) / 1000) }));
  if (!details.failed) return;
  console.error(name, `SOAK_SEED=${details.seed} SOAK_PATH=${details.counterexamplePath}`, String(details.errorInstance));
  throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
}
