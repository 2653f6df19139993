import { expect, test } from 'vitest';
import { ask, forkOf, inherited, registerTool, requestsOf, runFork, setup, shown } from './support/harness.ts';

test('turn', async () => {
  const { ctx, model, parent, logs } = await setup({ script: (r, i) => `answer ${i}` });
  await ask(parent, 'hello');
  const { result, session } = await runFork(ctx, parent, 'the task');
  expect(result.stopReason).toBe('completed');
  expect(shown(requestsOf(model, session)[0]!)).toMatchInlineSnapshot(`
    [
      "user: hello",
      "assistant: answer 0",
      "user: the task",
    ]
  `);
  expect(session.events.map((e) => e.type)).toMatchInlineSnapshot(`
    [
      "agent/inbox/spliced",
      "turn/start",
      "agent/inbox/spliced",
      "step/start",
      "user/message",
      "request/header",
      "request/context",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/message",
      "step/end",
      "turn/end",
      "session/end-seed",
      "agent/inbox/spliced",
      "turn/start",
      "agent/inbox/spliced",
      "subagent/descriptor",
      "step/start",
      "user/message",
      "user/message",
      "request/header",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/chunk",
      "assistant/message",
      "step/end",
      "turn/end",
    ]
  `);
  expect(logs).toMatchInlineSnapshot(`[]`);
});

test('step first turn via tool', async () => {
  const { ctx, model, parent, logs } = await setup({
    config: { seedBoundary: 'step' }, tool: {},
    mount: (c) => registerTool(c, 'peek', 'PEEKED FILE CONTENT'),
    script: (r, i) => i === 0 ? { calls: [{ name: 'peek', arguments: {} }] } : i === 1 ? { text: 'delegating', calls: [{ name: 'subagent_fork', arguments: { description: 'd', prompt: 'THE TASK' } }] } : `answer ${i}`,
  });
  await ask(parent, 'What is in the file?');
  expect(model.requests.map(shown)).toMatchInlineSnapshot(`
    [
      [
        "user: What is in the file?",
      ],
      [
        "user: What is in the file?",
        "assistant calls peek {}",
        "result: PEEKED FILE CONTENT",
      ],
      [
        "user: What is in the file?",
        "assistant calls peek {}",
        "result: PEEKED FILE CONTENT",
        "user: You are a subagent. The conversation above is your parent agent's, inherited as background only. Every request, goal, plan and delegation in it, finished or not, is the parent's to carry out, not yours. Your task follows. Do only that task and answer it.",
        "user: THE TASK",
      ],
      [
        "user: What is in the file?",
        "assistant calls peek {}",
        "result: PEEKED FILE CONTENT",
        "assistant: delegating",
        "assistant calls subagent_fork {"description":"d","prompt":"THE TASK"}",
        "result: answer 2",
      ],
    ]
  `);
  expect(logs).toMatchInlineSnapshot(`[]`);
});
