/** Starts that are cut short at every microtask between the request and the child's first model call. */
import type { Agent } from '@deepseek-ai/dsh-agent';
import { describe, expect, test } from 'vitest';
import * as fork from '../../src/index.ts';
import { ask, forkOf, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

/** How starts end that are aborted ever later. */
const ABORTED = [
  'AbortError: This operation was aborted',
  'aborted [] ABORTED: the run was cancelled before its turn ended',
  'aborted [] ABORTED: the turn was cancelled by its parent',
];

/** What came of a start. */
interface Outcome {
  /** Whether the child had asked its model when the start was cut short. */
  readonly asked: boolean;
  /** How the run ended and with what, or the error of a start that failed. */
  readonly end: string;
}

/** A parent with one turn behind it, on a model that never answers the task `hang`. */
async function hanging(config: fork.Config | false): Promise<Setup> {
  const mounted = await setup({
    config,
    script: (request) => shown(request).at(-1) === 'user: hang' ? new Promise(() => {}) : 'ok',
  });
  await ask(mounted.parent, 'first');
  return mounted;
}

/** Starts a fork, lets that many microtasks run and cuts it short; then waits for its end and disposes it. */
async function cutShort(
  { ctx, model }: Setup, parent: Agent, task: string, microtasks: number, cut: (controller: AbortController) => unknown,
): Promise<Outcome> {
  const controller = new AbortController();
  const before = model.requests.length;
  const starting = Promise.allSettled([forkOf(ctx, parent, task, { signal: controller.signal })]);
  for (let turn = 0; turn < microtasks; turn++) await Promise.resolve();
  const asked = model.requests.length > before;
  await cut(controller);
  const [start] = await starting;
  if (start.status === 'rejected') return { asked, end: String(start.reason).replaceAll(parent.id, 'PARENT') };
  const { stopReason, diagnostic, output } = await start.value.result;
  await start.value.dispose();
  return { asked, end: `${stopReason} ${JSON.stringify(output)} ${diagnostic}` };
}

/** Cuts starts short at one microtask after the other until the child has asked its model. */
async function atEveryMicrotask(once: (microtasks: number) => Promise<Outcome>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  while (!outcomes.at(-1)?.asked) outcomes.push(await once(outcomes.length));
  return outcomes;
}

/** The ends of these starts in order of appearance, each once. */
function ends(outcomes: readonly Outcome[]): string[] {
  return [...new Set(outcomes.map(({ end }) => end))];
}

describe.each(['turn', 'step'] as const)('at `%s`', (seedBoundary) => {
  test('an abort at every microtask leaves no child or an aborted one, an untouched parent and a free place', async () => {
    const mounted = await hanging({ seedBoundary, maxLiveForks: 1 });
    const { ctx, model, parent } = mounted;
    const log = [...parent.session.events];
    const outcomes = await atEveryMicrotask(async (microtasks) => {
      const outcome = await cutShort(mounted, parent, 'hang', microtasks, (controller) => controller.abort());
      expect(ctx.agents.list()).toEqual([parent]);
      expect(ctx.sessions.list()).toEqual([parent.session]);
      expect(parent.session.events).toEqual(log);
      return outcome;
    });
    expect(ends(outcomes)).toEqual(ABORTED);
    const { session } = await runFork(ctx, parent, 'the task');
    expect(shown(requestsOf(model, session)[0]!)).toContain('user: first');
  });

  test('a parent disposed at every microtask takes its child with it, and the place is free', async () => {
    const mounted = await hanging({ seedBoundary, maxLiveForks: 1 });
    const { ctx } = mounted;
    const causes = new Set<string>();
    ctx.on('session/event', ({ header }, { type, data }) => void (header.parentSession !== undefined && type === 'turn/end' && causes.add(JSON.stringify(data.reason))));
    const outcomes = await atEveryMicrotask(async (microtasks) => {
      const { agent: parent, dispose } = await mounted.agent();
      await ask(parent, 'first');
      const log = [...parent.session.events];
      const outcome = await cutShort(mounted, parent, 'hang', microtasks, dispose);
      expect(ctx.agents.list()).toEqual([mounted.parent]);
      expect(ctx.sessions.list()).toEqual([mounted.parent.session]);
      expect(parent.session.events).toEqual(log);
      return outcome;
    });
    expect(ends(outcomes)).toEqual([
      'SubagentError: fork refused: the parent agent PARENT is gone; expected a live agent',
      'aborted [] ABORTED: the turn was cancelled by its disposal',
    ]);
    expect(causes).toEqual(new Set(['parent', 'disposed'].map((kind) => JSON.stringify({ kind: 'aborted', reason: { kind } }))));
    await runFork(ctx, mounted.parent, 'the task');
  });

  test('an abort at every microtask is the same while the plugin is being unloaded', async () => {
    const mounted = await hanging(false);
    const { ctx, parent } = mounted;
    const outcomes = await atEveryMicrotask(async (microtasks) => {
      const plugin = await ctx.plugin(fork, { seedBoundary });
      const outcome = await cutShort(mounted, parent, 'hang', microtasks, (controller) => {
        controller.abort();
        return plugin.dispose();
      });
      expect(ctx.agents.list()).toEqual([parent]);
      return outcome;
    });
    expect(ends(outcomes)).toEqual(ABORTED);
  });

  test('the plugin unloaded at every microtask leaves a child that knows the conversation to its owner', async () => {
    const mounted = await hanging(false);
    const { ctx, model, parent } = mounted;
    const outcomes = await atEveryMicrotask(async (microtasks) => {
      const plugin = await ctx.plugin(fork, { seedBoundary });
      const outcome = await cutShort(mounted, parent, 'the task', microtasks, () => plugin.dispose());
      expect(ctx.subagents.list()).toEqual([]);
      expect(ctx.agents.list()).toEqual([parent]);
      return outcome;
    });
    expect(ends(outcomes)).toEqual(['completed [{"type":"text","text":"ok"}] undefined']);
    for (const request of model.requests.slice(1)) expect(shown(request)).toContain('user: first');
  });
});

test('a continuable start that is aborted at every microtask leaves no child and no taken place, or a child that is not aborted', async () => {
  const mounted = await setup({ config: { maxLiveForks: 1 }, mount: mountPersistence(await temporaryDirectory()) });
  const { ctx, model, parent } = mounted;
  await ask(parent, 'first');
  const outcomes = await atEveryMicrotask(async (microtasks) => {
    const controller = new AbortController();
    const before = model.requests.length;
    const starting = Promise.allSettled([ctx.subagents.startContinuable({
      provider: 'fork', label: 'child', signal: controller.signal, request: { parent, prompt: [{ type: 'text', text: 'the task' }] },
    })]);
    for (let turn = 0; turn < microtasks; turn++) await Promise.resolve();
    const asked = model.requests.length > before;
    controller.abort();
    const [start] = await starting;
    const live = ctx.agents.list().length - 1;
    if (start.status === 'rejected') return { asked, end: `${live} live, ${start.reason}` };
    const child = ctx.agents.get(start.value.childId)!;
    await child.whenIdle();
    await ctx.subagents.drainContinuableChildren(parent, [child.id]);
    return { asked, end: `${live} live, ${shown(requestsOf(model, child)[0]!).join()}` };
  });
  expect(ends(outcomes)).toEqual(['0 live, AbortError: This operation was aborted', '1 live, user: first,assistant: done,user: the task']);
});

test('a host that goes down at every microtask settles the start and leaves no rejection unhandled', async () => {
  const outcomes = await atEveryMicrotask(async (microtasks) => {
    const { ctx, model, parent } = await setup();
    await ask(parent, 'first');
    const before = model.requests.length;
    const starting = forkOf(ctx, parent, 'the task').then((run) => run.result);
    const end = starting.then(({ stopReason, diagnostic }) => `${stopReason} ${diagnostic}`, (error: unknown) => String(error).replaceAll(parent.id, 'PARENT'));
    for (let turn = 0; turn < microtasks; turn++) await Promise.resolve();
    const asked = model.requests.length > before;
    void ctx.fiber.dispose();
    return { asked, end: await end };
  });
  expect(ends(outcomes)).toEqual([
    'Error: agent loop is not active',
    'SubagentError: fork refused: the parent agent PARENT is gone; expected a live agent',
    'Error: agent initiator scope is disposed',
    'aborted ABORTED: the turn was cancelled by its disposal',
  ]);
});

test('a signal that aborts once its host is gone disturbs nothing', async () => {
  const { ctx, parent } = await setup({ config: { maxLiveForks: 1 }, mount: mountPersistence(await temporaryDirectory()) });
  const controller = new AbortController();
  await ctx.subagents.startContinuable({
    provider: 'fork', label: 'child', signal: controller.signal, request: { parent, prompt: [{ type: 'text', text: 'stay' }] },
  });
  await ctx.fiber.dispose();
  controller.abort();
  expect(parent.ctx.fiber.uid).toBeNull();
});
