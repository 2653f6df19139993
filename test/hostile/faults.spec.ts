/** The measured faults of the published provider: each input fails there and is right here. */
import type { Context } from '@deepseek-ai/cordis';
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm';
import { SessionId } from '@deepseek-ai/dsh-session';
import { foldSubagentDescriptor } from '@deepseek-ai/dsh-subagent';
import * as toolSubagent from '@deepseek-ai/dsh-tool-subagent';
import * as published from 'published-fork';
import { describe, expect, test } from 'vitest';
import * as fork from '../../src/index.ts';
import { ask, forkOf, inherited, registerTool, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup, SetupOptions } from '../support/harness.ts';

/** The same harness with the published provider under the same name. */
async function both(options: SetupOptions = {}): Promise<Record<'here' | 'there', Setup>> {
  const here = await setup({ ...options, tool: {} });
  const there = await setup({
    ...options,
    config: false,
    mount: async (ctx) => {
      await options.mount?.(ctx);
      await ctx.plugin(published, { providerName: 'fork' });
      await ctx.plugin(toolSubagent, toolSubagent.Config({ provider: 'fork', toolName: 'subagent_fork' }));
    },
  });
  return { here, there };
}

const call = (...prompts: string[]): { calls: { name: string; arguments: object }[] } => ({
  calls: prompts.map((prompt) => ({ name: 'subagent_fork', arguments: { description: 'child', prompt } })),
});

/** What each child was shown in its first request, in the order in which the children asked. */
function children({ model, parent }: Setup): string[][] {
  const seen = new Set<unknown>([parent.id]);
  return model.requests.filter(({ sessionId }) => !seen.has(sessionId) && seen.add(sessionId)).map(shown);
}

