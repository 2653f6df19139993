/** Random conversations on the real loop: what one is made of, and how it runs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import type { Context } from '@deepseek-ai/cordis';
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent';
import { ManualCompactionError } from '@deepseek-ai/dsh-compaction';
import { CONTEXT_WINDOW_EXCEEDED_CODE, createUserMessage, resolveRetryPolicy } from '@deepseek-ai/dsh-llm';
import type { FinishReason, GenerateOptions, LlmResolvedModelInfo, ResolvedRetryPolicy, UserMessage } from '@deepseek-ai/dsh-llm';
import { SANDBOX_MODES, effectiveSandboxMode, setSandboxMode } from '@deepseek-ai/dsh-sandbox-policy';
import { SessionId } from '@deepseek-ai/dsh-session';
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl';
import type { ContinuableCreateSpec, SubagentResult, SubagentRun } from '@deepseek-ai/dsh-subagent';
import { defineTool } from '@deepseek-ai/dsh-tools';
import fc from 'fast-check';
import * as published from 'published-fork';
import * as fork from '../../src/index.ts';
import type { SeedOptions } from '../../src/seed/build.ts';
import { mountFull } from './full.ts';
import { say, setup } from './harness.ts';
import { ScriptedModel } from './model.ts';
import type { Answer } from './model.ts';
import { SurfaceRecord } from './surfaces.ts';
import type { Surfaces } from './surfaces.ts';

const ENDINGS = ['well', 'max-tokens', 'fatal', 'rate-limit', 'overflow'] as const;
const TOOLS = ['peek', 'dump', 'alone', 'fails', 'asks', 'absent', 'fork'] as const;
const ACTS = ['cancel', 'steer', 'inject', 'queue', 'plan', 'sandbox', 'approval', 'goal', 'route', 'fork'] as const;
type Act = typeof ACTS[number];
const MARKS = [
  'agent/inbox/spliced', 'turn/start', 'step/start', 'user/message', 'request/header', 'assistant/chunk', 'llm/retry', 'assistant/message',
  'tool/call', 'tool/result', 'step/end', 'turn/end', 'compaction/start', 'compaction/end',
] as const;

/** One answer of the model. */
export interface Step {
  readonly thinks: boolean;
  /** How many words it says. */
  readonly says: number;
  readonly calls: readonly typeof TOOLS[number][];
  readonly ends: typeof ENDINGS[number];
  /** The input tokens it reports; at 2,400 the next step compacts. */
  readonly usage: number | undefined;
}

/** What happens in a conversation, in order. */
export type Action =
  | { readonly kind: 'turn'; readonly steps: readonly Step[] }
  | { readonly kind: 'blocked turn' }
  | { readonly kind: 'act'; readonly act: Act }
  | { readonly kind: 'compact' }
  | { readonly kind: 'reopen' }
  | Descent;

/** The conversation goes on in a fork, which starts between turns or within a tool. */
interface Descent {
  readonly kind: 'descend';
  readonly within: boolean;
  readonly provider: number;
}

/** A whole conversation. It ends with a fork of the agent in which it ends. */
export interface Conversation {
  readonly script: readonly Action[];
  /** What happens right after the current agent has logged the n-th event of a type, whatever it is doing then. */
  readonly meanwhile: readonly { readonly type: typeof MARKS[number]; readonly nth: number; readonly act: Act }[];
  /** Which of its compactions get a summary; all later ones do. */
  readonly summaries: readonly boolean[];
}

/** A provider of this package. */
export interface Provider extends SeedOptions {
  readonly name: string;
}

/** Every combination of the options that shape a seed; each is followed by the same with `compactSeed`. */
export const PROVIDERS: readonly Provider[] = (['turn', 'step'] as const).flatMap(
  (seedBoundary) => [false, true, 'MIND THE GAP'].flatMap(
    (notice) => [false, true].map((compactSeed) => ({ name: `${seedBoundary} ${notice} ${compactSeed}`, seedBoundary, notice, compactSeed })),
  ),
);
/** The one whose options are the defaults. */
export const DEFAULT: Provider = PROVIDERS[0]!;
export const PUBLISHED = 'published';

/** Words a child answers its task with. */
export const DONE = 'done by the child';
export const TASK = 'the task of the fork';

/** One child and what it came from. */
export interface Fork {
  readonly provider: string;
  /** Absent for the published provider. */
  readonly options: SeedOptions | undefined;
  readonly parent: Session;
  /** The parent's log when the fork was started. */
  readonly log: readonly SessionEvent[];
  /** What the fork has to inherit. */
  readonly surfaces: Surfaces;
  readonly run: SubagentRun;
  readonly result: SubagentResult;
  readonly session: Session;
  /** The child's conversation requests. */
  readonly requests: readonly GenerateOptions[];
  /** What the provider contributes to a continuable child of that moment. */
  readonly continuable: ContinuableCreateSpec;
}

