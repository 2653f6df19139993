import type { Context } from '@deepseek-ai/cordis';
import { AgentRegistry } from '@deepseek-ai/dsh-agent';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { InvariantError, InvariantRegistry } from '@deepseek-ai/dsh-invariants';
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import type { Message } from '@deepseek-ai/dsh-llm';
import { interruptedTurnClosers, SessionId } from '@deepseek-ai/dsh-session';
import type { CreateSessionOptions, Session, SessionEvent } from '@deepseek-ai/dsh-session';
import { seedDescriptorTurn, snapshotSubagentDescriptor } from '@deepseek-ai/dsh-subagent';
import type { ResolvedSubagentStartRequest } from '@deepseek-ai/dsh-subagent';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { within } from '../../src/child/start.ts';
import type * as fork from '../../src/index.ts';
import * as invariant from '../../src/invariant/index.ts';
import { LONG, mountCompaction, summarizes } from '../support/compaction.ts';
import { replies } from '../support/delegation.ts';
import { ask, forkOf, registerTool, runFork, say, setup } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

interface Guarded extends Setup {
  /** The sessions that were created, published or not, in order. */
  readonly created: SessionId[];
  readonly companion: { dispose(): Promise<void> };
}

type Change = (events: SessionEvent[]) => SessionEvent[];

/** A harness with the companion on it, whose model calls `delegate` when told to. */
async function guarded(config: fork.Config = {}, mount?: (ctx: Context) => Promise<void>): Promise<Guarded> {
  const created: SessionId[] = [];
  const mounted = await setup({
    companion: false,
    config,
    mount: async (ctx) => {
      ctx.on('session/created', ({ id }) => void created.push(id));
      await mount?.(ctx);
    },
    script: summarizes(replies({ 'user: delegate': { calls: [{ name: 'delegate', arguments: {} }] } })),
  });
  const companion = mounted.ctx.plugin(invariant);
  await companion;
  onTestFinished(() => mounted.ctx.fiber.dispose());
  return { ...mounted, created, companion };
}

/** Changes every seed between its provider and its session, as a plugin that wraps the registry could. */
function tamper(change: Change): void {
  const { create } = AgentRegistry.prototype;
  const wrapped = vi.spyOn(AgentRegistry.prototype, 'create').mockImplementation(function (this: AgentRegistry, options) {
    if (options.seed === undefined) return create.call(this, options);
    const changed = change([...options.seed]);
    const seed = changed.length === options.seed.length ? changed : changed.map(renumbered);
    const seedLength = options.meta!.seedLength! + seed.length - options.seed.length;
    return create.call(this, { ...options, seed, meta: { ...options.meta, seedLength } });
  });
  onTestFinished(() => wrapped.mockRestore());
}

function renumbered(event: SessionEvent, seq: number): SessionEvent {
  const { sourceEventSeqs: _, ...rest } = event as SessionEvent<'user/message'>;
  return { ...rest, seq };
}

function edited(event: SessionEvent): SessionEvent {
  if (event.type !== 'assistant/message' && event.type !== 'user/message') return event;
  const rewrite = <T extends Message>(message: T): T => ({ ...message, content: [{ type: 'text', text: 'edited' }] });
  return event.type === 'user/message'
    ? { ...event, data: rewrite(event.data) }
    : { ...event, data: { ...event.data, message: rewrite(event.data.message) } };
}

function foreign(text = 'foreign'): SessionEvent<'user/message'> {
  return { type: 'user/message', seq: 0, time: 0, surfaceOp: 'append', data: createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }) };
}

/** Appends to the log of the parent whose seed was announced. */
function grow({ parent }: fork.SeedAnnouncement): void {
  parent.session.append('user/message', foreign().data, { surfaceOp: 'append' });
}

/** Starts a continuable fork and waits until it has answered. */
async function startContinuable(ctx: Context, parent: Agent, childId?: SessionId): Promise<SessionId> {
  const started = await ctx.subagents.startContinuable({
    provider: 'fork', label: 'child', signal: new AbortController().signal, ...(childId && { childId }),
    request: { parent, prompt: [{ type: 'text', text: 'the task' }] },
  });
  await ctx.agents.get(started.childId)?.whenIdle();
  return started.childId;
}