test('1: a fork in the first turn knows that turn', async () => {
  const { here, there } = await both({
    config: { seedBoundary: 'step', notice: false },
    mount: (ctx: Context) => registerTool(ctx, 'peek', 'PEEKED FILE CONTENT'),
    script: (_request, index) => [{ calls: [{ name: 'peek', arguments: {} }] }, call('the task')][index] ?? 'ok',
  });
  await Promise.all([here, there].map(({ parent }) => ask(parent, 'look')));
  expect(children(there)).toEqual([['user: the task']]);
  expect(children(here)).toEqual([['user: look', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT', 'user: the task']]);
});

test('1: at `turn` such a fork is fresh, and one log line says so', async () => {
  const { here, there } = await both({ script: (_request, index) => index === 0 ? call('the task') : 'ok' });
  await Promise.all([here, there].map(({ parent }) => ask(parent, 'look')));
  expect(children(here)).toEqual([['user: the task']]);
  expect([here, there].map(({ logs }) => logs.filter((line) => line.includes('starts fresh')).length)).toEqual([1, 0]);
});

describe('4: the cause of a child\'s failure', () => {
  test('reaches the parent', async () => {
    const message = 'maximum context length is 131072 tokens';
    const { here, there } = await both({
      script: (request, index) => index === 0 ? call('the task')
        : shown(request).at(-1) === 'user: the task'
          ? { finish: { kind: 'error', failure: { message, code: 'CONTEXT_WINDOW_EXCEEDED' } } }
          : 'ok',
    });
    await Promise.all([here, there].map(({ parent }) => ask(parent, 'delegate')));
    const [right, wrong] = [here, there].map(({ model, parent }) => shown(requestsOf(model, parent.session)[1]!).at(-1));
    expect(wrong).not.toContain(message);
    expect(right).toBe(`${wrong}\nDiagnostic: CONTEXT_WINDOW_EXCEEDED: ${message}`);
  });

  test('is said of a run cut at its token limit, too', async () => {
    const { here: { ctx, parent } } = await both({ script: () => ({ finish: { kind: 'max-tokens' } }) });
    const { result } = await runFork(ctx, parent, 'the task');
    expect(result).toEqual({ output: [], stopReason: 'max-tokens', diagnostic: 'MAX_TOKENS: the answer reached the output-token limit' });
  });
});

test.each<[string, Partial<LlmCallConfig>, object]>([
  ['5: a parent whose route comes from a listener alone', {}, {}],
  ['6: a parent that was switched to another model', { provider: 'scripted', model: 'model-a' }, {}],
])('%s forks on the route of its latest request', async (_title, agentOptions) => {
  const { here, there } = await both();
  const results = await Promise.all([here, there].map(async ({ ctx, agent }) => {
    const { agent: parent } = await agent({ agentOptions });
    parent.ctx.on('agent/request', async (_payload, next) => ({ ...await next(), provider: 'other', model: 'model-b' }));
    await ask(parent, 'first');
    const { session } = await runFork(ctx, parent, 'the task');
    return session.events.slice(session.header.seedLength).find((event) => event.type === 'request/header')?.data.header.config.model;
  }));
  expect(results[0]).toBe('model-b');
  expect(results[1]).not.toBe('model-b');
});

/** A parent on a host whose session hands out its log as `snapshotEvents()` alone. */
function newerHost(setup: Setup): Setup['parent'] {
  const { session } = setup.parent;
  const newer = new Proxy(session, {
    get: (_target, key) => key === 'events' ? undefined : key === 'snapshotEvents' ? () => session.events : Reflect.get(session, key, session) as unknown,
  });
  return new Proxy(setup.parent, { get: (target, key) => key === 'session' ? newer : Reflect.get(target, key, target) as unknown });
}

test('8: a host whose session has `snapshotEvents()` and no `events`', async () => {
  const { here, there } = await both();
  const seeds = await Promise.all([here, there].map(async (mounted) => {
    await ask(mounted.parent, 'first');
    const parent = newerHost(mounted);
    const request = { parent, sessionId: SessionId('later'), signal: new AbortController().signal };
    const started = runFork(mounted.ctx, parent, 'the task').then(({ session }) => inherited(session).length, String);
    const prepared = Promise.resolve().then(() => mounted.ctx.subagents.getProvider('fork')!.prepareContinuable!(request)).then(({ seed }) => seed?.length, String);
    return Promise.all([started, prepared]);
  }));
  expect(seeds[0]).toEqual([here.parent.session.seq, here.parent.session.seq]);
  expect(seeds[1]).toEqual([expect.stringContaining('TypeError'), expect.stringContaining('TypeError')]);
});

test('9 and 10: one message stands between a cancelled request and the task, and says that it was cancelled and whose it is', async () => {
  const { here, there } = await both({
    config: { notice: true },
    script: (request) => shown(request).at(-1) === 'user: DELETE ALL THE TEST DATA' ? new Promise(() => {}) : 'ok',
  });
  await Promise.all([here, there].map(async ({ ctx, model, parent }) => {
    const asked = Promise.withResolvers<void>();
    const { script } = model;
    model.script = (...args) => (asked.resolve(), script(...args));
    const turn = ask(parent, 'DELETE ALL THE TEST DATA');
    await asked.promise;
    parent.cancel({ kind: 'user' });
    await turn;
    await runFork(ctx, parent, 'the task');
  }));
  expect(children(there)).toEqual([['user: DELETE ALL THE TEST DATA', 'user: the task']]);
  expect(children(here)).toEqual([[
    'user: DELETE ALL THE TEST DATA',
    expect.stringMatching(/^user: .*parent agent's.*At least one request above was cancelled; it stays so\./),
    'user: the task',
  ]]);
});

test('11: `maxLiveForks` bounds what one user message can start', async () => {
  const script: SetupOptions['script'] = (request) => shown(request).at(-1)?.startsWith('user:') ? call('a', 'b', 'c') : 'ok';
  const { here, there } = await both({ config: { maxLiveForks: 2 }, script });
  const count = async ({ ctx, parent }: Setup): Promise<number> => {
    let most = 0;
    ctx.on('agent/created', () => void (most = Math.max(most, ctx.agents.list().length - 1)));
    await ask(parent, 'delegate');
    return most;
  };
  expect(await count(here)).toBe(2);
  expect(await count(there)).toBeGreaterThan(2);
  expect([here, there].map(({ model }) => new Set(model.requests.map(({ sessionId }) => sessionId)).size)).toEqual([3, 40]);
});

test.each([{ providerName: '' }, { providerName: '  ' }, { providrName: 'other' }])('12: %j is refused at load', async (config) => {
  const { ctx } = await setup({ config: false, invariants: false });
  await ctx.plugin(published, config as never);
  expect(ctx.subagents.list()).toHaveLength(1);
  await expect(Promise.resolve(ctx.plugin(fork, config as never))).rejects.toThrow('invalid config');
  expect(ctx.subagents.list()).toHaveLength(1);
});

test('14: a blank prompt is refused before a child exists; an image alone is a prompt', async () => {
  const { here, there } = await both();
  for (const prompt of [[], [{ type: 'text', text: '' }], [{ type: 'text', text: ' \n' }, { type: 'text', text: '\t' }]] as const) {
    await expect(forkOf(here.ctx, here.parent, '', { prompt: [...prompt] })).rejects.toMatchObject({
      code: 'BLANK_PROMPT', message: 'fork refused: the prompt is blank; expected text that is not blank, or an image',
    });
    await expect(forkOf(there.ctx, there.parent, '', { prompt: [...prompt] })).resolves.toBeDefined();
  }
  expect(here.ctx.agents.list()).toEqual([here.parent]);
  const image = { type: 'image', attachment: { id: 'x', mediaType: 'image/png', width: 1, height: 1, bytes: 1 } } as never;
  await expect(forkOf(here.ctx, here.parent, '', { prompt: [image] })).resolves.toBeDefined();
});

test('15: a fork on a disposed parent says that the parent is gone', async () => {
  const { here, there } = await both();
  for (const [{ ctx, agent }, error] of [
    [here, { code: 'PARENT_GONE', message: expect.stringMatching(/the parent agent agent-\d+ is gone/) as string }],
    [there, { message: expect.stringContaining('inactive context') as string }],
  ] as const) {
    const handle = await agent();
    await handle.dispose();
    await expect(forkOf(ctx, handle.agent, 'the task')).rejects.toMatchObject(error);
  }
});

test('17: a fork of a forked child does not pass for its ancestor', async () => {
  const { here, there } = await both({ config: { compactSeed: true, seedBoundary: 'step' } });
  const folded = await Promise.all([here, there].map(async ({ ctx, parent }) => {
    await ask(parent, 'first');
    const { child } = await runFork(ctx, parent, 'one', { label: 'the ancestor' });
    const { session } = await runFork(ctx, child, 'two', { label: 'the child' });
    return foldSubagentDescriptor(session.events);
  }));
  expect(folded).toMatchObject([{ label: 'the child' }, { label: 'the ancestor' }]);
});
