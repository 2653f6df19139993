/**
 * What a run of the benchmark found.
 *
 * @module
 */
import { availableParallelism, totalmem } from 'node:os';
import type { Contender } from './harness.ts';
import { figureOf } from './measure.ts';
import type { Figure } from './measure.ts';

/** What is measured. */
export interface Quantity {
  readonly scenario: string;
  readonly metric: string;
}

/** Under which conditions it is measured. */
export interface Conditions {
  /** Wanted length of the parent's log; 0 where it plays no part. */
  readonly events: number;
  readonly invariants: boolean;
}

/** One quantity of one contender. */
export interface Row extends Quantity, Conditions {
  readonly contender: Contender;
  readonly figure: Figure;
}

/** All that `results.json` holds. */
export interface Results {
  readonly date: string;
  readonly machine: { readonly cores: number; readonly memoryGiB: number; readonly node: string };
  /** How long the run took. */
  readonly seconds: number;
  /** Share of streamed chunks by wanted length of the log. */
  readonly chunkShare: Readonly<Record<number, number>>;
  readonly rows: readonly Row[];
}

/** The kind of machine, without its name. */
export function machineClass(): Results['machine'] {
  return { cores: availableParallelism(), memoryGiB: Math.round(totalmem() / 2 ** 30), node: process.version };
}

/** Collects samples and sums them up. */
export class Collector {
  private readonly samples = new Map<string, number[]>();

  /**
   * Take samples of a scenario's quantities.
   * @param conditions - under which they were taken.
   * @param scenario - what the contender had to do.
   * @param contender - who did it.
   * @param metrics - one sample of each quantity.
   */
  add({ events, invariants }: Conditions, scenario: string, contender: Contender, metrics: Readonly<Record<string, number>>): void {
    for (const [metric, value] of Object.entries(metrics)) {
      const key = JSON.stringify({ scenario, metric, contender, events, invariants });
      const values = this.samples.get(key) ?? [];
      this.samples.set(key, values);
      values.push(Number(value.toPrecision(6)));
    }
  }

  /** One row a quantity, in the order of their first samples. */
  rows(): Row[] {
    return [...this.samples].map(([key, values]) => ({ ...JSON.parse(key) as Omit<Row, 'figure'>, figure: figureOf(values) }));
  }
}

/**
 * Look a figure up.
 * @param results - a run's results.
 * @param quantity - what was measured.
 * @param conditions - under which conditions.
 * @param contender - of whom.
 * @returns the figure, or undefined when it was not measured.
 */
export function find({ rows }: Results, quantity: Quantity, conditions: Conditions, contender: Contender): Figure | undefined {
  const { scenario, metric } = quantity;
  const { events, invariants } = conditions;
  return rows.find((row) => row.contender === contender
    && row.scenario === scenario && row.metric === metric
    && row.events === events && row.invariants === invariants)?.figure;
}
