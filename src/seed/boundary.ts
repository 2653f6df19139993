/**
 * Decides where a seed ends in its parent's log.
 *
 * @module
 */
import { isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';

/**
 * Which part of the parent's log a child inherits:
 * `turn` ends with the last completed turn, `step` with the input of the request being answered.
 */
export type SeedBoundary = 'turn' | 'step';

/** Marks that open or close a turn or a step; the last one in a log tells what is open. */
const BRACKETS: ReadonlySet<string> = new Set(['turn/start', 'step/start', 'step/end', 'turn/end']);

/**
 * Where a seed ends.
 *
 * - `turn`: after the last completed turn and whatever was logged before the next one opens,
 *   without the queued prompt that opens it. 0 when no turn has completed.
 * - `step`: inside an open step, before the answer to its request begins. In an open turn
 *   between steps, after everything logged. With no open turn, the same as `turn`.
 * @param events - a whole session log, `seq` equal to index.
 * @param boundary - which of the two rules applies.
 * @returns how many leading events the child inherits; 0 means none.
 */
export function seedEnd(events: readonly SessionEvent[], boundary: SeedBoundary): number {
  return boundary === 'step' ? stepEnd(events) : turnEnd(events);
}

function turnEnd(events: readonly SessionEvent[]): number {
  const completed = events.findLastIndex((event) => event.type === 'turn/end');
  if (completed === -1) return 0;
  let end = completed + 1;
  while (end < events.length && events[end]!.type !== 'turn/start') end++;
  while (events[end - 1]!.type === 'agent/inbox/spliced') end--;
  return end;
}

function stepEnd(events: readonly SessionEvent[]): number {
  const last = events.findLastIndex((event) => BRACKETS.has(event.type));
  switch (events[last]?.type) {
    case 'step/start': return answerStart(events, last + 1);
    case 'step/end':
    case 'turn/start': return events.length;
    default: return turnEnd(events);
  }
}

/**
 * Where the answer to an open step's request begins. A request that failed may be asked again with
 * new input (an overflow is compacted first) or on another route; the answer then begins behind that.
 */
function answerStart(events: readonly SessionEvent[], from: number): number {
  let start: number | undefined;
  let failed = false;
  for (let index = from; index < events.length; index++) {
    const event = events[index]!;
    if (event.type === 'assistant/message') return start ?? index;
    if (event.type === 'assistant/chunk') {
      start ??= index;
      failed = isFailure(event);
    } else if (failed && (isSurfaceEvent(event) || event.type === 'request/header')) start = undefined;
  }
  return start ?? events.length;
}

/** Whether a chunk ends its answer without a message. */
function isFailure({ data: { chunk } }: SessionEvent<'assistant/chunk'>): boolean {
  return chunk.type === 'finish' && (chunk.reason.kind === 'error' || chunk.reason.kind === 'aborted');
}
