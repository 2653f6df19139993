import type { Session } from '@deepseek-ai/dsh-session';
import * as spawn from '@deepseek-ai/dsh-subagent-spawn-in-process';
import * as toolSubagent from '@deepseek-ai/dsh-tool-subagent';
import { describe, expect, test } from 'vitest';
import { lostText, remind, REPEATED_LENGTH, shortened } from '../../src/child/reminder.ts';
import { childSessions, delegates, replies } from '../support/delegation.ts';
import { ask, requestsOf, runFork, setup } from '../support/harness.ts';
import type { ScriptedModel } from '../support/model.ts';

/** The runtime contexts that one request of a session shows last, by name. */
function contexts(model: ScriptedModel, session: Pick<Session, 'id'>, index = 0): Record<string, string> {
  const source = requestsOf(model, session)[index]!.messages.findLast((message) => message.source.kind === 'plugin' && message.source.form === 'snapshot')?.source;
  if (source?.kind !== 'plugin' || source.form !== 'snapshot') return {};
  return Object.fromEntries(source.sections.map(({ name, text }) => [name, text]));
}

test('a text is repeated whole up to the bound', () => {
  const text = 'x'.repeat(REPEATED_LENGTH);
  expect(shortened(text)).toBe(text);
});

test.each([
  ['abcdef', 'abcd\n[cut here: 4 of 6 characters shown]'],
  ['abc😀f', 'abc\n[cut here: 3 of 6 characters shown]'],
  ['ab😀ef', 'ab😀\n[cut here: 4 of 6 characters shown]'],
])('%j is cut behind four characters, and no surrogate pair is split', (text, expected) => {
  expect(shortened(text, 4)).toBe(expected);
});

test('lost messages are repeated word for word, each in a paragraph behind a sentence', () => {
  expect(lostText({ notice: 'A notice.', tasks: ['Do it.', 'Do that, too.'] }).split('\n\n')).toEqual([
    'Your history was summarized. This message stood between your parent agent\'s conversation and your task:',
    'A notice.',
    'Your task, word for word:',
    'Do it.',
    'The latest message to you behind it, word for word:',
    'Do that, too.',
  ]);
});

describe('the tools a child may not call', () => {
  const config = { seedBoundary: 'step', toolGuard: { deny: ['subagent'] } } as const;
  const REMINDER = { 'subagent-fork:fork': 'You may not call these tools: subagent.' };

  test('are in its runtime context from its first request on; its parent\'s says nothing of them', async () => {
    const { ctx, model, parent } = await setup({ config, tool: {}, script: replies({ 'user: Go on.': delegates('Do it.') }) });
    const children = childSessions(ctx);
    await ask(parent, 'Go on.');
    expect(contexts(model, children[0]!)).toMatchObject(REMINDER);
    expect(contexts(model, parent.session, 1)).toEqual({});
  });

  test('are told to a fresh agent below it, too', async () => {
    const { ctx, model, parent } = await setup({
      config: { toolGuard: { deny: ['write'] } },
      script: replies({ 'user: Spawn.': { calls: [{ name: 'subagent', arguments: { description: 'a', prompt: 'Hello.' } }] } }),
      mount: async (ctx) => {
        await ctx.plugin(spawn, { providerName: 'spawn' });
        await ctx.plugin(toolSubagent, toolSubagent.Config({ provider: 'spawn' }));
      },
    });
    const children = childSessions(ctx);
    await runFork(ctx, parent, 'Spawn.');
    expect(contexts(model, children[1]!)).toMatchObject({ 'subagent-fork:fork': 'You may not call these tools: write.' });
  });
});

describe('a persona in the reminder', () => {
  test('may refer to prompt variables, and what is repeated may hold any braces', async () => {
    const { ctx, model, parent } = await setup({ config: false });
    ctx.systemPrompt.variable('who', () => 'the reviewer');
    remind(parent.ctx, 'fork', () => ({ persona: 'You are {{who}}.', lost: { notice: 'A {{notice}}.', tasks: ['{{}} {{who}} }}'] } }));
    await ask(parent, 'Hello.');
    expect(contexts(model, parent.session)).toEqual({
      'subagent-fork:fork': `You are the reviewer.\n\n${lostText({ notice: 'A {{notice}}.', tasks: ['{{}} {{who}} }}'] })}`,
    });
  });

  test('may be all there is to say', async () => {
    const { model, parent } = await setup({ config: false });
    remind(parent.ctx, 'fork', () => ({ persona: 'You are a reviewer.' }));
    await ask(parent, 'Hello.');
    expect(contexts(model, parent.session)).toEqual({ 'subagent-fork:fork': 'You are a reviewer.' });
  });
});

test('an assembly for no agent has no reminder', async () => {
  const { ctx } = await setup({ config: { toolGuard: { deny: ['write'] } } });
  const { contexts } = await ctx.systemPrompt.assemble({});
  expect(contexts).toEqual([{ name: 'subagent-fork:fork', text: '' }]);
});
