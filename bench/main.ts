/**
 * Compares this package with the published provider of the same name; `--quick` for a short run
 * that writes no files.
 *
 * @module
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { cacheShares } from './cache.ts';
import { goalLines } from './goals.ts';
import { openStage } from './parent.ts';
import { plot } from './plot.ts';
import { progress, progressDone } from './progress.ts';
import { replaceBlock } from './readme.ts';
import { record } from './recording.ts';
import { readmeBlock, report } from './report.ts';
import { Collector, machineClass } from './results.ts';
import type { Conditions, Results } from './results.ts';
import { diskUse, firstForks, laterForks, parallelForks, seedBuilding } from './scenarios.ts';
import type { Repetitions, Sample } from './scenarios.ts';

/** Repetitions by length of the log. */
type Plan = readonly (readonly [length: number, repetitions: Repetitions])[];

const FULL: Plan = [
  [5_000, { first: 9, parallel: 5, later: 9, rest: 5 }],
  [50_000, { first: 5, parallel: 3, later: 9, rest: 3 }],
  [200_000, { first: 3, parallel: 2, later: 9, rest: 2 }],
];
const QUICK: Plan = [
  [5_000, { first: 3, parallel: 1, later: 3, rest: 1 }],
  [50_000, { first: 3, parallel: 1, later: 3, rest: 1 }],
];

async function measure(plan: Plan): Promise<Results> {
  const start = performance.now();
  await warmUp(plan[0]![0]);
  const collector = new Collector();
  const chunkShare: Record<number, number> = {};
  const sampleUnder = (conditions: Conditions): Sample => (scenario, contender, metrics) => {
    progress(`${conditions.events} events, invariants ${conditions.invariants ? 'on' : 'off'}: ${scenario}, ${contender}`);
    collector.add(conditions, scenario, contender, metrics);
  };
  for (const [events, repetitions] of plan) {
    progress(`${events} events: the log is written`);
    const log = await record(events);
    chunkShare[events] = log.filter((event) => event.type === 'assistant/chunk').length / log.length;
    for (const invariants of [false, true]) {
      const sample = sampleUnder({ events, invariants });
      const stage = await openStage(invariants);
      await firstForks(stage, log, repetitions.first, sample);
      await parallelForks(stage, log, repetitions.parallel, sample);
      await laterForks(stage, log, repetitions, sample);
      if (!invariants) await seedBuilding(stage, log, repetitions.later, sample);
      await stage.dispose();
    }
    await diskUse(log, sampleUnder({ events, invariants: false }));
  }
  await cacheShares(sampleUnder({ events: 0, invariants: false }));
  progressDone();
  return {
    date: new Date().toISOString().slice(0, 10),
    machine: machineClass(),
    seconds: Math.round((performance.now() - start) / 1000),
    chunkShare,
    rows: collector.rows(),
  };
}

/** Every contender once, so that none pays for code that is not compiled yet. */
async function warmUp(events: number): Promise<void> {
  progress('every contender warms up');
  const stage = await openStage(false);
  await firstForks(stage, await record(events), 1, () => {});
  await stage.dispose();
}

async function publish(results: Results): Promise<void> {
  const file = (name: string): URL => new URL(name, import.meta.url);
  await writeFile(file('results.json'), `${JSON.stringify(results, undefined, 1)}\n`);
  await writeFile(file('results.md'), report(results));
  await writeFile(file('results.svg'), plot(results));
  await replaceBlock(file('../README.md'), readmeBlock(results, 'en'));
  await replaceBlock(file('../README.zh.md'), readmeBlock(results, 'zh'));
}

const { values: { quick } } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const results = await measure(quick ? QUICK : FULL);
console.log([report(results), ...goalLines(results)].join('\n'));
if (!quick) {
  await publish(results);
  console.log('The READMEs show new figures: record the pair with `npm run readme`.');
}
