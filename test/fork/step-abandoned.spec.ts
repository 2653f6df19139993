import { describe, expect, test } from 'vitest';
import { noticeText } from '../../src/seed/notice.ts';
import {
  added, calls, childSessions, CLOSED_STEP, delegated, delegates, NOTICE, peeking, replies, streamed, userMessage,
} from '../support/delegation.ts';
import { ask, registerTool, requestsOf, runFork, say, shown } from '../support/harness.ts';

const CANCELLED = `user: ${noticeText(new Set(['cancelled']))}`;
const FAILED = `user: ${noticeText(new Set(['failed']))}`;
const never = new Promise<never>(() => {});

describe('a fork after a turn that was cancelled', () => {
  test('while the model streamed inherits the half-said answer, and the notice says that a request was cancelled', async () => {
    const { ctx, model, parent } = await peeking({
      script: replies({ 'user: DELETE ALL THE TEST DATA': { text: 'I will now', until: never } }),
    });
    say(parent, 'DELETE ALL THE TEST DATA');
    await streamed(ctx, () => true);
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
    const { session } = await runFork(ctx, parent, 'List the files.');
    expect(shown(requestsOf(model, session)[0]!)).toEqual([
      'user: DELETE ALL THE TEST DATA', 'assistant: I will now', CANCELLED, 'user: List the files.',
    ]);
    expect(added(session, parent.session)).toEqual(['user/message notice']);
  });

  test('while a tool ran inherits the call and its result', async () => {
    const running = Promise.withResolvers<void>();
    const { ctx, model, parent } = await peeking({
      mount: (mounted) => registerTool(mounted, 'wipe', (_agent, signal) => new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped half-way')));
        running.resolve();
      })),
      script: replies({ 'user: DELETE ALL THE TEST DATA': calls('wipe') }),
    });
    say(parent, 'DELETE ALL THE TEST DATA');
    await running.promise;
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
    const { session } = await runFork(ctx, parent, 'List the files.');
    expect(shown(requestsOf(model, session)[0]!)).toEqual([
      'user: DELETE ALL THE TEST DATA', 'assistant calls wipe {}', 'result: Error: stopped half-way', CANCELLED, 'user: List the files.',
    ]);
    expect(added(session, parent.session)).toEqual(['user/message notice']);
  });

  test('while three forks ran inherits every call and its result', async () => {
    const { ctx, model, parent } = await peeking({
      script: replies({
        'user: Review it.': delegates('Task A.', 'Task B.', 'Task C.'),
        'user: Task A.': { text: 'A so far', until: never },
        'user: Task B.': { text: 'B so far', until: never },
        'user: Task C.': { text: 'C so far', until: never },
      }),
    });
    say(parent, 'Review it.');
    await streamed(ctx, (session) => session !== parent.session, 3);
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
    const { session } = await runFork(ctx, parent, 'List the files.');
    expect(shown(requestsOf(model, session)[0]!)).toEqual([
      'user: Review it.', 'assistant: I delegate.', delegated('Task A.'), delegated('Task B.'), delegated('Task C.'),
      ...['A so far', 'B so far', 'C so far'].map((said) => [
        'result: Error: subagent run was cancelled',
        'Diagnostic: ABORTED: the turn was cancelled by its parent',
        'Partial output before the run ended:',
        said,
      ].join('\n')),
      CANCELLED, 'user: List the files.',
    ]);
    expect(added(session, parent.session)).toEqual(['user/message notice']);
  });

  test('and asked again says in the next turn\'s fork that the first request stays cancelled', async () => {
    const { ctx, model, parent } = await peeking({
      script: replies({
        'user: DELETE ALL THE TEST DATA': { text: 'I will now', until: never },
        'user: Rather list it.': delegates('List the files.'),
      }),
    });
    say(parent, 'DELETE ALL THE TEST DATA');
    await streamed(ctx, () => true);
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
    await ask(parent, 'Rather list it.');
    expect(shown(model.requests[2]!)).toEqual([
      'user: DELETE ALL THE TEST DATA', 'assistant: I will now', 'user: Rather list it.', CANCELLED, 'user: List the files.',
    ]);
  });
});

