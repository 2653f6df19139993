/**
 * Which inherited turns ended with their request unfulfilled.
 *
 * @module
 */
import { isReplacementSurfaceEvent, isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';

/** How a turn ended that its request stays unfulfilled. */
export type Abandonment = 'cancelled' | 'failed';

/**
 * How turns of which the child still sees anything ended without fulfilling their request. A turn
 * that a later compaction replaced in full no longer shows and does not count; one that compacted
 * itself shows its own summary. A turn that its host's end cut short was cancelled by nobody.
 * @param events - the inherited events, balanced.
 * @returns the kinds that occur.
 */
export function abandonedKinds(events: readonly SessionEvent[]): Set<Abandonment> {
  const replaced = new Set<number>();
  const abandoned: { readonly kind: Abandonment; readonly shown: readonly number[] }[] = [];
  let shown: number[] = [];
  for (const event of events) {
    if (isReplacementSurfaceEvent(event)) for (const seq of event.sourceEventSeqs!) replaced.add(seq);
    if (event.type === 'turn/start') shown = [];
    else if (isSurfaceEvent(event)) shown.push(event.seq);
    else if (event.type === 'turn/end') {
      const { reason } = event.data;
      if (reason.kind === 'aborted' && reason.reason.kind !== 'disposed') abandoned.push({ kind: 'cancelled', shown });
      else if (reason.kind === 'error') abandoned.push({ kind: 'failed', shown });
      shown = [];
    }
  }
  return new Set(abandoned.filter((turn) => turn.shown.some((seq) => !replaced.has(seq))).map((turn) => turn.kind));
}
