/** Very many forks on the real DeepSeek adapter, over loopback: each is right, and what they took is given back. */
import { setImmediate as macrotask } from 'node:timers/promises';
import type { Context } from '@deepseek-ai/cordis';
import * as deepseek from '@deepseek-ai/dsh-llm-deepseek';
import * as retry from '@deepseek-ai/dsh-llm-retry';
import { expect, onTestFinished, test } from 'vitest';
import { startEndpoint } from '../test/support/endpoint.ts';
import type { Answer, ChatMessage, Endpoint, Failure } from '../test/support/endpoint.ts';
import type { SeedOptions } from '../src/seed/build.ts';
import { ask, forkOf, registerTool, setup } from '../test/support/harness.ts';
import type { Setup } from '../test/support/harness.ts';

/** What a thousand children may leave on the heap: less than a tenth of their logs. */
const HEAP_BYTES = 8 * 2 ** 20;

type Options = Pick<SeedOptions, 'seedBoundary' | 'compactSeed'>;

const OPTIONS: readonly Options[] = (['turn', 'step'] as const).flatMap(
  (seedBoundary) => [false, true].map((compactSeed) => ({ seedBoundary, compactSeed })),
);

interface Host extends Setup {
  readonly endpoint: Endpoint;
}

/** A parent with a few turns of tool use behind it, on an endpoint that closes with the test. */
async function host(config: Options & { readonly maxLiveForks?: number }): Promise<Host> {
  const endpoint = await startEndpoint({ script: ({ body: { messages } }) => reply(messages) });
  const mounted = await setup({
    config,
    tool: { maxDepth: 3 },
    mount: async (ctx) => {
      registerTool(ctx, 'peek', Array.from({ length: 100 }, (_, line) => `line ${line} of the file`).join('\n'));
      // An endpoint in a busy process drops idle connections late: a request on one of them fails and is asked again.
      await ctx.plugin(deepseek, deepseek.Config({ baseURL: endpoint.url, retryPolicy: { mode: 'normal', backoff: { initialDelayMs: 1 } } }));
      await ctx.plugin(retry, {});
    },
  });
  onTestFinished(async () => {
    await mounted.ctx.fiber.dispose();
    await endpoint.close();
  });
  const { agent: parent } = await mounted.agent({ agentOptions: { provider: 'deepseek-official', model: 'deepseek-v4-flash' } });
  for (let turn = 0; turn < 5; turn++) await ask(parent, 'peek');
  return { ...mounted, parent, endpoint };
}

/** A history that DeepSeek would refuse is refused; an agent that is told `level <n>` starts two of the next level. */
function reply(messages: readonly ChatMessage[]): Answer | Failure {
  if (!isPaired(messages)) return { status: 400, message: 'insufficient tool messages following tool_calls message' };
  if (messages.at(-1)!.role === 'tool') return { text: 'I have seen it.' };
  const told = messages.filter(({ role }) => role === 'user').flatMap(({ content }) => content.match(/^(?:peek|level \d|do the task)$/gm) ?? []).at(-1)!;
  if (told === 'peek') return { reasoning: 'I have to look.', calls: [{ name: 'peek', arguments: {} }] };
  if (told === 'do the task') return { text: 'The task is done.' };
  const task = { name: 'subagent_fork', arguments: { description: 'a level', prompt: `level ${Number(told.at(-1)) + 1}` } };
  return { text: 'I delegate.', calls: [task, task] };
}

function isPaired(messages: readonly ChatMessage[]): boolean {
  const open = new Set<string>();
  for (const { role, tool_calls: calls = [], tool_call_id: id } of messages) {
    if (role === 'tool' ? !open.delete(id!) : open.size > 0) return false;
    for (const call of calls) open.add(call.id);
  }
  return open.size === 0;
}

/** Runs one fork to its end. */
async function oneFork({ ctx, parent }: Host): Promise<void> {
  const run = await forkOf(ctx, parent, 'do the task');
  expect(await run.result).toEqual({ output: [{ type: 'text', text: 'The task is done.' }], stopReason: 'completed' });
  await run.dispose();
}

