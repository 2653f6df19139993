/**
 * Puts generated text into a README.
 *
 * @module
 */
import { readFile, writeFile } from 'node:fs/promises';

const BLOCK = /(?<=<!-- bench:start -->\n)[^]*(?=<!-- bench:end -->)/;

/**
 * Replace what stands between `<!-- bench:start -->` and `<!-- bench:end -->`. A file that does not
 * exist or has no such marks stays as it is.
 * @param file - the README.
 * @param block - the generated Markdown.
 */
export async function replaceBlock(file: URL, block: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text !== undefined) await writeFile(file, text.replace(BLOCK, () => `\n${block}\n`));
}
