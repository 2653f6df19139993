/** A parent on the real DeepSeek adapter, whose requests go to a scripted endpoint on loopback. */
import { devNull } from 'node:os';
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import * as deepseek from '@deepseek-ai/dsh-llm-deepseek';
import * as retry from '@deepseek-ai/dsh-llm-retry';
import { onTestFinished, vi } from 'vitest';
import { startEndpoint } from './endpoint.ts';
import type { Answer, EndpointRequest, Script } from './endpoint.ts';
import type { Config } from '../../src/index.ts';
import { registerTool, setup } from './harness.ts';

const PEEKED = Array.from({ length: 200 }, (_, line) => `line ${line} of the file`).join('\n');

/** An answer that peeks. */
export const peek: Answer = { reasoning: 'I have to look.', text: 'Looking.', calls: [{ name: 'peek', arguments: {} }] };

/** An answer that forks these tasks, all in one step. */
export function delegate(...tasks: string[]): Answer {
  return { text: 'Delegating.', calls: tasks.map((prompt) => ({ name: 'subagent_fork', arguments: { description: 'a task', prompt } })) };
}

/** The parent and what arrived at the endpoint. */
export interface Wired {
  readonly ctx: Context;
  readonly parent: Agent;
  readonly requests: readonly EndpointRequest[];
}

/**
 * Mounts the harness until the test ends.
 * @param config - options of the fork plugin.
 * @param script - what the endpoint answers.
 * @param retries - whether a request that failed is made again, at once.
 */
export async function wired(config: Config, script: Script, retries = false): Promise<Wired> {
  vi.stubEnv('DEEPSEEK_API_KEY', 'loopback');
  vi.stubEnv('DSH_HOME', devNull);
  const endpoint = await startEndpoint({ script });
  onTestFinished(() => endpoint.close());
  const { ctx, agent } = await setup({
    config,
    tool: {},
    mount: async (ctx) => {
      registerTool(ctx, 'peek', PEEKED);
      await ctx.plugin(deepseek, deepseek.Config({ baseURL: endpoint.url, retryPolicy: { mode: 'normal', backoff: { initialDelayMs: 1 } } }));
      if (retries) await ctx.plugin(retry, {});
    },
  });
  const { agent: parent } = await agent({ agentOptions: { provider: 'deepseek-official', model: 'deepseek-v4-flash' } });
  return { ctx, parent, requests: endpoint.requests };
}
