import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { acceptable } from '../../src/seed/acceptable.ts';
import { anything } from '../support/foreign-log.ts';
import { handLog } from '../support/hand-log.ts';

const eventOf = (type: string, data: unknown): SessionEvent => ({ type, seq: 3, time: 5, data }) as unknown as SessionEvent;
const dataOf = (type: string, data: unknown): unknown => acceptable(eventOf(type, data)).data;

const TEXT = { type: 'text', text: 'do' };
const MODEL = { kind: 'model', provider: 'scripted', model: 'model-a' };

test('every event of a log that a loop wrote stays the very same', () => {
  const log = handLog(['queue', 'plan', 'turn', 'step', 'route', 'ask', 'chunk', 'call1', 'result', '/step', 'step', 'say', '/step', '/turn', 'tell', 'compact', 'run', 'done']);
  expect(log.map((event) => acceptable(event) === event)).not.toContain(false);
});

describe('a message keeps what it says', () => {
  test.for<[string, string, unknown, unknown]>([
    ['of a user without an identity', 'user/message', { role: 'user', source: { kind: 'user' }, content: [TEXT] },
      { id: 'unknown', role: 'user', source: { kind: 'user' }, content: [TEXT] }],
    ['with an empty identity and an unknown role', 'user/message', { id: '', role: 'system', source: { kind: 'user' }, content: [TEXT], more: 1 },
      { id: 'unknown', role: 'user', source: { kind: 'user' }, content: [TEXT], more: 1 }],
    ['without a source', 'user/message', { id: 'm', role: 'user', content: [TEXT] },
      { id: 'm', role: 'user', source: { kind: 'plugin', plugin: 'unknown' }, content: [TEXT] }],
    ['with something in it that is no block', 'user/message', { id: 'm', role: 'user', source: { kind: 'user' }, content: [null, TEXT, 'do', []] },
      { id: 'm', role: 'user', source: { kind: 'user' }, content: [TEXT] }],
    ['whose content is a text', 'user/message', { id: 'm', role: 'user', source: { kind: 'user' }, content: 'do' },
      { id: 'm', role: 'user', source: { kind: 'user' }, content: [] }],
    ['that is null', 'user/message', null, { id: 'unknown', role: 'user', source: { kind: 'plugin', plugin: 'unknown' }, content: [] }],
    ['that is a list', 'user/message', [1], { id: 'unknown', role: 'user', source: { kind: 'plugin', plugin: 'unknown' }, content: [] }],
    ['of a model without a route', 'assistant/message', { turn: 1, step: 2, message: { id: 'm', role: 'assistant', source: { kind: 'model', provider: '' }, content: [TEXT] } },
      { turn: 1, step: 2, message: { id: 'm', role: 'assistant', source: { kind: 'model', provider: 'unknown', model: 'unknown' }, content: [TEXT] } }],
    ['of a model from another source', 'assistant/message', { turn: 1, step: 2, message: { id: 'm', role: 'assistant', source: { ...MODEL, kind: 'user' }, content: [TEXT] } },
      { turn: 1, step: 2, message: { id: 'm', role: 'assistant', source: { kind: 'model', provider: 'unknown', model: 'unknown' }, content: [TEXT] } }],
    ['of a model without a place, and with a call without an identity', 'assistant/message',
      { usage: 1, message: { id: 'm', role: 'assistant', source: MODEL, content: [TEXT, { type: 'tool-call', id: 7 }, { type: 'tool-call', id: 'c' }] } },
      { usage: 1, turn: 0, step: 0, message: { id: 'm', role: 'assistant', source: MODEL, content: [TEXT, { type: 'tool-call', id: 'c' }] } }],
    ['of a tool with two identities', 'tool/result',
      { turn: 1, step: 1, message: { id: 'm', role: 'user', source: { kind: 'tool', callId: 'a' }, content: [{ type: 'tool-result', toolCallId: 'b', isError: true, content: [TEXT] }] } },
      { turn: 1, step: 1, message: { id: 'm', role: 'user', source: { kind: 'tool', callId: 'a' }, content: [{ type: 'tool-result', toolCallId: 'a', isError: true, content: [TEXT] }] } }],
    ['of a tool with one identity and two blocks', 'tool/result',
      { turn: 1, step: 1, message: { id: 'm', role: 'user', content: [{ type: 'tool-result', toolCallId: 'b', content: [TEXT] }, TEXT] } },
      { turn: 1, step: 1, message: { id: 'm', role: 'user', source: { kind: 'tool', callId: 'b' }, content: [{ type: 'tool-result', toolCallId: 'b', content: [TEXT] }] } }],
    ['of a tool with nothing in it', 'tool/result', {},
      { turn: 0, step: 0, message: { id: 'unknown', role: 'user', source: { kind: 'tool', callId: 'unknown' }, content: [{ type: 'tool-result', toolCallId: 'unknown', content: [] }] } }],
  ])('%s', ([, type, data, wanted]) => {
    expect(dataOf(type, data)).toEqual(wanted);
  });
});

describe('what cannot be read becomes an event that readers may skip', () => {
  const CONFIG = { provider: 'scripted', model: 'model-a' };

  test.for<[string, unknown]>([
    ['request/header', null],
    ['request/header', { header: { config: { provider: 'scripted' } } }],
    ['request/header', { header: { config: { ...CONFIG, reasoningEffort: '' } } }],
    ['request/header', { header: { config: { ...CONFIG, reasoningEffort: 3 } } }],
    ['request/header', { header: { config: CONFIG, adapterDefaults: [] } }],
    ['request/header', { header: { config: CONFIG, adapterDefaults: { maxTokens: true } } }],
    ['request/header', { header: { config: { ...CONFIG, maxTokens: 1 }, adapterDefaults: { maxTokens: 1 } } }],
    ['request/header', { header: { config: CONFIG, adapterDefaults: { model: true } } }],
    ['turn/start', { turn: '1' }],
    ['step/start', { turn: 1 }],
    ['step/start', { step: 1 }],
    ['step/end', null],
    ['turn/end', 'completed'],
    ['tool/call', null],
  ])('%s %j', ([type, data]) => {
    expect(acceptable(eventOf(type, data))).toEqual({ type: 'subagent-fork/unreadable', seq: 3, time: 5, data: { type, data }, ignorable: true });
  });

  test.for<[string, unknown]>([
    ['request/header', { header: { config: { ...CONFIG, reasoningEffort: 'high', maxTokens: 1 }, adapterDefaults: { reasoningEffort: true, maxTokens: true } } }],
    ['request/header', { header: { config: CONFIG } }],
    ['turn/start', { turn: 1 }],
    ['step/start', { turn: 1, step: 1 }],
    ['step/end', {}],
    ['turn/end', { reason: null }],
    ['tool/call', {}],
    ['plan/mode', null],
    ['other/event', 7],
  ])('but not %s %j', ([type, data]) => {
    const event = eventOf(type, data);
    expect(acceptable(event)).toBe(event);
  });
});

test('a session begins with any event that another one logged, and an event that fits is the very same', () => {
  fc.assert(fc.property(anything, (foreign) => {
    const [event] = handLog([foreign]);
    if (event === undefined) return;
    const accepted = acceptable(event);
    expect(Session.create(SessionId('child'), [accepted]).events[0]).toEqual(accepted);
    expect(acceptable(accepted)).toBe(accepted);
    expect([accepted, accepted.data].every(Object.isFrozen)).toBe(true);
  }), { numRuns: 1000 });
});
