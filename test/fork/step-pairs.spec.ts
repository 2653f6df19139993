import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { CommandRuntime } from '@deepseek-ai/dsh-commands';
import type { Session } from '@deepseek-ai/dsh-session';
import * as published from 'published-fork';
import { describe, expect, test } from 'vitest';
import type { SeedBoundary } from '../../src/index.ts';
import { LONG, mountCompaction, summarizes } from '../support/compaction.ts';
import { childSessions, delegates, logged, peeking, replies } from '../support/delegation.ts';
import { ask, inherited, requestsOf, runFork, setup, shown } from '../support/harness.ts';

const BOUNDARIES: readonly SeedBoundary[] = ['turn', 'step'];

/** Mounts slash commands, one of which is `btw`. */
async function mountCommand(ctx: Context, handler: (agent: Agent) => Promise<unknown>): Promise<void> {
  await ctx.plugin(CommandRuntime);
  ctx.commands.register({
    name: 'btw',
    description: 'Test command btw.',
    handler: async ({ agent }) => {
      await handler(agent);
      return { kind: 'success' };
    },
  });
}

const run = (ctx: Context, agent: Agent): Promise<unknown> => ctx.commands.execute(agent, '/btw', [], new AbortController().signal);

/** The inherited marks of commands and compactions. */
const marks = (session: Session): string[] => inherited(session).filter(({ type }) => /^(?:command|compaction)\//.test(type)).map(({ type }) => type);

describe.for(BOUNDARIES)('a fork at `%s`', (seedBoundary) => {
  test('that a slash command starts inherits nothing of the command', async () => {
    const children: Session[] = [];
    const { ctx, model, parent } = await setup({
      config: { seedBoundary },
      mount: (mounted) => mountCommand(mounted, async (agent) => void children.push((await runFork(mounted, agent, 'Check it.')).session)),
    });
    await ask(parent, 'Hello.');
    const { length } = parent.session.events;
    await run(ctx, parent);
    expect(marks(children[0]!)).toEqual([]);
    expect(inherited(children[0]!).slice(0, length)).toEqual(parent.session.events.slice(0, length));
    expect(shown(requestsOf(model, children[0]!)[0]!).filter((line) => !line.includes('You are a subagent'))).toEqual([
      'user: Hello.', 'assistant: done', 'user: Check it.',
    ]);
    expect(parent.session.events.slice(length).map(({ type }) => type)).toEqual(['command/run', 'command/done']);
  });

  test('of a turn that completed while a slash command runs inherits the command as one that came to nothing', async () => {
    const ending = Promise.withResolvers<void>();
    const { ctx, parent } = await setup({ config: { seedBoundary }, mount: (mounted) => mountCommand(mounted, () => ending.promise) });
    const running = run(ctx, parent);
    await ask(parent, 'Hello.');
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(marks(session)).toEqual(['command/run', 'command/done']);
    const [opened, closed] = inherited(session).filter(({ type }) => type.startsWith('command/'));
    expect(closed!.data).toEqual({
      commandId: (opened!.data as { commandId: string }).commandId, kind: 'error', text: 'not finished when this history was inherited',
    });
    ending.resolve();
    await running;
    expect(marks((await runFork(ctx, parent, 'Check it.')).session)).toEqual(['command/run', 'command/done']);
  });

  test('while a manual compaction runs between turns inherits nothing of it, and the messages as they are', async () => {
    const summary = Promise.withResolvers<void>();
    const { ctx, model, parent } = await setup({
      config: { seedBoundary, notice: false }, mount: mountCompaction(), script: summarizes(() => 'done'),
    });
    await ask(parent, LONG);
    await ask(parent, 'Second.');
    const { script } = model;
    model.script = (request, index) => request.purpose === 'compaction' ? { text: 'SUMMARY', until: summary.promise } : script(request, index);
    const started = logged(ctx, parent.session, 'compaction/start');
    const compaction = ctx.compaction.compactNow(parent, new AbortController().signal);
    await started;
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(marks(session)).toEqual([]);
    expect(shown(requestsOf(model, session)[0]!)).toEqual([`user: ${LONG}`, 'assistant: done', 'user: Second.', 'assistant: done', 'user: Check it.']);
    summary.resolve();
    await compaction;
    expect(marks((await runFork(ctx, parent, 'Check it.')).session)).toEqual(['compaction/start', 'compaction/summary', 'compaction/end']);
  });

  test('from within the listener that hears of a summary\'s replacement inherits a compaction that ended', async () => {
    const { ctx, model, parent } = await setup({
      config: { seedBoundary, notice: false }, mount: mountCompaction(), script: summarizes(() => 'done'),
    });
    await ask(parent, LONG);
    await ask(parent, 'Second.');
    const forks: ReturnType<typeof runFork>[] = [];
    ctx.on('session/event', (session, event) => {
      const replaces = event.type === 'user/message' && event.surfaceOp !== 'append';
      if (session === parent.session && (replaces || event.type === 'compaction/summary')) forks.push(runFork(ctx, parent, 'Check it.'));
    });
    await ctx.compaction.compactNow(parent, new AbortController().signal);
    const [before, after] = await Promise.all(forks);
    expect([marks(before!.session), marks(after!.session)]).toEqual([[], ['compaction/start', 'compaction/summary', 'compaction/end']]);
    expect(shown(requestsOf(model, before!.session)[0]!)[0]).toBe(`user: ${LONG}`);
    expect(shown(requestsOf(model, after!.session)[0]!).join()).toContain('SUMMARY');
  });
});

test('a fork at `step` from a turn that a slash command\'s wait surrounds inherits the command as one that came to nothing', async () => {
  const ending = Promise.withResolvers<void>();
  const { ctx, parent } = await peeking({
    mount: (mounted) => mountCommand(mounted, () => ending.promise), script: replies({ 'user: Hello.': delegates('Check it.') }),
  });
  const children = childSessions(ctx);
  const running = run(ctx, parent);
  await ask(parent, 'Hello.');
  ending.resolve();
  await running;
  expect(inherited(children[0]!).slice(-4).map(({ type }) => type)).toEqual(['command/done', 'step/end', 'turn/end', 'user/message']);
});

test('by default a fork while a slash command or a manual compaction runs has the published one\'s seed, event for event', async () => {
  const summary = Promise.withResolvers<void>();
  const children: (readonly [Session, Session])[] = [];
  const { ctx, model, parent } = await setup({
    mount: async (mounted) => {
      await mountCompaction()(mounted);
      await mountCommand(mounted, fork);
      await mounted.plugin(published, { providerName: 'published' });
    },
    script: summarizes(() => 'done'),
  });
  async function fork(): Promise<void> {
    const [ours, theirs] = await Promise.all(['fork', 'published'].map((name) => runFork(ctx, parent, 'Check it.', {}, name)));
    children.push([ours!.session, theirs!.session]);
  }
  await ask(parent, LONG);
  await ask(parent, 'Second.');
  await run(ctx, parent);
  const { script } = model;
  model.script = (request, index) => request.purpose === 'compaction' ? { text: 'SUMMARY', until: summary.promise } : script(request, index);
  await ask(parent, 'Third.');
  const started = logged(ctx, parent.session, 'compaction/start');
  const compaction = ctx.compaction.compactNow(parent, new AbortController().signal);
  await started;
  await fork();
  summary.resolve();
  await compaction;
  expect(children).toHaveLength(2);
  for (const [ours, theirs] of children) expect(inherited(ours)).toEqual(inherited(theirs));
});
