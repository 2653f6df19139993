import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { SessionId } from '@deepseek-ai/dsh-session';
import type { Session } from '@deepseek-ai/dsh-session';
import * as spawn from '@deepseek-ai/dsh-subagent-spawn-in-process';
import * as toolSubagent from '@deepseek-ai/dsh-tool-subagent';
import { describe, expect, test } from 'vitest';
import { forbids, guardText, refusal, unknownTools } from '../../src/child/guard.ts';
import type { ToolGuard } from '../../src/child/guard.ts';
import * as fork from '../../src/index.ts';
import { calls, childSessions, replies } from '../support/delegation.ts';
import { ask, registerTool, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup, SetupOptions } from '../support/harness.ts';
import type { Answer } from '../support/model.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

const REFUSED = `result: Error: ${refusal('write')}`;

test.each<[ToolGuard, string, string]>([
  [{ deny: ['write', 'bash'] }, 'write bash', 'You may not call these tools: write, bash.'],
  [{ allow: ['read'] }, 'write bash report', 'You may call no other tools than these: read.'],
  [{ allow: ['read', 'bash'], deny: ['bash'] }, 'write bash report', 'You may call no other tools than these: read.'],
  [{ allow: [] }, 'read write bash report', 'You may not call any tool.'],
  [{ deny: ['run_code', 'structured_output'] }, 'run_code structured_output', 'You may not call these tools: run_code, structured_output.'],
  [{}, '', ''],
])('the guard %j forbids "%s" and says "%s"', (guard, forbidden, text) => {
  const tools = ['read', 'write', 'bash', 'report', 'run_code', 'structured_output'];
  expect(tools.filter((tool) => forbids(guard, tool)).join(' ')).toBe(forbidden);
  expect(guardText(guard)).toBe(text);
});

test('a name is exact: neither another case nor a part of it is the same tool', () => {
  expect(['Write', 'write_file', 'writ'].filter((tool) => forbids({ deny: ['write'] }, tool))).toEqual([]);
});

test('names that no tool has are found in both lists, each once', () => {
  expect(unknownTools({ allow: ['read', 'raed', 'run_code'], deny: ['raed', 'wirte'] }, (name) => name === 'read')).toEqual(['raed', 'wirte']);
});

interface Guarded extends Setup {
  /** The id of each agent that wrote. */
  readonly written: string[];
}

/** A harness whose forks may not write, with the tools `write`, `subagent_fork` and `subagent` (a fresh agent). */
async function guarded(answers: Readonly<Record<string, Answer | string>>, options: SetupOptions = {}): Promise<Guarded> {
  const written: string[] = [];
  const mounted = await setup({
    config: { seedBoundary: 'step', toolGuard: { deny: ['write'] } },
    tool: {},
    ...options,
    mount: async (ctx: Context) => {
      registerTool(ctx, 'write', (agent) => Promise.resolve(String(written.push(agent.id))));
      await ctx.plugin(spawn, { providerName: 'spawn' });
      await ctx.plugin(toolSubagent, toolSubagent.Config({ provider: 'spawn' }));
      await options.mount?.(ctx);
    },
    script: replies(answers),
  });
  return { ...mounted, written };
}

/** What each request of a session shows last. */
function read({ model }: Setup, session: Pick<Session, 'id'>): (string | undefined)[] {
  return requestsOf(model, session).map((request) => shown(request).at(-1));
}

async function startContinuable({ ctx, parent }: Setup, task: string): Promise<Agent> {
  const { childId } = await ctx.subagents.startContinuable({
    provider: 'fork', label: 'child', signal: new AbortController().signal,
    request: { parent, prompt: [{ type: 'text', text: task }] },
  });
  const child = ctx.agents.get(childId)!;
  await child.whenIdle();
  return child;
}

