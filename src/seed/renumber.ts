/**
 * Carries an event over to another position in a log, with every sequence number it cites.
 *
 * @module
 */
import { isSurfaceEvent, KNOWN_SESSION_EVENT_TYPES } from '@deepseek-ai/dsh-session';
import type { SessionEvent, SurfaceEvent } from '@deepseek-ai/dsh-session';

/**
 * Where an event stands in the new log.
 * @param seq - a sequence number of the old log.
 * @returns its new sequence number, or undefined when the event was left out.
 */
export type Renumber = (seq: number) => number | undefined;

type Data = Readonly<Record<string, unknown>>;

/** Types the harness knows but publishes no declaration of, so what they cite cannot be checked. */
const UNDECLARED: ReadonlySet<string> = new Set([
  'feedback/record',
  'team/member',
  'team/message/delivered',
  'team/message/queued',
  'team/task',
  'web/deepseek-search-llm-request',
]);

/** Event types whose data cites sequence numbers, each with the rule that carries them over. */
const CITING_DATA: ReadonlyMap<string, (data: Data, renumber: Renumber) => Data> = new Map([
  ['compaction/summary', shadowed],
  ['compaction/prune', shadowed],
  ['command/done', doneCommand],
  ['session/title', titled],
  ['session/title-llm-request', titled],
]);

/**
 * Whether an event of this type may cite sequence numbers that cannot be seen.
 * @param type - an event type.
 * @returns true for a type outside `KNOWN_SESSION_EVENT_TYPES` and for one whose data is undeclared.
 */
export function isOpaque(type: string): boolean {
  return !KNOWN_SESSION_EVENT_TYPES.has(type) || UNDECLARED.has(type);
}

/**
 * The event at a new position. Its data is shared with the original unless it cites numbers.
 * @param event - an event whose type is not opaque.
 * @param seq - its position in the new log.
 * @param renumber - where the events it cites stand in the new log.
 * @returns a new event, frozen with everything that is not the given event's; that one is untouched.
 * @throws {Error} when the event replaces or shadows one that was left out.
 */
export function carry(event: SessionEvent, seq: number, renumber: Renumber): SessionEvent {
  if (isSurfaceEvent(event)) return carrySurface(event, seq, renumber);
  const rule = CITING_DATA.get(event.type);
  const data = rule === undefined ? event.data : Object.freeze(rule(event.data as Data, renumber));
  return Object.freeze({ ...event, seq, data } as SessionEvent);
}

function carrySurface({ sourceEventSeqs, ...event }: SurfaceEvent, seq: number, renumber: Renumber): SessionEvent {
  const sources = sourceEventSeqs && present(sourceEventSeqs, renumber);
  return Object.freeze({
    ...event,
    seq,
    ...(event.surfaceOp !== 'append' && { surfaceOp: Object.freeze({ op: event.surfaceOp.op, ...range(event.surfaceOp, renumber) }) }),
    ...(sources && (sources.length > 0 || sourceEventSeqs.length === 0) && { sourceEventSeqs: sources }),
  });
}

function shadowed(data: Data, renumber: Renumber): Data {
  return {
    ...data,
    shadowedRange: range(data.shadowedRange as Range, renumber),
    shadowedSeqs: Object.freeze((data.shadowedSeqs as number[]).map((seq) => kept(seq, renumber))),
  };
}

function doneCommand({ sourceEventSeq, ...data }: Data, renumber: Renumber): Data {
  const source = sourceEventSeq === undefined ? undefined : renumber(sourceEventSeq as number);
  return { ...data, ...(source !== undefined && { sourceEventSeq: source }) };
}

function titled(data: Data, renumber: Renumber): Data {
  return { ...data, messageSeqs: present(data.messageSeqs as number[], renumber) };
}

interface Range {
  readonly start: number;
  readonly end: number;
}

function range({ start, end }: Range, renumber: Renumber): Range {
  return Object.freeze({ start: kept(start, renumber), end: kept(end, renumber) });
}

function kept(seq: number, renumber: Renumber): number {
  const carried = renumber(seq);
  if (carried === undefined) throw new Error(`cannot compact the seed: event ${seq} is cited as surface but is not on it`);
  return carried;
}

function present(seqs: readonly number[], renumber: Renumber): number[] {
  const carried: number[] = [];
  for (const seq of seqs) {
    const position = renumber(seq);
    if (position !== undefined) carried.push(position);
  }
  Object.freeze(carried);
  return carried;
}
