/** The published jsonl persistence in a directory that goes with the test. */
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Context } from '@deepseek-ai/cordis';
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl';
import { onTestFinished } from 'vitest';

/** An empty directory that is removed when the test is over. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'fork-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** What a crash at this moment leaves of a directory: a copy of what is on the disk, without files still being written. */
export async function crashed(directory: string): Promise<string> {
  const copy = await temporaryDirectory();
  await cp(directory, copy, { recursive: true, filter: (source) => !source.endsWith('.tmp') });
  return copy;
}

/** Mounts the persistence that keeps its logs under this directory; it has written all when the test is over. */
export function mountPersistence(root: string): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    const persistence = ctx.plugin(JsonlSessionPersistence, { root });
    onTestFinished(() => persistence.dispose());
    await persistence;
  };
}
