/**
 * Session logs of a wanted length, written by the real loop.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic';
import { SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { TokenMeter } from '@deepseek-ai/dsh-token-meter';
import { say } from '../test/support/harness.ts';
import { mountHarness } from '../test/support/mount.ts';
import { registerTool } from './harness.ts';
import { WorkingModel } from './model.ts';
import { between, prose, randomFrom } from './prose.ts';

/** Steps a turn. */
const STEPS = { least: 3, most: 14 };
/** Characters of history at which it is compacted. */
const COMPACT_AT = 300_000;

/**
 * Let an agent work until its log has a given length: turns of several steps, reasoning, text, tool
 * calls with results, and a compaction whenever its history has grown long.
 * @param length - the least number of events; the log ends with its turn.
 * @returns a balanced log with the times of a model that streams 30 deltas a second.
 */
export async function record(length: number): Promise<SessionEvent[]> {
  const ctx = await mountHarness({ invariants: false });
  const random = randomFrom(length);
  const model = new WorkingModel();
  ctx.llm.registerAdapter(['scripted'], model);
  registerTool(ctx, 'work', () => prose(random, between(random, 20, 600)));
  registerTool(ctx, 'wait', () => 'waited');
  const { agent, dispose } = await ctx.agents.create({ sessionId: SessionId('recorded'), agentOptions: { provider: 'scripted', model: 'writer' } });
  let steps = 0;
  model.workFor(agent.id, () => --steps > 0 && agent.session.seq < length ? 'work' : undefined);
  while (agent.session.seq < length) {
    steps = between(random, STEPS.least, STEPS.most);
    say(agent, prose(random, between(random, 5, 80)));
    await agent.whenIdle();
    if (historyLength(agent) > COMPACT_AT) await compact(ctx, agent);
  }
  const log = [...agent.session.events];
  await dispose();
  await ctx.fiber.dispose();
  let time = log[0]!.time;
  return log.map((event) => ({ ...event, time: time += between(random, 10, 56) }));
}

function historyLength({ session }: Agent): number {
  return session.deriveMessages().reduce((length, message) => length + JSON.stringify(message.content).length, 0);
}

/** The meter follows every event of a log, so it is mounted for the compaction alone. */
async function compact(ctx: Context, agent: Agent): Promise<void> {
  const meter = await ctx.plugin(TokenMeter);
  const engine = await ctx.plugin(BasicCompactionEngine, { auto: false });
  await ctx.compaction.compactNow(agent, new AbortController().signal);
  await engine.dispose();
  await meter.dispose();
}
