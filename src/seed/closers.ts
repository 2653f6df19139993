/**
 * What a log leaves open, and the events that close it.
 *
 * @module
 */
import { interruptedTurnClosers } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';

/**
 * The events that close what leading events of a log leave open: results of calls, the end of the
 * step and of the turn. Of the log only the last turn is read.
 * @param events - a log, `seq` equal to index.
 * @param end - how many leading events to close; all by default.
 * @returns the harness's own closers, in order; none when everything is closed.
 */
export function closersOf(events: readonly SessionEvent[], end: number = events.length): SessionEvent[] {
  let start = Math.max(end - 1, 0);
  while (start > 0 && events[start]!.type !== 'turn/start') start--;
  return interruptedTurnClosers(events.slice(start, end));
}
