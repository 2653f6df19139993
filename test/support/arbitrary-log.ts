/** Arbitrary logs, in the words of the ones written by hand. */
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import fc from 'fast-check';
import { handLog } from './hand-log.ts';
import type { Word } from './hand-log.ts';

/** A log up to any of its events, and how the whole of it goes on from there. */
export interface Grown {
  readonly log: readonly SessionEvent[];
  readonly whole: readonly SessionEvent[];
}

const some = (words: readonly Word[], maxLength = 2): fc.Arbitrary<Word[]> => fc.array(fc.constantFrom(...words), { maxLength });
const sequence = (...parts: readonly (Word | fc.Arbitrary<readonly Word[]>)[]): fc.Arbitrary<Word[]> =>
  fc.tuple(...parts.map((part) => typeof part === 'string' ? fc.constant([part]) : part)).map((all) => all.flat());
const repeated = (part: fc.Arbitrary<readonly Word[]>, maxLength: number): fc.Arbitrary<Word[]> =>
  fc.array(part, { maxLength }).map((all) => all.flat());
const one = (...choices: readonly (readonly Word[])[]): fc.Arbitrary<readonly Word[]> => fc.constantFrom(...choices);

const failure = sequence(some(['chunk', 'queue', 'chunk', 'tell']), one(['fail'], ['abort']), some(['compact', 'tell', 'plan', 'route', 'run', 'done']));
const answer = sequence(
  some(['chunk', 'queue'], 3),
  one([], ['say'], ['call1', 'result'], ['call1', 'tell', 'result'], ['call3', 'result', 'queue', 'result', 'result', 'plan']),
);
const step = (retries: number): fc.Arbitrary<Word[]> =>
  sequence('step', some(['ask', 'more', 'tell', 'queue', 'run']), repeated(failure, retries), answer, '/step', some(['queue', 'compact', 'plan', 'run', 'done', 'compacting', 'compacted']));
const turn = (retries: number): fc.Arbitrary<Word[]> =>
  sequence('queue', 'turn', some(['queue']), repeated(step(retries), 3), one(['/turn'], ['/cancelled'], ['/closed'], ['/failed']), some(['queue', 'plan', 'tell', 'compact', 'run', 'done', 'compacting', 'compacted', 'price'], 3));

/** The words of a log that a loop could have written. Each request is asked again so often at most, with or without new input. */
export function words(retries: number): fc.Arbitrary<Word[]> {
  return sequence(some(['queue', 'plan', 'tell', 'run']), repeated(turn(retries), 3));
}

/** Logs of such words. */
export function grown(retries: number): fc.Arbitrary<Grown> {
  return fc.tuple(words(retries).map(handLog), fc.nat())
    .map(([whole, cut]) => ({ whole, log: whole.slice(0, cut % (whole.length + 1)) }));
}
