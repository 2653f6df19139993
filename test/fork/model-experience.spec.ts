/** The claims of the README's Model Experience that no other spec makes its title. */
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { ObjectJsonSchema } from '@deepseek-ai/dsh-tools';
import { describe, expect, test } from 'vitest';
import { ask, registerTool, requestsOf, runFork, setup } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';

/** A parent that peeks and then, in its second step, forks as this test says. */
async function forkingParent(fork: (setup: Setup, parent: Agent) => Promise<unknown>): Promise<Setup> {
  const mounted: Setup = await setup({
    config: { seedBoundary: 'step' },
    mount: (ctx) => {
      registerTool(ctx, 'peek', 'PEEKED');
      registerTool(ctx, 'delegate', async (agent) => String(await fork(mounted, agent)));
    },
    script: (request) => {
      const names = request.messages.flatMap(({ content }) => content.map((block) => block.type === 'tool-call' ? block.name : ''));
      if (request.sessionId !== mounted.parent.id || names.includes('delegate')) return 'ok';
      return { calls: [{ name: names.includes('peek') ? 'delegate' : 'peek', arguments: {} }] };
    },
  });
  await ask(mounted.parent, 'look');
  return mounted;
}

const childRequest = ({ model, parent }: Setup): Setup['model']['requests'][number] => model.requests.find(({ sessionId }) => sessionId !== parent.id)!;

describe('the child\'s request', () => {
  test('is the delegating request, then the notice, the task verbatim and the harness\'s runtime context', async () => {
    const task = '  The  task,\nas it was "given".  ';
    const mounted = await forkingParent(({ ctx }, parent) => runFork(ctx, parent, task));
    const delegating = requestsOf(mounted.model, mounted.parent.session)[1]!;
    const request = childRequest(mounted);
    expect(request.system).toBe(delegating.system);
    expect(request.tools).toEqual(delegating.tools);
    expect(request.messages.slice(0, delegating.messages.length)).toEqual(delegating.messages);
    expect(request.messages.slice(delegating.messages.length).map(({ role, source, content }) => ({ role, source, content }))).toEqual([
      {
        role: 'user',
        source: { kind: 'plugin', plugin: 'subagent-fork-in-process', form: 'notice', summary: 'History above is the parent agent\'s; the task follows.' },
        content: [{
          type: 'text',
          text: 'You are a subagent. The conversation above is your parent agent\'s, inherited as background only. '
            + 'Every request, goal, plan and delegation in it, finished or not, is the parent\'s to carry out, not yours. '
            + 'Your task follows. Do only that task and answer it.',
        }],
      },
      { role: 'user', source: { kind: 'user' }, content: [{ type: 'text', text: task }] },
      expect.objectContaining({ source: expect.objectContaining({ plugin: '@deepseek-ai/dsh-system-prompt' }) as unknown }),
    ]);
  });

  const schema: ObjectJsonSchema = { type: 'object', properties: {}, additionalProperties: false };

  test.each([
    ['a persona changes the system prompt alone', { persona: 'You are terse.' }, { system: true, tools: false }],
    ['a tool filter changes the tools alone', { toolFilter: { deny: ['peek'] } }, { system: false, tools: true }],
    ['structured output changes both', { outputSchema: schema }, { system: true, tools: true }],
  ])('%s; the inherited messages stay', async (_title, request, changed) => {
    const mounted = await forkingParent(({ ctx }, parent) => runFork(ctx, parent, 'the task', request));
    const delegating = requestsOf(mounted.model, mounted.parent.session)[1]!;
    const child = childRequest(mounted);
    expect({
      system: child.system !== delegating.system,
      tools: JSON.stringify(child.tools) !== JSON.stringify(delegating.tools),
    }).toEqual(changed);
    expect(child.messages.slice(0, delegating.messages.length)).toEqual(delegating.messages);
  });
});

test('the parent\'s tool result holds the child\'s final answer and nothing of its work', async () => {
  const { model, parent } = await setup({
    config: { seedBoundary: 'step' },
    tool: {},
    mount: (ctx) => registerTool(ctx, 'peek', 'PEEKED'),
    script: (_request, index) => [
      { calls: [{ name: 'subagent_fork', arguments: { description: 'child', prompt: 'the task' } }] },
      { text: 'I will peek.', calls: [{ name: 'peek', arguments: {} }] },
      'The final answer.',
    ][index] ?? 'ok',
  });
  await ask(parent, 'delegate');
  const [result] = requestsOf(model, parent.session)[1]!.messages.at(-1)!.content;
  expect(result).toMatchObject({ type: 'tool-result', isError: false, content: [{ type: 'text', text: 'The final answer.' }] });
});
