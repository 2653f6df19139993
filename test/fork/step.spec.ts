import { SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import {
  added, behind, calls, childSessions, CLOSED_STEP, delegated, delegates, logged, NOTICE, peeking, replies, userMessage,
} from '../support/delegation.ts';
import { ask, inherited, registerTool, requestsOf, runFork, say, shown } from '../support/harness.ts';

describe('a fork from the delegation tool', () => {
  test('in the first turn inherits the question, the tool call and its result', async () => {
    const { ctx, model, parent, logs } = await peeking({
      script: replies({
        'user: What is in the file?': calls('peek'),
        'result: PEEKED FILE CONTENT': delegates('Check it.'),
        'user: Check it.': 'checked',
      }),
    });
    const children = childSessions(ctx);
    await ask(parent, 'What is in the file?');
    expect(model.requests.map(shown)).toEqual([
      ['user: What is in the file?'],
      ['user: What is in the file?', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT'],
      ['user: What is in the file?', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT', NOTICE, 'user: Check it.'],
      [
        'user: What is in the file?', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT',
        'assistant: I delegate.', delegated('Check it.'), 'result: checked',
      ],
    ]);
    expect(behind(model.requests[2]!, model.requests[1]!)).toEqual([NOTICE, 'user: Check it.']);
    const end = parent.session.events.findIndex((event) => event.type === 'assistant/chunk' && event.data.step === 2);
    const { time } = parent.session.events[end - 1]!;
    expect(inherited(children[0]!)).toEqual([
      ...parent.session.events.slice(0, end),
      { type: 'step/end', seq: end, time, data: { turn: 1, step: 2 } },
      { type: 'turn/end', seq: end + 1, time, data: { turn: 1, reason: { kind: 'interrupted' } } },
      expect.objectContaining({ type: 'user/message', seq: end + 2, time }),
    ]);
    expect(logs).toEqual([]);
  });

  test('in the first step of the first turn inherits the user\'s question alone', async () => {
    const { ctx, model, parent } = await peeking({ script: replies({ 'user: Review my plan.': delegates('Check it.') }) });
    const children = childSessions(ctx);
    await ask(parent, 'Review my plan.');
    expect(shown(model.requests[1]!)).toEqual(['user: Review my plan.', NOTICE, 'user: Check it.']);
    expect(behind(model.requests[1]!, model.requests[0]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(children[0]!, parent.session)).toEqual(CLOSED_STEP);
  });

  test('in a later turn inherits the earlier turns and the current one', async () => {
    const { ctx, model, parent } = await peeking({
      script: replies({
        'user: Hello.': 'Hello yourself.',
        'user: What is in the file?': calls('peek'),
        'result: PEEKED FILE CONTENT': delegates('Check it.'),
      }),
    });
    const children = childSessions(ctx);
    await ask(parent, 'Hello.');
    await ask(parent, 'What is in the file?');
    expect(shown(model.requests[3]!)).toEqual([
      'user: Hello.', 'assistant: Hello yourself.',
      'user: What is in the file?', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT',
      NOTICE, 'user: Check it.',
    ]);
    expect(behind(model.requests[3]!, model.requests[2]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(children[0]!, parent.session)).toEqual(CLOSED_STEP);
  });

  test('beside two siblings inherits the whole delegating request and nothing of a sibling', async () => {
    const { ctx, model, parent } = await peeking({
      script: replies({
        'user: What is in the file?': calls('peek'),
        'result: PEEKED FILE CONTENT': delegates('Task A.', 'Task B.', 'Task C.'),
        'user: Task A.': 'A done',
        'user: Task B.': 'B done',
        'user: Task C.': 'C done',
      }),
    });
    const children = childSessions(ctx);
    await ask(parent, 'What is in the file?');
    expect(children.map((child) => requestsOf(model, child).map((request) => behind(request, model.requests[1]!)))).toEqual([
      [[NOTICE, 'user: Task A.']], [[NOTICE, 'user: Task B.']], [[NOTICE, 'user: Task C.']],
    ]);
    expect(children.map((child) => added(child, parent.session))).toEqual([CLOSED_STEP, CLOSED_STEP, CLOSED_STEP]);
    expect(new Set(children.map((child) => child.header.seedLength)).size).toBe(1);
    expect(shown(requestsOf(model, parent.session).at(-1)!).slice(-3)).toEqual(['result: A done', 'result: B done', 'result: C done']);
  });
});

describe('what came into the turn on its way', () => {
  test('a message that steered the turn is inherited, one that waits for the next step or turn is not', async () => {
    const { ctx, model, parent } = await peeking({
      mount: (mounted) => registerTool(mounted, 'peek', async (agent) => {
        agent.steer(userMessage('Look at the tests too.'));
        return 'PEEKED FILE CONTENT';
      }),
      script: replies({
        'user: What is in the file?': calls('peek'),
        'user: Look at the tests too.': delegates('Check it.'),
      }),
    });
    const children = childSessions(ctx);
    ctx.on('tools/pre-execute', ({ name }, next) => {
      if (name === 'subagent_fork') {
        parent.steer(userMessage('And the docs.'));
        parent.followup(userMessage('Then commit.'));
      }
      return next();
    });
    await ask(parent, 'What is in the file?');
    const [request] = requestsOf(model, children[0]!);
    expect(shown(request!)).toEqual([
      'user: What is in the file?', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT', 'user: Look at the tests too.',
      NOTICE, 'user: Check it.',
    ]);
    expect(behind(request!, model.requests[1]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(requestsOf(model, children[0]!)).toHaveLength(1);
    expect(requestsOf(model, parent.session).slice(2).map((sent) => shown(sent).at(-1))).toEqual(['user: And the docs.', 'user: Then commit.']);
  });
});

test('a request that broke off and was asked again is inherited without what was said of its first answer', async () => {
  let attempts = 0;
  const { ctx, model, parent } = await peeking({
    script: (request, index) => shown(request).at(-1) === 'user: Hello.' && attempts++ === 0
      ? { text: 'Hello yo', finish: { kind: 'error', failure: { code: 'NETWORK', message: 'reset' } } }
      : replies({ 'user: Hello.': delegates('Check it.') })(request, index),
  });
  ctx.on('agent/request-error', () => Promise.resolve({ kind: 'retry' }));
  const children = childSessions(ctx);
  await ask(parent, 'Hello.');
  expect(behind(model.requests[2]!, model.requests[1]!)).toEqual([NOTICE, 'user: Check it.']);
  expect(added(children[0]!, parent.session)).toEqual(CLOSED_STEP);
  expect(inherited(children[0]!).filter(({ type }) => type === 'assistant/chunk')).toEqual([]);
});

test('a continuable child is prepared with the seed that a start gives', async () => {
  const content = Promise.withResolvers<string>();
  const { ctx, parent } = await peeking({
    mount: (mounted) => registerTool(mounted, 'peek', () => content.promise),
    script: replies({ 'user: What is in the file?': calls('peek') }),
  });
  say(parent, 'What is in the file?');
  await logged(ctx, parent.session, 'tool/call');
  const { seed } = await ctx.subagents.getProvider('fork')!.prepareContinuable!({
    sessionId: SessionId('reserved'), parent, signal: new AbortController().signal,
  });
  const { session } = await runFork(ctx, parent, 'Check it.');
  const notice = seed!.at(-1) as SessionEvent<'user/message'>;
  expect(inherited(session)).toEqual(seed!.with(-1, { ...notice, data: { ...notice.data, id: expect.any(String) } }));
  expect(added(session, parent.session)).toEqual(CLOSED_STEP);
  content.resolve('PEEKED FILE CONTENT');
  await parent.whenIdle();
});
