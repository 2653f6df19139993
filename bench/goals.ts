/**
 * What this package wants of itself.
 *
 * @module
 */
import { count, milliseconds, ratio } from './format.ts';
import type { Contender } from './harness.ts';
import { find } from './results.ts';
import type { Quantity, Results } from './results.ts';

/** A bound of one quantity, with invariants off: a share of the published provider's figure, or a figure of its own. */
interface Goal extends Quantity {
  readonly contenders: readonly Contender[];
  readonly events: readonly number[];
  readonly share?: number;
  readonly most?: number;
}

const COMPACT: readonly Contender[] = ['compact turn', 'compact step'];
const LONG = [50_000, 200_000];

const GOALS: readonly Goal[] = [
  { scenario: 'first fork', metric: 'time', contenders: COMPACT, events: [50_000], share: 1 / 20 },
  { scenario: 'first fork', metric: 'time', contenders: COMPACT, events: [200_000], share: 1 / 25 },
  { scenario: 'later fork', metric: 'time', contenders: COMPACT, events: [200_000], share: 1 / 60 },
  { scenario: 'later seed', metric: 'build', contenders: COMPACT, events: LONG, most: 1 },
  { scenario: 'ten at once', metric: 'heapPerChild', contenders: COMPACT, events: LONG, share: 1 / 30 },
  { scenario: 'on disk, zstd', metric: 'bytes', contenders: COMPACT, events: LONG, share: 1 / 8 },
  { scenario: 'on disk, plain text', metric: 'bytes', contenders: COMPACT, events: LONG, share: 1 / 8 },
  { scenario: 'first fork', metric: 'time', contenders: ['default'], events: LONG, share: 1.05 },
  { scenario: 'later fork', metric: 'time', contenders: ['default'], events: LONG, share: 1.05 },
];

/**
 * Compare a run with the goals.
 * @param results - a run's results.
 * @returns one line for each goal that the run measured.
 */
export function goalLines(results: Results): string[] {
  return GOALS.flatMap(({ contenders, events, share, most, ...quantity }) => events.flatMap((length) => contenders.flatMap((contender) => {
    const median = (of: Contender): number | undefined => find(results, quantity, { events: length, invariants: false }, of)?.median;
    const own = median(contender);
    if (own === undefined) return [];
    const [found, wanted, write] = most === undefined ? [own / median('published')!, share!, ratio] : [own, most, milliseconds];
    const verdict = found <= wanted ? 'met   ' : 'MISSED';
    return [`${verdict} ${quantity.scenario}, ${quantity.metric}: ${contender} at ${count(length)} events ${write(found)}, goal ${write(wanted)}`];
  })));
}
