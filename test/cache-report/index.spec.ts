/** What the companion reports of children on the real DeepSeek adapter, against the endpoint's own count. */
import { writeFile } from 'node:fs/promises';
import { devNull } from 'node:os';
import { join } from 'node:path';
import type { Context, Fiber } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { ReasoningEffortId } from '@deepseek-ai/dsh-llm';
import * as deepseek from '@deepseek-ai/dsh-llm-deepseek';
import type { SessionId } from '@deepseek-ai/dsh-session';
import { SessionId as asSessionId } from '@deepseek-ai/dsh-session';
import type { SubagentProvider, SubagentRun, SubagentStartRequest } from '@deepseek-ai/dsh-subagent';
import { startInProcessRun } from '@deepseek-ai/dsh-subagent-in-process-driver';
import * as spawn from '@deepseek-ai/dsh-subagent-spawn-in-process';
import * as reportTool from '@deepseek-ai/dsh-tool-subagent-report';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { boot } from '../support/composition.ts';
import { startEndpoint } from '../support/endpoint.ts';
import type { Answer, Endpoint, Script } from '../support/endpoint.ts';
import * as cacheReport from '../../src/cache-report/index.ts';
import type { CacheReport, PrefixDifference } from '../../src/cache-report/index.ts';
import * as fork from '../../src/index.ts';
import { LONG, mountCompaction } from '../support/compaction.ts';
import { ask, forkOf, registerTool, runFork, say, setup } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

vi.stubEnv('DEEPSEEK_API_KEY', 'loopback');
vi.stubEnv('DSH_HOME', devNull);

const ROUTE = { provider: 'deepseek-official', model: 'deepseek-v4-flash' };
const none: PrefixDifference = { part: 'none', reason: 'the prompt begins with the parent\'s' };

interface Wired extends Setup {
  readonly endpoint: Endpoint;
  readonly reports: CacheReport[];
  /** The mounted companion. */
  readonly companion: Fiber;
}

interface Wiring {
  readonly script?: Script;
  readonly config?: fork.Config;
  readonly mount?: (ctx: Context) => unknown;
  /** `false` mounts no companion. */
  readonly companion?: false;
}

/** A parent on the real adapter, with a tool to fork, and everything the companion reports. */
async function wired({ script = () => 'done', config = { seedBoundary: 'step' }, mount, companion }: Wiring = {}): Promise<Wired> {
  const endpoint = await startEndpoint({ script });
  onTestFinished(() => endpoint.close());
  const reports: CacheReport[] = [];
  let fiber: Fiber;
  const mounted = await setup({
    config,
    tool: {},
    mount: async (ctx) => {
      await ctx.plugin(deepseek, deepseek.Config({ baseURL: endpoint.url }));
      if (companion !== false) fiber = await ctx.plugin(cacheReport);
      ctx.on('subagent-fork/cache-report', (report) => void reports.push(report));
      await mount?.(ctx);
    },
  });
  const { agent: parent } = await mounted.agent({ agentOptions: ROUTE });
  return { ...mounted, parent, endpoint, reports, companion: fiber! };
}

/** An answer that forks once for each task. */
function delegate(...tasks: string[]): Answer {
  return { text: 'Delegating.', calls: tasks.map((prompt) => ({ name: 'subagent_fork', arguments: { description: 'a task', prompt } })) };
}

/** The record that the endpoint's own counts demand, of the child whose request is the n-th and whose parent's latest is the m-th. */
function counted({ endpoint, parent }: Wired, child: number, delegating: number): Omit<CacheReport, 'inheritedMessages' | 'difference'> {
  const { sessionId, body, usage } = endpoint.requests[child]!;
  const { prompt_tokens: prompt, prompt_cache_hit_tokens: cached } = usage!;
  const expected = endpoint.requests[delegating]!.usage!.prompt_tokens / prompt;
  return {
    kind: 'start', parentId: parent.id, childId: asSessionId(sessionId!), provider: 'fork', route: { ...ROUTE, model: body.model },
    promptTokens: prompt, cachedTokens: cached, cachedShare: cached / prompt, expectedShare: Math.min(expected, 1),
  };
}

