/**
 * Leaves out of a seed what no reader of a child uses.
 *
 * @module
 */
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';
import { carry, isOpaque } from './renumber.ts';

/** One compacted log per live session, shared by every fork of it and gone with it. */
const compacted = new WeakMap<Session, CompactedLog>();

/** A leading part of a log, compacted, or the reason why it has to stay whole. */
export type Compaction =
  | { readonly events: SessionEvent[] }
  | { readonly opaqueType: string };

/**
 * The leading events of a session's log without streamed chunks (but those that price an answer that
 * was interrupted), inbox bookkeeping and subagent descriptors, renumbered from 0 with every citation
 * carried over. Each event of a session is taken once, however many forks ask. The events are frozen.
 * @param session - whose log it is.
 * @param events - the session's log.
 * @param end - how many leading events to take.
 * @returns the compacted events in an array of the caller's own, or the first type that may cite
 *   numbers which cannot be seen.
 */
export function compactLog(session: Session, events: readonly SessionEvent[], end: number): Compaction {
  let log = compacted.get(session);
  if (log === undefined) compacted.set(session, log = new CompactedLog());
  return log.take(events, end);
}

/**
 * The chunks from which the harness's token meter prices an answer: those of one that was interrupted
 * behind its usage, whose message holds less than the provider counted.
 */
function measuredChunks(events: readonly SessionEvent[]): Set<number> {
  const seqs = new Set<number>();
  for (const event of events) {
    if (event.type !== 'assistant/message' || event.data.interrupted !== true || event.data.usage === undefined) continue;
    for (const seq of event.sourceEventSeqs ?? []) seqs.add(seq);
  }
  return seqs;
}

/** Whether no reader of a child uses an inherited event of this type. */
function isOmitted(type: string): boolean {
  return type === 'assistant/chunk' || type === 'subagent/descriptor' || type.startsWith('agent/inbox/');
}

/** The growing compacted form of one append-only log. */
class CompactedLog {
  private readonly events: SessionEvent[] = [];
  /** The original sequence number of each compacted event, ascending. */
  private readonly originals: number[] = [];
  private consumed = 0;

  take(events: readonly SessionEvent[], end: number): Compaction {
    const measured = measuredChunks(events.slice(this.consumed, end));
    for (; this.consumed < end; this.consumed++) {
      const event = events[this.consumed]!;
      if (isOmitted(event.type) && !measured.has(event.seq)) continue;
      if (isOpaque(event.type)) return { opaqueType: event.type };
      this.events.push(carry(event, this.events.length, this.renumber));
      this.originals.push(event.seq);
    }
    return { events: this.events.slice(0, this.countBefore(end)) };
  }

  private readonly renumber = (seq: number): number | undefined => {
    const position = this.countBefore(seq);
    return this.originals[position] === seq ? position : undefined;
  };

  /** How many compacted events stand before this original one. Most ask about one behind them all. */
  private countBefore(seq: number): number {
    let high = this.originals.length;
    let low = high > 0 && this.originals[high - 1]! < seq ? high : 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.originals[middle]! < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
