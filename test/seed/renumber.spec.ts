import { KNOWN_SESSION_EVENT_TYPES } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import { carry, isOpaque } from '../../src/seed/renumber.ts';

/** Events 1, 3 and 5 of the old log were left out; the others moved up. */
const renumber = (seq: number): number | undefined => new Map([[0, 0], [2, 1], [4, 2], [6, 3]]).get(seq);

const carried = (event: object): unknown => carry({ seq: 8, time: 1, ...event } as SessionEvent, 4, renumber);

test('an event that cites nothing moves with its data', () => {
  const data = { turn: 1 };
  const event = carried({ type: 'turn/start', data }) as SessionEvent;
  expect(event).toEqual({ type: 'turn/start', seq: 4, time: 1, data: { turn: 1 } });
  expect(event.data).toBe(data);
});

test('fields of the envelope that are not known here are kept', () => {
  expect(carried({ type: 'turn/start', data: {}, ignorable: true })).toEqual({ type: 'turn/start', seq: 4, time: 1, data: {}, ignorable: true });
});

describe('`sourceEventSeqs`', () => {
  const message = { type: 'assistant/message', data: {}, surfaceOp: 'append' };

  test.each([
    ['are carried over, without those left out', [2, 3, 4], { sourceEventSeqs: [1, 2] }],
    ['are left out when none remains', [1, 3], {}],
    ['stay empty when they were', [], { sourceEventSeqs: [] }],
    ['stay absent when they were', undefined, {}],
  ])('%s', (_title, sourceEventSeqs, expected) => {
    expect(carried({ ...message, ...(sourceEventSeqs && { sourceEventSeqs }) })).toEqual({ ...message, seq: 4, time: 1, ...expected });
  });
});

test('a replacement carries its range over', () => {
  const event = { type: 'user/message', data: {}, surfaceOp: { op: 'replace', start: 2, end: 6 }, sourceEventSeqs: [2, 4, 6] };
  expect(carried(event)).toEqual({ ...event, seq: 4, time: 1, surfaceOp: { op: 'replace', start: 1, end: 3 }, sourceEventSeqs: [1, 2, 3] });
});

test('a replacement of an event that was left out cannot be carried', () => {
  expect(() => carried({ type: 'user/message', data: {}, surfaceOp: { op: 'replace', start: 2, end: 5 } }))
    .toThrow('cannot compact the seed: event 5 is cited as surface but is not on it');
});

describe('numbers inside event data', () => {
  test.each(['compaction/summary', 'compaction/prune'])('%s', (type) => {
    const data = { shadowedRange: { start: 6, end: 2 }, shadowedSeqs: [6, 2], shadowedTokenCount: 9 };
    expect(carried({ type, data })).toMatchObject({
      data: { shadowedRange: { start: 3, end: 1 }, shadowedSeqs: [3, 1], shadowedTokenCount: 9 },
    });
    expect(() => carried({ type, data: { ...data, shadowedSeqs: [5] } })).toThrow('event 5 is cited as surface');
    expect(data.shadowedSeqs).toEqual([6, 2]);
  });

  test('command/done', () => {
    const data = { commandId: 'c', kind: 'success' };
    expect(carried({ type: 'command/done', data: { ...data, sourceEventSeq: 6 } })).toMatchObject({ data: { ...data, sourceEventSeq: 3 } });
    expect(carried({ type: 'command/done', data: { ...data, sourceEventSeq: 0 } })).toMatchObject({ data: { ...data, sourceEventSeq: 0 } });
    expect(carried({ type: 'command/done', data: { ...data, sourceEventSeq: 5 } })).toEqual({ type: 'command/done', seq: 4, time: 1, data });
    expect(carried({ type: 'command/done', data })).toEqual({ type: 'command/done', seq: 4, time: 1, data });
  });

  test.each(['session/title', 'session/title-llm-request'])('%s', (type) => {
    expect(carried({ type, data: { title: 't', messageSeqs: [2, 4] } })).toMatchObject({ data: { title: 't', messageSeqs: [1, 2] } });
  });
});

describe('a type that may cite numbers which cannot be seen', () => {
  test('is one the harness does not know, or whose data is not declared in a published package', () => {
    expect(['somebody/else', 'team/member', 'feedback/record'].map(isOpaque)).toEqual([true, true, true]);
    expect(['turn/start', 'compaction/summary', 'tool/result'].map(isOpaque)).toEqual([false, false, false]);
  });

  test('was looked for among all of these; a type that is new here has to be reviewed', () => {
    expect([...KNOWN_SESSION_EVENT_TYPES].filter((type) => !isOpaque(type)).toSorted()).toMatchInlineSnapshot(`
      [
        "agent-preset/selected",
        "agent/inbox/spliced",
        "approval/asked",
        "approval/decided",
        "approval/policy",
        "assistant/chunk",
        "assistant/message",
        "command/done",
        "command/run",
        "compaction/end",
        "compaction/prune",
        "compaction/start",
        "compaction/summary",
        "goal/change",
        "hook/invoked",
        "hook/result",
        "llm/retry",
        "llm/retry-started",
        "permission/preset",
        "plan/mode",
        "request/context",
        "request/header",
        "sandbox/mode",
        "schedule/change",
        "session/end-seed",
        "session/title",
        "session/title-llm-request",
        "step/end",
        "step/start",
        "subagent/descriptor",
        "todo/write",
        "tool-workflow/agent-end",
        "tool-workflow/agent-start",
        "tool-workflow/run-end",
        "tool-workflow/run-start",
        "tool/call",
        "tool/code-dispatch",
        "tool/code-dispatch-start",
        "tool/result",
        "turn/end",
        "turn/start",
        "user/message",
      ]
    `);
  });
});

test.each<[string, object]>([
  ['a mark', { type: 'turn/start', data: Object.freeze({}) }],
  ['a message', { type: 'assistant/message', data: Object.freeze({}), surfaceOp: 'append', sourceEventSeqs: [2] }],
  ['a replacement', { type: 'user/message', data: Object.freeze({}), surfaceOp: { op: 'replace', start: 2, end: 6 }, sourceEventSeqs: [2, 4, 6] }],
  ['a compaction', { type: 'compaction/summary', data: { shadowedRange: { start: 6, end: 2 }, shadowedSeqs: [6, 2] } }],
  ['a command', { type: 'command/done', data: { sourceEventSeq: 6 } }],
  ['a title', { type: 'session/title', data: { messageSeqs: [2, 4] } }],
])('%s that was carried is frozen in all its parts', (_title, event) => {
  const thawed: unknown[] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if (!Object.isFrozen(value)) thawed.push(value);
    Object.values(value).forEach(visit);
  };
  visit(carried(event));
  expect(thawed).toEqual([]);
});