/** One turn of the agent, whose only tool call runs this. */
function insideStep<T>(ctx: Context, agent: Agent, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    registerTool(ctx, 'delegate', async () => {
      await act().then(resolve, reject);
      return 'delegated';
    });
    ask(agent, 'delegate').catch(reject);
  });
}

/** Replaces a session's whole surface by a summary. */
function rewrite(session: Session): void {
  const shadowed = [...session.surface.nodes];
  const op = { op: 'replace', start: shadowed[0]!, end: shadowed.at(-1)! } as const;
  session.append('user/message', foreign('SUMMARY').data, { surfaceOp: op, sourceEventSeqs: shadowed });
}

/** What the companion says of a fork it refuses. */
async function refusal(forked: Promise<unknown>): Promise<string> {
  const error = await forked.then(() => undefined, (reason: unknown) => reason);
  expect(error).toBeInstanceOf(InvariantError);
  return (error as InvariantError).message;
}

/** How every refusal begins that knows the child. */
const CHILD = 'invariant violated by "@deepseek-ai/dsh-subagent-fork-in-process": child session "';

interface Scenario {
  readonly config?: fork.Config;
  readonly mount?: () => Promise<(ctx: Context) => Promise<void>>;
  /** What happens before the fork; gives the agent that forks. By default the parent has one turn. */
  readonly prepare?: (ctx: Context, parent: Agent) => Promise<Agent>;
  readonly fork?: (ctx: Context, agent: Agent) => Promise<unknown>;
}

const direct = (ctx: Context, agent: Agent): Promise<unknown> => runFork(ctx, agent, 'the task');
const fromStep = (ctx: Context, agent: Agent): Promise<unknown> => insideStep(ctx, agent, () => direct(ctx, agent));

async function oneTurn(_ctx: Context, parent: Agent): Promise<Agent> {
  await ask(parent, 'first');
  return parent;
}

const scenarios: Record<string, Scenario> = {
  'at the end of a turn': {},
  'inside an open step': { config: { seedBoundary: 'step' }, fork: fromStep },
  'inside the first step': { config: { seedBoundary: 'step' }, prepare: (_ctx, parent) => Promise.resolve(parent), fork: fromStep },
  'with a compacted seed': { config: { seedBoundary: 'step', compactSeed: true }, fork: fromStep },
  'of a forked child': {
    config: { notice: true },
    prepare: async (ctx, parent) => (await runFork(ctx, await oneTurn(ctx, parent), 'the task')).child,
  },
  'of a forked child whose history ends with its own notice': {
    config: { notice: true },
    prepare: async (ctx, parent) => {
      const entered = Promise.withResolvers<Agent>();
      registerTool(ctx, 'delegate', (agent, signal) => {
        entered.resolve(agent);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted')));
      });
      await forkOf(ctx, await oneTurn(ctx, parent), 'delegate');
      return entered.promise;
    },
  },
  'of a compacted parent': {
    mount: async () => mountCompaction(),
    prepare: async (ctx, parent) => {
      await ask(parent, LONG);
      await ask(parent, 'second');
      await ctx.compaction.compactNow(parent, new AbortController().signal);
      return parent;
    },
  },
  'of a parent that was compacted behind the boundary': {
    fork: (ctx, agent) => insideStep(ctx, agent, () => {
      rewrite(agent.session);
      return direct(ctx, agent);
    }),
  },
  'into a continuable child': {
    config: { notice: true },
    mount: async () => mountPersistence(await temporaryDirectory()),
    fork: startContinuable,
  },
  'three times at once': {
    fork: (ctx, agent) => Promise.all(['one', 'two', 'three'].map((task) => runFork(ctx, agent, task))),
  },
  'after one that failed': {
    prepare: async (ctx, parent) => {
      await ask(parent, 'first');
      await expect(forkOf(ctx, parent, 'the task', { signal: AbortSignal.abort() })).rejects.toThrow('aborted before child publication');
      return parent;
    },
  },
  'of a parent that goes on before the child is published': {
    fork: async (ctx, agent) => {
      const forked = direct(ctx, agent);
      say(agent, 'second');
      await Promise.all([forked, agent.whenIdle()]);
    },
  },
};