/** A conversation that has run to its end. */
export interface Outcome {
  readonly ctx: Context;
  /** The forks of each moment, one for each provider and the published one. */
  readonly moments: readonly (readonly Fork[])[];
  /** Whether every log is on disk. */
  readonly durable: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  thinks: fc.boolean(),
  says: fc.nat(4),
  calls: fc.array(fc.constantFrom(...TOOLS), { maxLength: 3 }),
  ends: weighted(ENDINGS, [12, 1, 1, 2, 2]),
  usage: fc.option(fc.integer({ min: 1, max: 4000 }), { nil: undefined, freq: 2 }),
});

const act: fc.Arbitrary<Act> = fc.constantFrom(...ACTS);

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 9, arbitrary: fc.record({ kind: fc.constant('turn' as const), steps: fc.array(step, { minLength: 1, maxLength: 3 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'blocked turn' } as const) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('act' as const), act }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'compact' } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' } as const) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('descend' as const), within: fc.boolean(), provider: fc.nat(PROVIDERS.length - 1) }) },
);

/** Any conversation. */
export const conversations: fc.Arbitrary<Conversation> = fc.record({
  script: fc.array(action, { minLength: 1, maxLength: 7 }),
  meanwhile: fc.array(fc.record({
    type: fc.constantFrom(...MARKS), nth: fc.integer({ min: 1, max: 6 }), act: fc.oneof(act, fc.constant('fork' as const)),
  }), { maxLength: 5 }),
  summaries: fc.array(fc.boolean(), { maxLength: 2 }),
});

function weighted<T>(values: readonly T[], weights: readonly number[]): fc.Arbitrary<T> {
  return fc.oneof(...values.map((value, index) => ({ weight: weights[index]!, arbitrary: fc.constant(value) })));
}

/**
 * Runs a conversation with everything mounted and hands it over with every agent still alive.
 * Afterwards they are disposed, and nothing of them may be left.
 */
export async function converse(
  conversation: Conversation, check: (outcome: Outcome) => Promise<void> | void, providers: readonly Provider[] = PROVIDERS,
): Promise<void> {
  const durable = conversation.script.some(({ kind }) => kind === 'reopen');
  const root = durable ? await mkdtemp(join(tmpdir(), 'conversation-')) : undefined;
  const { ctx, parent } = await setup({ config: false, mount: (context) => mount(context, providers, root) });
  try {
    const player = new Player(ctx, conversation, providers, await ctx.agents.create({ agentOptions: ROUTE, sessionId: SessionId('root') }));
    const moments = await player.play();
    await check({ ctx, moments, durable });
    await player.end();
    const left = [...ctx.agents.list(), ...ctx.sessions.list()].filter(({ id }) => id !== parent.id);
    if (left.length > 0) throw new Error(`left behind: ${left.map(({ id }) => id).join(', ')}`);
  } finally {
    await ctx.fiber.dispose();
    if (root !== undefined) await rm(root, { recursive: true });
  }
}

async function mount(ctx: Context, providers: readonly Provider[], root: string | undefined): Promise<void> {
  await mountFull(ctx);
  if (root !== undefined) await ctx.plugin(JsonlSessionPersistence, { root, compression: 'none' });
  for (const { name, ...options } of providers) await ctx.plugin(fork, { providerName: name, ...options });
  await ctx.plugin(published, { providerName: PUBLISHED });
}

/** A model with a small context whose rate limits are retried at once. */
class ConversationModel extends ScriptedModel {
  override providerRetryPolicy(): ResolvedRetryPolicy {
    return resolveRetryPolicy({ mode: 'normal', maxRetries: 2, backoff: { initialDelayMs: 1, maxDelayMs: 1, jitterRatio: 0 } }, 'conversation');
  }

  override async resolveModel(provider: string, id: string): Promise<LlmResolvedModelInfo> {
    return { provider, id, name: id, context: { contextWindow: 3000 } };
  }
}

const ROUTE = { provider: 'conversation', model: 'model-a' } as const;

/** Plays one conversation. */
class Player {
  private readonly ctx: Context;
  private readonly conversation: Conversation;
  private readonly providers: readonly Provider[];
  private readonly surfaces: SurfaceRecord;
  private readonly model = new ConversationModel((request) => this.answer(request));
  private readonly moments: Promise<Fork[]>[] = [];
  /** What is left to be answered in the turn of the current agent. */
  private steps: Step[] = [];
  private readonly summaries: boolean[];
  /** Goes on with the conversation in a fork, when the model calls `within`. */
  private within: (() => Promise<void>) | undefined;
  private blocks = false;
  /** Whether the current agent is on its way out. */
  private closing = false;
  private readonly models = new Map<string, string>();
  private readonly disposals = new Map<Agent, () => Promise<void>>();
  private agent: Agent;
  private readonly logged = new Map<string, number>();
  private said = 0;

