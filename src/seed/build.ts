/**
 * Builds the history a child inherits.
 *
 * @module
 */
import { interruptedTurnClosers, isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';
import { seedEnd } from './boundary.ts';
import type { SeedBoundary } from './boundary.ts';
import { compactLog } from './compact.ts';
import { readLog } from '../harness/log.ts';
import { noticeEvent } from './notice.ts';

/** What shapes a seed. */
export interface SeedOptions {
  /** Where the inherited history ends. */
  readonly seedBoundary: SeedBoundary;
  /** `true` for the standard notice, `false` for none, or a deployment's own text. */
  readonly notice: boolean | string;
  /** Whether to leave out what no reader of a child uses. */
  readonly compactSeed: boolean;
}

/** A child's inherited history and where it comes from. */
export interface Seed {
  /** The parent's log at the moment of the fork. */
  readonly log: readonly SessionEvent[];
  /** How many leading events of that log the child inherits. */
  readonly end: number;
  /** The child's seed: contiguous from seq 0 and balanced. Empty when nothing is inherited. */
  readonly events: SessionEvent[];
  /** The event type for which `compactSeed` left the seed whole, when it did. */
  readonly opaqueType?: string;
}

/**
 * Build the seed of one fork from the parent's log as it is now. The session is only read.
 * @param session - the parent's session.
 * @param options - boundary, notice and compaction.
 * @returns the seed: the events up to the boundary, the events that close an open turn, the notice.
 */
export function buildSeed(session: Session, options: SeedOptions): Seed {
  const log = readLog(session);
  const end = seedEnd(log, options.seedBoundary);
  const compaction = options.compactSeed ? compactLog(session, log, end) : undefined;
  const events = compaction !== undefined && 'events' in compaction ? compaction.events : log.slice(0, end);
  events.push(...interruptedTurnClosers(lastTurn(events)));
  if (options.notice !== false && events.some(isSurfaceEvent)) events.push(noticeEvent(events, options.notice));
  return { ...compaction, log, end, events };
}

/** The events from where the last turn opened, the only ones to leave anything open; without a turn, the last event. */
function lastTurn(events: readonly SessionEvent[]): readonly SessionEvent[] {
  return events.slice(events.findLastIndex((event) => event.type === 'turn/start'));
}