/** Runs that many forks to their end, 100 at a time. */
async function forks(mounted: Host, count: number): Promise<void> {
  let left = count;
  await Promise.all(Array.from({ length: 100 }, async () => {
    while (left-- > 0) await oneFork(mounted);
  }));
}

/** What is held at rest, and the heap. */
async function atRest({ ctx, parent, endpoint }: Host): Promise<{ readonly held: unknown; readonly heap: number }> {
  endpoint.requests.length = 0;
  for (let index = 0; index < 10; index++) {
    await macrotask();
    gc!();
  }
  return {
    held: {
      agents: ctx.agents.list().length,
      sessions: ctx.sessions.list().length,
      effects: parent.ctx.fiber.getEffects().length,
      listeners: listeners(ctx),
      timers: process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length,
    },
    heap: process.memoryUsage().heapUsed,
  };
}

/** How many listeners each event has, from the one place where Cordis keeps them. */
function listeners({ events }: Context): Record<string, number> {
  const hooks = Reflect.get(events, '_hooks') as Record<PropertyKey, readonly unknown[]>;
  const counts = Reflect.ownKeys(hooks).map((name) => [String(name), hooks[name]!.length] as const);
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

test.for(OPTIONS)('1,000 forks of one parent, 100 at a time, with %j', async (config) => {
  const mounted = await host({ ...config, maxLiveForks: 100 });
  const { parent, endpoint } = mounted;
  const log = parent.session.events;
  await forks(mounted, 200);
  const before = await atRest(mounted);
  const start = performance.now();
  await forks(mounted, 1000);
  const seconds = (performance.now() - start) / 1000;
  const after = await atRest(mounted);
  console.log(JSON.stringify({ ...config, seconds: Number(seconds.toFixed(1)), 'heap growth in kB': Math.round((after.heap - before.heap) / 1024) }));
  expect(after.held).toEqual(before.held);
  expect(after.heap - before.heap).toBeLessThan(HEAP_BYTES);
  expect(parent.session.events).toBe(log);
  await endpoint.close();
  await expect.poll(() => process.getActiveResourcesInfo().filter((type) => /TCP|HTTP/.test(type))).toEqual([]);
});

test.for(OPTIONS)('trees of forks three levels deep, with %j', async (config) => {
  const mounted = await host(config);
  const { ctx, parent } = mounted;
  const depths: number[] = [0, 0, 0, 0];
  ctx.on('session/created', ({ header }) => void depths[header.delegationDepth ?? 0]!++);
  const before = await atRest(mounted);
  for (let turn = 0; turn < 20; turn++) await ask(parent, 'level 0');
  expect(depths).toEqual([0, 40, 80, 160]);
  expect(parent.session.events.filter(({ type }) => type === 'turn/end').map(({ data }) => data)).toMatchObject(Array.from({ length: 25 }, () => ({ reason: { kind: 'completed' } })));
  expect((await atRest(mounted)).held).toEqual(before.held);
});

test.for(OPTIONS)('forks at each event of a parent that keeps working, with %j', async (config) => {
  const mounted = await host(config);
  const { ctx, parent } = mounted;
  const before = await atRest(mounted);
  const runs: Promise<void>[] = [];
  const stop = ctx.on('session/event', (session) => {
    if (session === parent.session) queueMicrotask(() => runs.push(oneFork(mounted)));
  });
  for (let turn = 0; turn < 5; turn++) await ask(parent, 'peek');
  await Promise.all(runs);
  stop();
  const said = parent.session.deriveMessages().filter(({ source }) => source.kind !== 'plugin').map(({ content }) => content.map(({ type }) => type));
  expect(said).toEqual(Array.from({ length: 10 }, () => [['text'], ['reasoning', 'tool-call'], ['tool-result'], ['text']]).flat());
  expect(runs.length).toBeGreaterThan(100);
  expect((await atRest(mounted)).held).toEqual(before.held);
});
