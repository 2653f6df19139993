/** Records the README pair as saying the same, or with `--check` tells which side changed since. */
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';

const SIDES = ['README.md', 'README.zh.md'];
const RECORD = 'README.i18n.yaml';
const HEADER = [
  '# The git blob hash of each README when both were last read side by side and said the same.',
  '# After editing one, bring the other along, then record the pair with: npm run readme',
];

const root = new URL('../', import.meta.url);

/** The hash by which git names a file's content. */
async function blobHash(file: string): Promise<string> {
  const content = await readFile(new URL(file, root));
  return createHash('sha1').update(`blob ${content.length}\0`).update(content).digest('hex');
}

const current = await Promise.all(SIDES.map(async (side) => `${side}: ${await blobHash(side)}`));

if (process.argv.includes('--check')) {
  const recorded = (await readFile(new URL(RECORD, root), 'utf8')).split('\n');
  const drifted = SIDES.filter((_side, index) => !recorded.includes(current[index]!));
  if (drifted.length > 0) {
    console.error(`${drifted.join(' and ')} changed since ${RECORD} was written; make both sides say the same, then run: npm run readme`);
    process.exitCode = 1;
  }
} else {
  await writeFile(new URL(RECORD, root), [...HEADER, ...current, ''].join('\n'));
}
