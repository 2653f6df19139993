/**
 * Repeatable text with the statistics of written language.
 *
 * @module
 */

/** A stream of numbers in [0, 1) that is the same in every run. */
export type Random = () => number;

const CONSONANTS = 'bcdfglmnprst';
const VOWELS = 'aeiou';
const VOCABULARY = 5000;

/**
 * A deterministic random stream (mulberry32).
 * @param seed - any integer.
 * @returns the stream.
 */
export function randomFrom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6D2B79F5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * A whole number, every one equally likely.
 * @param random - where chance comes from.
 * @param least - the smallest result.
 * @param most - the largest result.
 */
export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

/**
 * Sentences with words as a language uses them: few of them often, most of them rarely.
 * @param random - where chance comes from.
 * @param count - how many words.
 */
export function prose(random: Random, count: number): string {
  return Array.from({ length: count }, (_, index) => {
    const rank = Math.floor(VOCABULARY ** random());
    return `${VOCABULARY_WORDS[rank - 1]!}${index % 12 === 11 ? '.\n' : ' '}`;
  }).join('');
}

/**
 * A text in the pieces in which a model streams it: short words whole, longer ones in parts.
 * @param text - any text.
 * @returns its tokens in order; joined they are the text.
 */
export function tokens(text: string): string[] {
  return text.match(/\s?\S{1,5}|\s/g) ?? [];
}

const VOCABULARY_WORDS: readonly string[] = Array.from({ length: VOCABULARY }, spell);

/** The word of a rank: the oftener a word is used, the shorter it is. */
function spell(_: unknown, rank: number): string {
  let left = rank + 1;
  let word = '';
  while (left > 0) {
    word += CONSONANTS[left % 12]! + VOWELS[left % 5]!;
    left = Math.floor(left / 12);
  }
  return word;
}
