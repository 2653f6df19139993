import * as publishedSpawn from '@deepseek-ai/dsh-subagent-spawn-in-process';
import type { SubagentRunInfo } from '@deepseek-ai/dsh-subagent';
import type { ObjectJsonSchema } from '@deepseek-ai/dsh-tools';
import { describe, expect, test } from 'vitest';
import * as fork from '../src/index.ts';
import { ask, forkOf, inherited, registerTool, requestsOf, runFork, say, setup, shown } from './support/harness.ts';
import { mountPersistence, temporaryDirectory } from './support/persistence.ts';

const SCHEMA: ObjectJsonSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'], additionalProperties: false };

describe('what a child inherits by default', () => {
  test('every completed turn of its parent, then the task', async () => {
    const { ctx, model, parent } = await setup({ script: (_request, index) => `answer ${index}` });
    await ask(parent, 'first');
    await ask(parent, 'second');
    const { session, result } = await runFork(ctx, parent, 'the task');
    expect(shown(requestsOf(model, session)[0]!)).toEqual([
      'user: first', 'assistant: answer 0', 'user: second', 'assistant: answer 1', 'user: the task',
    ]);
    expect(inherited(session)).toEqual(parent.session.events);
    expect(session.header).toMatchObject({ seedLength: parent.session.seq, parentSession: parent.id });
    expect(session.events[parent.session.seq]?.type).toBe('session/end-seed');
    expect(result).toEqual({ output: [{ type: 'text', text: 'answer 2' }], stopReason: 'completed' });
  });

  test('nothing before the first turn completes, which one log line says', async () => {
    const { ctx, model, parent, logs } = await setup();
    ctx.on('subagent-fork/seeded', () => expect.unreachable());
    const { session } = await runFork(ctx, parent, 'the task');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: the task']);
    expect(session.header.seedLength).toBeUndefined();
    expect(session.events[0]?.type).not.toBe('session/end-seed');
    expect(logs).toEqual([`"fork": session ${parent.id} has no message to inherit at seedBoundary "turn"; the child starts fresh; "step" inherits the open turn`]);
  });

  test('the completed turns alone while the parent waits for its model in an open turn', async () => {
    const answer = Promise.withResolvers<string>();
    const asked = Promise.withResolvers<void>();
    const { ctx, model, parent } = await setup({
      script: (request) => {
        if (shown(request).at(-1) !== 'user: second') return 'ok';
        asked.resolve();
        return answer.promise;
      },
    });
    await ask(parent, 'first');
    say(parent, 'second');
    await asked.promise;
    const before = [...parent.session.events];
    const { session } = await runFork(ctx, parent, 'the task');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: first', 'assistant: ok', 'user: the task']);
    expect(parent.session.events).toEqual(before);
    answer.resolve('late');
    await parent.whenIdle();
    expect(parent.session.deriveMessages().at(-1)?.content).toEqual([{ type: 'text', text: 'late' }]);
  });

  test('a result is read from the child\'s own events: one that answers nothing returns nothing of its parent\'s', async () => {
    const { ctx, parent } = await setup({
      script: (request) => shown(request).at(-1) === 'user: the task'
        ? { finish: { kind: 'error', failure: { message: 'no', code: 'X' } } }
        : 'the parent\'s answer',
    });
    await ask(parent, 'first');
    const { result } = await runFork(ctx, parent, 'the task');
    expect(result).toMatchObject({ output: [], stopReason: 'error' });
  });
});

