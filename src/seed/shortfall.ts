/**
 * What an operator may expect a child to inherit, and it does not.
 *
 * @module
 */
import { isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import type { SeedBoundary } from './boundary.ts';
import type { Seed } from './build.ts';
import { read } from './data.ts';
import { showsMessage } from './visible.ts';

/**
 * What a child misses of its parent's session.
 * @param seed - the child's seed, with the parent's log.
 * @param seedLength - how many leading events of that log the parent itself inherited.
 * @param boundary - where the seed ends.
 * @returns the rest of a sentence about the parent's session; undefined when nothing is missing.
 */
export function shortfall({ log, end, events }: Seed, seedLength: number, boundary: SeedBoundary): string | undefined {
  const remedy = boundary === 'turn' ? '; "step" inherits the open turn' : '';
  if (!showsMessage(events)) {
    const plan = isPlanning(log) && !isPlanning(events) ? ', out of its parent\'s plan mode' : '';
    return `has no message to inherit at seedBoundary "${boundary}"; the child starts fresh${plan}${remedy}`;
  }
  const own = seedLength === 0 ? undefined : log.find((event, index) => index >= seedLength && isSurfaceEvent(event));
  return own === undefined || own.seq < end
    ? undefined
    : `is itself forked and has completed no turn since; at seedBoundary "${boundary}" the child inherits nothing of its work${remedy}`;
}

function isPlanning(events: readonly SessionEvent[]): boolean {
  return read(events.findLast(({ type }) => (type as string) === 'plan/mode'), 'data', 'active') === true;
}
