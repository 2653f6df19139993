/**
 * What of a log its model sees.
 *
 * @module
 */
import { deriveEventMessage, foldSurface, isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { read } from './data.ts';

/**
 * Whether these events show their model anything.
 * @param events - leading events of a log, `seq` equal to index.
 * @returns true when a message that says something stands on the surface.
 */
export function showsMessage(events: readonly SessionEvent[]): boolean {
  // The last message stands on the surface: nothing behind it can have replaced it.
  const last = events.findLast(isSurfaceEvent);
  if (last === undefined) return false;
  return saysSomething(last) || foldSurface(events).nodes.some((seq) => saysSomething(events[seq]!));
}

/** Whether an event's message holds more than blank text. */
function saysSomething(event: SessionEvent): boolean {
  const content = read(deriveEventMessage(event), 'content');
  return Array.isArray(content) && content.some((block) => {
    const text = read(block, 'text');
    return typeof text !== 'string' || text.trim() !== '';
  });
}
