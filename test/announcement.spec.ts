import type { Agent } from '@deepseek-ai/dsh-agent';
import { describe, expect, test } from 'vitest';
import { ask, forkOf, inherited, runFork, setup } from './support/harness.ts';
import type { Setup } from './support/harness.ts';

/** A start that fails behind its seed. */
const failing = (mounted: Setup, parent: Agent = mounted.parent): Promise<unknown> => forkOf(mounted.ctx, parent, 'the task', { maxDepth: 0 });

/** Notes which of the two events are heard, and by whom. */
function hear({ ctx }: Setup, heard: string[], who = 'host'): void {
  ctx.on('subagent-fork/seeded', () => void heard.push(`${who} seeded`));
  ctx.on('subagent-fork/withdrawn', () => void heard.push(`${who} withdrawn`));
}

describe('what is announced', () => {
  test.each([{}, { seedBoundary: 'step' }, { notice: true }] as const)('cannot be changed by a listener, with %j', async (config) => {
    const mounted = await setup({ config });
    const { ctx, parent } = mounted;
    await ask(parent, 'first');
    const refused: unknown[] = [];
    const attempt = (change: () => unknown): void => {
      expect(change).toThrow(TypeError);
    };
    ctx.on('subagent-fork/seeded', (announcement) => {
      const { seed } = announcement;
      const events = seed.events as unknown[];
      const [last] = seed.events.slice(-1) as unknown as [{ data: object }];
      attempt(() => events.splice(0));
      attempt(() => events.push(last));
      attempt(() => Object.assign(last, { type: 'other' }));
      attempt(() => Object.assign(last.data, { other: true }));
      attempt(() => Object.assign(seed, { events: [] }));
      attempt(() => (seed.log as unknown[]).splice(0));
      attempt(() => Object.assign(announcement, { seed: undefined }));
      refused.push(announcement);
    });
    const { session } = await runFork(ctx, parent, 'the task');
    expect(refused).toHaveLength(1);
    expect(inherited(session).length).toBeGreaterThanOrEqual(parent.session.seq);
  });

  test('is withdrawn when the start fails', async () => {
    const mounted = await setup();
    await ask(mounted.parent, 'first');
    const heard: unknown[] = [];
    mounted.ctx.on('subagent-fork/seeded', (announcement) => void heard.push(announcement));
    mounted.ctx.on('subagent-fork/withdrawn', (announcement) => void heard.push(announcement));
    await expect(failing(mounted)).rejects.toThrow('exceeds maxDepth 0');
    expect(heard).toHaveLength(2);
    expect(heard[1]).toBe(heard[0]);
  });
});

describe('nothing is withdrawn', () => {
  test('when the seed was empty', async () => {
    const mounted = await setup();
    const heard: string[] = [];
    hear(mounted, heard);
    await expect(failing(mounted)).rejects.toThrow('exceeds maxDepth 0');
    expect(heard).toEqual([]);
  });

  test('when a listener refused the seed, which those behind it never heard', async () => {
    const mounted = await setup();
    await ask(mounted.parent, 'first');
    const heard: string[] = [];
    hear(mounted, heard, 'first');
    mounted.ctx.on('subagent-fork/seeded', () => {
      throw new Error('not this seed');
    });
    hear(mounted, heard, 'last');
    await expect(forkOf(mounted.ctx, mounted.parent, 'the task')).rejects.toThrow('not this seed');
    expect(heard).toEqual(['first seeded']);
  });
});

test('a listener of the withdrawal that fails is logged and does not hide why the start failed', async () => {
  const mounted = await setup();
  await ask(mounted.parent, 'first');
  mounted.ctx.on('subagent-fork/withdrawn', () => {
    throw new Error('cannot hear it');
  });
  await expect(failing(mounted)).rejects.toThrow('exceeds maxDepth 0');
  expect(mounted.logs).toEqual(['"fork": a listener of subagent-fork/withdrawn failed: Error: cannot hear it']);
});
