/**
 * Installs the real `dsh`, adds this package as a user does, drives it against a loopback model, and judges
 * what a person sees and what the model was sent. `headless` or `web` as an argument runs that part alone.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pack } from '../deployment.ts';
import { LEFT_OUT, startBrowser } from './browser.ts';
import { add, judgeAll } from './claims.ts';
import type { Tally } from './claims.ts';
import { headlessJourneys } from './headless.ts';
import type { Kit } from './home.ts';
import { installProduct } from './install.ts';
import { webJourneys } from './web.ts';

/** Judges the web part, or says that it was left out. */
async function judgeWeb(kit: Kit, screenshots: string): Promise<Tally> {
  const browser = await startBrowser();
  if (browser === undefined) {
    console.log(`\n${LEFT_OUT}`);
    return { held: 0, failed: 0 };
  }
  await mkdir(screenshots);
  const tally = await judgeAll(webJourneys({ ...kit, browser, screenshots }));
  await browser.close();
  console.log(`\nscreenshots: ${screenshots}`);
  return tally;
}

const [part] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'fork-product-'));
const scratch = join(folder, 'homes');
await mkdir(scratch);
const product = await installProduct();
console.log('packing this package');
const { tarball } = await pack(folder);
const kit = { product, tarball, scratch };
let tally: Tally = { held: 0, failed: 0 };
if (part !== 'web') tally = add(tally, await judgeAll(headlessJourneys(kit)));
if (part !== 'headless') tally = add(tally, await judgeWeb(kit, join(folder, 'screenshots')));
if (tally.failed === 0) await rm(scratch, { recursive: true });
else console.log(`\nhomes of the product: ${scratch}`);
console.log(`\n${tally.held} claims hold, ${tally.failed} fail`);
process.exitCode = tally.failed === 0 ? 0 : 1;