/** Resolves when the next words of an answer arrive. */
function streaming(ctx: Context, agent: Agent): Promise<void> {
  return new Promise((resolve) => {
    ctx.on('session/event', (session, event) => {
      if (session === agent.session && event.type === 'assistant/chunk' && event.data.chunk.type === 'text-delta') resolve();
    }, { global: true });
  });
}

describe('a child started by the fork tool', () => {
  test('at `step` begins with the parent\'s prompt', async () => {
    const mounted = await wired({ script: (_request, index) => [delegate('THE TASK')][index] ?? 'done' });
    await ask(mounted.parent, 'question');
    const report = { ...counted(mounted, 1, 0), inheritedMessages: 1, difference: none };
    expect(mounted.reports).toEqual([report]);
    expect(report.cachedShare).toBeGreaterThan(0.5);
    expect(report.cachedShare).toBeLessThanOrEqual(report.expectedShare!);
  });

  test('at `turn` ends early', async () => {
    const mounted = await wired({ config: {}, script: (_request, index) => ['answer', delegate('THE TASK')][index] ?? 'done' });
    await ask(mounted.parent, 'question');
    await ask(mounted.parent, 'Have it checked.');
    expect(mounted.reports).toEqual([
      { ...counted(mounted, 2, 1), inheritedMessages: 2, difference: { part: 'history', reason: 'history ends 1 message early' } },
    ]);
  });

  test('is reported beside its sibling, each once', async () => {
    const mounted = await wired({ script: (_request, index) => [delegate('FIRST', 'SECOND')][index] ?? 'done' });
    await ask(mounted.parent, 'question');
    const { reports } = mounted;
    const siblings = [1, 2].map((index) => ({ ...counted(mounted, index, 0), inheritedMessages: 1, difference: none }));
    const byChild = (a: Pick<CacheReport, 'childId'>, b: Pick<CacheReport, 'childId'>): number => a.childId.localeCompare(b.childId);
    expect(reports.toSorted(byChild)).toEqual(siblings.toSorted(byChild));
  });

  test('is reported at its first response, and at none that follows', async () => {
    const mounted = await wired({
      mount: (ctx) => registerTool(ctx, 'peek', 'P'),
      script: (_request, index) => [delegate('THE TASK'), { calls: [{ name: 'peek', arguments: {} }] }][index] ?? 'done',
    });
    await ask(mounted.parent, 'question');
    const [, child, followUp] = mounted.endpoint.requests;
    expect(followUp!.sessionId).toBe(child!.sessionId);
    expect(mounted.reports).toEqual([{ ...counted(mounted, 1, 0), inheritedMessages: 1, difference: none }]);
  });

  test('is compared with what the parent had requested when it started, not with what came later', async () => {
    const started = Promise.withResolvers<void>();
    const mounted = await wired({
      script: async ({ body }, index) => {
        if (index === 0) return 'answer';
        if (body.messages.some(({ content }) => content === 'THE TASK')) await started.promise;
        return 'done';
      },
    });
    const { ctx, parent, reports } = mounted;
    await ask(parent, 'question');
    const run = await forkOf(ctx, parent, 'THE TASK');
    await ask(parent, 'another question');
    expect(reports).toEqual([]);
    started.resolve();
    await run.result;
    expect(reports.map(({ difference }) => difference)).toEqual([none]);
  });
});

