/**
 * Decides where a seed ends in its parent's log.
 *
 * @module
 */
import { isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { read } from './data.ts';
import { isHalf } from './pairs.ts';

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
 * - `turn`: after the last completed turn and whatever was logged before the next one opens. 0 when
 *   no turn has completed.
 * - `step`: inside an open step, before the answer to its request begins. In an open turn
 *   between steps, and with no turn open, after everything logged.
 *
 * With no turn open, prompts that wait for the next one stay out. So does, at either boundary, the
 * first half of a pair of marks when nothing follows it.
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
  return betweenTurns(events, end);
}

function stepEnd(events: readonly SessionEvent[]): number {
  const last = events.findLastIndex((event) => BRACKETS.has(event.type));
  switch (events[last]?.type) {
    case 'step/start': return without(events, answerStart(events, last + 1), isHalf);
    case 'step/end':
    case 'turn/start': return without(events, events.length, isHalf);
    default: return betweenTurns(events, events.length);
  }
}

function betweenTurns(events: readonly SessionEvent[], end: number): number {
  return without(events, end, (event) => event.type === 'agent/inbox/spliced' || isHalf(event));
}

/** The end without the events right before it that have to stay out. */
function without(events: readonly SessionEvent[], end: number, staysOut: (event: SessionEvent) => boolean): number {
  let kept = end;
  while (kept > 0 && staysOut(events[kept - 1]!)) kept--;
  return kept;
}

/**
 * Where the answer to an open step's request begins. A request that failed may be asked again with
 * new input (an overflow is compacted first) or on another route; the answer then begins behind that.
 * So it does when the input came while the failed answer streamed.
 */
function answerStart(events: readonly SessionEvent[], from: number): number {
  let start: number | undefined;
  let failed = false;
  let changed = false;
  for (let index = from; index < events.length; index++) {
    const event = events[index]!;
    if (event.type === 'assistant/message') return start ?? index;
    if (event.type === 'assistant/chunk') {
      start ??= index;
      failed = isFailure(event);
    } else if (isSurfaceEvent(event) || event.type === 'request/header') changed = start !== undefined;
    if (failed && changed) {
      start = undefined;
      changed = false;
    }
  }
  return start ?? events.length;
}

/** Whether a chunk ends its answer without a message. */
function isFailure({ data }: SessionEvent): boolean {
  if (read(data, 'chunk', 'type') !== 'finish') return false;
  const kind = read(data, 'chunk', 'reason', 'kind');
  return kind === 'error' || kind === 'aborted';
}
