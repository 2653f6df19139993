import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic';
import { CallId, createAssistantMessage, createUserMessage } from '@deepseek-ai/dsh-llm';
import type { StreamChunk } from '@deepseek-ai/dsh-llm';
import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { TokenMeter } from '@deepseek-ai/dsh-token-meter';
import { describe, expect, test } from 'vitest';
import { compactLog } from '../../src/seed/compact.ts';
import { ask, inherited, requestsOf, runFork, setup, shown } from '../support/harness.ts';

const OMITTED = /^(?:assistant\/chunk|agent\/inbox\/.*|subagent\/descriptor)$/;

/** Appends one turn that answers in two chunks. */
function turn(session: Session, number: number): void {
  session.append('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [] });
  session.append('turn/start', { turn: number });
  session.append('step/start', { turn: number, step: 1 });
  session.append('user/message', createUserMessage({ content: [{ type: 'text', text: `ask ${number}` }], source: { kind: 'user' } }), { surfaceOp: 'append' });
  const chunks = ['ans', 'wer'].map((text) => session.append('assistant/chunk', { turn: number, step: 1, chunk: { type: 'text-delta', index: 0, text } }).seq);
  const message = createAssistantMessage({ content: [{ type: 'text', text: 'answer' }], source: { provider: 'p', model: 'm' } });
  session.append('assistant/message', { turn: number, step: 1, message }, { surfaceOp: 'append', sourceEventSeqs: chunks });
  session.append('step/end', { turn: number, step: 1 });
  session.append('turn/end', { turn: number, reason: { kind: 'completed' } });
}

function log(turns: number): Session {
  const session = Session.create(SessionId('parent'));
  for (let number = 1; number <= turns; number++) turn(session, number);
  return session;
}

function appendUnknown(session: Session): void {
  (session as { append(type: string, data: object): unknown }).append('somebody/else', {});
}

function events(compaction: ReturnType<typeof compactLog>): SessionEvent[] {
  if (!('events' in compaction)) throw new Error(`stayed whole for ${compaction.opaqueType}`);
  return compaction.events;
}

describe('a compacted log', () => {
  test('leaves out chunks, inbox bookkeeping and descriptors, and numbers the rest from 0', () => {
    const session = log(1);
    session.append('subagent/descriptor', { version: 1, mode: 'one-shot', provider: 'fork' } as never);
    const compacted = events(compactLog(session, session.events, session.seq));
    expect(compacted.map(({ type, seq }) => `${seq} ${type}`)).toEqual([
      '0 turn/start', '1 step/start', '2 user/message', '3 assistant/message', '4 step/end', '5 turn/end',
    ]);
    expect(Object.keys(compacted[3]!)).not.toContain('sourceEventSeqs');
    expect(Session.create(SessionId('child'), compacted).deriveMessages()).toEqual(session.deriveMessages());
  });

  test('keeps the chunks of an answer that was interrupted behind its usage, so that it is priced the same', async () => {
    const { ctx } = await setup({ mount: (context) => context.plugin(TokenMeter) });
    const session = log(1);
    const header = { config: { provider: 'p', model: 'm' } } as never;
    session.append('turn/start', { turn: 2 });
    session.append('step/start', { turn: 2, step: 1 });
    session.append('request/header', { header, reason: 'initial' });
    const chunk = (given: StreamChunk): number => session.append('assistant/chunk', { turn: 2, step: 1, chunk: given }).seq;
    const chunks = [
      chunk({ type: 'block-start', index: 0, blockType: 'text' }),
      chunk({ type: 'text-delta', index: 0, text: 'so' }),
      chunk({ type: 'block-end', index: 0, block: { type: 'text', text: 'so' } }),
      chunk({ type: 'block-start', index: 1, blockType: 'tool-call' }),
      chunk({ type: 'tool-call-delta', index: 1, id: CallId('c'), name: 'write', argumentsDelta: 'x '.repeat(999) }),
      chunk({ type: 'block-end', index: 1, block: { type: 'tool-call', id: CallId('c'), name: 'write', arguments: 'x '.repeat(999) } }),
    ];
    const message = createAssistantMessage({ content: [{ type: 'text', text: 'so' }], source: { provider: 'p', model: 'm' } });
    session.append('assistant/message', { turn: 2, step: 1, message, interrupted: true, usage: { inputTokens: 60, outputTokens: 1 } }, { surfaceOp: 'append', sourceEventSeqs: chunks });
    session.append('step/end', { turn: 2, step: 1 });
    session.append('turn/end', { turn: 2, reason: { kind: 'aborted', reason: { kind: 'user' } } });
    const compacted = events(compactLog(session, session.events, session.seq));
    expect(compacted.filter(({ type }) => type === 'assistant/chunk').map(({ data }) => data)).toEqual(chunks.map((seq) => session.events[seq]!.data));
    const [measured, whole] = [compacted, [...session.events]].map((seed, index) => {
      const { logRevision: _, nodes, ...prices } = ctx.tokenMeter.measure(Session.create(SessionId(`child-${index}`), seed));
      return { ...prices, nodes: nodes.map(({ tokens }) => tokens) };
    });
    expect(measured).toEqual(whole);
  });

  test('of a whole answer, of an interrupted one without usage and of one without a chunk, has no chunk', () => {
    const session = log(1);
    const message = createAssistantMessage({ content: [{ type: 'text', text: 'so' }], source: { provider: 'p', model: 'm' } });
    session.append('turn/start', { turn: 2 });
    session.append('step/start', { turn: 2, step: 1 });
    const { seq } = session.append('assistant/chunk', { turn: 2, step: 1, chunk: { type: 'text-delta', index: 0, text: 'so' } });
    session.append('assistant/message', { turn: 2, step: 1, message, interrupted: true }, { surfaceOp: 'append', sourceEventSeqs: [seq] });
    session.append('assistant/message', { turn: 2, step: 1, message, usage: { inputTokens: 1, outputTokens: 1 } }, { surfaceOp: 'append', sourceEventSeqs: [seq] });
    session.append('assistant/message', { turn: 2, step: 1, message, interrupted: true, usage: { inputTokens: 1, outputTokens: 1 } }, { surfaceOp: 'append' });
    expect(events(compactLog(session, session.events, session.seq)).map(({ type }) => type)).not.toContain('assistant/chunk');
  });

  test('is frozen, so that no fork can change what another gets', () => {
    const session = log(1);
    for (const event of events(compactLog(session, session.events, session.seq))) expect(Object.isFrozen(event)).toBe(true);
  });

  test('of any leading part is the leading part of the whole', () => {
    const session = log(3);
    const whole = events(compactLog(session, session.events, session.seq));
    for (let end = session.seq; end >= 0; end--) {
      const kept = session.events.slice(0, end).filter(({ type }) => !OMITTED.test(type)).length;
      expect(events(compactLog(session, session.events, end))).toEqual(whole.slice(0, kept));
    }
  });

  test('is the caller\'s own array, over events that every fork shares', () => {
    const session = log(1);
    const one = events(compactLog(session, session.events, session.seq));
    one.push(one[0]!);
    const two = events(compactLog(session, session.events, session.seq));
    expect(two).toHaveLength(one.length - 1);
    expect(two.every((event, index) => event === one[index])).toBe(true);
  });

  test('grows with the log; an event is looked at once', () => {
    const session = log(2);
    const looked: number[] = [];
    const watched = (): readonly SessionEvent[] => new Proxy(session.events, {
      get: (target, key) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) looked.push(Number(key));
        return Reflect.get(target, key) as unknown;
      },
    });
    compactLog(session, watched(), session.seq);
    const before = session.seq;
    turn(session, 3);
    looked.length = 0;
    const grown = events(compactLog(session, watched(), session.seq));
    expect(Math.min(...looked)).toBe(before);
    expect(grown).toEqual(events(compactLog(Session.create(SessionId('copy'), session.events), session.events, session.seq)));
  });

  test('stays whole from the first event of an opaque type on', () => {
    const session = log(1);
    const before = session.seq;
    appendUnknown(session);
    turn(session, 2);
    expect(compactLog(session, session.events, session.seq)).toEqual({ opaqueType: 'somebody/else' });
    expect(compactLog(session, session.events, session.seq)).toEqual({ opaqueType: 'somebody/else' });
    expect(events(compactLog(session, session.events, before))).toHaveLength(6);
  });
});

