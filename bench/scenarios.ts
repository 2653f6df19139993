/**
 * What every contender has to do.
 *
 * @module
 */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl';
import type { SubagentRun } from '@deepseek-ai/dsh-subagent';
import { buildSeed } from '../src/seed/build.ts';
import { CONTENDERS, OPTIONS } from './harness.ts';
import type { Contender, Own } from './harness.ts';
import { heapInUse, timed, timedSync } from './measure.ts';
import { end, openStage } from './parent.ts';
import type { Parent, Stage } from './parent.ts';

/** Takes one sample. */
export type Sample = (scenario: string, contender: Contender, metrics: Readonly<Record<string, number>>) => void;

/** How often each scenario is run. */
export interface Repetitions {
  readonly first: number;
  readonly parallel: number;
  readonly later: number;
  readonly rest: number;
}

/** How many forks start at once. */
const PARALLEL = 10;

/** Every contender in turn, each repetition beginning with another one. */
function* interleaved(repetitions: number): Iterable<Contender> {
  for (let repetition = 0; repetition < repetitions; repetition++) {
    for (let index = 0; index < CONTENDERS.length; index++) yield CONTENDERS[(repetition + index) % CONTENDERS.length]!;
  }
}

/** The first fork of a parent. */
export async function firstForks(stage: Stage, log: readonly SessionEvent[], repetitions: number, sample: Sample): Promise<void> {
  for (const contender of interleaved(repetitions)) {
    const parent = await stage.open(log);
    const { value: run, time, block, cpu } = await timed(() => parent.start(contender));
    sample('first fork', contender, { time, block, cpu, seedEvents: run.localAgent!.session.header.seedLength ?? 0 });
    await end(run);
    await parent.dispose();
  }
}

/** Ten forks at once of a parent that had none, and the memory they hold while they live. */
export async function parallelForks(stage: Stage, log: readonly SessionEvent[], repetitions: number, sample: Sample): Promise<void> {
  for (const contender of interleaved(repetitions)) {
    const parent = await stage.open(log);
    const startAll = (): Promise<SubagentRun[]> => Promise.all(Array.from({ length: PARALLEL }, () => parent.start(contender)));
    const { value: runs, time, block, cpu } = await timed(startAll);
    await Promise.all(runs.map((run) => run.result));
    const alive = heapInUse();
    await end(...runs);
    runs.length = 0;
    const after = heapInUse();
    sample('ten at once', contender, { time, block, cpu, heapPerChild: (alive - after) / PARALLEL });
    await parent.dispose();
  }
}

/** The second to tenth fork of a parent that works between them, then more of it while it rests. */
export async function laterForks(stage: Stage, log: readonly SessionEvent[], { later, rest }: Repetitions, sample: Sample): Promise<void> {
  const parents = new Map<Contender, Parent>();
  const fork = async (scenario: string | undefined, contender: Contender): Promise<void> => {
    const { value: run, time, block, cpu } = await timed(() => parents.get(contender)!.start(contender));
    if (scenario !== undefined) sample(scenario, contender, { time, block, cpu });
    await end(run);
  };
  for (const contender of CONTENDERS) {
    parents.set(contender, await stage.open(log));
    await fork(undefined, contender);
  }
  for (const contender of interleaved(later)) {
    await parents.get(contender)!.workOn();
    await fork('later fork', contender);
  }
  for (const contender of interleaved(rest)) await fork('later fork at rest', contender);
  for (const parent of parents.values()) await parent.dispose();
}

/** Building a seed alone, beside the session's own snapshot of its log. */
export async function seedBuilding(stage: Stage, log: readonly SessionEvent[], repetitions: number, sample: Sample): Promise<void> {
  for (const contender of Object.keys(OPTIONS) as Own[]) {
    const { compactSeed = false, seedBoundary = 'turn' } = OPTIONS[contender];
    const parent = await stage.open(log);
    for (let repetition = 0; repetition <= repetitions; repetition++) {
      const { session } = parent.agent;
      const snapshot = timedSync(() => session.events).time;
      const build = timedSync(() => buildSeed(session, { compactSeed, seedBoundary, notice: seedBoundary === 'step' })).time;
      sample(repetition === 0 ? 'first seed' : 'later seed', contender, { snapshot, build });
      await parent.workOn();
    }
    await parent.dispose();
  }
}

/** How a session log is stored. */
const STORAGES = {
  zstd: {},
  'plain text': { compression: 'none', packChunks: false },
} as const;

/** Bytes that a child's log takes on disk. */
export async function diskUse(log: readonly SessionEvent[], sample: Sample): Promise<void> {
  for (const [storage, options] of Object.entries(STORAGES)) {
    const root = await mkdtemp(join(tmpdir(), 'fork-bench-'));
    const stage = await openStage(false, (ctx) => ctx.plugin(JsonlSessionPersistence, { root, ...options }));
    const parent = await stage.open(log);
    for (const contender of CONTENDERS) {
      const run = await parent.start(contender);
      await run.result;
      await stage.ctx.sessions.flush(run.localAgent!.session);
      const bytes = await size(root, run.id);
      sample(`on disk, ${storage}`, contender, { bytes });
      await end(run);
    }
    await parent.dispose();
    await stage.dispose();
    await rm(root, { recursive: true });
  }
}

async function size(root: string, id: string): Promise<number> {
  const files = await readdir(root, { recursive: true, withFileTypes: true });
  const own = files.filter((file) => file.isFile() && file.parentPath.endsWith(id));
  if (own.length !== 1) throw new Error(`found ${own.length} logs of session ${id}; expected one`);
  return (await stat(join(own[0]!.parentPath, own[0]!.name))).size;
}
