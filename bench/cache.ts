/**
 * What a child's first request finds in the provider's prefix cache.
 *
 * @module
 */
import { devNull } from 'node:os';
import * as deepseek from '@deepseek-ai/dsh-llm-deepseek';
import { SessionId } from '@deepseek-ai/dsh-session';
import { startEndpoint } from '../test/support/endpoint.ts';
import { say } from '../test/support/harness.ts';
import { mountHarness } from '../test/support/mount.ts';
import { CONTENDERS, mountContenders, registerTool } from './harness.ts';
import type { Contender } from './harness.ts';
import { end } from './parent.ts';
import { prose, randomFrom } from './prose.ts';
import type { Sample } from './scenarios.ts';

const PARENT = SessionId('parent');
const ROUTE = { provider: 'deepseek-official', model: 'deepseek-v4-flash' };
/** The tools that the parent calls in its first turn, and in its second until it forks. */
const TURNS = [['work', 'work', 'work', 'work'], ['work', 'work', 'work', 'fork']] as const;

/** The cached share of each contender's first request: the real adapter asks an endpoint that counts as DeepSeek's does. */
export async function cacheShares(sample: Sample): Promise<void> {
  process.env.DEEPSEEK_API_KEY = 'loopback';
  process.env.DSH_HOME = devNull;
  for (const contender of CONTENDERS) {
    const { prompt, cached } = await firstRequest(contender);
    sample('cache', contender, { prompt, cached, share: cached / prompt });
  }
}

/** The tokens of the request that a child makes first, forked by a parent in its second turn. */
async function firstRequest(contender: Contender): Promise<{ readonly prompt: number; readonly cached: number }> {
  const random = randomFrom(1);
  const calls = TURNS.flatMap((turn) => [...turn, undefined]);
  const endpoint = await startEndpoint({
    script: ({ sessionId }) => {
      const name = sessionId === PARENT ? calls.shift() : undefined;
      const call = name !== undefined && { calls: [{ name, arguments: { text: prose(random, 20) } }] };
      return { reasoning: prose(random, 100), text: prose(random, 30), ...call };
    },
  });
  const ctx = await mountHarness({ invariants: false });
  await ctx.plugin(deepseek, deepseek.Config({ baseURL: endpoint.url }));
  await mountContenders(ctx);
  registerTool(ctx, 'work', () => prose(random, 300));
  registerTool(ctx, 'fork', async (parent) => {
    const prompt = [{ type: 'text', text: prose(random, 40) }] as const;
    const run = await ctx.subagents.start(contender, { parent, prompt: [...prompt], signal: new AbortController().signal });
    await end(run);
    return 'done';
  });
  const { agent } = await ctx.agents.create({ sessionId: PARENT, agentOptions: ROUTE });
  for (const _ of TURNS) {
    say(agent, prose(random, 40));
    await agent.whenIdle();
  }
  const usage = endpoint.requests.find(({ sessionId }) => sessionId !== PARENT)?.usage;
  await ctx.fiber.dispose();
  await endpoint.close();
  if (usage === undefined) throw new Error(`the child of "${contender}" made no request`);
  return { prompt: usage.prompt_tokens, cached: usage.prompt_cache_hit_tokens };
}