describe.each(Object.entries(scenarios))('a fork %s', (_title, { config, mount, prepare = oneTurn, fork: act = direct }) => {
  test('is let through', async () => {
    const { ctx, parent, created } = await guarded(config, await mount?.());
    const agent = await prepare(ctx, parent);
    const before = created.length;
    await act(ctx, agent);
    expect(created.length).toBeGreaterThan(before);
    expect(created.filter((id) => ctx.sessions.get(id) === undefined)).toEqual([]);
  });

  test('is refused when its messages were edited', async () => {
    const { ctx, parent, created } = await guarded(config, await mount?.());
    const agent = await prepare(ctx, parent);
    const before = ctx.sessions.list();
    tamper((events) => events.map(edited));
    const refused = new RegExp(`^${CHILD}(.+)" of parent session "${agent.id}": inherited message \\d of \\d, (?:user|assistant) message ".+", differs in content$`);
    const [, child] = refused.exec(await refusal(act(ctx, agent))) ?? [];
    expect(created).toContain(child);
    expect(ctx.sessions.list()).toEqual(before);
  });
});

/** A parent with two turns, as the events of its four messages. */
async function twoTurns(config?: fork.Config): Promise<Guarded & { readonly shown: SessionEvent[]; readonly ids: string[] }> {
  const mounted = await guarded(config);
  await ask(mounted.parent, 'first');
  await ask(mounted.parent, 'second');
  const { session } = mounted.parent;
  return {
    ...mounted,
    shown: session.surface.nodes.map((seq) => session.events[seq]!),
    ids: session.deriveMessages().map(({ id }) => id),
  };
}

/** What the companion says of the next fork, and that its child is gone. */
async function nextRefusal({ ctx, parent, created }: Guarded): Promise<string> {
  const before = created.length;
  const message = await refusal(forkOf(ctx, parent, 'the task'));
  expect(ctx.sessions.list()).toEqual([parent.session]);
  expect(ctx.agents.list()).toEqual([parent]);
  return message.replace(created[before] ?? '?', 'CHILD').replace(parent.id, 'PARENT');
}

const REFUSED = `${CHILD}CHILD" of parent session "PARENT": `;

describe('a fork is refused', () => {
  test('when a message is dropped', async () => {
    const { ids, shown, ...mounted } = await twoTurns();
    tamper((events) => events.filter(({ seq }) => seq !== shown[1]!.seq));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}inherited message 2 of 4 is user message "${ids[2]}", expected assistant message "${ids[1]}"`);
  });

  test.each([false, true])('when the last message is dropped (notice: %j)', async (notice) => {
    const { ids, shown, ...mounted } = await twoTurns({ notice });
    tamper((events) => events.filter(({ seq }) => seq !== shown[3]!.seq));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}inherited message 4 of 4, assistant message "${ids[3]}", is missing`);
  });

  test('when two messages are swapped', async () => {
    const { ids, shown: [first, , second], ...mounted } = await twoTurns();
    tamper((events) => events
      .with(first!.seq, { ...second!, seq: first!.seq })
      .with(second!.seq, { ...first!, seq: second!.seq }));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}inherited message 1 of 4 is user message "${ids[2]}", expected user message "${ids[0]}"`);
  });

  test('when the content of a message is edited', async () => {
    const { ids, shown, ...mounted } = await twoTurns();
    tamper((events) => events.with(shown[1]!.seq, edited(shown[1]!)));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}inherited message 2 of 4, assistant message "${ids[1]}", differs in content`);
  });

  test('when the source of a message is edited', async () => {
    const { ids, shown, ...mounted } = await twoTurns();
    const question = shown[2] as SessionEvent<'user/message'>;
    tamper((events) => events.with(question.seq, { ...question, data: { ...question.data, source: { kind: 'plugin', plugin: 'other' } } }));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}inherited message 3 of 4, user message "${ids[2]}", differs in source`);
  });

  test('when a foreign message stands in front', async () => {
    const mounted = await twoTurns();
    const message = foreign();
    tamper((events) => [message, ...events]);
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}user message "${message.data.id}" precedes what the parent showed`);
  });

  test('when a foreign message stands between', async () => {
    const { ids, shown, ...mounted } = await twoTurns();
    const message = foreign();
    tamper((events) => events.toSpliced(shown[2]!.seq, 0, message));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}inherited message 3 of 4 is user message "${message.data.id}", expected user message "${ids[2]}"`);
  });

  test.each([false, true])('when a foreign message follows (notice: %j)', async (notice) => {
    const mounted = await twoTurns({ notice });
    const message = foreign();
    tamper((events) => events.toSpliced(mounted.parent.session.seq, 0, message));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}user message "${message.data.id}" follows what the parent showed`);
  });

  test('when it inherits a turn that is still open', async () => {
    const mounted = await twoTurns();
    tamper((events) => events.filter(({ type }, index) => type !== 'turn/end' || index !== events.length - 1));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}the inherited log leaves turn 2 open`);
  });

  test('when it inherits a step that is still open', async () => {
    const mounted = await twoTurns();
    tamper((events) => events.slice(0, -2));
    expect(await nextRefusal(mounted)).toBe(`${REFUSED}the inherited log leaves step 1 of turn 2 open`);
  });

  test('when its parent\'s log grows while the seed is built', async () => {
    const mounted = await twoTurns();
    const length = mounted.parent.session.seq;
    mounted.ctx.on('subagent-fork/seeded', grow, { prepend: true });
    expect(await nextRefusal(mounted)).toBe(`${REFUSED.replace('child session "CHILD"', 'a child session')}the parent's log changed while the seed was built, from ${length} to ${length + 1} events`);
    expect(mounted.created).toEqual([mounted.parent.id]);
  });
});

