import type { Context } from '@deepseek-ai/cordis';
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent';
import { LlmAdapter, ReasoningEffortId } from '@deepseek-ai/dsh-llm';
import type { GenerateOptions, LlmCallConfig, LlmResolvedModelInfo, StreamChunk } from '@deepseek-ai/dsh-llm';
import type { SessionId } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import { ask, forkOf, requestsOf, runFork, setup } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

/** Lets a listener on one agent decide each of its requests. */
function decide(agent: Agent, change: () => Partial<LlmCallConfig>): () => unknown {
  return agent.ctx.on('agent/request', async (_payload, next) => ({ ...await next(), ...change() }));
}

async function childRoute({ ctx, model, parent }: Setup, agentOptions?: AgentOptions): Promise<Partial<GenerateOptions>> {
  const { session } = await runFork(ctx, parent, 'the task', agentOptions && { agentOptions });
  const { provider, model: id, maxTokens } = requestsOf(model, session)[0]!;
  return { provider, model: id, ...(maxTokens !== undefined && { maxTokens }) };
}

describe('the route of a child', () => {
  test('is its parent\'s creation route before the parent made a request', async () => {
    expect(await childRoute(await setup())).toEqual({ provider: 'scripted', model: 'model-a' });
  });

  test('is that of its parent\'s latest request', async () => {
    const mounted = await setup();
    let change: Partial<LlmCallConfig> = {};
    decide(mounted.parent, () => change);
    await ask(mounted.parent, 'on A');
    expect(await childRoute(mounted)).toEqual({ provider: 'scripted', model: 'model-a' });
    change = { provider: 'other', model: 'model-b' };
    await ask(mounted.parent, 'on B');
    expect(await childRoute(mounted)).toEqual({ provider: 'other', model: 'model-b' });
  });

  test('comes from the parent\'s requests alone when it was created without any', async () => {
    const mounted = await setup();
    const parent = (await mounted.agent({ agentOptions: {} })).agent;
    decide(parent, () => ({ provider: 'scripted', model: 'model-b' }));
    await ask(parent, 'first');
    expect(await childRoute({ ...mounted, parent })).toEqual({ provider: 'scripted', model: 'model-b' });
  });

  test.each<[AgentOptions, object]>([
    [{ model: 'model-c' }, { provider: 'other', model: 'model-c' }],
    [{ provider: 'scripted' }, { provider: 'scripted', model: 'model-b' }],
    [{ provider: 'scripted', model: 'model-a' }, { provider: 'scripted', model: 'model-a' }],
    [{ maxTokens: 7 }, { provider: 'other', model: 'model-b', maxTokens: 7 }],
    [{ model: undefined } as never, { provider: 'other', model: 'model-b' }],
  ])('%j of the request wins, key by key', async (agentOptions, expected) => {
    const mounted = await setup();
    decide(mounted.parent, () => ({ provider: 'other', model: 'model-b' }));
    await ask(mounted.parent, 'first');
    expect(await childRoute(mounted, agentOptions)).toEqual(expected);
  });

  test('a route nobody serves fails as the harness fails it', async () => {
    const { ctx, parent } = await setup();
    await ask(parent, 'first');
    const { result } = await runFork(ctx, parent, 'the task', { agentOptions: { provider: 'nowhere' } });
    expect(result).toMatchObject({ stopReason: 'error', diagnostic: expect.stringMatching(/^NO_ADAPTER: .*nowhere/) as string });
  });

  test('of a fork of a fork that asked nothing yet is that of the fork, not of its ancestor', async () => {
    const mounted = await setup();
    decide(mounted.parent, () => ({ provider: 'other', model: 'model-b' }));
    await ask(mounted.parent, 'first');
    const fork = await mounted.agent({
      seed: [...mounted.parent.session.events],
      meta: { seedLength: mounted.parent.session.seq },
      agentOptions: { provider: 'scripted', model: 'model-c' },
    });
    expect(await childRoute({ ...mounted, parent: fork.agent })).toEqual({ provider: 'scripted', model: 'model-c' });
    decide(fork.agent, () => ({ model: 'model-d' }));
    await ask(fork.agent, 'own');
    expect(await childRoute({ ...mounted, parent: fork.agent })).toEqual({ provider: 'scripted', model: 'model-d' });
  });
});