describe('what the driver does for a fork as for a spawn', () => {
  test('a child is published and seeded before `subagent/start`', async () => {
    const { ctx, parent } = await setup();
    await ask(parent, 'first');
    const seen: unknown[] = [];
    ctx.on('session/created', (session) => void seen.push(['session/created', inherited(session).length]));
    ctx.on('agent/created', ({ agent }) => void seen.push(['agent/created', inherited(agent.session).length]));
    ctx.on('subagent/start', (info: SubagentRunInfo) => void seen.push(['subagent/start', inherited(ctx.agents.get(info.id)!.session).length]));
    const length = parent.session.seq;
    await runFork(ctx, parent, 'the task');
    expect(seen).toEqual([['session/created', length], ['agent/created', length], ['subagent/start', length]]);
  });

  test('a listener that is told of the start still decides the child\'s first request', async () => {
    const { ctx, model, parent } = await setup();
    await ask(parent, 'first');
    const seen: string[][] = [];
    ctx.on('subagent/start', ({ id }) => void seen.push(ctx.agents.get(id)!.session.events.map((event) => event.type)));
    const run = await forkOf(ctx, parent, 'the task');
    run.localAgent!.ctx.on('agent/request', async (_payload, next) => ({ ...await next(), provider: 'other', model: 'picked' }));
    await run.result;
    expect(seen[0]).not.toContain('subagent/descriptor');
    expect(requestsOf(model, run.localAgent!.session)[0]).toMatchObject({ provider: 'other', model: 'picked' });
  });

  test('a seed is announced to its parent\'s listeners and to unscoped ones, not to another agent\'s, and withdrawn when the start fails', async () => {
    const { ctx, agent, parent } = await setup();
    await ask(parent, 'first');
    const other = (await agent()).agent;
    const heard: unknown[] = [];
    for (const [who, context] of [['host', ctx], ['parent', parent.ctx], ['other', other.ctx]] as const) {
      context.on('subagent-fork/seeded', (seeding) => void heard.push([who, 'seeded', seeding.parent.id]));
      context.on('subagent-fork/withdrawn', (seeding) => void heard.push([who, 'withdrawn', seeding.parent.id]));
    }
    await expect(forkOf(ctx, parent, 'the task', { maxDepth: 0 })).rejects.toThrow('exceeds maxDepth 0');
    expect(heard).toEqual([
      ['host', 'seeded', parent.id], ['parent', 'seeded', parent.id], ['host', 'withdrawn', parent.id], ['parent', 'withdrawn', parent.id],
    ]);
  });

  test('structured output', async () => {
    const { ctx, parent } = await setup({
      script: (request) => request.tools?.some((tool) => tool.name === 'structured_output')
        ? { calls: [{ name: 'structured_output', arguments: { n: 42 } }] }
        : 'ok',
    });
    await ask(parent, 'first');
    const { result } = await runFork(ctx, parent, 'the task', { outputSchema: SCHEMA });
    expect(result).toMatchObject({ structured: { n: 42 }, stopReason: 'completed' });
  });

  test('persona and tool filter', async () => {
    const { ctx, model, parent } = await setup({
      mount: (context) => {
        registerTool(context, 'peek', 'x');
        registerTool(context, 'poke', 'x');
      },
    });
    await ask(parent, 'first');
    const { session } = await runFork(ctx, parent, 'the task', { persona: 'You are a pirate.', toolFilter: { allow: ['peek'] } });
    const [request] = requestsOf(model, session);
    expect(request?.system).toContain('You are a pirate.');
    expect(request?.tools?.map((tool) => tool.name)).toEqual(['peek']);
  });

  test('depth limit', async () => {
    const { ctx, parent } = await setup();
    await ask(parent, 'first');
    const { child } = await runFork(ctx, parent, 'one', { maxDepth: 1 });
    await expect(forkOf(ctx, child, 'two', { maxDepth: 1 })).rejects.toThrow('subagent depth 2 exceeds maxDepth 1');
  });

  test('an abort before the start leaves no child', async () => {
    const { ctx, parent } = await setup();
    await expect(forkOf(ctx, parent, 'the task', { signal: AbortSignal.abort() })).rejects.toThrow('aborted before child publication');
    expect(ctx.agents.list()).toEqual([parent]);
  });

  test('an abort during the start leaves no child', async () => {
    const { ctx, parent } = await setup();
    const controller = new AbortController();
    const starting = forkOf(ctx, parent, 'the task', { signal: controller.signal });
    controller.abort();
    await expect(starting).rejects.toThrow('aborted');
    expect(ctx.agents.list()).toEqual([parent]);
  });

  test('an abort after the start ends the run as aborted', async () => {
    const asked = Promise.withResolvers<void>();
    const { ctx, parent } = await setup({
      script: () => {
        asked.resolve();
        return { text: 'half', until: new Promise(() => {}) };
      },
    });
    const controller = new AbortController();
    const run = await forkOf(ctx, parent, 'the task', { signal: controller.signal });
    await asked.promise;
    controller.abort();
    expect(await run.result).toMatchObject({ stopReason: 'aborted', diagnostic: 'ABORTED: the turn was cancelled by its parent' });
    await run.dispose();
    expect(ctx.agents.list()).toEqual([parent]);
  });

  test('the run\'s id is its child\'s, and disposing it twice is as disposing it once', async () => {
    const { ctx, parent } = await setup();
    const run = await forkOf(ctx, parent, 'the task');
    expect(run.id).toBe(run.localAgent?.id);
    await run.result;
    await run.dispose();
    await run.dispose();
    expect(ctx.agents.list()).toEqual([parent]);
  });
});