describe('`compactSeed`', () => {
  test('gives the model the same messages and header, in a child that holds no chunk of its parent\'s', async () => {
    const { ctx, model, parent } = await setup({ config: { compactSeed: true } });
    await ask(parent, 'first');
    const { session } = await runFork(ctx, parent, 'the task');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
    expect(inherited(session).filter(({ type }) => OMITTED.test(type))).toEqual([]);
    expect(requestsOf(model, session)[0]!.messages.slice(0, 2)).toEqual(parent.session.deriveMessages());
  });

  test('leaves the seed whole before an event type the harness does not know, which one log line says', async () => {
    const { ctx, parent, logs } = await setup({ config: { compactSeed: true } });
    await ask(parent, 'first');
    appendUnknown(parent.session);
    const { session } = await runFork(ctx, parent, 'the task');
    expect(inherited(session)).toEqual(parent.session.events);
    expect(logs).toEqual([`"fork": the seed of session ${parent.id} stays whole; events of type "somebody/else" may cite sequence numbers that cannot be seen`]);
  });

  test('a child can be compacted again, forked again and compacted once more', async () => {
    const { ctx, model, parent } = await setup({
      config: { compactSeed: true, seedBoundary: 'step' },
      mount: async (context) => {
        await context.plugin(TokenMeter);
        await context.plugin(BasicCompactionEngine, {});
      },
      script: () => 'short',
    });
    for (const text of ['first', 'second', 'third']) await ask(parent, `${text} ${'word '.repeat(300)}`);
    await ctx.compaction.compactNow(parent, new AbortController().signal);
    const { child } = await runFork(ctx, parent, `one ${'word '.repeat(300)}`);
    expect(child.session.deriveMessages().slice(0, parent.session.surface.nodes.length)).toEqual(parent.session.deriveMessages());
    await ask(child, `more ${'word '.repeat(300)}`);
    expect(await ctx.compaction.compactNow(child, new AbortController().signal)).not.toBeNull();
    const { session } = await runFork(ctx, child, 'two');
    expect(requestsOf(model, session)[0]!.messages.slice(0, child.session.surface.nodes.length)).toEqual(child.session.deriveMessages());
  });
});
