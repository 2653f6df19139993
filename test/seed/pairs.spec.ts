import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isHalf, pairClosers } from '../../src/seed/pairs.ts';
import { grown } from '../support/arbitrary-log.ts';
import { handLog } from '../support/hand-log.ts';
import type { Word } from '../support/hand-log.ts';

type Mark = readonly [type: string, data: unknown];

/** A log of these events, whatever their types declare. */
function logOf(...marks: readonly Mark[]): SessionEvent[] {
  return marks.map(([type, data], seq) => ({ type, data, seq, time: 100 + seq }) as unknown as SessionEvent);
}

const PAIRS: readonly (readonly [open: Mark, close: Mark, closedByUs: unknown])[] = [
  [
    ['command/run', { commandId: 'c', name: 'btw', source: { kind: 'user' } }], ['command/done', { commandId: 'c', kind: 'success' }],
    { commandId: 'c', kind: 'error', text: 'not finished when this history was inherited' },
  ],
  [
    ['compaction/start', { compactionId: 'k', sourceCommandId: 'c', turn: null }], ['compaction/end', { compactionId: 'k', turn: null }],
    { compactionId: 'k', sourceCommandId: 'c', turn: null, error: 'not finished when this history was inherited' },
  ],
  [
    ['compaction/start', { compactionId: 'k', turn: 3 }], ['compaction/end', { compactionId: 'k', turn: 3, error: 'no' }],
    { compactionId: 'k', turn: 3, error: 'not finished when this history was inherited' },
  ],
  [['approval/asked', { id: 'a', toolName: 'bash' }], ['approval/decided', { id: 'a', outcome: 'rejected' }], { id: 'a', outcome: 'cancelled' }],
  [
    ['tool/code-dispatch-start', { rootCallId: 'r', parentCallId: 'r', subCallId: 'r:code:1', name: 'peek', arguments: null }],
    ['tool/code-dispatch', { rootCallId: 'r', parentCallId: 'r', subCallId: 'r:code:1', name: 'peek', arguments: null, isError: false, content: [] }],
    {
      rootCallId: 'r', parentCallId: 'r', subCallId: 'r:code:1', name: 'peek', arguments: null, isError: true,
      content: [{ type: 'text', text: 'not finished when this history was inherited' }],
    },
  ],
  [
    ['tool-workflow/run-start', { runId: 'w', name: 'review' }], ['tool-workflow/run-end', { runId: 'w', stopReason: 'completed' }],
    { runId: 'w', stopReason: 'cancelled' },
  ],
  [
    ['tool-workflow/agent-start', { runId: 'w', seq: 2, label: 'one', childId: 's' }],
    ['tool-workflow/agent-end', { runId: 'w', seq: 2, outcome: 'completed' }],
    { runId: 'w', seq: 2, outcome: 'cancelled' },
  ],
];

describe.for(PAIRS)('%j', ([open, close, closedByUs]) => {
  test('is closed when it is open', () => {
    expect(pairClosers(logOf(['plan/mode', {}], open, ['plan/mode', {}]))).toEqual([{ type: close[0], seq: 3, time: 102, data: closedByUs }]);
  });

  test('is left alone when it is closed', () => {
    expect(pairClosers(logOf(open, close))).toEqual([]);
    expect(pairClosers(logOf(open, ['plan/mode', {}], close))).toEqual([]);
  });

  test('is closed when it was opened once more', () => {
    expect(pairClosers(logOf(open, close, open))).toMatchObject([{ type: close[0], seq: 3 }]);
  });

  test('has ended with its host when its session was restored or forked', () => {
    expect(pairClosers(logOf(open, ['session/end-seed', {}]))).toEqual([]);
    expect(pairClosers(logOf(['session/end-seed', {}], open))).toMatchObject([{ type: close[0], seq: 2 }]);
  });

  test.for([null, 'c', 7, [], {}])('is no mark when its id cannot be read: %j', (data) => {
    expect(logOf([open[0], data]).map(isHalf)).toEqual([false]);
    expect(pairClosers(logOf([open[0], data]))).toEqual([]);
    expect(pairClosers(logOf(open, [close[0], data]))).toHaveLength(1);
  });
});

test('what lies within is closed before what is around it', () => {
  const closers = pairClosers(logOf(
    ['command/run', { commandId: 'c' }], ['tool-workflow/run-start', { runId: 'w' }],
    ['tool-workflow/agent-start', { runId: 'w', seq: 1 }], ['tool-workflow/agent-start', { runId: 'w', seq: 2 }],
    ['tool-workflow/agent-end', { runId: 'w', seq: 1 }], ['compaction/start', { compactionId: 'k', turn: 1 }],
  ));
  expect(closers.map(({ type, seq }) => `${seq} ${type}`)).toEqual([
    '6 compaction/end', '7 tool-workflow/agent-end', '8 tool-workflow/run-end', '9 command/done',
  ]);
});

test('alone at the end stand an opening mark and the price of a replacement, and nothing else', () => {
  const words: readonly Word[] = ['run', 'compacting', 'price', 'done', 'compacted', 'plan', 'queue', 'turn', 'ask'];
  expect(Object.fromEntries(words.map((word) => [word, isHalf(handLog([word])[0]!)]))).toEqual({
    run: true, compacting: true, price: true, done: false, compacted: false, plan: false, queue: false, turn: false, ask: false,
  });
});

test('any log is without an open pair once it is closed, and a session takes it', () => {
  fc.assert(fc.property(grown(1), ({ log }) => {
    const closed = [...log, ...pairClosers(log)];
    expect(pairClosers(closed)).toEqual([]);
    expect(Session.create(SessionId('child'), closed).events.slice(0, -1)).toEqual(closed);
    const count = (type: string): number => closed.filter((event) => event.type === type).length;
    expect(count('command/run') <= count('command/done') && count('compaction/start') <= count('compaction/end')).toBe(true);
  }));
});