describe('providers side by side', () => {
  test('spawn and fork on one context, the parent working on, its log untouched', async () => {
    const { ctx, model, parent } = await setup({ mount: (context) => context.plugin(publishedSpawn, { providerName: 'spawn' }) });
    await ask(parent, 'first');
    const before = [...parent.session.events];
    const [spawned, forked] = await Promise.all([
      runFork(ctx, parent, 'the task', {}, 'spawn'),
      runFork(ctx, parent, 'the task'),
    ]);
    expect(shown(requestsOf(model, spawned.session)[0]!)).toEqual(['user: the task']);
    expect(shown(requestsOf(model, forked.session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
    expect(parent.session.events).toEqual(before);
    await ask(parent, 'second');
    expect(shown(requestsOf(model, parent.session)[1]!)).toEqual(['user: first', 'assistant: done', 'user: second']);
    expect(inherited(forked.session)).toEqual(before);
  });

  test('two instances under two names, each with its own boundary', async () => {
    const { ctx, model, parent } = await setup({ config: { providerName: 'one' } });
    await ctx.plugin(fork, { providerName: 'two', notice: 'Yours is what follows.' });
    await ask(parent, 'first');
    const one = await runFork(ctx, parent, 'the task', {}, 'one');
    const two = await runFork(ctx, parent, 'the task', {}, 'two');
    expect(shown(requestsOf(model, one.session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
    expect(shown(requestsOf(model, two.session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: Yours is what follows.', 'user: the task']);
  });

  test('a name that is taken is refused', async () => {
    const { ctx } = await setup();
    await expect(Promise.resolve(ctx.plugin(fork, {}))).rejects.toThrow('a subagent provider named "fork" is already registered');
  });

  test('unloading unregisters the provider and leaves a running child to its owner; it can be loaded again', async () => {
    const answer = Promise.withResolvers<string>();
    const { ctx, parent } = await setup({ config: false, script: () => answer.promise });
    const fiber = await ctx.plugin(fork, {});
    const run = await forkOf(ctx, parent, 'the task');
    await fiber.dispose();
    expect(ctx.subagents.list()).toEqual([]);
    answer.resolve('still here');
    expect(await run.result).toEqual({ output: [{ type: 'text', text: 'still here' }], stopReason: 'completed' });
    await ctx.plugin(fork, {});
    expect(ctx.subagents.list()).toEqual(['fork']);
  });

  test('the plugin is named after its package', () => {
    expect(fork.name).toBe('subagent-fork-in-process');
  });

  test('the provider says what it supports and that it inherits', async () => {
    const { ctx } = await setup();
    expect(ctx.subagents.getProvider('fork')).toMatchObject({
      name: 'fork',
      inheritsParentContext: true,
      capabilities: { outputSchema: true, depthLimit: true, toolFilter: true, persona: true, agentOptions: true },
    });
  });
});

test('a provider that is created and not registered does nothing to the children of a mounted row', async () => {
  const mount = mountPersistence(await temporaryDirectory());
  const { ctx, parent } = await setup({ config: { maxLiveForks: 2 }, mount });
  expect(new fork.ForkInProcessProvider(ctx, fork.Config({ maxLiveForks: 1 }))).toMatchObject({ name: 'fork' });
  expect(ctx.subagents.list()).toHaveLength(1);
  await ask(parent, 'first');
  const children = await Promise.all(['one', 'two'].map((text) => ctx.subagents.startContinuable({
    provider: 'fork', label: text, signal: new AbortController().signal,
    request: { parent, prompt: [{ type: 'text', text }] },
  })));
  expect(children).toHaveLength(2);
});
