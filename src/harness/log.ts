/**
 * Reads a session's event log on every harness line.
 *
 * @module
 */
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';

/** The two ways a harness line hands out a session's log. */
interface LogSource {
  readonly snapshotEvents?: () => readonly SessionEvent[];
  readonly events?: readonly SessionEvent[];
}

/**
 * The session's log as an immutable snapshot, in order, `seq` equal to index.
 * Harness lines from 0.1.2 on hand it out as `snapshotEvents()`, earlier ones as `events`.
 * @param session - the session to read; it is not changed.
 * @returns the events logged so far; later appends do not grow the array.
 * @throws {TypeError} when the session offers neither.
 */
export function readLog(session: Session): readonly SessionEvent[] {
  const source: LogSource = session;
  const events = source.snapshotEvents?.() ?? source.events;
  if (events === undefined) {
    throw new TypeError('cannot read the session log: expected `snapshotEvents()` or `events` on the session');
  }
  return events;
}