describe('a child started by a host names the cause', () => {
  const answers: Script = ({ body }) => body.tools?.some((tool) => tool.function.name === 'structured_output') === true
    && !body.messages.some(({ role }) => role === 'tool')
    ? { calls: [{ name: 'structured_output', arguments: { sum: 3 } }] }
    : 'done';

  test.for<[string, Partial<SubagentStartRequest>, CacheReport['difference']]>([
    ['nothing', {}, none],
    ['a persona', { persona: 'You are a pirate.' }, { part: 'system', reason: 'persona section added' }],
    ['a tool filter', { toolFilter: { deny: ['mine', 'peek'] } }, { part: 'tools', reason: 'tool `mine` and 1 more removed' }],
    [
      'a structured output',
      { outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'], additionalProperties: false } },
      { part: 'tools', reason: 'tool `structured_output` added' },
    ],
    [
      'another model',
      { agentOptions: { model: 'deepseek-v4-pro' } },
      { part: 'route', reason: 'model deepseek-v4-pro instead of deepseek-v4-flash' },
    ],
  ])('%s', async ([, request, difference]) => {
    const mounted = await wired({
      script: answers,
      mount: (ctx) => {
        registerTool(ctx, 'peek', 'P');
        registerTool(ctx, 'mine', 'M');
      },
    });
    await ask(mounted.parent, 'question');
    await runFork(mounted.ctx, mounted.parent, 'THE TASK', request);
    expect(mounted.reports).toEqual([{ ...counted(mounted, 1, 0), inheritedMessages: 2, difference }]);
  });

  test('another persona than the parent\'s', async () => {
    const mounted = await wired();
    mounted.parent.ctx.systemPrompt.section({ name: 'deployment:persona', order: 0, text: 'You are {{model}}.' });
    await ask(mounted.parent, 'question');
    await runFork(mounted.ctx, mounted.parent, 'THE TASK', { persona: 'You are a pirate.' });
    expect(mounted.reports).toEqual([
      { ...counted(mounted, 1, 0), inheritedMessages: 2, difference: { part: 'system', reason: 'persona section differs' } },
    ]);
  });

  test('a section that another plugin adds while the prompt is assembled', async () => {
    const mounted = await wired({ companion: false });
    mounted.ctx.on('system-prompt/assemble', async (_assembly, { agent }, next) => {
      const assembly = await next();
      return { ...assembly, sections: [...assembly.sections, { name: 'self', text: `You are ${agent?.id}.` }] };
    }, { global: true });
    await mounted.ctx.plugin(cacheReport);
    await ask(mounted.parent, 'question');
    await runFork(mounted.ctx, mounted.parent, 'THE TASK');
    expect(mounted.reports).toEqual([
      { ...counted(mounted, 1, 0), inheritedMessages: 2, difference: { part: 'system', reason: 'section `self` differs' } },
    ]);
  });

  test('a system prompt whose sections nobody saw, because the companion came later', async () => {
    const mounted = await wired({ companion: false });
    await ask(mounted.parent, 'question');
    await mounted.ctx.plugin(cacheReport);
    await runFork(mounted.ctx, mounted.parent, 'THE TASK', { persona: 'You are a pirate.' });
    expect(mounted.reports.map(({ difference }) => difference)).toEqual([{ part: 'system', reason: 'system prompt differs' }]);
  });

  test('a tool that only the parent has', async () => {
    const mounted = await wired();
    registerTool(mounted.parent.ctx, 'mine', 'M');
    await ask(mounted.parent, 'question');
    await runFork(mounted.ctx, mounted.parent, 'THE TASK');
    expect(mounted.reports).toEqual([
      { ...counted(mounted, 1, 0), inheritedMessages: 2, difference: { part: 'tools', reason: 'tool `mine` removed' } },
    ]);
  });

  test('another reasoning effort', async () => {
    const mounted = await wired();
    await ask(mounted.parent, 'question');
    mounted.ctx.on('agent/created', ({ agent }) => {
      agent.ctx.on('agent/request', async (_payload, next) => ({ ...await next(), reasoningEffort: ReasoningEffortId('low') }));
    }, { global: true });
    await runFork(mounted.ctx, mounted.parent, 'THE TASK');
    expect(mounted.reports.map(({ difference }) => difference)).toEqual([{ part: 'route', reason: 'reasoning effort low instead of high' }]);
  });

  test('a compaction since the parent\'s request', async () => {
    const mounted = await wired({ mount: mountCompaction(), script: (_request, index) => [LONG, LONG, 'SUMMARY'][index] ?? 'done' });
    await ask(mounted.parent, 'first');
    await ask(mounted.parent, 'second');
    await mounted.ctx.compaction.compactNow(mounted.parent, new AbortController().signal);
    await runFork(mounted.ctx, mounted.parent, 'THE TASK');
    expect(mounted.reports).toEqual([
      { ...counted(mounted, 3, 1), inheritedMessages: 2, difference: { part: 'history', reason: 'compaction in between, from message 1 on' } },
    ]);
  });

  test('and none while the parent streams', async () => {
    const mounted = await wired({ script: ({ body }) => body.messages.at(-1)!.content === 'second' ? { text: 'word by word', ending: 'stall' } : 'done' });
    const { ctx, parent, reports } = mounted;
    await ask(parent, 'first');
    say(parent, 'second');
    await streaming(ctx, parent);
    await runFork(ctx, parent, 'THE TASK');
    expect(reports).toEqual([{ ...counted(mounted, 2, 0), inheritedMessages: 3, expectedShare: undefined, difference: none }]);
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
  });
});

describe('a continuable child', () => {
  async function continuable({ mount, ...wiring }: Wiring = {}): Promise<Wired> {
    const root = await temporaryDirectory();
    const mounted = await wired({
      ...wiring,
      mount: async (ctx) => {
        await mountPersistence(root)(ctx);
        await mount?.(ctx);
      },
    });
    onTestFinished(() => mounted.ctx.fiber.dispose());
    await ask(mounted.parent, 'question');
    return mounted;
  }

  /** Starts a child that has answered its task and left, and whose parent has been told so. */
  async function start({ ctx, parent }: Wired, provider = 'fork'): Promise<SessionId> {
    const { childId } = await ctx.subagents.startContinuable({
      provider, label: 'child', signal: new AbortController().signal,
      request: { parent, prompt: [{ type: 'text', text: 'THE TASK' }] },
    });
    await left(ctx, childId);
    await parent.whenIdle();
    return childId;
  }

  /** Gives the child, who has left, another task. */
  async function resume({ ctx, parent }: Wired, childId: SessionId): Promise<void> {
    await ctx.subagents.followup(parent, childId, [{ type: 'text', text: 'MORE' }], { source: { kind: 'user' }, signal: new AbortController().signal });
    await left(ctx, childId);
    await parent.whenIdle();
  }

  function left(ctx: Context, childId: SessionId): Promise<void> {
    return new Promise((resolve) => {
      ctx.on('subagent/end', ({ id }) => { if (id === childId) resolve(); }, { global: true });
    });
  }

  test('begins with the parent\'s prompt when it has no tool of its own', async () => {
    const mounted = await continuable();
    await start(mounted);
    expect(mounted.reports).toEqual([{ ...counted(mounted, 1, 0), inheritedMessages: 2, difference: none }]);
  });

  test('with a tool to report has that tool named, at its start and once more when it is resumed', async () => {
    const mounted = await continuable({ mount: (ctx) => ctx.plugin(reportTool) });
    const difference = { part: 'tools', reason: 'tool `report` added' };
    const child = await start(mounted);
    expect(mounted.reports).toEqual([{ ...counted(mounted, 1, 0), inheritedMessages: 2, difference }]);
    const settled = mounted.endpoint.requests.length - 1;
    await resume(mounted, child);
    const resumed = mounted.endpoint.requests.findIndex(({ sessionId }, index) => index > settled && sessionId === child);
    expect(mounted.reports.slice(1)).toEqual([{ ...counted(mounted, resumed, settled), kind: 'resume', inheritedMessages: 2, difference }]);
  });

  test('is reported once for each life, in whichever agent\'s scope the companion is mounted', async () => {
    const mounted = await continuable({ companion: false });
    const { agent: other } = await mounted.agent();
    await other.ctx.plugin(cacheReport);
    const child = await start(mounted);
    await resume(mounted, child);
    await resume(mounted, child);
    expect(mounted.reports.map(({ kind, childId, difference }) => [kind, childId, difference?.reason])).toEqual([
      ['start', child, none.reason],
      ['resume', child, 'history ends 1 message early'],
      ['resume', child, 'history ends 3 messages early'],
    ]);
    expect(mounted.logs.map((line) => / (started|resumed) on /.exec(line)?.[1])).toEqual(['started', 'resumed', 'resumed']);
  });

  test('is not reported when its provider is gone and cannot say what it inherits', async () => {
    const mounted = await continuable();
    const passing = await mounted.ctx.plugin(fork, { providerName: 'passing' });
    const child = await start(mounted, 'passing');
    await passing.dispose();
    await resume(mounted, child);
    expect(mounted.ctx.subagents.getProvider('passing')).toBeUndefined();
    expect(mounted.reports.map(({ kind }) => kind)).toEqual(['start']);
    expect(mounted.logs).toHaveLength(1);
  });
});

test('a cordis.yml mounts it by its export', async () => {
  const endpoint = await startEndpoint({ script: (_request, index) => [delegate('THE TASK')][index] ?? 'done' });
  onTestFinished(() => endpoint.close());
  const rows = [
    '- { name: "@deepseek-ai/dsh-llm" }',
    `- { name: "@deepseek-ai/dsh-llm-deepseek", config: { baseURL: "${endpoint.url}" } }`,
    '- { name: "@deepseek-ai/dsh-session" }',
    '- { name: "@deepseek-ai/dsh-system-prompt" }',
    '- { name: "@deepseek-ai/dsh-tools" }',
    '- { name: "@deepseek-ai/dsh-agent" }',
    '- { name: "@deepseek-ai/dsh-agent-loop" }',
    '- { name: "@deepseek-ai/dsh-subagent" }',
    '- { name: "@deepseek-ai/dsh-subagent-fork-in-process", config: { seedBoundary: step } }',
    '- { name: "@deepseek-ai/dsh-subagent-fork-in-process/cache-report" }',
    '- { name: "@deepseek-ai/dsh-tool-subagent", config: { provider: fork, toolName: subagent_fork } }',
  ];
  const file = join(await temporaryDirectory(), 'cordis.yml');
  await writeFile(file, rows.join('\n'));
  const ctx = await boot(file);
  onTestFinished(() => ctx.fiber.dispose());
  const reports: CacheReport[] = [];
  ctx.on('subagent-fork/cache-report', (report) => void reports.push(report));
  const { agent: parent } = await ctx.agents.create({ sessionId: asSessionId('parent'), agentOptions: ROUTE });
  await ask(parent, 'question');
  expect(reports.map(({ parentId, provider, difference }) => [parentId, provider, difference])).toEqual([['parent', 'fork', none]]);
});

describe('what is not known stays open', () => {
  test('tokens, when the adapter reports none', async () => {
    const { ctx, agent, model, reports } = await wired();
    model.script = () => 'done';
    const { agent: parent } = await agent();
    await ask(parent, 'question');
    await runFork(ctx, parent, 'THE TASK');
    expect(reports).toMatchObject([
      { promptTokens: undefined, cachedTokens: undefined, cachedShare: undefined, expectedShare: undefined, difference: none },
    ]);
  });

  test.for([[{ inputTokens: 10, outputTokens: 1 }, 10, 1], [{ inputTokens: 0, outputTokens: 0 }, 0, undefined]] as const)(
    'what came from cache, when the adapter reports %o', async ([usage, promptTokens, expectedShare]) => {
      const { ctx, agent, model, reports } = await wired();
      model.script = () => ({ text: 'done', usage });
      const { agent: parent } = await agent();
      await ask(parent, 'question');
      await runFork(ctx, parent, 'THE TASK');
      expect(reports).toMatchObject([{ promptTokens, cachedTokens: undefined, cachedShare: undefined, expectedShare }]);
    });

  test('the tokens of an answer that was cut off', async () => {
    const { ctx, parent, reports } = await wired({ script: (_request, index) => index === 0 ? 'answer' : { text: 'half', ending: 'stall' } });
    await ask(parent, 'question');
    const run = await forkOf(ctx, parent, 'THE TASK');
    await streaming(ctx, run.localAgent!);
    await run.dispose();
    expect(reports).toMatchObject([{ kind: 'start', promptTokens: undefined, expectedShare: undefined, difference: none }]);
  });

  test('the difference, when the parent has requested nothing yet', async () => {
    const mounted = await wired();
    await runFork(mounted.ctx, mounted.parent, 'THE TASK');
    expect(mounted.reports).toEqual([
      { ...counted(mounted, 0, 0), inheritedMessages: 0, expectedShare: undefined, difference: undefined },
    ]);
  });

  test('the difference, when the parent has only inherited what another requested', async () => {
    const mounted = await wired();
    const { ctx, parent: ancestor, agent, reports } = mounted;
    await ask(ancestor, 'question');
    const seed = ancestor.session.events;
    const { agent: parent } = await agent({ seed, meta: { seedLength: seed.length }, agentOptions: ROUTE });
    await runFork(ctx, parent, 'THE TASK');
    expect(reports).toEqual([
      { ...counted({ ...mounted, parent }, 1, 0), inheritedMessages: 2, expectedShare: undefined, difference: undefined },
    ]);
  });
});

describe('which children are reported', () => {
  /** Registers a provider that claims to inherit its parent's context. */
  function inheriting(ctx: Context, name: string, start: SubagentProvider['start']): void {
    const capabilities = { outputSchema: false, depthLimit: false, toolFilter: false, persona: false };
    ctx.subagents.registerProvider({ name, capabilities, inheritsParentContext: true, start });
  }

  test('those of another package\'s provider', async () => {
    const mounted = await wired();
    inheriting(mounted.ctx, 'copy', (request) => startInProcessRun(request, { seed: [...request.parent.session.events] }));
    await ask(mounted.parent, 'question');
    await runFork(mounted.ctx, mounted.parent, 'THE TASK', {}, 'copy');
    expect(mounted.reports).toEqual([{ ...counted(mounted, 1, 0), provider: 'copy', inheritedMessages: 2, difference: none }]);
  });

  test('those of every agent, in whichever agent\'s scope the companion is mounted', async () => {
    const mounted = await wired({ companion: false });
    const { agent: other } = await mounted.agent();
    await other.ctx.plugin(cacheReport);
    await ask(mounted.parent, 'question');
    await runFork(mounted.ctx, mounted.parent, 'THE TASK', { persona: 'You are a pirate.' });
    expect(mounted.reports).toEqual([
      { ...counted(mounted, 1, 0), inheritedMessages: 2, difference: { part: 'system', reason: 'persona section added' } },
    ]);
  });

  test('none that starts fresh', async () => {
    const { ctx, parent, reports } = await wired({ mount: (context) => context.plugin(spawn) });
    await ask(parent, 'question');
    const { result } = await runFork(ctx, parent, 'THE TASK', {}, 'spawn');
    expect([result.stopReason, reports]).toEqual(['completed', []]);
  });

  test('none that runs elsewhere', async () => {
    const { ctx, parent, reports, logs } = await wired();
    const run: SubagentRun = {
      id: asSessionId('elsewhere'), localAgent: undefined, result: Promise.resolve({ output: [], stopReason: 'completed' }), dispose: async () => {},
    };
    inheriting(ctx, 'remote', () => Promise.resolve(run));
    expect(await forkOf(ctx, parent, 'THE TASK', {}, 'remote')).toBe(run);
    expect([reports, logs]).toEqual([[], []]);
  });

  test.for<[string, { readonly parentSession?: SessionId }]>([
    ['without a parent', {}],
    ['whose parent is not live', { parentSession: asSessionId('gone') }],
  ])('none %s', async ([, meta]) => {
    const { ctx, parent, reports, logs } = await wired();
    inheriting(ctx, 'orphan', async ({ parent: { ctx: owner } }) => {
      const { agent, dispose } = await owner.agents.create({ sessionId: asSessionId('orphan'), meta, agentOptions: ROUTE });
      return { id: agent.id, localAgent: agent, result: Promise.resolve({ output: [], stopReason: 'completed' }), dispose };
    });
    const run = await forkOf(ctx, parent, 'THE TASK', {}, 'orphan');
    await ask(run.localAgent!, 'question');
    expect(run.localAgent!.session.deriveMessages()).not.toEqual([]);
    expect([reports, logs]).toEqual([[], []]);
  });

  test('none that leaves before it answers', async () => {
    const asked = Promise.withResolvers<void>();
    const { ctx, parent, reports } = await wired({
      script: (_request, index) => {
        if (index === 0) return 'answer';
        asked.resolve();
        return new Promise<never>(() => {});
      },
    });
    await ask(parent, 'question');
    const run = await forkOf(ctx, parent, 'THE TASK');
    await asked.promise;
    await run.dispose();
    expect([ctx.agents.get(run.id), reports]).toEqual([undefined, []]);
  });

  test('none once the companion is unloaded, not even one that waits for its answer', async () => {
    const answer = Promise.withResolvers<string>();
    const mounted = await wired({ script: (_request, index) => index === 0 ? 'answer' : answer.promise });
    const { ctx, parent, reports, companion, logs } = mounted;
    await ask(parent, 'question');
    const run = await forkOf(ctx, parent, 'THE TASK');
    await companion.dispose();
    answer.resolve('done');
    await run.result;
    await runFork(ctx, parent, 'ANOTHER TASK');
    expect([reports, logs]).toEqual([[], []]);
  });
});

test('no byte of any request and no assembled prompt depends on the companion', async () => {
  const seen = async (companion?: false): Promise<unknown> => {
    const { ctx, parent, endpoint } = await wired({ ...(companion === false && { companion }), script: (_request, index) => [delegate('A', 'B')][index] ?? 'done' });
    await ask(parent, 'question');
    return { prompt: await ctx.systemPrompt.assemble(), bodies: endpoint.requests.map(({ raw }) => raw).toSorted() };
  };
  expect(await seen()).toEqual(await seen(false));
});

test('a parent that asked again on another route within one step is compared by that request', async () => {
  const { agent, model, reports } = await wired();
  const usage = { inputTokens: 10, cacheReadTokens: 100, outputTokens: 1 };
  model.script = (_request, index) => [
    { finish: { kind: 'error', failure: { code: 'SERVER', message: 'down' } } } as const,
    { text: 'Delegating.', calls: [{ name: 'subagent_fork', arguments: { description: 'a task', prompt: 'THE TASK' } }], usage },
  ][index] ?? { text: 'done', usage };
  const { agent: parent } = await agent();
  const change: { model?: string } = {};
  parent.ctx.on('agent/request-error', () => {
    change.model = 'model-b';
    return Promise.resolve({ kind: 'retry' });
  });
  parent.ctx.on('agent/request', async (_payload, next) => ({ ...await next(), ...change }));
  await ask(parent, 'question');
  expect(reports.map(({ difference }) => difference)).toEqual([none]);
  expect(model.requests.map((request) => request.model)).toEqual(['model-a', 'model-b', 'model-b', 'model-b']);
});

test('the companion is named after its package', () => {
  expect(cacheReport.name).toBe('subagent-fork-in-process-cache-report');
});

test('one line says it all, and again what is not known', async () => {
  const { ctx, parent, agent, model, reports, logs } = await wired();
  model.script = () => ({ text: 'done', usage: { inputTokens: 250, cacheReadTokens: 750, outputTokens: 1 } });
  const { agent: counting } = await agent();
  await ask(counting, 'question');
  await runFork(ctx, counting, 'THE TASK', { toolFilter: { deny: ['subagent_fork'] } });
  model.script = () => 'done';
  const { agent: fresh } = await agent();
  await runFork(ctx, fresh, 'THE TASK');
  const ids = new Map(reports.flatMap(({ parentId, childId }, index) => [[parentId, `parent-${index}`], [childId, `child-${index}`]]));
  const readable = [...ids].reduce((text, [id, name]) => text.replaceAll(id, name), logs.filter((line) => line.includes('tokens')).join('\n'));
  expect(parent.session.seq).toBe(0);
  expect(readable).toMatchInlineSnapshot(`
    ""fork": child child-0 of parent-0 started on scripted/model-a; inherited messages: 2; 750 of 1000 prompt tokens from cache (75 %, expected at most: 100 %); first difference from the parent's latest request: tools (tool \`subagent_fork\` removed)
    "fork": child child-1 of parent-1 started on scripted/model-a; inherited messages: 0; ? of ? prompt tokens from cache (unknown, expected at most: unknown); the parent has made no request to compare with"
  `);
});
