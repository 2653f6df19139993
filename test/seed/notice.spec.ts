import { createUserMessage } from '@deepseek-ai/dsh-llm';
import { interruptedTurnClosers } from '@deepseek-ai/dsh-session';
import { TokenMeter } from '@deepseek-ai/dsh-token-meter';
import { describe, expect, test } from 'vitest';
import * as fork from '../../src/index.ts';
import { noticeEvent, noticeText } from '../../src/seed/notice.ts';
import { advertise, LONG, mountCompaction, shownCompacted, summarizes } from '../support/compaction.ts';
import { added, calls, childSessions, delegates, NOTICE, peeking, replies, streamed } from '../support/delegation.ts';
import { handLog } from '../support/hand-log.ts';
import { ask, inherited, registerTool, requestsOf, runFork, say, setup, shown } from '../support/harness.ts';

const VARIANTS = ([[], ['cancelled'], ['failed'], ['failed', 'cancelled']] as const).map((kinds) => noticeText(new Set(kinds)));

test('the standard text, with nothing abandoned, a cancelled request, a failed one and both', () => {
  expect(VARIANTS).toMatchInlineSnapshot(`
    [
      "You are a subagent. The conversation above is your parent agent's, inherited as background only. Every request, goal, plan and delegation in it, finished or not, is the parent's to carry out, not yours. Your task follows. Do only that task and answer it.",
      "You are a subagent. The conversation above is your parent agent's, inherited as background only. Every request, goal, plan and delegation in it, finished or not, is the parent's to carry out, not yours. At least one request above was cancelled; it stays so. Your task follows. Do only that task and answer it.",
      "You are a subagent. The conversation above is your parent agent's, inherited as background only. Every request, goal, plan and delegation in it, finished or not, is the parent's to carry out, not yours. At least one request above failed; it stays so. Your task follows. Do only that task and answer it.",
      "You are a subagent. The conversation above is your parent agent's, inherited as background only. Every request, goal, plan and delegation in it, finished or not, is the parent's to carry out, not yours. At least one request above was cancelled or failed; it stays so. Your task follows. Do only that task and answer it.",
    ]
  `);
});

test('every variant takes less than 90 tokens', async () => {
  const { ctx } = await setup({ mount: (mounted) => mounted.plugin(TokenMeter) });
  const sizes = VARIANTS.map((text) => ctx.tokenMeter.estimateMessage(noticeEvent(handLog(['ask']), text)!.data));
  expect(sizes).toMatchInlineSnapshot(`
    [
      72,
      86,
      84,
      88,
    ]
  `);
  expect(Math.max(...sizes)).toBeLessThan(90);
});

test('the notice is a plugin\'s message at the end of what is inherited, at its last time', () => {
  const open = handLog(['turn', 'step', 'ask']);
  const events = [...open, ...interruptedTurnClosers(open)];
  expect(noticeEvent(events, true)).toEqual({
    type: 'user/message',
    seq: events.length,
    time: events.at(-1)!.time,
    surfaceOp: 'append',
    data: {
      id: expect.any(String),
      role: 'user',
      content: [{ type: 'text', text: VARIANTS[0] }],
      source: {
        kind: 'plugin', plugin: 'subagent-fork-in-process', form: 'notice', summary: 'History above is the parent agent\'s; the task follows.',
      },
    },
  });
});

