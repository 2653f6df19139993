/**
 * Which inherited turns ended with their request unfulfilled.
 *
 * @module
 */
import { isReplacementSurfaceEvent, isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { read } from './data.ts';

/** How a turn ended that its request stays unfulfilled. */
export type Abandonment = 'cancelled' | 'failed';

/** One turn of a log. */
interface Turn {
  /** Its messages, by sequence number. */
  readonly shown: number[];
  /** What it was asked, each request as JSON. */
  readonly asked: string[];
  ending: Abandonment | 'answered' | undefined;
}

/**
 * How turns of which the child still sees anything ended without fulfilling their request.
 *
 * - One that a later compaction replaced in full no longer shows; one that compacted itself shows its summary.
 * - One that its host's end cut short was cancelled by nobody, and a reason that cannot be read says nothing.
 * - What a later turn was asked in the same words counts there alone.
 * - What failed is not told from done once a later turn was answered, whatever words asked again.
 * @param events - the inherited events, balanced.
 * @returns the kinds that occur.
 */
export function abandonedKinds(events: readonly SessionEvent[]): Set<Abandonment> {
  const { turns, replaced } = turnsOf(events);
  const kinds = new Set<Abandonment>();
  const askedLater = new Set<string>();
  let answeredLater = false;
  for (const { shown, asked, ending } of turns.toReversed()) {
    const again = asked.length > 0 && asked.every((request) => askedLater.has(request));
    const shows = shown.some((seq) => !replaced.has(seq));
    if (ending === 'answered') answeredLater = true;
    else if (ending !== undefined && shows && !again && !(ending === 'failed' && answeredLater)) kinds.add(ending);
    for (const request of asked) askedLater.add(request);
  }
  return kinds;
}

function turnsOf(events: readonly SessionEvent[]): { readonly turns: Turn[]; readonly replaced: Set<number> } {
  const replaced = new Set<number>();
  const turns: Turn[] = [];
  let turn: Turn | undefined;
  for (const event of events) {
    if (isReplacementSurfaceEvent(event)) for (const seq of event.sourceEventSeqs!) replaced.add(seq);
    if (event.type === 'turn/start') turns.push(turn = { shown: [], asked: [], ending: undefined });
    else if (isSurfaceEvent(event)) {
      turn?.shown.push(event.seq);
      if (isRequest(event)) turn?.asked.push(JSON.stringify(read(event.data, 'content')));
    } else if (event.type === 'turn/end' && turn !== undefined) {
      turn.ending = endingOf(read(event.data, 'reason'));
      turn = undefined;
    }
  }
  return { turns, replaced };
}

/** Whether an event is what somebody asked, and not what a plugin or a summary said. */
function isRequest(event: SessionEvent): boolean {
  return event.type === 'user/message' && !String(read(event.data, 'source', 'kind')).startsWith('plugin');
}

function endingOf(reason: unknown): Turn['ending'] {
  const cause = read(reason, 'reason', 'kind');
  switch (read(reason, 'kind')) {
    case 'completed':
    case 'max-tokens': return 'answered';
    case 'error': return 'failed';
    case 'aborted': return typeof cause === 'string' && cause !== 'disposed' ? 'cancelled' : undefined;
    default: return undefined;
  }
}
