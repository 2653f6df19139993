/**
 * Prints headings and labelled text on a terminal or into a file.
 *
 * @module
 */
import { styleText } from 'node:util';

/** A terminal's own width, at most 100. What is no terminal has none. */
const WIDTH = Math.min(process.stdout.columns || 100, 100);
const LABEL = 10;

/**
 * Print the title of a part, with an empty line above.
 * @param title - a few words.
 * @param depth - how deep it stands, 0 by default.
 */
export function heading(title: string, depth = 0): void {
  console.log(`\n${'  '.repeat(depth)}${styleText('bold', title)}`);
}

/**
 * Print text under a label, wrapped and aligned.
 * @param label - one short word.
 * @param text - any text; its white space is folded.
 * @param depth - how deep it stands, 0 by default.
 */
export function entry(label: string, text: string, depth = 0): void {
  const indent = '  '.repeat(depth + 1);
  const [first = '', ...rest] = wrap(text, WIDTH - indent.length - LABEL);
  console.log(indent + styleText('dim', label.padEnd(LABEL)) + first);
  for (const line of rest) console.log(indent + ' '.repeat(LABEL) + line);
}

/** The lines of a text at word boundaries, none longer than the width unless a word is. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.trim().split(/\s+/)) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
