import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { CONTEXT_WINDOW_EXCEEDED_CODE } from '@deepseek-ai/dsh-llm';
import type { ContentBlock } from '@deepseek-ai/dsh-llm';
import type { Session } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import { lostMessages } from '../../src/child/lost.ts';
import { lostText } from '../../src/child/reminder.ts';
import type * as fork from '../../src/index.ts';
import { noticeEvent, noticeText } from '../../src/seed/notice.ts';
import { advertise, LONG, mountCompaction, summarizes } from '../support/compaction.ts';
import { calls, replies } from '../support/delegation.ts';
import { ask, registerTool, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import type { Answer, Script } from '../support/model.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

type Config = fork.Config;

const STEP = { seedBoundary: 'step' } as const;

/** A parent with a long history; a compaction keeps the latest message alone. */
async function compacting(
  config: Config, retainTokens = 1, mount?: (ctx: Context) => void, script: Script = summarizes(() => 'done'),
): Promise<Setup> {
  const directory = await temporaryDirectory();
  const mounted = await setup({
    config,
    script,
    mount: async (ctx) => {
      await mountPersistence(directory)(ctx);
      await mountCompaction({ retainTokens })(ctx);
      mount?.(ctx);
    },
  });
  await ask(mounted.parent, LONG);
  return mounted;
}

async function compact({ ctx }: Setup, agent: Agent): Promise<void> {
  await ctx.compaction.compactNow(agent, new AbortController().signal);
}

/** The reminders that each request of a session shows. */
function reminders({ model }: Setup, session: Pick<Session, 'id'>): string[][] {
  return requestsOf(model, session).filter(({ purpose }) => purpose !== 'compaction').map(({ messages }) => messages.flatMap(({ source }) => {
    if (source.kind !== 'plugin' || source.form !== 'snapshot') return [];
    return source.sections.filter(({ name }) => name === 'subagent-fork:fork').map(({ text }) => text);
  }));
}

/** The reminders in the latest request of a session. */
function reminder(mounted: Setup, session: Pick<Session, 'id'>): string[] {
  return reminders(mounted, session).at(-1)!;
}

const NOTICE = noticeText(new Set());

describe('a fork that compacts itself', () => {
  test('is told in its next request who it is and its task, word for word', async () => {
    const mounted = await compacting(STEP);
    const { child, session } = await runFork(mounted.ctx, mounted.parent, 'Check {{it}}.');
    expect(lostMessages(session)).toBeUndefined();
    expect(reminder(mounted, session)).toEqual([]);
    await compact(mounted, child);
    await ask(child, 'Go on.');
    expect(reminder(mounted, session)).toEqual([lostText({ notice: NOTICE, tasks: ['Check {{it}}.'] })]);
  });

  test('is told its latest message, too, once that is gone, and of no other', async () => {
    const mounted = await compacting(STEP);
    const { child, session } = await runFork(mounted.ctx, mounted.parent, 'Check it.');
    for (const text of ['Then this.', `${LONG} And that.`]) await ask(child, text);
    await compact(mounted, child);
    await ask(child, 'Go on.');
    expect(reminder(mounted, session)).toEqual([lostText({ notice: NOTICE, tasks: ['Check it.', `${LONG} And that.`] })]);
    expect(lostMessages(session)).toEqual({ notice: NOTICE, tasks: ['Check it.'] });
    await ask(child, LONG);
    await compact(mounted, child);
    expect(lostMessages(session)).toEqual({ notice: NOTICE, tasks: ['Check it.', LONG] });
  });

  test('is told a deployment\'s own notice, and of an image that it was one', async () => {
    const mounted = await compacting({ ...STEP, notice: 'You are the fork.' });
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as unknown as ContentBlock;
    const { child, session } = await runFork(mounted.ctx, mounted.parent, 'x', { prompt: [{ type: 'text', text: 'Look:' }, image] });
    await compact(mounted, child);
    expect(lostMessages(session)).toEqual({ notice: 'You are the fork.', tasks: ['Look:\n[image]'] });
  });

  test('is told nothing while notice and task still show', async () => {
    const mounted = await compacting(STEP);
    const { child, session } = await runFork(mounted.ctx, mounted.parent, 'Check it.');
    const [first, second] = session.surface.nodes;
    child.ctx.once('agent/pre-step', async (_payload, next) => {
      await mounted.ctx.compaction.compactRegion(first!, second!, child);
      return next();
    });
    await ask(child, 'Go on.');
    expect(session.surface.replaceGeneration).toBe(1);
    expect(reminder(mounted, session)).toEqual([]);
  });

  test.each<[string, Config]>([['default options', {}], ['no notice', { ...STEP, notice: false }]])('is told nothing with %s', async (_title, config) => {
    const mounted = await compacting(config);
    const { child, session } = await runFork(mounted.ctx, mounted.parent, 'Check it.');
    await compact(mounted, child);
    await ask(child, 'Go on.');
    expect(reminder(mounted, session)).toEqual([]);
  });
});

test('a child that has a notice and no task yet has lost nothing', async () => {
  const { parent, agent } = await compacting(STEP);
  const seed = [...parent.session.events, noticeEvent(parent.session.events, true)!];
  const { agent: child } = await agent({ seed, meta: { seedLength: seed.length } });
  expect(lostMessages(child.session)).toBeUndefined();
});

test('a fork of a fork whose notice it shares is told all the same', async () => {
  const mounted = await compacting(STEP);
  const { parent, ctx } = mounted;
  const seed = [...parent.session.events, noticeEvent(parent.session.events, true)!];
  const { agent: forked } = await mounted.agent({ seed });
  const { child, session } = await runFork(ctx, forked, 'Check it.');
  await compact(mounted, child);
  expect(lostMessages(session)).toEqual({ notice: NOTICE, tasks: ['Check it.'] });
});

describe('a compaction right before a request', () => {
  /** A fork whose context of 2,500 tokens is compacted at 2,000. */
  async function pressed(answers: Readonly<Record<string, Answer | string>>): Promise<Setup> {
    const mounted = await compacting(STEP, 1, (ctx) => {
      registerTool(ctx, 'read', LONG);
      registerTool(ctx, 'peek', 'peeked');
    }, summarizes(replies(answers)));
    advertise(mounted.model, 2_500);
    return mounted;
  }

  test('of a one-shot fork is made up for in that very request, and said once', async () => {
    const mounted = await pressed({ 'user: Check it.': calls('read'), [`result: ${LONG}`]: calls('peek') });
    const { session } = await runFork(mounted.ctx, mounted.parent, 'Check it.');
    const TOLD = lostText({ notice: NOTICE, tasks: ['Check it.'] });
    expect(session.surface.replaceGeneration).toBe(1);
    expect(reminders(mounted, session)).toEqual([[], [TOLD], [TOLD]]);
  });

  test('takes the place of the runtime context that was assembled before it', async () => {
    const mounted = await pressed({ 'user: Check it.': calls('read') });
    let assembled = 0;
    mounted.ctx.systemPrompt.context({ name: 'assembly', order: 1, text: () => `Assembly ${++assembled}.` });
    const { session } = await runFork(mounted.ctx, mounted.parent, 'Check it.');
    const snapshots = requestsOf(mounted.model, session).at(-1)!.messages.flatMap(({ source }) => (
      source.kind === 'plugin' && source.form === 'snapshot' ? [source.sections.map(({ name }) => name)] : []
    ));
    expect(snapshots).toEqual([['assembly', 'subagent:delegation', 'subagent-fork:fork']]);
  });

  test('of a step that is rejected, and a failure that is not retried, change nothing', async () => {
    const mounted = await compacting(STEP, 1, undefined, summarizes((request) => (
      shown(request).at(-1) === 'user: Check it.' ? { finish: { kind: 'error', failure: { code: 'UNKNOWN', message: 'no' } } } : 'done'
    )));
    const { child, session, result } = await runFork(mounted.ctx, mounted.parent, 'Check it.');
    expect(result.stopReason).toBe('error');
    child.ctx.on('agent/pre-step', () => Promise.resolve({ kind: 'reject' }));
    await ask(child, 'Go on.');
    expect(reminders(mounted, session)).toEqual([[]]);
  });

  test('because the endpoint refused it as too long is made up for, too', async () => {
    let refused = false;
    const mounted = await compacting(STEP, 1, undefined, summarizes((request) => {
      if (refused || shown(request).at(-1) !== 'user: Check it.') return 'done';
      refused = true;
      return { finish: { kind: 'error', failure: { code: CONTEXT_WINDOW_EXCEEDED_CODE, message: 'too long' } } };
    }));
    advertise(mounted.model, 100_000);
    const { session, result } = await runFork(mounted.ctx, mounted.parent, 'Check it.');
    expect(result.stopReason).toBe('completed');
    expect(reminders(mounted, session)).toEqual([[], [lostText({ notice: NOTICE, tasks: ['Check it.'] })]]);
  });

  test('of a continuable fork is made up for after a cold resume, too', async () => {
    const mounted = await pressed({ 'user: Check it.': calls('read') });
    const { ctx, parent } = mounted;
    const signal = new AbortController().signal;
    const { childId } = await ctx.subagents.startContinuable({
      provider: 'fork', label: 'child', signal, request: { parent, prompt: [{ type: 'text', text: 'Check it.' }] },
    });
    await ctx.agents.get(childId)!.whenIdle();
    await ctx.subagents.drainContinuableChildren(parent, [childId]);
    await ctx.subagents.followup(parent, childId, [{ type: 'text', text: 'Go on.' }], { source: { kind: 'user' }, signal });
    await ctx.agents.get(childId)!.whenIdle();
    const TOLD = lostText({ notice: NOTICE, tasks: ['Check it.'] });
    expect(reminders(mounted, { id: childId })).toEqual([[], [TOLD], [TOLD]]);
  });
});
