import { installModelSelection } from '@deepseek-ai/dsh-agent';
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent';
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm';
import { SessionId } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import * as fork from '../../src/index.ts';
import { ask, inherited, registerTool, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

/** A harness that keeps its sessions on disk until the test ends. */
async function persisted(config: fork.Config | false = {}): Promise<Setup> {
  return setup({ config, mount: mountPersistence(await temporaryDirectory()) });
}

/** Starts a continuable fork and waits until it has answered its first task. */
async function start({ ctx, parent }: Setup, task: string, agentOptions?: AgentOptions): Promise<Agent> {
  const { childId } = await ctx.subagents.startContinuable({
    provider: 'fork', label: 'child', signal: new AbortController().signal,
    request: { parent, prompt: [{ type: 'text', text: task }], ...(agentOptions && { agentOptions }) },
  });
  const child = ctx.agents.get(childId)!;
  await child.whenIdle();
  return child;
}

/** Sends a follow-up and waits until the child, resident or resumed, has answered it. */
async function followUp({ ctx, parent }: Setup, childId: SessionId, text: string): Promise<void> {
  await ctx.subagents.followup(parent, childId, [{ type: 'text', text }], { source: { kind: 'user' }, signal: new AbortController().signal });
  await ctx.agents.get(childId)?.whenIdle();
}

async function release({ ctx, parent }: Setup, childId: SessionId): Promise<void> {
  await ctx.subagents.drainContinuableChildren(parent, [childId]);
  expect(ctx.agents.get(childId)).toBeUndefined();
}

function decide(agent: Agent, change: Partial<LlmCallConfig>): void {
  agent.ctx.on('agent/request', async (_payload, next) => ({ ...await next(), ...change }));
}

/** A system prompt that says on which route its agent runs. */
const ROUTE_SECTION = { name: 'route', order: 1, text: 'You are {{provider}}/{{model}}.' };

/** The route that the prompt of each of a session's requests says. */
function prompted({ model }: Setup, id: SessionId): (string | undefined)[] {
  return requestsOf(model, { id }).map(({ system }) => /You are (\S+)\./.exec(system!)?.[1]);
}

const routes = ({ model }: Setup, id: SessionId): string[] => requestsOf(model, { id }).map((request) => `${request.provider}/${request.model}`);

describe('a continuable child', () => {
  test('inherits the same seed as a one-shot child, behind which the harness writes its descriptor', async () => {
    const mounted = await persisted();
    await ask(mounted.parent, 'first');
    const child = await start(mounted, 'the task');
    expect(inherited(child.session)).toEqual(mounted.parent.session.events);
    expect(shown(requestsOf(mounted.model, child.session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
  });

  test('is fresh when nothing can be inherited, and no seed is announced', async () => {
    const mounted = await persisted();
    const { ctx, parent } = mounted;
    ctx.on('subagent-fork/seeded', () => expect.unreachable());
    const request = { parent, sessionId: SessionId('later'), signal: new AbortController().signal };
    expect(await ctx.subagents.getProvider('fork')!.prepareContinuable!(request)).toEqual({});
    const child = await start(mounted, 'the task');
    expect(child.session.header.seedLength).toBeUndefined();
    expect(mounted.logs).toContain(`"fork": session ${mounted.parent.id} has no message to inherit at seedBoundary "turn"; the child starts fresh; "step" inherits the open turn`);
  });
});

describe('a continuable start on a parent that is gone', () => {
  test.each(['before it', 'while the harness looks for its id'])('%s is refused and says so', async (when) => {
    const mounted = await persisted({ maxLiveForks: 1 });
    const { ctx } = mounted;
    const { agent: parent, dispose } = await mounted.agent();
    await ask(parent, 'first');
    const seeded: unknown[] = [];
    ctx.on('subagent-fork/seeded', (seeding) => void seeded.push(seeding.childId));
    if (when === 'before it') await dispose();
    const starting = Promise.allSettled([ctx.subagents.startContinuable({
      provider: 'fork', label: 'child', childId: SessionId('child'), signal: new AbortController().signal,
      request: { parent, prompt: [{ type: 'text', text: 'the task' }] },
    })]);
    await dispose();
    expect(await starting).toMatchObject([{ reason: { name: 'SubagentError', code: 'PARENT_GONE' } }]);
    expect(seeded).toEqual(when === 'before it' ? [] : ['child']);
    expect(ctx.agents.list()).toEqual([mounted.parent]);
    await start(mounted, 'the task');
  });
});

describe('the route of a continuable child', () => {
  test('is that of its parent\'s latest request, and its own after a cold resume', async () => {
    const mounted = await persisted();
    decide(mounted.parent, { provider: 'other', model: 'model-b' });
    await ask(mounted.parent, 'first');
    const { id } = await start(mounted, 'the task');
    await followUp(mounted, id, 'again');
    await release(mounted, id);
    await followUp(mounted, id, 'and again');
    expect(routes(mounted, id)).toEqual(['other/model-b', 'other/model-b', 'other/model-b']);
  });

  test('is its own after a cold resume even when the parent has moved on', async () => {
    const mounted = await persisted();
    const change: Partial<LlmCallConfig> = { model: 'model-b' };
    decide(mounted.parent, change);
    await ask(mounted.parent, 'first');
    const { id } = await start(mounted, 'the task');
    await release(mounted, id);
    Object.assign(change, { model: 'model-c' });
    await ask(mounted.parent, 'second');
    await followUp(mounted, id, 'again');
    expect(routes(mounted, id)).toEqual(['scripted/model-b', 'scripted/model-b']);
  });

  test.each(['before its first request', 'after it'])('is what a host selects %s', async (when) => {
    const mounted = await persisted();
    await ask(mounted.parent, 'first');
    const select = (agent: Agent): unknown => installModelSelection(agent.ctx, { current: { provider: 'other', model: 'picked' }, assembled: undefined });
    const stop = mounted.ctx.on('agent/created', ({ agent }) => void select(agent));
    if (when === 'after it') stop();
    const child = await start(mounted, 'the task');
    if (when === 'after it') select(child);
    await followUp(mounted, child.id, 'again');
    expect(routes(mounted, child.id)).toEqual([when === 'after it' ? 'scripted/model-a' : 'other/picked', 'other/picked']);
  });

  test.each<['agent/created' | 'agent/inbox/claimed', Partial<LlmCallConfig>]>([
    ['agent/created', {}],
    ...(['agent/created', 'agent/inbox/claimed'] as const).flatMap((event) =>
      [{ provider: 'third' }, { model: 'picked' }, { provider: 'third', model: 'picked' }].map((change): [typeof event, Partial<LlmCallConfig>] => [event, change])),
  ])('is what a host selects at `%s`, %j over the creation options, and so says its prompt', async (event, change) => {
    const mounted = await persisted();
    const { ctx, model, parent } = mounted;
    ctx.llm.registerAdapter(['third'], model);
    ctx.systemPrompt.section(ROUTE_SECTION);
    decide(parent, { provider: 'other', model: 'model-b' });
    await ask(parent, 'first');
    const stop = ctx.on(event, ({ agent }: { readonly agent: Agent }) => {
      stop();
      installModelSelection(agent.ctx, { current: { provider: 'scripted', model: 'model-a', ...change }, assembled: undefined });
    });
    const { id } = await start(mounted, 'the task');
    await followUp(mounted, id, 'again');
    const expected = `${change.provider ?? 'scripted'}/${change.model ?? 'model-a'}`;
    expect(routes(mounted, id)).toEqual([expected, expected]);
    expect(prompted(mounted, id)).toEqual([expected, expected]);
  });

  test('stays where a plugin moved it, though that is where its parent was created', async () => {
    const mounted = await persisted();
    mounted.ctx.systemPrompt.section(ROUTE_SECTION);
    decide(mounted.parent, { provider: 'other', model: 'model-b' });
    await ask(mounted.parent, 'first');
    const child = await start(mounted, 'the task');
    const stop = child.ctx.on('agent/request', async (_payload, next) => ({ ...await next(), provider: 'scripted', model: 'model-a' }));
    await followUp(mounted, child.id, 'again');
    stop();
    await followUp(mounted, child.id, 'and again');
    expect(routes(mounted, child.id)).toEqual(['other/model-b', 'scripted/model-a', 'scripted/model-a']);
    // The prompt is assembled before a plugin decides: it says so from the next request on.
    expect(prompted(mounted, child.id)).toEqual(['other/model-b', 'other/model-b', 'scripted/model-a']);
  });

  test('is its own latest after a cold resume, not the one its creation named', async () => {
    const mounted = await persisted();
    await ask(mounted.parent, 'first');
    const child = await start(mounted, 'the task', { model: 'model-c' });
    decide(child, { model: 'picked' });
    await followUp(mounted, child.id, 'again');
    await release(mounted, child.id);
    await followUp(mounted, child.id, 'and again');
    expect(routes(mounted, child.id)).toEqual(['scripted/model-c', 'scripted/picked', 'scripted/picked']);
  });

  test('is what its prompt says, also once the plugin is unloaded', async () => {
    const mounted = await persisted(false);
    const { ctx, model, parent } = mounted;
    const plugin = await ctx.plugin(fork, {});
    registerTool(ctx, 'unload', async () => {
      await plugin.dispose();
      return 'unloaded';
    });
    model.script = (request) => shown(request).at(-1) === 'user: the task' ? { calls: [{ name: 'unload', arguments: {} }] } : 'ok';
    ctx.systemPrompt.section(ROUTE_SECTION);
    installModelSelection(parent.ctx, { current: { provider: 'other', model: 'model-b' }, assembled: undefined });
    await ask(parent, 'first');
    const { id } = await start(mounted, 'the task');
    expect(ctx.subagents.list()).toEqual([]);
    expect(routes(mounted, id)).toEqual(['other/model-b', 'other/model-b']);
    expect(prompted(mounted, id)).toEqual(['other/model-b', 'other/model-b']);
  });

  test('is its parent\'s creation route when nothing was asked yet', async () => {
    const mounted = await persisted();
    const { id } = await start(mounted, 'the task');
    expect(routes(mounted, id)).toEqual(['scripted/model-a']);
  });

  test.each<[AgentOptions, string]>([
    [{ model: 'model-c' }, 'other/model-c'],
    [{ provider: 'third' }, 'third/model-b'],
    [{ provider: undefined, model: undefined } as never, 'other/model-b'],
  ])('%j of the request wins, key by key', async (agentOptions, expected) => {
    const mounted = await persisted();
    mounted.ctx.llm.registerAdapter(['third'], mounted.model);
    mounted.ctx.systemPrompt.section(ROUTE_SECTION);
    decide(mounted.parent, { provider: 'other', model: 'model-b' });
    await ask(mounted.parent, 'first');
    const { id } = await start(mounted, 'the task', agentOptions);
    expect(routes(mounted, id)).toEqual([expected]);
    expect(prompted(mounted, id)).toEqual([expected]);
  });

  test('is left to the harness when another provider created the child, though a descriptor of this one is inherited', async () => {
    const mounted = await persisted();
    const { ctx } = mounted;
    await ctx.plugin(fork, { providerName: 'second' });
    const { child: parent } = await runFork(ctx, mounted.parent, 'be a parent');
    decide(parent, { model: 'model-b' });
    await ask(parent, 'first');
    ctx.subagents.registerProvider({
      name: 'bare', capabilities: {} as never, inheritsParentContext: true, start: () => Promise.reject(new Error()),
      prepareContinuable: () => Promise.resolve({ seed: [...parent.session.events] }),
    });
    const { childId } = await ctx.subagents.startContinuable({
      provider: 'bare', label: 'child', signal: new AbortController().signal,
      request: { parent, prompt: [{ type: 'text', text: 'the task' }] },
    });
    await ctx.agents.get(childId)!.whenIdle();
    expect(routes(mounted, childId)).toEqual(['scripted/model-a']);
  });
});
