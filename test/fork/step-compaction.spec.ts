import { CONTEXT_WINDOW_EXCEEDED_CODE } from '@deepseek-ai/dsh-llm';
import { describe, expect, test } from 'vitest';
import { advertise, LONG, mountCompaction, shownCompacted, summarizes, summaryCalls } from '../support/compaction.ts';
import { added, behind, calls, childSessions, CLOSED_STEP, CLOSED_TURN, delegated, delegates, logged, NOTICE, peeking, replies } from '../support/delegation.ts';
import { ask, inherited, registerTool, requestsOf, runFork, say, shown } from '../support/harness.ts';
import type { Setup, SetupOptions } from '../support/harness.ts';

/** A parent whose context of 2,500 tokens is compacted at 2,000, with a tool `read` that returns a thousand. */
async function compacting(options: SetupOptions & Required<Pick<SetupOptions, 'script'>>): Promise<Setup> {
  const mounted = await peeking({
    ...options,
    mount: async (ctx) => {
      registerTool(ctx, 'read', LONG);
      await mountCompaction()(ctx);
      await options.mount?.(ctx);
    },
    script: summarizes(options.script),
  });
  advertise(mounted.model, 2_500);
  return mounted;
}

describe('a manual compaction between turns', () => {
  for (const seedBoundary of ['turn', 'step'] as const) {
    test(`is inherited at \`${seedBoundary}\``, async () => {
      const { ctx, model, parent } = await compacting({
        config: { seedBoundary, notice: false },
        script: replies({ 'user: Now delegate.': delegates('Check it.') }),
      });
      const children = childSessions(ctx);
      await ask(parent, LONG);
      await ask(parent, 'Second.');
      await ctx.compaction.compactNow(parent, new AbortController().signal);
      await ask(parent, 'Now delegate.');
      const delegating = requestsOf(model, parent.session).at(-2)!;
      expect(shownCompacted(delegating)).toEqual(['user: SUMMARY', 'assistant: done', 'user: Now delegate.']);
      expect(shownCompacted(requestsOf(model, children[0]!)[0]!)).toEqual([
        'user: SUMMARY', 'assistant: done', ...seedBoundary === 'step' ? ['user: Now delegate.'] : [], 'user: Check it.',
      ]);
      expect(summaryCalls(model)).toHaveLength(1);
    });
  }
});

describe('an automatic compaction inside the forking turn', () => {
  test('before its first step is inherited, and the child summarizes nothing itself', async () => {
    const { ctx, model, parent } = await compacting({ script: replies({ 'user: Now delegate.': delegates('Check it.') }) });
    const children = childSessions(ctx);
    await ask(parent, LONG);
    await ask(parent, LONG);
    await ask(parent, 'Now delegate.');
    const delegating = requestsOf(model, parent.session).at(-2)!;
    const [request] = requestsOf(model, children[0]!);
    expect(shownCompacted(delegating)).toEqual(['user: SUMMARY', 'assistant: done', 'user: Now delegate.']);
    expect(behind(request!, delegating)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(children[0]!, parent.session)).toEqual(CLOSED_STEP);
    expect(summaryCalls(model).map(({ sessionId }) => sessionId)).toEqual([parent.id]);
  });

  test('before a later step is inherited by three parallel children, and none summarizes anything itself', async () => {
    const { ctx, model, parent } = await compacting({
      script: replies({ 'user: Read it.': calls('read'), [`result: ${LONG}`]: delegates('Task A.', 'Task B.', 'Task C.') }),
    });
    const children = childSessions(ctx);
    await ask(parent, LONG);
    await ask(parent, 'Read it.');
    const delegating = requestsOf(model, parent.session).find((request) => shown(request).at(-1) === `result: ${LONG}`)!;
    expect(shownCompacted(delegating)).toEqual(['user: SUMMARY', 'assistant calls read {}', `result: ${LONG}`]);
    expect(children.map((child) => behind(requestsOf(model, child)[0]!, delegating))).toEqual([
      [NOTICE, 'user: Task A.'], [NOTICE, 'user: Task B.'], [NOTICE, 'user: Task C.'],
    ]);
    expect(children.map((child) => added(child, parent.session))).toEqual([CLOSED_STEP, CLOSED_STEP, CLOSED_STEP]);
    expect(summaryCalls(model).map(({ sessionId }) => sessionId)).toEqual([parent.id]);
  });

  test('that is still being summarized is not inherited, and the child makes its own', async () => {
    const summary = Promise.withResolvers<void>();
    const { ctx, model, parent, logs } = await compacting({ script: replies({}) });
    await ask(parent, LONG);
    await ask(parent, LONG);
    const { script } = model;
    model.script = (request, index) => request.purpose === 'compaction' && request.sessionId === parent.id
      ? { text: 'LATE SUMMARY', until: summary.promise }
      : script(request, index);
    say(parent, 'Third.');
    await logged(ctx, parent.session, 'compaction/start');
    const { session, result } = await runFork(ctx, parent, 'Check it.');
    expect(result.stopReason).toBe('completed');
    expect(shownCompacted(requestsOf(model, session).at(-1)!)).toEqual(['user: SUMMARY', NOTICE, 'user: Check it.']);
    expect(added(session, parent.session)).toEqual(CLOSED_TURN);
    expect(inherited(session).filter(({ type }) => type.startsWith('compaction/'))).toEqual([]);
    summary.resolve();
    await parent.whenIdle();
    expect(shownCompacted(requestsOf(model, parent.session).at(-1)!)).toEqual(['user: LATE SUMMARY', 'assistant: done', 'user: Third.']);
    expect(logs.filter((line) => line.includes('failed'))).toEqual([]);
  });
});

test('a request that overflowed, was compacted and then delegated is inherited as it was asked again', async () => {
  let attempts = 0;
  const { ctx, model, parent } = await compacting({
    script: (request, index) => shown(request).at(-1) === 'user: Now delegate.' && attempts++ === 0
      ? { text: 'Too lo', finish: { kind: 'error', failure: { code: CONTEXT_WINDOW_EXCEEDED_CODE, message: 'too long' } } }
      : replies({ 'user: Now delegate.': delegates('Check it.') })(request, index),
  });
  const children = childSessions(ctx);
  await ask(parent, LONG);
  await ask(parent, 'Now delegate.');
  expect(model.requests.map((request) => request.purpose ?? shownCompacted(request))).toEqual([
    [`user: ${LONG}`],
    [`user: ${LONG}`, 'assistant: done', 'user: Now delegate.'],
    'compaction',
    ['user: SUMMARY', 'user: Now delegate.'],
    ['user: SUMMARY', 'user: Now delegate.', NOTICE, 'user: Check it.'],
    ['user: SUMMARY', 'user: Now delegate.', 'assistant: I delegate.', delegated('Check it.'), 'result: done'],
  ]);
  expect(behind(model.requests[4]!, model.requests[3]!)).toEqual([NOTICE, 'user: Check it.']);
  expect(added(children[0]!, parent.session)).toEqual(CLOSED_STEP);
});