  constructor(ctx: Context, conversation: Conversation, providers: readonly Provider[], root: AgentHandle) {
    this.ctx = ctx;
    this.conversation = conversation;
    this.providers = providers;
    this.summaries = [...conversation.summaries];
    this.agent = root.agent;
    this.disposals.set(root.agent, root.dispose);
    this.surfaces = new SurfaceRecord(ctx);
    ctx.llm.registerAdapter([ROUTE.provider], this.model);
    ctx.on('session/event', (session, { type }) => this.count(session, type), { global: true });
    ctx.on('agent/request', async ({ agent }, next) => ({ ...await next(), ...(this.models.has(agent.id) && { model: this.models.get(agent.id)! }) }), { global: true });
    ctx.on('agent/pre-step', async ({ agent }, next) => this.blocks && agent === this.agent ? { kind: 'reject' } : next(), { global: true });
    for (const name of ['peek', 'dump', 'alone', 'fails', 'asks', 'fork', 'within']) {
      this.register(name);
    }
  }

  private register(name: string): void {
    this.ctx.tools.register(defineTool({
      name,
      description: `Test tool ${name}.`,
      parameters: {},
      output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
      isConcurrencySafe: () => name !== 'alone',
      execute: (_args, { agent, signal }) => this.execute(name, agent!, signal),
    }));
  }

  async play(): Promise<Fork[][]> {
    await this.run(this.conversation.script);
    return Promise.all(this.moments);
  }

  async end(): Promise<void> {
    this.closing = true;
    for (const dispose of [...this.disposals.values()].toReversed()) await dispose();
  }

  private enter(agent: Agent, dispose: () => Promise<void>): void {
    this.agent = agent;
    this.disposals.set(agent, dispose);
  }

  private async run(script: readonly Action[]): Promise<void> {
    for (const [index, action] of script.entries()) {
      if (action.kind === 'descend') return this.descend(action, script.slice(index + 1));
      await this.once(action);
      await this.agent.whenIdle();
    }
    await this.fork();
  }

  private async once(action: Exclude<Action, Descent>): Promise<void> {
    switch (action.kind) {
      case 'turn': return this.turn(action.steps);
      case 'blocked turn':
        this.blocks = true;
        await this.turn([]);
        this.blocks = false;
        return;
      case 'act': return this.perform(action.act);
      case 'compact': return this.compact();
      case 'reopen': return this.reopen();
    }
  }

  private async turn(steps: readonly Step[]): Promise<void> {
    this.steps = [...steps];
    say(this.agent, this.words('request'));
    await this.agent.whenIdle();
    this.steps = [];
  }

  private async compact(): Promise<void> {
    try {
      await this.ctx.compaction.compactNow(this.agent, new AbortController().signal);
    } catch (error) {
      if (!(error instanceof ManualCompactionError)) throw error;
    }
  }

  private async reopen(): Promise<void> {
    const { agent, ctx } = this;
    if (!agent.session.events.some(({ type }) => type === 'turn/end')) return;
    await Promise.all(this.moments);
    this.closing = true;
    await this.disposals.get(agent)!();
    this.closing = false;
    this.disposals.delete(agent);
    const handle = await ctx.agents.resume({ resumeSessionId: agent.id, agentOptions: ROUTE });
    this.enter(handle.agent, handle.dispose);
  }

  private async descend({ within, provider }: Descent, rest: readonly Action[]): Promise<void> {
    const parent = this.agent;
    const { name } = this.providers[provider % this.providers.length]!;
    const child = async (): Promise<void> => {
      const run = await this.begin(name, this.words('descend'));
      this.enter(run.localAgent!, run.dispose);
      await run.result;
      await this.run(rest);
    };
    if (!within) return child();
    const go = this.within = async () => {
      this.within = undefined;
      await child();
      this.agent = parent;
    };
    say(parent, this.words('delegate'));
    await parent.whenIdle();
    if (this.within !== go) return;
    this.within = undefined;
    await this.run(rest);
  }

  private begin(provider: string, prompt: string): Promise<SubagentRun> {
    return this.ctx.subagents.start(provider, { parent: this.agent, prompt: [{ type: 'text', text: prompt }], signal: new AbortController().signal });
  }

