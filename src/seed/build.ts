/**
 * Builds the history a child inherits.
 *
 * @module
 */
import { deepFreeze } from '@deepseek-ai/dsh-llm';
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';
import { readLog } from '../harness/log.ts';
import { acceptable } from './acceptable.ts';
import { seedEnd } from './boundary.ts';
import type { SeedBoundary } from './boundary.ts';
import { closersOf } from './closers.ts';
import { compactLog } from './compact.ts';
import { noticeEvent } from './notice.ts';
import { pairClosers } from './pairs.ts';

/** What shapes a seed. */
export interface SeedOptions {
  /** Where the inherited history ends. */
  readonly seedBoundary: SeedBoundary;
  /** `true` for the standard notice, `false` for none, or a deployment's own text. */
  readonly notice: boolean | string;
  /** Whether to leave out what no reader of a child uses. */
  readonly compactSeed: boolean;
}

/** A child's inherited history and where it comes from; frozen. */
export interface Seed {
  /** The parent's log at the moment of the fork. */
  readonly log: readonly SessionEvent[];
  /** How many leading events of that log the child inherits. */
  readonly end: number;
  /** The child's seed: contiguous from seq 0 and balanced. Empty when nothing is inherited. */
  readonly events: readonly SessionEvent[];
  /** The event type for which `compactSeed` left the seed whole, when it did. */
  readonly opaqueType?: string;
}

/**
 * Build the seed of one fork from the parent's log as it is now. The session is only read.
 * @param session - the parent's session.
 * @param options - boundary, notice and compaction.
 * @returns the seed: the events up to the boundary, the events that close what is open, the notice.
 */
export function buildSeed(session: Session, options: SeedOptions): Seed {
  const log = readLog(session);
  const end = seedEnd(log, options.seedBoundary);
  const compaction = options.compactSeed ? compactLog(session, log, end) : undefined;
  const content = compaction !== undefined && 'events' in compaction ? compaction.events : log.slice(0, end);
  const events = content.map(acceptable);
  for (const closer of pairClosers(events)) events.push(deepFreeze(closer));
  for (const closer of closersOf(events)) events.push(deepFreeze(closer));
  const notice = options.notice === false ? undefined : noticeEvent(events, options.notice);
  if (notice !== undefined) events.push(deepFreeze(notice));
  return Object.freeze({ ...compaction, log, end, events: Object.freeze(events) });
}