test.each(['one-shot', 'continuable'])('a %s child of a parent that was resumed on another route, and asked nothing since, runs on that one', async (mode) => {
  const { ctx, model, agent } = await setup({ mount: mountPersistence(await temporaryDirectory()) });
  const unregister = ctx.llm.registerAdapter(['old'], model);
  const { agent: { id, session }, dispose } = await agent({ agentOptions: { provider: 'old', model: 'gone' } });
  await ask(ctx.agents.get(id)!, 'first');
  await ctx.sessions.flush(session);
  await dispose();
  unregister();
  const { agent: parent } = await ctx.agents.resume({ resumeSessionId: id, agentOptions: { provider: 'other', model: 'model-b' } });
  const request = { parent, prompt: [{ type: 'text' as const, text: 'the task' }] };
  const child = mode === 'one-shot'
    ? (await runFork(ctx, parent, 'the task')).child.id
    : (await ctx.subagents.startContinuable({ provider: 'fork', label: 'child', signal: new AbortController().signal, request })).childId;
  await ctx.agents.get(child)!.whenIdle();
  expect(requestsOf(model, { id: child }).map(({ provider, model: name }) => `${provider}/${name}`)).toEqual(['other/model-b']);
});

/** A model with selectable effort, whose default is `low`. */
class ThinkingModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = [];

  override resolveModel(provider: string, model: string): Promise<LlmResolvedModelInfo> {
    const efforts = ['low', 'high', 'max'].map((id) => ({ id: ReasoningEffortId(id), name: id }));
    return Promise.resolve({ id: model, name: model, provider, reasoning: { efforts, defaultEffort: ReasoningEffortId('low') } } as LlmResolvedModelInfo);
  }

  override async *stream(request: GenerateOptions): AsyncIterable<StreamChunk> {
    this.requests.push(request);
    yield { type: 'block-start', index: 0, blockType: 'text' };
    yield { type: 'text-delta', index: 0, text: 'ok' };
    yield { type: 'block-end', index: 0, block: { type: 'text', text: 'ok' } };
    yield { type: 'finish', reason: { kind: 'stop' } };
  }
}

/** A parent on that model. */
interface Thinking extends Setup {
  /** The effort of each request of a session, in order. */
  readonly efforts: (session: { readonly id: SessionId }) => unknown[];
  /** What the parent's next requests differ in. */
  readonly change: { current: Partial<LlmCallConfig> };
}