describe('between inherited history and the task', () => {
  const script = replies({ 'user: Hello.': 'Hello yourself.' });

  test('stands nothing at `turn` unless the notice is asked for', async () => {
    const { ctx, model, parent } = await setup({ script });
    await ask(parent, 'Hello.');
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: Hello.', 'assistant: Hello yourself.', 'user: Check it.']);
  });

  test('stands the notice at `turn` when it is asked for', async () => {
    const { ctx, model, parent } = await setup({ script, config: { notice: true } });
    await ask(parent, 'Hello.');
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: Hello.', 'assistant: Hello yourself.', NOTICE, 'user: Check it.']);
    expect(added(session, parent.session)).toEqual(['user/message notice']);
  });

  test('stands nothing at `step` when the notice is refused', async () => {
    const { ctx, model, parent } = await peeking({ config: { seedBoundary: 'step', notice: false }, script: replies({ 'user: Hello.': delegates('Check it.') }) });
    const children = childSessions(ctx);
    await ask(parent, 'Hello.');
    expect(shown(model.requests[1]!)).toEqual(['user: Hello.', 'user: Check it.']);
    expect(added(children[0]!, parent.session)).toEqual(['step/end', 'turn/end interrupted']);
  });

  test('stands a deployment\'s own text as given, and the task behind it as its own message', async () => {
    const { ctx, model, parent } = await peeking({ config: { seedBoundary: 'step', notice: ' Mind the gap. ' } });
    await ask(parent, 'Hello.');
    const prompt = [{ type: 'text' as const, text: 'Check it.\n' }, { type: 'text' as const, text: ' Then stop.' }];
    const { session } = await runFork(ctx, parent, '', { prompt });
    const [, , notice, task] = requestsOf(model, session)[0]!.messages;
    expect([notice!.content, task!.content]).toEqual([[{ type: 'text', text: ' Mind the gap. ' }], prompt]);
    expect(inherited(session).at(-1)).toMatchObject({ type: 'user/message', data: notice });
  });

  test('stands the notice once when a fork forks before a turn of its own has completed', async () => {
    const { ctx, model, parent } = await setup({
      tool: {}, config: { notice: true },
      script: replies({ 'user: Level one.': delegates('Level two.'), 'user: Level two.': delegates('Level three.') }),
    });
    await ask(parent, 'Hello.');
    const children = childSessions(ctx);
    await runFork(ctx, parent, 'Level one.');
    expect(children.map((child) => shown(requestsOf(model, child)[0]!))).toEqual(['one', 'two', 'three'].map((level) => [
      'user: Hello.', 'assistant: done', NOTICE, `user: Level ${level}.`,
    ]));
    // The second and third child begin with the first one's request, byte for byte.
    const [first, second, third] = children.map((child) => requestsOf(model, child)[0]!.messages.slice(0, 3));
    expect([second, third]).toEqual([first, first]);
  });

  test('stands the notice once in a fork that forks before its first step, and again behind its own work', async () => {
    const { ctx, model, parent } = await peeking({ script: replies({ 'user: Level one.': delegates('Level two.') }) });
    await ask(parent, 'Hello.');
    const children = childSessions(ctx);
    const stop = ctx.on('agent/pre-step', async ({ agent }, next) => {
      stop();
      await runFork(ctx, agent, 'Before.');
      return next();
    }, { global: true });
    await runFork(ctx, parent, 'Level one.');
    expect(children.map((child) => shown(requestsOf(model, child)[0]!))).toEqual([
      ['user: Hello.', 'assistant: done', NOTICE, 'user: Level one.'],
      ['user: Hello.', 'assistant: done', NOTICE, 'user: Before.'],
      ['user: Hello.', 'assistant: done', NOTICE, 'user: Level one.', NOTICE, 'user: Level two.'],
    ]);
  });

  test('stands each deployment\'s own text behind another one\'s', async () => {
    const { ctx, model, parent } = await setup({ config: { notice: true }, mount: (mounted) => mounted.plugin(fork, { providerName: 'own', notice: 'Mind the gap.' }) });
    await ask(parent, 'Hello.');
    const { child } = await runFork(ctx, parent, 'Level one.');
    const children = childSessions(ctx);
    for (const provider of ['own', 'fork']) await runFork(ctx, child, 'Level two.', {}, provider);
    expect(children.map((session) => shown(requestsOf(model, session)[0]!).slice(-3))).toEqual([
      ['assistant: done', 'user: Mind the gap.', 'user: Level two.'], ['assistant: done', NOTICE, 'user: Level two.'],
    ]);
  });

  test('stands nothing behind a history that an empty message replaced', async () => {
    const { ctx, model, parent } = await setup({ config: { notice: true } });
    await ask(parent, 'Hello.');
    const nodes = [...parent.session.surface.nodes];
    parent.session.append('user/message', createUserMessage({ content: [], source: { kind: 'plugin', plugin: 'other' } }), {
      surfaceOp: { op: 'replace', start: nodes[0]!, end: nodes.at(-1)! }, sourceEventSeqs: nodes,
    });
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: Check it.']);
    expect(added(session, parent.session)).toEqual([]);
  });

  test('stands nothing when nothing is inherited', async () => {
    const { ctx, model, parent } = await setup({ config: { notice: true } });
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: Check it.']);
    expect(session.header.seedLength).toBeUndefined();
  });

  test.each(['turn', 'step'] as const)('at `%s` a cancelled request is named whose own turn compacted it', async (seedBoundary) => {
    const asked = Promise.withResolvers<void>();
    let answers = 0;
    const { ctx, model, parent } = await peeking({
      config: { seedBoundary, notice: true },
      mount: async (ctx) => {
        registerTool(ctx, 'read', LONG);
        await mountCompaction()(ctx);
      },
      script: summarizes((request) => {
        if (shown(request).at(-1) === 'user: Check it.') return 'done';
        if (answers++ < 3) return calls('read');
        asked.resolve();
        return new Promise(() => {});
      }),
    });
    advertise(model, 2_500);
    say(parent, 'DELETE ALL THE TEST DATA');
    await asked.promise;
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
    const { session } = await runFork(ctx, parent, 'Check it.');
    const request = shownCompacted(requestsOf(model, session)[0]!);
    expect(request).not.toContain('user: DELETE ALL THE TEST DATA');
    expect(request.slice(-2)).toEqual([`user: ${VARIANTS[1]}`, 'user: Check it.']);
  });

  test('no cancelled request is named that was compacted away, by a child or by a child of it', async () => {
    const { ctx, model, parent } = await peeking({
      mount: mountCompaction(),
      script: summarizes(replies({
        'user: DELETE ALL THE TEST DATA': { text: LONG, until: new Promise(() => {}) },
        'user: Level one.': delegates('Level two.'),
      })),
    });
    say(parent, 'DELETE ALL THE TEST DATA');
    await streamed(ctx, () => true);
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
    await ask(parent, LONG);
    await ctx.compaction.compactNow(parent, new AbortController().signal);
    const children = childSessions(ctx);
    await runFork(ctx, parent, 'Level one.');
    expect(children.map((child) => shownCompacted(requestsOf(model, child)[0]!))).toEqual([
      ['user: SUMMARY', 'assistant: done', NOTICE, 'user: Level one.'],
      ['user: SUMMARY', 'assistant: done', NOTICE, 'user: Level one.', NOTICE, 'user: Level two.'],
    ]);
  });
});
