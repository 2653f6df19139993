/** Runs journeys through the product and judges what is claimed of them, one line a claim. */
import { inspect, styleText } from 'node:util';

/** Passes when the claim holds, and throws otherwise. Claims of one journey are judged in order. */
export type Check<Stage> = (stage: Stage) => void | Promise<void>;

/** One way through the product, and what it must show. */
export interface Journey<Stage> {
  /** What is set up, in a few words. */
  readonly name: string;
  /** Sets it up. Most journeys end here, and the claims read what came of them; others go on with each claim. */
  readonly start: () => Promise<Stage>;
  /** A sentence about the product, and its check. */
  readonly claims: Readonly<Record<string, Check<Stage>>>;
  /** Called behind every claim, with its place among them. */
  readonly after?: (stage: Stage, place: number) => Promise<void>;
  /** Called at the end, whatever happened. */
  readonly end?: (stage: Stage) => Promise<void>;
}

/** How many claims held, and how many did not. */
export interface Tally {
  readonly held: number;
  readonly failed: number;
}

/** Judges journeys one after the other; each is of its own stage. */
export async function judgeAll<Stage>(journeys: readonly Journey<Stage>[]): Promise<Tally> {
  let total: Tally = { held: 0, failed: 0 };
  for (const journey of journeys) total = add(total, await judge(journey));
  return total;
}

/** Adds two tallies up. */
export function add(one: Tally, other: Tally): Tally {
  return { held: one.held + other.held, failed: one.failed + other.failed };
}

async function judge<Stage>({ name, start, claims, after, end }: Journey<Stage>): Promise<Tally> {
  console.log(`\n${name}`);
  const sentences = Object.entries(claims);
  let stage: Stage;
  try {
    stage = await start();
  } catch (error) {
    for (const [sentence] of sentences) print(sentence, asError(error));
    return { held: 0, failed: sentences.length };
  }
  let failed = 0;
  for (const [place, [sentence, check]] of sentences.entries()) {
    const error = await reasonOf(async () => check(stage));
    await after?.(stage, place).catch(() => undefined);
    print(sentence, error);
    if (error !== undefined) failed++;
  }
  await end?.(stage);
  return { held: sentences.length - failed, failed };
}

/** Why something throws, if it does. */
async function reasonOf(check: () => Promise<void>): Promise<Error | undefined> {
  try {
    await check();
    return undefined;
  } catch (error) {
    return asError(error);
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(inspect(thrown));
}

/** Longest account of a failure, in lines. */
const ACCOUNT_LINES = 30;

function print(sentence: string, error: Error | undefined): void {
  const verdict = error === undefined ? styleText('green', 'holds') : styleText('red', 'FAILS');
  console.log(`  ${verdict}  ${sentence}`);
  if (error === undefined) return;
  const lines = error.message.split('\n').slice(0, ACCOUNT_LINES);
  console.log(lines.map((line) => `         ${line}`).join('\n'));
}