  /** Starts every fork at once, so that all see the same log. */
  private fork(): Promise<Fork[]> {
    const last = this.moments.at(-1);
    if (this.moments.length >= 3) return last!;
    const { agent, ctx } = this;
    const seen = { parent: agent.session, log: agent.session.events, surfaces: this.surfaces.of(agent.session) };
    const forks = Promise.all([...this.providers, { name: PUBLISHED }].map(async ({ name, ...options }): Promise<Fork> => {
      const starting = this.begin(name, TASK);
      const preparing = ctx.subagents.getProvider(name)!.prepareContinuable!({ sessionId: SessionId(`continuable-${name}`), parent: agent, signal: new AbortController().signal });
      const run = await starting;
      const result = await run.result;
      const { session } = run.localAgent!;
      const requests = this.model.requests.filter(({ sessionId, purpose }) => sessionId === session.id && purpose !== 'compaction');
      return {
        ...seen, run, result, session, requests, provider: name, continuable: await preparing,
        options: 'seedBoundary' in options ? options : undefined,
      };
    }));
    this.moments.push(forks);
    return forks;
  }

  private count(session: Session, type: string): void {
    if (session !== this.agent.session) return;
    const nth = (this.logged.get(type) ?? 0) + 1;
    this.logged.set(type, nth);
    for (const mark of this.conversation.meanwhile) {
      if (mark.type === type && mark.nth === nth) queueMicrotask(() => this.perform(mark.act));
    }
  }

  private perform(given: Act): void {
    const { agent, ctx } = this;
    if (this.closing) return;
    switch (given) {
      case 'cancel': return agent.cancel({ kind: 'user' });
      case 'steer': return agent.steer(this.message('steer'));
      case 'inject': return agent.inject(this.message('inject'));
      case 'queue': return agent.followup(this.message('queue'));
      case 'plan': return void ctx.planMode.set(agent, !ctx.planMode.get(agent).active);
      case 'sandbox': return setSandboxMode(agent.session, nextMode(agent.session));
      case 'approval': return ctx.approval.setPolicy(agent, ctx.approval.overrideOf(agent.session) === 'never' ? 'ask' : 'never');
      case 'goal': return this.goal();
      case 'route': return void this.models.set(agent.id, this.models.get(agent.id) === 'model-b' ? 'model-a' : 'model-b');
      case 'fork': return void this.fork().catch(() => {});
    }
  }

  private goal(): void {
    const { agent, ctx } = this;
    const goal = ctx.goals.get(agent);
    if (goal === undefined) ctx.goals.create(agent, { objective: this.words('objective') });
    else if (goal.phase === 'active' && goal.activation === 'armed') ctx.goals.pause(agent, goal);
    else ctx.goals.clear(agent, goal);
  }

  private async execute(name: string, agent: Agent, signal: AbortSignal): Promise<string> {
    switch (name) {
      case 'fails': throw new Error(this.words('failure'));
      case 'asks': return `${this.words('asked')} ${await this.ctx.approval.request({ agent, toolName: name, signal })}`;
      case 'fork': return `${this.words('forked')} ${(await this.fork()).length}`;
      case 'within':
        await this.within?.();
        return this.words('within');
      case 'dump': return this.words('dump').padEnd(1200, ' dump');
      default:
        await tick();
        return this.words(name);
    }
  }

  private answer(request: GenerateOptions): Answer | string {
    const current = request.sessionId === this.agent.id;
    if (request.purpose === 'compaction') return current && this.summaries.shift() === false ? failure('SUMMARY') : 'a summary';
    if (!current) return DONE;
    if (this.within !== undefined) return { calls: [{ name: 'within', arguments: {} }] };
    const { thinks = false, says = 1, calls = [], ends = 'well', usage } = this.steps.shift() ?? {};
    return {
      ...(thinks && { reasoning: this.words('thought') }),
      ...(says > 0 && { text: this.words('answer', says) }),
      ...(calls.length > 0 && { calls: calls.map((called) => ({ name: called, arguments: { } })) }),
      ...(usage !== undefined && { usage: { inputTokens: usage, outputTokens: 1 } }),
      ...ending(ends),
    };
  }

  private words(kind: string, count = 1): string {
    return `${kind} ${++this.said}${' word'.repeat(count - 1)}`;
  }

  private message(kind: string): UserMessage {
    return createUserMessage({ content: [{ type: 'text', text: this.words(kind) }], source: { kind: 'user' } });
  }
}

function nextMode(session: Session): typeof SANDBOX_MODES[number] {
  const mode = effectiveSandboxMode(session.events);
  return SANDBOX_MODES[(SANDBOX_MODES.indexOf(mode ?? 'read-only') + 1) % SANDBOX_MODES.length]!;
}

function ending(ends: Step['ends']): { readonly finish?: FinishReason } {
  switch (ends) {
    case 'well': return {};
    case 'max-tokens': return { finish: { kind: 'max-tokens' } };
    case 'fatal': return failure('FATAL');
    case 'rate-limit': return failure('RATE_LIMIT');
    case 'overflow': return failure(CONTEXT_WINDOW_EXCEEDED_CODE);
  }
}

function failure(code: string): { readonly finish: FinishReason } {
  return { finish: { kind: 'error', failure: { code, message: `the model failed with ${code}` } } };
}