/** Announces a seed as a provider would, of the parent's log as it is. */
function announce(
  { ctx, parent }: Setup, seed: Pick<fork.Seed, 'end' | 'events'>, childId?: SessionId,
): fork.SeedAnnouncement {
  const announcement = {
    provider: 'fork', parent, seed: { log: parent.session.events, ...seed }, ...(childId !== undefined && { childId }),
  };
  ctx.emit('subagent-fork/seeded', announcement);
  return announcement;
}

/** Publishes a session that inherits these events. */
function publish(
  { ctx, parent }: Setup, seed: SessionEvent[], id: SessionId, meta: CreateSessionOptions['meta'] = {},
): Session {
  return ctx.sessions.create(id, {
    seed, meta: { parentSession: parent.id, origin: 'subagent', seedLength: seed.length, ...meta },
  });
}

/** Publishes sessions inside the one-shot start of an announced seed. */
function inStartOf<T>(announcement: fork.SeedAnnouncement, act: () => T): Promise<T> {
  const { provider, parent } = announcement;
  const request = { parent } as unknown as ResolvedSubagentStartRequest;
  return within({ provider, request, announcement }, () => Promise.resolve().then(act));
}

/** Publishes a session that inherits these events as a provider's continuable child. */
function publishContinuable({ ctx, parent }: Setup, seed: SessionEvent[], id: SessionId, provider = 'fork'): Session {
  const descriptor = snapshotSubagentDescriptor({ mode: 'continuable', provider, label: 'child' });
  return ctx.sessions.create(id, {
    seed: seedDescriptorTurn(id, seed, descriptor),
    meta: { parentSession: parent.id, origin: 'subagent', seedLength: seed.length },
  });
}

describe('a fork that cuts a step behind its tool call is refused', () => {
  test.each<[string, (closers: SessionEvent[]) => SessionEvent[], string]>([
    [
      'when the call has no result', (closers) => closers.filter(({ type }) => type !== 'tool/result'),
      'the inherited log leaves tool call "call-1" open',
    ],
    [
      'when the call has a result that the parent never showed', (closers) => closers,
      'user message "interrupted-tool-result-call-1-',
    ],
  ])('%s', async (_title, select, fault) => {
    const mounted = await guarded();
    await insideStep(mounted.ctx, mounted.parent, async () => {
      const { events, seq: end } = mounted.parent.session;
      const closed = [...events, ...select(interruptedTurnClosers(events))].map((event, seq) => ({ ...event, seq }));
      const announcement = announce(mounted, { end, events: closed });
      await expect(inStartOf(announcement, () => publish(mounted, closed, SessionId('named'))))
        .rejects.toThrow(`${CHILD}named" of parent session "${mounted.parent.id}": ${fault}`);
      expect(mounted.ctx.sessions.get(SessionId('named'))).toBeUndefined();
    });
  });
});

interface Misleading extends Guarded {
  readonly log: SessionEvent[];
  readonly announcement: fork.SeedAnnouncement;
}

