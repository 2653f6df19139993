import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { expect, test } from 'vitest';
import { readLog } from '../../src/harness/log.ts';

const session = Session.create(SessionId('parent'));
session.append('turn/start', { turn: 1 });

test('the log is `events` where the host has no `snapshotEvents()`', () => {
  expect(readLog(session)).toBe(session.events);
});

test('the log is `snapshotEvents()`, asked of the session itself, where the host has it', () => {
  const newer = { log: session.events, snapshotEvents(): readonly SessionEvent[] { return this.log; }, events: [] };
  expect(readLog(newer as object as Session)).toBe(session.events);
});

test('a session that hands out no log is refused', () => {
  expect(() => readLog({} as Session)).toThrow('cannot read the session log: expected `snapshotEvents()` or `events` on the session');
});
