import { join } from 'node:path';
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { SessionId } from '@deepseek-ai/dsh-session';
import { expect, onTestFinished, test } from 'vitest';
import { boot } from '../support/composition.ts';
import type { CacheReport } from '../../src/cache-report/index.ts';
import { ask, requestsOf, ROUTE, runFork, shown } from '../support/harness.ts';
import { ScriptedModel } from '../support/model.ts';
import type { Script } from '../support/model.ts';

const fixture = (name: string): string => join(import.meta.dirname, '../support', name);

/** The composition of an existing user, with a scripted model and one agent on it. */
async function composed(script: Script): Promise<{ readonly ctx: Context; readonly model: ScriptedModel; readonly parent: Agent }> {
  const ctx = await boot(fixture('cordis.yml'));
  onTestFinished(() => ctx.fiber.dispose());
  const model = new ScriptedModel(script);
  ctx.llm.registerAdapter(['scripted'], model);
  const { agent: parent } = await ctx.agents.create({ sessionId: SessionId('parent'), agentOptions: ROUTE });
  return { ctx, model, parent };
}

test.for(['fork', 'review'])('a row by the published name mounts the provider `%s`, which forks', async (provider) => {
  const { ctx, model, parent } = await composed((_request, index) => `answer ${index}`);
  await ask(parent, 'A question.');
  const { result, session } = await runFork(ctx, parent, 'The task.', {}, provider);
  expect(result.stopReason).toBe('completed');
  expect(requestsOf(model, session).map(shown)).toEqual([['user: A question.', 'assistant: answer 0', 'user: The task.']]);
});

test('a delegation tool row on the provider `fork` starts a child that the companions follow', async () => {
  const { ctx, model, parent } = await composed((_request, index) =>
    index === 1 ? { calls: [{ name: 'subagent_fork', arguments: { description: 'a task', prompt: 'The task.' } }] } : `answer ${index}`);
  const reports: CacheReport[] = [];
  ctx.on('subagent-fork/cache-report', (report) => void reports.push(report));
  await ask(parent, 'A question.');
  await ask(parent, 'Have it checked.');
  expect(model.requests.map((request) => shown(request).at(-1))).toMatchInlineSnapshot(`
    [
      "user: A question.",
      "user: Have it checked.",
      "user: The task.",
      "result: answer 2",
    ]
  `);
  expect(reports.map(({ provider, inheritedMessages }) => ({ provider, inheritedMessages }))).toEqual([{ provider: 'fork', inheritedMessages: 2 }]);
});

test('a composition with a misspelt key does not boot, and says which key and what is accepted', async () => {
  await expect(boot(fixture('misspelt-key.yml'))).rejects.toThrowErrorMatchingInlineSnapshot(`
    [Error: misspelt-key.yml does not boot
    row subagent-fork-in-process (@deepseek-ai/dsh-subagent-fork-in-process) does not run
    ValidationError: invalid config:
      - seedBoundry is not an option; did you mean seedBoundary?]
  `);
});

test('a composition with a blank provider name does not boot, and says what is accepted', async () => {
  await expect(boot(fixture('blank-name.yml'))).rejects.toThrowErrorMatchingInlineSnapshot(`
    [Error: blank-name.yml does not boot
    row subagent-fork-in-process (@deepseek-ai/dsh-subagent-fork-in-process) does not run
    ValidationError: invalid config:
      - providerName expected text that is not blank but got " "]
  `);
});
