import { CallId, createAssistantMessage, createUserMessage } from '@deepseek-ai/dsh-llm';
import type { ContentBlock, Message } from '@deepseek-ai/dsh-llm';
import { Session, SessionId } from '@deepseek-ai/dsh-session';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inheritanceAt, inheritanceFault, messagesBefore, surfaceFault } from '../../src/invariant/inheritance.ts';

const SOURCE = { provider: 'scripted', model: 'model-a' };

/** A detached session to which a test appends. */
class Log {
  readonly session: Session = Session.create(SessionId('parent'));

  turn(): this {
    this.session.append('turn/start', { turn: 1 });
    return this;
  }

  open(): this {
    this.turn().session.append('step/start', { turn: 1, step: 1 });
    return this;
  }

  user(text: string): this {
    this.session.append('user/message', user(text), { surfaceOp: 'append' });
    return this;
  }

  assistant(content: ContentBlock[]): this {
    this.session.append('assistant/message', { turn: 1, step: 1, message: createAssistantMessage({ content, source: SOURCE }) }, { surfaceOp: 'append' });
    return this;
  }

  replace(start: number, end: number, text: string): this {
    const sourceEventSeqs = this.session.surface.nodes.filter((seq) => seq >= start && seq <= end);
    this.session.append('user/message', user(text), { surfaceOp: { op: 'replace', start, end }, sourceEventSeqs });
    return this;
  }

  chunks(count: number): this {
    for (let index = 0; index < count; index++) {
      this.session.append('assistant/chunk', { turn: 1, step: 1, chunk: { type: 'text-delta', index: 0, text: 'word ' } });
    }
    return this;
  }

  close(): this {
    this.session.append('step/end', { turn: 1, step: 1 });
    this.session.append('turn/end', { turn: 1, reason: { kind: 'completed' } });
    return this;
  }
}

const text = (value: string): ContentBlock => ({ type: 'text', text: value });
const call = (id: string): ContentBlock => ({ type: 'tool-call', id: CallId(id), name: 'peek', arguments: '{}' });
const user = (value: string): Message & { role: 'user' } => createUserMessage({ content: [text(value)], source: { kind: 'user' } });
const texts = (messages: readonly Message[]): string[] => messages.map(({ content: [block] }) => block?.type === 'text' ? block.text : '');

describe('the messages before a boundary', () => {
  test('are the surface as it is when nothing was replaced', () => {
    const { session } = new Log().open().user('first').assistant([text('answer')]).user('second');
    expect(texts(messagesBefore(session, session.seq - 1))).toEqual(['first', 'answer']);
  });

  test('leave out an assistant message without content', () => {
    const { session } = new Log().open().user('first').assistant([]).close();
    expect(texts(messagesBefore(session, session.seq))).toEqual(['first']);
  });

  test('have a replacement that landed before it in its place', () => {
    const { session } = new Log().open().user('first').user('second').user('third').replace(2, 3, 'summary').user('fourth');
    expect(texts(messagesBefore(session, session.seq - 1))).toEqual(['summary', 'third']);
  });

  test('are what was shown there when a replacement landed behind it', () => {
    const { session } = new Log().open().user('first').user('second').user('third').replace(2, 3, 'summary').replace(4, 4, 'short');
    expect(texts(messagesBefore(session, 4))).toEqual(['first', 'second']);
    expect(texts(messagesBefore(session, session.seq - 1))).toEqual(['summary', 'third']);
  });

  test('are none at the start of the log', () => {
    expect(messagesBefore(new Log().open().user('first').session, 0)).toEqual([]);
  });
});

test('a check reads of a log no more than its surface and its last turn', () => {
  const { session } = new Log().open().user('first').chunks(1000).user('second').replace(2, 2, 'summary').close().open().assistant([text('answer')]).close().user('third');
  let reads = 0;
  const events = new Proxy([...session.events], {
    get: (target, key, receiver) => {
      if (/^\d+$/.test(String(key))) reads++;
      return Reflect.get(target, key, receiver);
    },
  });
  const seedLength = session.seq - 1;
  const counted = Object.create(session, { events: { value: events }, header: { value: { ...session.header, seedLength } } }) as Session;
  expect(inheritanceFault(inheritanceAt(counted, seedLength), counted, counted)).toBeUndefined();
  expect(reads).toBeLessThan(50);
});