describe('a child that may not write', () => {
  const answers = { 'user: Write.': calls('write'), 'user: Spawn.': { calls: [{ name: 'subagent', arguments: { description: 'a', prompt: 'Write.' } }] } };

  test('is refused, reads why and goes on; its parent writes as before', async () => {
    const mounted = await guarded(answers);
    const { result, session } = await runFork(mounted.ctx, mounted.parent, 'Write.');
    expect(read(mounted, session)).toEqual(['user: Write.', REFUSED]);
    expect(result.stopReason).toBe('completed');
    expect(mounted.written).toEqual([]);
    await ask(mounted.parent, 'Write.');
    expect(mounted.written).toEqual([mounted.parent.id]);
  });

  test('is offered the tool all the same: its tools and system prompt are its parent\'s', async () => {
    const mounted = await guarded(answers);
    await ask(mounted.parent, 'Hello.');
    const { session } = await runFork(mounted.ctx, mounted.parent, 'Write.');
    const { tools, system } = requestsOf(mounted.model, mounted.parent.session)[0]!;
    for (const request of requestsOf(mounted.model, session)) expect(request).toMatchObject({ tools, system });
  });

  test('cannot have it done by a fresh agent it delegates to', async () => {
    const mounted = await guarded(answers);
    const children = childSessions(mounted.ctx);
    await runFork(mounted.ctx, mounted.parent, 'Spawn.');
    expect(children.map(({ header }) => header.delegationDepth)).toEqual([1, 2]);
    expect(read(mounted, children[1]!)).toEqual(['user: Write.', REFUSED]);
    expect(mounted.written).toEqual([]);
  });

  test('cannot lift it from its own scope: not with a tool of that name, not with a listener that allows', async () => {
    const mounted = await guarded(answers);
    const { ctx, parent, written } = mounted;
    ctx.on('agent/session-start', ({ agent }) => {
      registerTool(agent.ctx, 'write', () => Promise.resolve(String(written.push('own'))));
      agent.ctx.on('tools/pre-execute', () => Promise.resolve({ kind: 'allow' }), { prepend: true });
    });
    const { session } = await runFork(ctx, parent, 'Write.');
    expect(read(mounted, session)).toEqual(['user: Write.', REFUSED]);
    expect(written).toEqual([]);
  });

  test('is held when it is continuable, and after a cold resume', async () => {
    const mounted = await guarded({ ...answers, 'user: Write again.': calls('write') }, { mount: mountPersistence(await temporaryDirectory()) });
    const { ctx, parent, written } = mounted;
    await ask(parent, 'Hello.');
    const { id } = await startContinuable(mounted, 'Write.');
    await ctx.subagents.drainContinuableChildren(parent, [id]);
    await ctx.subagents.followup(parent, id, [{ type: 'text', text: 'Write again.' }], { source: { kind: 'user' }, signal: new AbortController().signal });
    await ctx.agents.get(id)!.whenIdle();
    expect(read(mounted, { id })).toEqual(['user: Write.', REFUSED, 'user: Write again.', REFUSED]);
    expect(written).toEqual([]);
  });

  test('is held inside a program, too, and may not call anything else by its native name', async () => {
    const code = 'try { await tools.write({}); } catch (error) { return error.message; }';
    const mounted = await guarded({ 'user: Write.': { calls: [{ name: 'run_code', arguments: { code, description: 'Write' } }] } }, { toolMode: 'code' });
    const { session } = await runFork(mounted.ctx, mounted.parent, 'Write.');
    expect(read(mounted, session).at(-1)).toContain(refusal('write'));
    expect(mounted.written).toEqual([]);
    await ask(mounted.parent, 'Write.');
    expect(mounted.written).toEqual([mounted.parent.id]);
  });

  test('writes again when the plugin is gone', async () => {
    const written: string[] = [];
    const { ctx, parent, model } = await setup({ config: false, script: replies(answers) });
    registerTool(ctx, 'write', (agent) => Promise.resolve(String(written.push(agent.id))));
    const fiber = ctx.plugin(fork, { toolGuard: { deny: ['write'] } });
    await fiber;
    const { child, session } = await runFork(ctx, parent, 'Write.');
    expect(written).toEqual([]);
    await fiber.dispose();
    await ask(child, 'Write.');
    expect(written).toEqual([session.id]);
    expect(requestsOf(model, session)).toHaveLength(4);
  });
});

test('a fork may answer with structured output and through a program although `allow` names neither', async () => {
  const { ctx, parent } = await guarded(
    { 'user: Answer.': { calls: [{ name: 'structured_output', arguments: { size: 3 } }] } },
    { config: { toolGuard: { allow: [] } } },
  );
  const { result } = await runFork(ctx, parent, 'Answer.', {
    outputSchema: { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'], additionalProperties: false },
  });
  expect(result).toMatchObject({ stopReason: 'completed', structured: { size: 3 } });
});

test('an agent that is no child of this provider is not held', async () => {
  const mounted = await guarded({ 'user: Write.': calls('write') });
  const { session } = await runFork(mounted.ctx, mounted.parent, 'Write.', {}, 'spawn');
  expect(mounted.written).toEqual([session.id]);
});

test('a session that names itself as its parent is held by nobody and stops no call', async () => {
  const mounted = await guarded({ 'user: Write.': calls('write') });
  const sessionId = SessionId('ouroboros');
  const { agent } = await mounted.agent({ sessionId, meta: { origin: 'subagent', parentSession: sessionId } });
  await ask(agent, 'Write.');
  expect(mounted.written).toEqual([sessionId]);
});

describe('a name that no tool has', () => {
  const said = ({ logs }: Setup): string[] => logs.filter((line) => line.includes('toolGuard'));

  test('is said once in the log, at the first child', async () => {
    const mounted = await guarded({}, { config: { toolGuard: { allow: ['write', 'subagent_fork', 'run_code'], deny: ['wirte'] } } });
    expect(said(mounted)).toEqual([]);
    const { session } = await runFork(mounted.ctx, mounted.parent, 'Hello.');
    await runFork(mounted.ctx, mounted.parent, 'Hello.');
    expect(said(mounted)).toEqual([
      `"fork": toolGuard names "wirte", but session ${session.id} and its parents have no tool of that name; expected an exact tool name`,
    ]);
  });

  test('is not said of a tool that a filter took from the child', async () => {
    const mounted = await guarded({});
    await runFork(mounted.ctx, mounted.parent, 'Hello.', { toolFilter: { deny: ['write'] } });
    expect(said(mounted)).toEqual([]);
  });
});
