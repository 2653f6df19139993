import { createUserMessage } from '@deepseek-ai/dsh-llm';
import { describe, expect, test } from 'vitest';
import { childSessions, delegates, replies } from '../support/delegation.ts';
import { ask, inherited, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import { mountPlanMode, PLANNING } from '../support/plan-mode.ts';

describe('one log line names', () => {
  test.for([
    ['turn', true, 'has no message to inherit at seedBoundary "turn"; the child starts fresh, out of its parent\'s plan mode; "step" inherits the open turn'],
    ['turn', false, 'has no message to inherit at seedBoundary "turn"; the child starts fresh; "step" inherits the open turn'],
    ['step', true, 'has no message to inherit at seedBoundary "step"; the child starts fresh'],
  ] as const)('before any turn at `%s`, with plan mode switched to %s, what a child misses', async ([seedBoundary, active, line]) => {
    const { ctx, logs, model, parent } = await setup({ config: { seedBoundary }, mount: mountPlanMode });
    ctx.planMode.set(parent, true);
    ctx.planMode.set(parent, active);
    const { session } = await runFork(ctx, parent, 'Check it.');
    expect(logs).toEqual([`"fork": session ${parent.id} ${line}`]);
    expect(requestsOf(model, session)[0]!.system!.includes(PLANNING)).toBe(active && seedBoundary === 'step');
  });

  test('at `turn` in the first turn the plan mode that the parent is in', async () => {
    const { ctx, logs, parent } = await setup({ tool: {}, mount: mountPlanMode, script: replies({ 'user: Hello.': delegates('Check it.') }) });
    const children = childSessions(ctx);
    ctx.planMode.set(parent, true);
    await ask(parent, 'Hello.');
    expect(inherited(children[0]!)).toEqual([]);
    expect(logs).toEqual([
      `"fork": session ${parent.id} has no message to inherit at seedBoundary "turn"; the child starts fresh, out of its parent's plan mode; "step" inherits the open turn`,
    ]);
  });

  test('a history that an empty message replaced', async () => {
    const { ctx, logs, parent } = await setup();
    await ask(parent, 'Hello.');
    const nodes = [...parent.session.surface.nodes];
    parent.session.append('user/message', createUserMessage({ content: [], source: { kind: 'plugin', plugin: 'other' } }), {
      surfaceOp: { op: 'replace', start: nodes[0]!, end: nodes.at(-1)! }, sourceEventSeqs: nodes,
    });
    await runFork(ctx, parent, 'Check it.');
    expect(logs).toEqual([`"fork": session ${parent.id} has no message to inherit at seedBoundary "turn"; the child starts fresh; "step" inherits the open turn`]);
  });
});

describe('a forked child that forks in its first turn', () => {
  const script = replies({ 'user: Level one.': delegates('Level two.'), 'user: Level two.': 'two done', 'user: And again.': delegates('Level two.') });

  test('at `turn` hands on nothing of its own work, and one log line names it', async () => {
    const { ctx, logs, model, parent } = await setup({ tool: {}, script });
    await ask(parent, 'Hello.');
    const children = childSessions(ctx);
    const { child } = await runFork(ctx, parent, 'Level one.');
    expect(shown(requestsOf(model, children[1]!)[0]!)).toEqual(['user: Hello.', 'assistant: done', 'user: Level two.']);
    const line = `"fork": session ${child.id} is itself forked and has completed no turn since; `
      + 'at seedBoundary "turn" the child inherits nothing of its work; "step" inherits the open turn';
    expect(logs).toEqual([line]);
    await ask(child, 'And again.');
    expect(logs).toEqual([line]);
    expect(shown(requestsOf(model, children[2]!)[0]!)).toContain('result: two done');
  });

  test('at `turn` hands on nothing at all when it started fresh, and the log line is that of a fresh child', async () => {
    const { ctx, logs, parent } = await setup({ tool: {}, script });
    const { child } = await runFork(ctx, parent, 'Level one.');
    const fresh = 'has no message to inherit at seedBoundary "turn"; the child starts fresh; "step" inherits the open turn';
    expect(logs).toEqual([parent, child].map(({ id }) => `"fork": session ${id} ${fresh}`));
  });

  test('at `step`, or before it has any work of its own, misses nothing', async () => {
    const { ctx, logs, parent } = await setup({ tool: {}, config: { seedBoundary: 'step' }, script });
    await ask(parent, 'Hello.');
    const stop = ctx.on('agent/pre-step', async ({ agent }, next) => {
      stop();
      await runFork(ctx, agent, 'Before.');
      return next();
    }, { global: true });
    await runFork(ctx, parent, 'Level one.');
    expect(logs).toEqual([]);
  });
});