/** An announced seed as long as the parent's two turns, of which a session that inherits both turns differs. */
async function misleading(childId?: SessionId): Promise<Misleading> {
  const mounted = await guarded();
  await ask(mounted.parent, 'first');
  const end = mounted.parent.session.seq;
  await ask(mounted.parent, 'second');
  const log = [...mounted.parent.session.events];
  return { ...mounted, log, announcement: announce(mounted, { end, events: log }, childId) };
}

describe('the child of a start is refused', () => {
  test.each<[string, (log: SessionEvent[]) => SessionEvent[], string]>([
    ['with the announced length and another content', (log) => log, 'follows what the parent showed'],
    ['with another length', (log) => log.slice(0, 1), 'is missing'],
    ['without a seed', () => [], 'is missing'],
  ])('%s', async (_title, change, fault) => {
    const { log, announcement, ...mounted } = await misleading();
    await expect(inStartOf(announcement, () => publish(mounted, change(log), SessionId('child')))).rejects.toThrow(fault);
    expect(mounted.ctx.sessions.get(SessionId('child'))).toBeUndefined();
  });

  test('also when the clock was set back', async () => {
    const { log, announcement, ...mounted } = await misleading();
    await expect(inStartOf(announcement, () => publish(mounted, log, SessionId('child'), { createdAt: 0 })))
      .rejects.toThrow('follows what the parent showed');
  });
});

describe('a session that is not the child of the start is not judged', () => {
  test.each<[string, CreateSessionOptions['meta']]>([
    ['when it is no subagent', { origin: undefined as never }],
    ['when it has another parent', { parentSession: SessionId('nobody') }],
  ])('%s', async (_title, meta) => {
    const { log, announcement, ...mounted } = await misleading();
    const session = await inStartOf(announcement, () => publish(mounted, log, SessionId('other'), meta));
    expect(mounted.ctx.sessions.get(session.id)).toBe(session);
  });

  test('when it is created outside the start, with the same parent and length', async () => {
    const { log, ...mounted } = await misleading();
    const session = publish(mounted, log, SessionId('other'));
    expect(mounted.ctx.sessions.get(session.id)).toBe(session);
  });

  test('when it comes after the child, in the same start', async () => {
    const mounted = await guarded();
    await ask(mounted.parent, 'first');
    const events = [...mounted.parent.session.events];
    const session = await inStartOf(announce(mounted, { end: events.length, events }), () => {
      publish(mounted, events, SessionId('child'));
      return publish(mounted, events.map(edited), SessionId('other'));
    });
    expect(mounted.ctx.sessions.get(session.id)).toBe(session);
  });

  test('when it is created by what the start left running', async () => {
    const { log, announcement, ...mounted } = await misleading();
    const settled = Promise.withResolvers<void>();
    const created = await inStartOf(announcement, () => ({
      later: settled.promise.then(() => publish(mounted, log, SessionId('later'))),
    }));
    settled.resolve();
    const session = await created.later;
    expect(mounted.ctx.sessions.get(session.id)).toBe(session);
  });
});

test('a start that inherits nothing has a child that is not judged', async () => {
  const mounted = await guarded();
  const { ctx, parent } = mounted;
  tamper(() => expect.unreachable());
  const { result } = await runFork(ctx, parent, 'the task');
  expect(result.stopReason).toBe('completed');
});

