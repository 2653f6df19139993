import { Session, SessionId } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import * as fork from '../../src/index.ts';
import {
  added, behind, calls, childSessions, CLOSED_STEP, CLOSED_TURN, logged, NOTICE, peeking, replies, streamed, userMessage,
} from '../support/delegation.ts';
import { ask, inherited, registerTool, requestsOf, runFork, say, shown } from '../support/harness.ts';

describe('a fork from outside a tool', () => {
  test('while the parent streams inherits nothing half-said', async () => {
    const rest = Promise.withResolvers<void>();
    const { ctx, model, parent } = await peeking({
      script: replies({
        'user: What is in the file?': calls('peek'),
        'result: PEEKED FILE CONTENT': { reasoning: 'It holds', text: 'The file holds', until: rest.promise },
      }),
    });
    say(parent, 'What is in the file?');
    await logged(ctx, parent.session, 'tool/result');
    await logged(ctx, parent.session, 'assistant/chunk');
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(behind(requestsOf(model, session)[0]!, model.requests[1]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(session, parent.session)).toEqual(CLOSED_STEP);
    rest.resolve();
    await parent.whenIdle();
    expect(parent.session.events.at(-1)?.data).toEqual({ turn: 1, reason: { kind: 'completed' } });
  });

  test('while the parent streams and a plugin tells it something inherits the request as it was asked', async () => {
    const rest = Promise.withResolvers<void>();
    const { ctx, model, parent } = await peeking({ script: replies({ 'user: Hello.': { text: 'Hello', until: rest.promise } }) });
    say(parent, 'Hello.');
    await streamed(ctx, () => true);
    parent.session.append('user/message', userMessage('By the way.'), { surfaceOp: 'append' });
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(behind(requestsOf(model, session)[0]!, model.requests[0]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(session, parent.session)).toEqual(CLOSED_STEP);
    rest.resolve();
    await parent.whenIdle();
  });

  test('while the parent waits for its model inherits the request that waits', async () => {
    const answer = Promise.withResolvers<string>();
    const asked = Promise.withResolvers<void>();
    const { ctx, model, parent } = await peeking({
      script: (request) => {
        if (shown(request).at(-1) !== 'user: Hello.') return 'done';
        asked.resolve();
        return answer.promise;
      },
    });
    say(parent, 'Hello.');
    await asked.promise;
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(behind(requestsOf(model, session)[0]!, model.requests[0]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(session, parent.session)).toEqual(CLOSED_STEP);
    answer.resolve('Hello yourself.');
    await parent.whenIdle();
  });

  test('while a tool runs inherits the request that called it, and leaves the parent\'s log and its open turn as they are', async () => {
    const content = Promise.withResolvers<string>();
    const { ctx, model, parent } = await peeking({
      mount: (mounted) => registerTool(mounted, 'peek', () => content.promise),
      script: replies({ 'user: What is in the file?': calls('peek'), 'result: PEEKED FILE CONTENT': 'It is a test.' }),
    });
    say(parent, 'What is in the file?');
    await logged(ctx, parent.session, 'tool/call');
    const before = structuredClone(parent.session.events);
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(behind(requestsOf(model, session)[0]!, model.requests[0]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(session, parent.session)).toEqual(CLOSED_STEP);
    expect(parent.session.events).toEqual(before);
    content.resolve('PEEKED FILE CONTENT');
    await parent.whenIdle();
    expect(parent.session.events.slice(before.length).map(({ type }) => type)).toEqual([
      'tool/result', 'step/end', 'step/start', ...Array.from({ length: 7 }, () => 'assistant/chunk'),
      'assistant/message', 'step/end', 'turn/end',
    ]);
    expect(shown(model.requests.at(-1)!)).toEqual([
      'user: What is in the file?', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT',
    ]);
  });

  test('from a hook on a tool\'s result inherits the request that called the tool', async () => {
    const { ctx, model, parent } = await peeking({ script: replies({ 'user: What is in the file?': calls('peek') }) });
    const forks: ReturnType<typeof runFork>[] = [];
    ctx.on('tools/result', ({ agent }) => void forks.push(runFork(ctx, agent!, 'Check it.')));
    await ask(parent, 'What is in the file?');
    const [{ session }] = await Promise.all(forks) as [Awaited<ReturnType<typeof runFork>>];
    expect(behind(requestsOf(model, session)[0]!, model.requests[0]!)).toEqual([NOTICE, 'user: Check it.']);
    expect(added(session, parent.session)).toEqual(CLOSED_STEP);
  });

  test('before the first step of a turn inherits the earlier turns', async () => {
    const { ctx, model, parent } = await peeking({ script: replies({ 'user: Hello.': 'Hello yourself.' }) });
    const children = childSessions(ctx);
    await ask(parent, 'Hello.');
    const stop = ctx.on('agent/pre-step', async ({ agent }, next) => {
      stop();
      await runFork(ctx, agent, 'Check it.');
      return next();
    });
    await ask(parent, 'Once more.');
    expect(shown(requestsOf(model, children[0]!)[0]!)).toEqual(['user: Hello.', 'assistant: Hello yourself.', NOTICE, 'user: Check it.']);
    expect(added(children[0]!, parent.session)).toEqual(CLOSED_TURN);
    expect(shown(model.requests.at(-1)!)).toEqual(['user: Hello.', 'assistant: Hello yourself.', 'user: Once more.']);
  });

  test('before the first step of the first turn inherits no message: no notice speaks of any, and one log line says so', async () => {
    const { ctx, logs, model, parent } = await peeking({});
    const children = childSessions(ctx);
    const stop = ctx.on('agent/pre-step', async ({ agent }, next) => {
      stop();
      await runFork(ctx, agent, 'Check it.');
      return next();
    });
    await ask(parent, 'Hello.');
    expect(shown(requestsOf(model, children[0]!)[0]!)).toEqual(['user: Check it.']);
    expect(added(children[0]!, parent.session)).toEqual(['turn/end interrupted']);
    expect(logs).toEqual([`"fork": session ${parent.id} has no message to inherit at seedBoundary "step"; the child starts fresh`]);
  });

  test('between two steps inherits the step that ended, with the results of its calls', async () => {
    const { ctx, model, parent } = await peeking({ script: replies({ 'user: What is in the file?': calls('peek') }) });
    const children = childSessions(ctx);
    const stop = ctx.on('agent/pre-step', async ({ agent, step }, next) => {
      if (step === 1) return next();
      stop();
      await runFork(ctx, agent, 'Check it.');
      return next();
    });
    await ask(parent, 'What is in the file?');
    expect(shown(requestsOf(model, children[0]!)[0]!)).toEqual([
      'user: What is in the file?', 'assistant calls peek {}', 'result: PEEKED FILE CONTENT', NOTICE, 'user: Check it.',
    ]);
    expect(added(children[0]!, parent.session)).toEqual(CLOSED_TURN);
  });

  test('when a turn is about to end inherits its answer', async () => {
    const { ctx, model, parent } = await peeking({ script: replies({ 'user: Hello.': 'Hello yourself.' }) });
    const children = childSessions(ctx);
    const stop = ctx.on('agent/turn-stopping', async ({ agent }) => {
      stop();
      await runFork(ctx, agent, 'Check it.');
    });
    await ask(parent, 'Hello.');
    expect(shown(requestsOf(model, children[0]!)[0]!)).toEqual(['user: Hello.', 'assistant: Hello yourself.', NOTICE, 'user: Check it.']);
    expect(added(children[0]!, parent.session)).toEqual(CLOSED_TURN);
  });

  test('before any turn inherits the summary with which the session began, and at `turn` nothing', async () => {
    const { ctx, agent, model } = await peeking({ mount: (mounted) => mounted.plugin(fork, { providerName: 'at-turn', notice: true }) });
    const begun = Session.create(SessionId('begun'));
    begun.append('user/message', userMessage('So far: the tests are red.'), { surfaceOp: 'append' });
    const { agent: parent } = await agent({ seed: begun.events });
    const step = await runFork(ctx, parent, 'Check it.');
    const turn = await runFork(ctx, parent, 'Check it.', {}, 'at-turn');
    expect(shown(requestsOf(model, step.session)[0]!)).toEqual(['user: So far: the tests are red.', NOTICE, 'user: Check it.']);
    expect(inherited(step.session).slice(0, -1)).toEqual(parent.session.events);
    expect(shown(requestsOf(model, turn.session)[0]!)).toEqual(['user: Check it.']);
    expect(inherited(turn.session)).toEqual([]);
  });

  test('with the parent idle inherits what a fork at `turn` does', async () => {
    const { ctx, model, parent } = await peeking({
      mount: (mounted) => mounted.plugin(fork, { providerName: 'at-turn', notice: true }),
      script: replies({ 'user: Hello.': 'Hello yourself.' }),
    });
    await ask(parent, 'Hello.');
    const step = await runFork(ctx, parent, 'Check it.');
    const turn = await runFork(ctx, parent, 'Check it.', {}, 'at-turn');
    expect(shown(requestsOf(model, step.session)[0]!)).toEqual(['user: Hello.', 'assistant: Hello yourself.', NOTICE, 'user: Check it.']);
    expect(inherited(step.session).slice(0, -1)).toEqual(parent.session.events);
    expect(inherited(turn.session).slice(0, -1)).toEqual(parent.session.events);
    expect(shown(requestsOf(model, turn.session)[0]!)).toEqual(shown(requestsOf(model, step.session)[0]!));
  });
});