describe('the reasoning effort of a child', () => {
  async function thinking(
    config: { seedBoundary: 'turn' | 'step' }, mount: (ctx: Context) => unknown = () => {},
  ): Promise<Thinking> {
    const thinker = new ThinkingModel();
    const mounted = await setup({
      config,
      mount: async (ctx) => {
        ctx.llm.registerAdapter(['thinking', 'thinking-2'], thinker);
        await mount(ctx);
      },
    });
    const parent = (await mounted.agent({ agentOptions: { provider: 'thinking', model: 'm' } })).agent;
    const change = { current: {} as Partial<LlmCallConfig> };
    decide(parent, () => change.current);
    const efforts = (session: { readonly id: SessionId }): unknown[] => thinker.requests
      .filter((request) => request.sessionId === session.id).map((request) => request.reasoningEffort);
    return { ...mounted, parent, efforts, change };
  }

  test.each(['turn', 'step'] as const)('is that of its parent\'s latest request, at `%s`, in every request', async (seedBoundary) => {
    const { ctx, parent, efforts, change } = await thinking({ seedBoundary });
    change.current = { reasoningEffort: ReasoningEffortId('high') };
    await ask(parent, 'first');
    const { child } = await runFork(ctx, parent, 'the task');
    await ask(child, 'more');
    expect(efforts(child.session)).toEqual(['high', 'high']);
  });

  test.each(['with its turn', 'without a history'])('is the adapter\'s default when that was in force, %s', async (inherits) => {
    const { ctx, parent, efforts } = await thinking({ seedBoundary: 'turn' });
    let forked: Agent | undefined;
    if (inherits === 'without a history') {
      parent.ctx.on('agent/turn-stopping', async () => {
        forked = (await runFork(ctx, parent, 'the task')).child;
      });
    }
    await ask(parent, 'first');
    forked ??= (await runFork(ctx, parent, 'the task')).child;
    expect(efforts(forked.session)).toEqual(['low']);
    expect(forked.session.requestHeader()?.adapterDefaults).toEqual({ reasoningEffort: true });
  });

  test('is what a plugin decides for the child\'s first request', async () => {
    const { ctx, parent, efforts, change } = await thinking({ seedBoundary: 'turn' });
    change.current = { reasoningEffort: ReasoningEffortId('high') };
    await ask(parent, 'first');
    const run = await forkOf(ctx, parent, 'the task');
    decide(run.localAgent!, () => ({ reasoningEffort: ReasoningEffortId('max') }));
    await run.result;
    expect(efforts(run.localAgent!.session)).toEqual(['max']);
  });

  test('is what a host makes it later on', async () => {
    const { ctx, parent, efforts, change } = await thinking({ seedBoundary: 'turn' });
    change.current = { reasoningEffort: ReasoningEffortId('high') };
    await ask(parent, 'first');
    const { child } = await runFork(ctx, parent, 'the task');
    const stop = decide(child, () => ({ reasoningEffort: ReasoningEffortId('max') }));
    await ask(child, 'more');
    stop();
    await ask(child, 'and more');
    expect(efforts(child.session)).toEqual(['high', 'max', 'max']);
  });

  test('of a continuable child is that of its parent\'s latest request, too', async () => {
    const { ctx, parent, efforts, change } = await thinking({ seedBoundary: 'turn' }, mountPersistence(await temporaryDirectory()));
    change.current = { reasoningEffort: ReasoningEffortId('high') };
    await ask(parent, 'first');
    const { childId } = await ctx.subagents.startContinuable({
      provider: 'fork', label: 'child', signal: new AbortController().signal, request: { parent, prompt: [{ type: 'text', text: 'the task' }] },
    });
    await ctx.agents.get(childId)!.whenIdle();
    expect(efforts({ id: childId })).toEqual(['high']);
  });

  test.each<Partial<LlmCallConfig>>([{}, { model: 'm2' }, { provider: 'thinking-2' }])('follows a switch, with %j, in the open turn that the seed does not hold', async (switched) => {
    const { ctx, parent, efforts, change } = await thinking({ seedBoundary: 'turn' });
    change.current = { reasoningEffort: ReasoningEffortId('high') };
    await ask(parent, 'first');
    change.current = { ...switched, reasoningEffort: ReasoningEffortId('max') };
    let forked: Agent | undefined;
    parent.ctx.on('agent/turn-stopping', async () => {
      forked ??= (await runFork(ctx, parent, 'the task')).child;
    });
    await ask(parent, 'second');
    expect(efforts(forked!.session)).toEqual(['max']);
    expect(forked!.session.requestHeader()?.config).toMatchObject({ provider: 'thinking', model: 'm', ...switched });
  });

  test('is left to a child on another route', async () => {
    const { ctx, model, parent, change } = await thinking({ seedBoundary: 'turn' });
    change.current = { reasoningEffort: ReasoningEffortId('high') };
    await ask(parent, 'first');
    const { session, result } = await runFork(ctx, parent, 'the task', { agentOptions: { provider: 'scripted', model: 'model-a' } });
    expect(result.stopReason).toBe('completed');
    expect(requestsOf(model, session)[0]?.reasoningEffort).toBeUndefined();
    const other = await runFork(ctx, parent, 'the task', { agentOptions: { model: 'm2' } });
    expect(other.session.requestHeader()?.config).toMatchObject({ model: 'm2', reasoningEffort: 'low' });
  });
});