describe('the first difference of two surfaces', () => {
  const notice = createUserMessage({ content: [text('notice')], source: { kind: 'plugin', plugin: 'subagent-fork-in-process', form: 'notice', summary: 'notice' } });
  const [a, b, c] = ['a', 'b', 'c'].map((id) => ({ ...user(id), id } as unknown as Message)) as [Message, Message, Message];
  const edited = { ...b, content: [text('other')] };

  test.each<[string, readonly Message[], readonly Message[], string | undefined]>([
    ['nothing', [], [], undefined],
    ['the same messages', [a, b], structuredClone([a, b]), undefined],
    ['a notice of this package at the end', [a, b], [a, b, notice], undefined],
    ['an inherited notice at the end', [a, notice], [a, notice], undefined],
    ['an inherited notice and one more', [a, notice], [a, notice, { ...notice, id: 'own' } as unknown as Message], undefined],
    ['two notices at the end', [a], [a, notice, { ...notice, id: 'own' } as unknown as Message], `user message "${notice.id}" follows what the parent showed`],
    ['another plugin\'s notice at the end', [a], [a, { ...notice, source: { ...notice.source, plugin: 'other' } }], `user message "${notice.id}" follows what the parent showed`],
    ['another form of this package\'s message', [a], [a, { ...notice, source: { kind: 'plugin', plugin: 'subagent-fork-in-process' } }], `user message "${notice.id}" follows what the parent showed`],
    ['a notice in front', [a], [notice, a], `user message "${notice.id}" precedes what the parent showed`],
    ['a dropped message', [a, b, c], [a, c], 'inherited message 2 of 3 is user message "c", expected user message "b"'],
    ['another message in the middle', [a, b], [a, c], 'inherited message 2 of 2 is user message "c", expected user message "b"'],
    ['a dropped last message', [a, b], [a], 'inherited message 2 of 2, user message "b", is missing'],
    ['two swapped messages', [a, b], [b, a], 'inherited message 1 of 2 is user message "b", expected user message "a"'],
    ['edited content', [a, b], [a, edited], 'inherited message 2 of 2, user message "b", differs in content'],
    ['another role', [a], [{ ...a, role: 'assistant' }], 'inherited message 1 of 1, assistant message "a", differs in role'],
    ['another source', [a], [{ ...a, source: { kind: 'plugin', plugin: 'other' } }], 'inherited message 1 of 1, user message "a", differs in source'],
    ['the same text under another id', [a], [{ ...a, id: c.id }], 'user message "c" precedes what the parent showed'],
  ])('with %s', (_title, expected, inherited, fault) => {
    expect(surfaceFault(expected, inherited)).toBe(fault);
  });

  test('exists exactly when ids or contents differ', () => {
    const message = fc.constantFrom(a, b, c, edited);
    fc.assert(fc.property(fc.array(message), fc.array(message), (expected, inherited) => {
      expect(surfaceFault(expected, inherited) === undefined).toBe(JSON.stringify(expected) === JSON.stringify(inherited));
      expect(surfaceFault(expected, structuredClone(expected))).toBeUndefined();
    }));
  });
});

describe('a child', () => {
  const { session: parent } = new Log().open().user('first').assistant([text('answer')]).close();
  const child = Session.create(SessionId('child'), parent.events, { ...parent.header, id: SessionId('child'), parentSession: parent.id, seedLength: parent.seq });
  const inheritance = inheritanceAt(parent, parent.seq);

  test('has no fault when its parent has only grown since', () => {
    const grown = Session.create(parent.id, parent.events);
    expect(inheritanceFault({ ...inheritance, last: grown.events[parent.seq - 1]! }, child, grown)).toBeUndefined();
  });

  test.each<[string, number]>([['lost its end', parent.seq - 1], ['is another', parent.seq]])('has a fault when its parent\'s log %s', (_title, length) => {
    const other = Session.create(parent.id, parent.events.slice(0, length));
    expect(inheritanceFault(inheritance, child, other)).toBe(`the parent's log no longer begins with the ${parent.seq} events that were read`);
  });

  test.each<[string, (log: Log) => Log, string]>([
    ['a turn', (log) => log.turn(), 'turn 1'],
    ['a step', (log) => log.open().user('first'), 'step 1 of turn 1'],
    ['a tool call', (log) => log.open().user('first').assistant([call('one')]), 'tool call "one"'],
  ])('has a fault when it leaves %s open', (_title, write, open) => {
    const { session } = write(new Log());
    const cut = Session.create(SessionId('cut'), session.events, { ...session.header, id: SessionId('cut'), parentSession: session.id, seedLength: session.seq });
    expect(inheritanceFault(inheritanceAt(session, session.seq), cut, session)).toBe(`the inherited log leaves ${open} open`);
  });

  test('has a fault when it inherits nothing', () => {
    const fresh = Session.create(SessionId('fresh'));
    expect(inheritanceFault(inheritance, fresh, parent)).toMatch(/^inherited message 1 of 2, user message ".+", is missing$/);
  });
});
