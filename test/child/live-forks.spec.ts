import type { ContinuableStartSpec } from '@deepseek-ai/dsh-subagent';
import { describe, expect, test } from 'vitest';
import * as fork from '../../src/index.ts';
import { userMessage } from '../support/delegation.ts';
import { ask, forkOf, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

const REFUSAL = 'fork refused: forks running: 2, at most: 2. Wait for another one to finish, or do this work yourself.';
const hang = (): Promise<string> => new Promise(() => {});
const two = (): Promise<Setup> => setup({ config: { maxLiveForks: 2 }, script: hang });

test('a start beyond `maxLiveForks` is refused and leaves no child', async () => {
  const { ctx, parent } = await two();
  await forkOf(ctx, parent, 'one');
  await forkOf(ctx, parent, 'two');
  await expect(forkOf(ctx, parent, 'three')).rejects.toMatchObject({ message: REFUSAL, code: 'FORK_LIMIT' });
  expect(ctx.agents.list()).toHaveLength(3);
});

test('starts that overlap are counted from the first moment', async () => {
  const { ctx, parent } = await two();
  const starts = await Promise.allSettled(['one', 'two', 'three', 'four'].map((task) => forkOf(ctx, parent, task)));
  expect(starts.map((start) => start.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected']);
});

test('each root agent has places of its own, which its children\'s children use', async () => {
  const { ctx, agent, parent } = await two();
  const other = (await agent()).agent;
  const starts = await Promise.allSettled([parent, other].flatMap(async (root) => {
    const run = await forkOf(ctx, root, 'one');
    await forkOf(ctx, run.localAgent!, 'two');
    await forkOf(ctx, run.localAgent!, 'three');
  }));
  expect(starts).toMatchObject([{ reason: { message: REFUSAL } }, { reason: { message: REFUSAL } }]);
  expect(ctx.agents.list()).toHaveLength(6);
});

test('a session that a person branched off is a root, though its header names another', async () => {
  const { ctx, agent, parent } = await two();
  const branch = (await agent({ meta: { parentSession: parent.id } })).agent;
  for (const root of [parent, branch]) for (const task of ['one', 'two']) await forkOf(ctx, root, task);
  await expect(forkOf(ctx, branch, 'three')).rejects.toThrow(REFUSAL);
});

test('the model reads the refusal as the result of its call', async () => {
  const { model, parent } = await setup({
    config: { maxLiveForks: 1 },
    tool: {},
    script: (_request, index) => index === 0
      ? { calls: ['one', 'two'].map((prompt) => ({ name: 'subagent_fork', arguments: { description: prompt, prompt } })) }
      : 'fine',
  });
  await ask(parent, 'delegate twice');
  expect(shown(requestsOf(model, parent.session)[1]!).slice(-2)).toEqual([
    'result: fine',
    expect.stringContaining('fork refused: forks running: 1, at most: 1. Wait for another one to finish, or do this work yourself.'),
  ]);
});

test.each([undefined, null])('with %j for the option any number may live', async (maxLiveForks) => {
  const { ctx, parent } = await setup({ config: { maxLiveForks } as never, script: hang });
  await Promise.all(Array.from({ length: 20 }, (_, index) => forkOf(ctx, parent, `task ${index}`)));
  expect(ctx.agents.list()).toHaveLength(21);
});

describe('a place is free again', () => {
  test('when its child is disposed, not when it has answered', async () => {
    const { ctx, parent } = await setup({ config: { maxLiveForks: 1 } });
    const run = await forkOf(ctx, parent, 'one');
    await run.result;
    await expect(forkOf(ctx, parent, 'two')).rejects.toThrow('running: 1, at most: 1');
    await run.dispose();
    await runFork(ctx, parent, 'three');
  });

  test('when its start fails', async () => {
    const { ctx, parent } = await setup({ config: { maxLiveForks: 1 } });
    await expect(forkOf(ctx, parent, 'one', { toolFilter: { allow: ['no such tool'] } })).rejects.toThrow('no such tool');
    await runFork(ctx, parent, 'two');
  });

  test.each<[string, (mounted: Setup) => () => unknown]>([
    ['a listener refuses its seed', ({ ctx }) => ctx.on('subagent-fork/seeded', () => {
      throw new Error('refused');
    })],
  ])('when %s', async (_title, refuse) => {
    const mounted = await setup({ config: { maxLiveForks: 1, compactSeed: true } });
    const { ctx, agent, parent } = mounted;
    await ask(parent, 'first');
    const stop = refuse(mounted);
    await expect(forkOf(ctx, parent, 'one')).rejects.toThrow('refused');
    stop();
    await runFork(ctx, (await agent()).agent, 'two');
  });

  test('when its signal aborts during the start', async () => {
    const { ctx, parent } = await setup({ config: { maxLiveForks: 1 } });
    const controller = new AbortController();
    const start = forkOf(ctx, parent, 'one', { signal: controller.signal });
    controller.abort();
    await expect(start).rejects.toThrow('aborted');
    await runFork(ctx, parent, 'two');
  });

  test('when its parent goes', async () => {
    const { ctx, parent } = await two();
    const run = await forkOf(ctx, parent, 'one');
    await forkOf(ctx, run.localAgent!, 'two');
    await expect(forkOf(ctx, parent, 'three')).rejects.toThrow('running: 2, at most: 2');
    await run.dispose();
    await forkOf(ctx, parent, 'four');
    await forkOf(ctx, parent, 'five');
  });
});

describe('continuable children', () => {
  type Start = (signal?: AbortSignal, request?: Partial<ContinuableStartSpec['request']>) => Promise<{ readonly childId: Setup['parent']['id'] }>;

  /** A parent with one turn behind it that may have one continuable child, and the children for which a seed was built. */
  async function one(): Promise<Setup & { readonly start: Start; readonly seeded: unknown[] }> {
    const mounted = await setup({ config: { maxLiveForks: 1 }, mount: mountPersistence(await temporaryDirectory()) });
    const { ctx, parent } = mounted;
    const start: Start = (signal = new AbortController().signal, request = {}) => ctx.subagents.startContinuable({
      provider: 'fork', label: 'child', signal, request: { parent, prompt: [{ type: 'text', text: 'the task' }], ...request },
    });
    await ask(parent, 'first');
    const seeded: unknown[] = [];
    ctx.on('subagent-fork/seeded', ({ childId }) => void seeded.push(childId));
    return { ...mounted, start, seeded };
  }

  test('count like any other, and free their place when they are released', async () => {
    const { ctx, parent, start, seeded } = await one();
    const { childId } = await start();
    await expect(start()).rejects.toThrow('running: 1, at most: 1');
    expect(seeded).toEqual([childId]);
    await ctx.agents.get(childId)!.whenIdle();
    await ctx.subagents.drainContinuableChildren(parent, [childId]);
    await start();
  });

  test('are counted from the moment they are created, so starts that overlap are bounded, too', async () => {
    const { ctx, parent, start } = await one();
    const starts = await Promise.allSettled([start(), start(), start()]);
    expect(starts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(starts.filter(({ status }) => status === 'rejected')).toMatchObject([1, 2].map(() => ({
      reason: { code: 'FORK_LIMIT', message: REFUSAL.replaceAll('2', '1') },
    })));
    expect(ctx.agents.list().filter((agent) => agent !== parent)).toHaveLength(1);
  });

  test('take no place when the harness refuses them behind their seed', async () => {
    const { start } = await one();
    await expect(start(undefined, { toolFilter: { allow: ['no such tool'] } })).rejects.toThrow('no such tool');
    await start();
  });

  test('free their place when what another plugin contributes to them fails', async () => {
    const { ctx, start } = await one();
    const stop = ctx.subagents.registerContinuableSetup(() => {
      throw new Error('refused');
    });
    await expect(start()).rejects.toThrow('refused');
    stop();
    await start();
  });

  test('free their place when the start is cancelled before they live', async () => {
    const { start } = await one();
    const controller = new AbortController();
    const starting = start(controller.signal);
    controller.abort();
    await expect(starting).rejects.toThrow('aborted');
    await start();
  });

  test('take no place when their start was cancelled beforehand', async () => {
    const { start, seeded } = await one();
    await expect(start(AbortSignal.abort())).rejects.toThrow('aborted');
    expect(seeded).toEqual([]);
    await start();
  });

  test('count again when they are resumed from disk, which is never refused', async () => {
    const { ctx, parent, start } = await one();
    const { childId } = await start();
    await ctx.agents.get(childId)!.whenIdle();
    await ctx.subagents.drainContinuableChildren(parent, [childId]);
    const run = await forkOf(ctx, parent, 'another');
    await ctx.subagents.followup(parent, childId, [{ type: 'text', text: 'again' }], { source: { kind: 'user' }, signal: new AbortController().signal });
    await run.dispose();
    await expect(start()).rejects.toThrow('running: 1, at most: 1');
    await ctx.agents.get(childId)!.whenIdle();
    await ctx.subagents.drainContinuableChildren(parent, [childId]);
    await start();
  });

  test.each(['subagent-fork/seeded', 'session/created'] as const)('free their place when a listener refuses them at `%s`', async (event) => {
    const { ctx, start } = await one();
    const stop = ctx.on(event, () => {
      throw new Error('refused');
    });
    await expect(start()).rejects.toThrow('refused');
    stop();
    await start();
  });

  test('are not refused a follow-up when they were stopped before their first task reached their model', async () => {
    const { ctx, parent, start } = await one();
    let stopped: Promise<void> | undefined;
    ctx.on('session/event', ({ id, header }, { type }) => {
      if (header.parentSession === undefined || type !== 'agent/inbox/spliced') return;
      stopped ??= Promise.resolve().then(() => ctx.subagents.drainContinuableChildren(parent, [id]));
    });
    const { childId } = await start();
    await stopped;
    await forkOf(ctx, parent, 'another');
    await ctx.subagents.followup(parent, childId, [{ type: 'text', text: 'again' }], { source: { kind: 'user' }, signal: new AbortController().signal });
    expect(ctx.agents.get(childId)).toBeDefined();
  });

  test('are bounded, whatever another plugin puts into their history as they are created', async () => {
    const { ctx, parent } = await one();
    ctx.subagents.registerContinuableSetup(({ agent }) => {
      agent!.session.append('user/message', userMessage('Mind the gap.'), { surfaceOp: 'append' });
      return () => {};
    });
    await ctx.plugin(fork, { providerName: 'late', maxLiveForks: 1 });
    const starts = await Promise.allSettled(['one', 'two'].map((label) => ctx.subagents.startContinuable({
      provider: 'late', label, signal: new AbortController().signal, request: { parent, prompt: [{ type: 'text', text: 'the task' }] },
    })));
    expect(starts.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  test('keep their place when the signal that started them aborts later', async () => {
    const { start } = await one();
    const controller = new AbortController();
    await start(controller.signal);
    controller.abort();
    await expect(start()).rejects.toThrow('running: 1, at most: 1');
  });
});
