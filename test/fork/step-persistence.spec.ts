import { expect, test } from 'vitest';
import { added, behind, calls, childSessions, CLOSED_STEP, delegates, logged, NOTICE, peeking, replies, userMessage } from '../support/delegation.ts';
import { ask, inherited, registerTool, requestsOf, ROUTE, runFork, say, shown } from '../support/harness.ts';
import { crashed, mountPersistence, temporaryDirectory } from '../support/persistence.ts';

test('a turn that a crash cut short is inherited as the reload repaired it', async () => {
  const root = await temporaryDirectory();
  const content = Promise.withResolvers<string>();
  const first = await peeking({
    mount: async (ctx) => {
      await mountPersistence(root)(ctx);
      registerTool(ctx, 'peek', () => content.promise);
    },
    script: replies({ 'user: What is in the file?': calls('peek') }),
  });
  say(first.parent, 'What is in the file?');
  await logged(first.ctx, first.parent.session, 'tool/call');
  await first.ctx.sessions.flush(first.parent.session);
  const left = await crashed(root);
  content.resolve('too late');
  await first.parent.whenIdle();

  const { ctx, model } = await peeking({ mount: mountPersistence(left) });
  const { agent } = await ctx.agents.resume({ resumeSessionId: first.parent.id, agentOptions: ROUTE });
  const { session } = await runFork(ctx, agent, 'Check it.');
  expect(shown(requestsOf(model, session)[0]!)).toEqual([
    'user: What is in the file?',
    'assistant calls peek {}',
    expect.stringContaining('result: The tool call was interrupted after it was recorded'),
    NOTICE,
    'user: Check it.',
  ]);
  expect(agent.session.events.slice(-4).map(({ type }) => type)).toEqual(['tool/result', 'step/end', 'turn/end', 'session/end-seed']);
  expect(agent.session.events.at(-2)?.data).toEqual({ turn: 1, reason: { kind: 'interrupted' } });
  expect(added(session, agent.session)).toEqual(['user/message notice']);
});

test('a continuable child from the first turn inherits it, and follows up after it was released and resumed from disk', async () => {
  const { ctx, model, parent } = await peeking({
    tool: { backgroundMode: 'continuable' },
    mount: async (mounted) => {
      await mountPersistence(await temporaryDirectory())(mounted);
      registerTool(mounted, 'peek', 'PEEKED FILE CONTENT');
    },
    script: replies({
      'user: What is in the file?': calls('peek'),
      'result: PEEKED FILE CONTENT': delegates('Check it.'),
      'user: Check it.': 'checked',
      'user: And the tests?': 'tests checked',
    }),
  });
  const children = childSessions(ctx);
  const ended = new Promise<void>((resolve) => void ctx.on('subagent/end', () => resolve()));
  await ask(parent, 'What is in the file?');
  const [child] = children;
  await ended;
  expect(ctx.agents.get(child!.id)).toBeUndefined();
  const [first] = requestsOf(model, child!);
  expect(behind(first!, model.requests[1]!)).toEqual([NOTICE, 'user: Check it.']);
  expect(added(child!, parent.session)).toEqual(CLOSED_STEP);

  await ctx.subagents.followup(parent, child!.id, userMessage('And the tests?').content, { source: { kind: 'user' }, signal: new AbortController().signal });
  const resumed = ctx.agents.get(child!.id)!;
  await resumed.whenIdle();
  expect(resumed.session).not.toBe(child);
  expect(shown(requestsOf(model, child!)[1]!)).toEqual([...shown(first!), 'assistant: checked', 'user: And the tests?']);
  expect(inherited(resumed.session)).toEqual(inherited(child!));
  expect(resumed.session.events.slice(0, child!.seq)).toEqual(child!.events);
  await parent.whenIdle();
});

test('a child\'s log is the same after a reload from disk, and the child goes on from it', async () => {
  const root = await temporaryDirectory();
  const content = Promise.withResolvers<string>();
  const first = await peeking({
    mount: async (ctx) => {
      await mountPersistence(root)(ctx);
      registerTool(ctx, 'peek', () => content.promise);
    },
    script: replies({ 'user: What is in the file?': calls('peek'), 'user: Check it.': 'checked' }),
  });
  say(first.parent, 'What is in the file?');
  await logged(first.ctx, first.parent.session, 'tool/call');
  const { session: child } = await runFork(first.ctx, first.parent, 'Check it.');
  await first.ctx.sessions.flush(child);

  const { ctx, model } = await peeking({ mount: mountPersistence(await crashed(root)) });
  const { agent } = await ctx.agents.resume({ resumeSessionId: child.id, agentOptions: ROUTE });
  expect(agent.session.header).toEqual(child.header);
  expect(agent.session.events.slice(0, -1)).toEqual(child.events);
  expect(agent.session.events.at(-1)?.type).toBe('session/end-seed');
  expect(agent.session.deriveMessages()).toEqual(child.deriveMessages());
  await ask(agent, 'And the tests?');
  expect(shown(model.requests[0]!)).toEqual([
    'user: What is in the file?', NOTICE, 'user: Check it.', 'assistant: checked', 'user: And the tests?',
  ]);
  content.resolve('PEEKED FILE CONTENT');
  await first.parent.whenIdle();
});
