/**
 * What is measured, and how samples become figures.
 *
 * @module
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long an operation took, in milliseconds. */
export interface Timing {
  /** Until it was fulfilled. */
  readonly time: number;
  /** The longest the event loop could not turn meanwhile. */
  readonly block: number;
  /** What the main thread computed, whatever else the machine did. */
  readonly cpu: number;
}

/**
 * Time an operation.
 * @param operation - what to time.
 * @returns its value and its times.
 */
export async function timed<T>(operation: () => Promise<T>): Promise<Timing & { readonly value: T }> {
  await nextTurn();
  let block = 0;
  let last = performance.now();
  const turned = (): void => {
    const now = performance.now();
    block = Math.max(block, now - last);
    last = now;
    pending = setImmediate(turned);
  };
  let pending = setImmediate(turned);
  const began = process.threadCpuUsage();
  const start = performance.now();
  const value = await operation();
  const time = performance.now() - start;
  const { user, system } = process.threadCpuUsage(began);
  await nextTurn();
  clearImmediate(pending);
  return { value, time, block, cpu: (user + system) / 1000 };
}

/**
 * Time a synchronous operation.
 * @param operation - what to time.
 * @returns its value and its duration in milliseconds.
 */
export function timedSync<T>(operation: () => T): { readonly value: T; readonly time: number } {
  const start = performance.now();
  const value = operation();
  return { value, time: performance.now() - start };
}

/** Bytes of live objects. */
export function heapInUse(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Free what is no longer used, so that nobody pays for what another left behind. */
export function collectGarbage(): void {
  if (globalThis.gc === undefined) throw new Error('the benchmark needs node --expose-gc');
  globalThis.gc();
}

/** Samples of one quantity in short. */
export interface Figure {
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  readonly samples: readonly number[];
}

/**
 * Sum up samples.
 * @param samples - at least one, in the order they were taken.
 */
export function figureOf(samples: readonly number[]): Figure {
  const sorted = samples.toSorted((a, b) => a - b);
  return { median: quantile(sorted, 0.5), p10: quantile(sorted, 0.1), p90: quantile(sorted, 0.9), samples };
}

/** Interpolated between the two nearest ranks. */
function quantile(sorted: readonly number[], share: number): number {
  const rank = (sorted.length - 1) * share;
  const below = sorted[Math.floor(rank)]!;
  return below + (sorted[Math.ceil(rank)]! - below) * (rank % 1);
}