describe('a seed that was announced for a continuable child', () => {
  test.each([
    ['one-shot', publish], ['continuable', publishContinuable],
  ] as const)('does not refuse a %s child of another id', async (_title, publishes) => {
    const mounted = await misleading(SessionId('named'));
    const session = publishes(mounted, mounted.log, SessionId('other'));
    expect(mounted.ctx.sessions.get(session.id)).toBe(session);
  });

  test.each([
    ['another provider gave', 'other'], ['no provider gave', undefined],
  ])('does not refuse a child of its id that %s', async (_title, provider) => {
    const mounted = await misleading(SessionId('named'));
    const id = SessionId('named');
    const session = provider === undefined
      ? publish(mounted, mounted.log, id)
      : publishContinuable(mounted, mounted.log, id, provider);
    expect(mounted.ctx.sessions.get(id)).toBe(session);
  });

  test('does not refuse another provider\'s child of its id that inherits a descriptor of this one', async () => {
    const mounted = await misleading(SessionId('named'));
    const id = SessionId('named');
    const descriptor = snapshotSubagentDescriptor({ mode: 'continuable', provider: 'fork', label: 'ancestor' });
    const inheriting = seedDescriptorTurn(SessionId('ancestor'), mounted.log, descriptor);
    const session = publishContinuable(mounted, inheriting, id, 'other');
    expect(mounted.ctx.sessions.get(id)).toBe(session);
  });

  test('is replaced by the next one for the same child', async () => {
    const mounted = await misleading(SessionId('named'));
    const { log } = mounted;
    announce(mounted, { end: log.length, events: log }, SessionId('named'));
    const session = publishContinuable(mounted, log, SessionId('named'));
    expect(mounted.ctx.sessions.get(session.id)).toBe(session);
  });

  test('does not refuse the cold resume of the child whose id it was given', async () => {
    const { ctx, parent } = await guarded({}, mountPersistence(await temporaryDirectory()));
    await ask(parent, 'first');
    const childId = await startContinuable(ctx, parent);
    await ctx.subagents.drainContinuableChildren(parent, [childId]);
    await ask(parent, 'second');
    await expect(startContinuable(ctx, parent, childId)).rejects.toThrow('already exists');
    await ctx.subagents.followup(parent, childId, [{ type: 'text', text: 'again' }], {
      source: { kind: 'user' }, signal: new AbortController().signal,
    });
    await ctx.agents.get(childId)!.whenIdle();
    expect(ctx.agents.get(childId)!.session.events.at(-1)?.type).toBe('turn/end');
  });

  test('refuses that child whatever its length', async () => {
    const mounted = await misleading(SessionId('named'));
    expect(() => publishContinuable(mounted, [], SessionId('named')))
      .toThrow(/inherited message 1 of 2, user message ".+", is missing$/);
  });

  test('names that child when its parent\'s log grew', async () => {
    const mounted = await guarded({}, mountPersistence(await temporaryDirectory()));
    await ask(mounted.parent, 'first');
    mounted.ctx.on('subagent-fork/seeded', grow, { prepend: true });
    expect(await refusal(startContinuable(mounted.ctx, mounted.parent, SessionId('named'))))
      .toBe(`${CHILD}named" of parent session "${mounted.parent.id}": the parent's log changed while the seed was built, from 14 to 15 events`);
  });
});

describe('the companion', () => {
  test('checks nothing once it is unloaded, and checks again when it is back', async () => {
    const { companion, ...mounted } = await twoTurns();
    tamper((events) => events.map(edited));
    await companion.dispose();
    const { result } = await runFork(mounted.ctx, mounted.parent, 'the task');
    expect(result.stopReason).toBe('completed');
    await mounted.ctx.plugin(invariant);
    expect(await refusal(forkOf(mounted.ctx, mounted.parent, 'the task'))).toContain('differs in content');
  });

  test('forgets what was announced before it was reloaded', async () => {
    const { log, announcement, ...mounted } = await misleading();
    await mounted.companion.dispose();
    await mounted.ctx.plugin(invariant);
    const session = await inStartOf(announcement, () => publish(mounted, log, SessionId('child')));
    expect(mounted.ctx.sessions.get(session.id)).toBe(session);
  });

  test('judges the forks of every agent, also where its service is one agent\'s', async () => {
    const mounted = await setup({ invariants: false });
    const { ctx, agent, parent } = mounted;
    const { ctx: scope } = (await agent()).agent;
    await scope.plugin(InvariantRegistry);
    await scope.plugin(invariant);
    await ask(parent, 'first');
    const length = parent.session.seq;
    const stop = ctx.on('subagent-fork/seeded', grow, { prepend: true });
    expect(await refusal(forkOf(ctx, parent, 'the task'))).toContain(`from ${length} to ${length + 1} events`);
    stop();
    await expect(forkOf(ctx, parent, 'the task', { maxDepth: 0 })).rejects.toThrow('exceeds maxDepth 0');
    const session = publish(mounted, parent.session.events.map(edited), SessionId('other'));
    expect(ctx.sessions.get(session.id)).toBe(session);
    tamper((events) => events.map(edited));
    expect(await refusal(forkOf(ctx, parent, 'the task'))).toContain('differs in content');
  });

  test('has a plugin\'s named exports and no default', () => {
    expect({ ...invariant }).toEqual({ name: 'subagent-fork-in-process-invariant', inject: ['invariants'], apply: expect.any(Function) });
  });
});