test('a fork after a turn whose request failed inherits the request, and the notice says that one failed', async () => {
  const { ctx, model, parent } = await peeking({
    script: replies({ 'user: Hello.': { text: 'Hel', finish: { kind: 'error', failure: { code: 'NETWORK', message: 'reset' } } } }),
  });
  await ask(parent, 'Hello.');
  const { session } = await runFork(ctx, parent, 'List the files.');
  expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: Hello.', FAILED, 'user: List the files.']);
  expect(added(session, parent.session)).toEqual(['user/message notice']);
});

test('a fork after a request that failed, was asked again and done is told of no failure', async () => {
  let attempts = 0;
  const { ctx, model, parent } = await peeking({
    script: (request, index) => shown(request).at(-1) === 'user: Hello.' && attempts++ === 0
      ? { text: 'Hel', finish: { kind: 'error', failure: { code: 'NETWORK', message: 'reset' } } }
      : replies({ 'user: Try again.': 'Hello yourself.', 'user: Now delegate.': delegates('List the files.') })(request, index),
  });
  const children = childSessions(ctx);
  await ask(parent, 'Hello.');
  await ask(parent, 'Try again.');
  await ask(parent, 'Now delegate.');
  expect(shown(requestsOf(model, children[0]!)[0]!)).toEqual([
    'user: Hello.', 'user: Try again.', 'assistant: Hello yourself.', 'user: Now delegate.', NOTICE, 'user: List the files.',
  ]);
});

test('a fork from the turn that asks a failed request again is told of no failure', async () => {
  let attempts = 0;
  const { ctx, model, parent } = await peeking({
    script: (request, index) => shown(request).at(-1) === 'user: List it.' && attempts++ === 0
      ? { finish: { kind: 'error', failure: { code: 'NETWORK', message: 'reset' } } }
      : replies({ 'user: List it.': delegates('List the files.') })(request, index),
  });
  const children = childSessions(ctx);
  await ask(parent, 'List it.');
  await ask(parent, 'List it.');
  expect(shown(requestsOf(model, children[0]!)[0]!)).toEqual(['user: List it.', 'user: List it.', NOTICE, 'user: List the files.']);
});

test('a fork after a turn whose end gives no reason that can be read is told of nothing', async () => {
  const { ctx, model, parent } = await peeking({ invariants: false });
  await ask(parent, 'Hello.');
  for (const [index, data] of [{}, { reason: null }, { reason: 'error' }, { reason: { kind: 'aborted' } }].entries()) {
    parent.session.append('turn/start', { turn: index + 2 });
    parent.session.append('user/message', userMessage('Then this.'), { surfaceOp: 'append' });
    parent.session.append('turn/end', { turn: index + 2, ...data } as never);
  }
  const { result, session } = await runFork(ctx, parent, 'List the files.');
  expect(result.stopReason).toBe('completed');
  expect(shown(requestsOf(model, session)[0]!).slice(-3)).toEqual(['user: Then this.', NOTICE, 'user: List the files.']);
});

test('a fork after a turn that was cut at the output limit inherits what was said, and the notice names nothing', async () => {
  const { ctx, model, parent } = await peeking({
    script: replies({ 'user: Hello.': { text: 'Hello, I was just', finish: { kind: 'max-tokens' } } }),
  });
  await ask(parent, 'Hello.');
  const { session } = await runFork(ctx, parent, 'List the files.');
  expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: Hello.', 'assistant: Hello, I was just', NOTICE, 'user: List the files.']);
  expect(parent.session.events.at(-1)?.data).toEqual({ turn: 1, reason: { kind: 'max-tokens' } });
  expect(added(session, parent.session)).toEqual(['user/message notice']);
});

test('a fork while a cancelled turn still runs out inherits the request being answered', async () => {
  const stopping = Promise.withResolvers<string>();
  const running = Promise.withResolvers<void>();
  const { ctx, model, parent } = await peeking({
    mount: (mounted) => registerTool(mounted, 'wipe', () => {
      running.resolve();
      return stopping.promise;
    }),
    script: replies({ 'user: DELETE ALL THE TEST DATA': calls('wipe') }),
  });
  say(parent, 'DELETE ALL THE TEST DATA');
  await running.promise;
  parent.cancel({ kind: 'user' });
  const { session } = await runFork(ctx, parent, 'List the files.');
  expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: DELETE ALL THE TEST DATA', NOTICE, 'user: List the files.']);
  expect(added(session, parent.session)).toEqual(CLOSED_STEP);
  stopping.resolve('wiped');
  await parent.whenIdle();
});
