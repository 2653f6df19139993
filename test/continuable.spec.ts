import { installModelSelection } from '@deepseek-ai/dsh-agent';
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent';
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm';
import type { SessionId } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import * as fork from '../src/index.ts';
import { ask, inherited, registerTool, requestsOf, setup, shown } from './support/harness.ts';
import type { Setup } from './support/harness.ts';
import { mountPersistence, temporaryDirectory } from './support/persistence.ts';

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

const routes = ({ model }: Setup, id: SessionId): string[] => requestsOf(model, { id }).map((request) => `${request.provider}/${request.model}`);

describe('a continuable child', () => {
  test('inherits the same seed as a one-shot child, behind which the harness writes its descriptor', async () => {
    const mounted = await persisted();
    await ask(mounted.parent, 'first');
    const child = await start(mounted, 'the task');
    expect(inherited(child.session)).toEqual(mounted.parent.session.events);
    expect(shown(requestsOf(mounted.model, child.session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
  });

  test('is fresh when nothing can be inherited', async () => {
    const mounted = await persisted();
    const child = await start(mounted, 'the task');
    expect(child.session.header.seedLength).toBeUndefined();
    expect(mounted.logs).toContain(`"fork": session ${mounted.parent.id} has no message to inherit at seedBoundary "turn"; the child starts fresh`);
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

  test('is what its prompt says, also once the plugin is unloaded', async () => {
    const mounted = await persisted(false);
    const { ctx, model, parent } = mounted;
    const plugin = await ctx.plugin(fork, {});
    registerTool(ctx, 'unload', async () => {
      await plugin.dispose();
      return 'unloaded';
    });
    model.script = (request) => shown(request).at(-1) === 'user: the task' ? { calls: [{ name: 'unload', arguments: {} }] } : 'ok';
    ctx.systemPrompt.section({ name: 'route', order: 1, text: 'You are {{provider}}/{{model}}.' });
    installModelSelection(parent.ctx, { current: { provider: 'other', model: 'model-b' }, assembled: undefined });
    await ask(parent, 'first');
    const { id } = await start(mounted, 'the task');
    expect(ctx.subagents.list()).toEqual([]);
    expect(requestsOf(model, { id }).map(({ provider, model: name, system }) => [`${provider}/${name}`, /You are (\S+)\./.exec(system!)?.[1]]))
      .toEqual([['other/model-b', 'other/model-b'], ['other/model-b', 'other/model-b']]);
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
    decide(mounted.parent, { provider: 'other', model: 'model-b' });
    await ask(mounted.parent, 'first');
    const { id } = await start(mounted, 'the task', agentOptions);
    expect(routes(mounted, id)).toEqual([expected]);
  });

  test('is left to the harness when another provider created the child', async () => {
    const mounted = await persisted();
    await mounted.ctx.plugin(fork, { providerName: 'second' });
    decide(mounted.parent, { model: 'model-b' });
    await ask(mounted.parent, 'first');
    mounted.ctx.subagents.registerProvider({ name: 'bare', capabilities: {} as never, inheritsParentContext: false, start: () => Promise.reject(new Error()), prepareContinuable: () => Promise.resolve({}) });
    const { childId } = await mounted.ctx.subagents.startContinuable({
      provider: 'bare', label: 'child', signal: new AbortController().signal,
      request: { parent: mounted.parent, prompt: [{ type: 'text', text: 'the task' }] },
    });
    await mounted.ctx.agents.get(childId)!.whenIdle();
    expect(routes(mounted, childId)).toEqual(['scripted/model-a']);
  });
});
