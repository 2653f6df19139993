/** The Chromium that a person would use, and the pages it shows. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

/** Names a Chromium that is not on the PATH. */
const VARIABLE = 'DSH_PRODUCT_CHROMIUM';
const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** Said when there is no Chromium. */
export const LEFT_OUT: string = `The web part was left out: no Chromium on the PATH, and ${VARIABLE} names none.`;

/**
 * Start Chromium without a window.
 * @returns the browser, or `undefined` when there is none on this machine.
 * @throws {Error} when the variable names a file that cannot be run.
 */
export async function startBrowser(): Promise<Browser | undefined> {
  const executablePath = process.env[VARIABLE] ?? await onPath();
  if (executablePath === undefined) return undefined;
  // Chromium refuses its sandbox to root.
  return chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] });
}

async function onPath(): Promise<string | undefined> {
  const files = (process.env.PATH ?? '').split(delimiter).flatMap((folder) => NAMES.map((name) => join(folder, name)));
  for (const file of files) {
    if (await access(file, constants.X_OK).then(() => true, () => false)) return file;
  }
  return undefined;
}
