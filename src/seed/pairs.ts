/**
 * Marks that come in pairs: what opens one, what closes it, and how a seed does.
 *
 * @module
 */
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { read } from './data.ts';

/** Two marks that belong together. Marks of turns, steps and tool calls are the harness's own to close. */
interface Pair {
  readonly opens: string;
  readonly closes: string;
  /** The data by which a closing mark names the one it closes. */
  readonly id: readonly string[];
  /** What else of the opening mark's data the closing one repeats. */
  readonly repeats: readonly string[];
  /** How a pair ends for a child whose parent had not closed it. */
  readonly outcome: Readonly<Record<string, unknown>>;
}

const UNFINISHED = 'not finished when this history was inherited';

/**
 * Every pair that the harness declares. `llm/retry` is none: a retry that is given up never starts.
 */
const PAIRS: readonly Pair[] = [
  {
    opens: 'command/run', closes: 'command/done', id: ['commandId'], repeats: [],
    outcome: { kind: 'error', text: UNFINISHED },
  },
  {
    opens: 'compaction/start', closes: 'compaction/end', id: ['compactionId'], repeats: ['sourceCommandId', 'turn'],
    outcome: { error: UNFINISHED },
  },
  {
    opens: 'approval/asked', closes: 'approval/decided', id: ['id'], repeats: [],
    outcome: { outcome: 'cancelled' },
  },
  {
    opens: 'tool/code-dispatch-start', closes: 'tool/code-dispatch', id: ['subCallId'],
    repeats: ['rootCallId', 'parentCallId', 'name', 'arguments'],
    outcome: { isError: true, content: [{ type: 'text', text: UNFINISHED }] },
  },
  {
    opens: 'tool-workflow/run-start', closes: 'tool-workflow/run-end', id: ['runId'], repeats: [],
    outcome: { stopReason: 'cancelled' },
  },
  {
    opens: 'tool-workflow/agent-start', closes: 'tool-workflow/agent-end', id: ['runId', 'seq'], repeats: [],
    outcome: { outcome: 'cancelled' },
  },
];

const OPENING: ReadonlyMap<string, Pair> = new Map(PAIRS.map((pair) => [pair.opens, pair]));
const CLOSING: ReadonlyMap<string, Pair> = new Map(PAIRS.map((pair) => [pair.closes, pair]));

/** Types that price the replacement logged right behind them, and mean nothing without it. */
const PRICES: ReadonlySet<string> = new Set(['compaction/summary', 'compaction/prune']);

/**
 * Whether an event waits for another one: as the last event of a seed it would stand alone.
 * @param event - any event.
 * @returns true for an opening mark, and for the price of a replacement.
 */
export function isHalf(event: SessionEvent): boolean {
  return PRICES.has(event.type) || keyOf(event, OPENING) !== undefined;
}

/**
 * The events that close the pairs which a log leaves open. One that was open when the session was
 * restored or forked has ended with its host, as the harness itself reads it.
 * @param events - leading events of a log, `seq` equal to index.
 * @returns the closing marks at the log's end, innermost first, at the time of the last event.
 */
export function pairClosers(events: readonly SessionEvent[]): SessionEvent[] {
  const closed = new Set<string>();
  const closers: SessionEvent[] = [];
  for (let index = events.length - 1; index >= 0 && events[index]!.type !== 'session/end-seed'; index--) {
    const event = events[index]!;
    const closes = keyOf(event, CLOSING);
    if (closes !== undefined) closed.add(closes);
    const opens = keyOf(event, OPENING);
    if (opens === undefined || closed.delete(opens)) continue;
    const { closes: type, id, repeats, outcome } = OPENING.get(event.type)!;
    const data = Object.fromEntries([...id, ...repeats].flatMap((name) => {
      const value = read(event.data, name);
      return value === undefined ? [] : [[name, value]];
    }));
    closers.push({ type, seq: events.length + closers.length, time: events.at(-1)!.time, data: { ...data, ...outcome } } as SessionEvent);
  }
  return closers;
}

/** What names the pair of a mark; undefined for another event, and for a mark whose id cannot be read. */
function keyOf(event: SessionEvent, marks: ReadonlyMap<string, Pair>): string | undefined {
  const pair = marks.get(event.type);
  if (pair === undefined) return undefined;
  const ids = pair.id.map((name) => read(event.data, name));
  return ids.every((id) => typeof id === 'string' || typeof id === 'number') ? JSON.stringify([pair.opens, ...ids]) : undefined;
}
