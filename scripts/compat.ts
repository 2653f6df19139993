/**
 * Installs and loads this package alone, then tries it on the published combinations of Cordis and harness, and
 * tells which peer range refuses which. What its own ranges admit has to install as npm does it by default.
 */
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { satisfies } from 'semver';
import { boot, CORDIS, HARNESS, install, load, pack, SELF } from './deployment.ts';
import type { Account, Versions } from './deployment.ts';

interface Combination {
  readonly name: string;
  /** Whether the peer ranges of this package admit it. */
  readonly admitted: boolean;
  readonly versions: Versions;
}

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly peerDependencies?: Versions;
}

interface Outcome extends Pick<Combination, 'name' | 'admitted'> {
  /** Why npm refuses the combination; the rest is then seen with `--legacy-peer-deps`. */
  readonly conflict: string | undefined;
  /** The packages whose peer ranges do not admit what stands beside them. */
  readonly refusing: readonly string[];
  readonly account: Account;
}

const RELEASE = '0.1.0-rc.8';
const PRERELEASE = '0.1.1-rc.2';
/** The harness packages of which {@link PRERELEASE} is published. */
const AHEAD = ['@deepseek-ai/dsh-agent', '@deepseek-ai/dsh-invariants', '@deepseek-ai/dsh-llm', '@deepseek-ai/dsh-session'];

const release = versions(HARNESS, RELEASE);
const oldest = { ...release, ...versions(CORDIS, '4.0.1', '1.0.2', '1.0.6', '3.18.1') };
const newest = { ...release, ...versions(CORDIS, '4.0.4', '1.0.5', '1.0.9', '3.18.4') };
const combinations: readonly Combination[] = [
  { name: `oldest Cordis, harness ${RELEASE}`, admitted: true, versions: oldest },
  { name: `newest Cordis, harness ${RELEASE}`, admitted: true, versions: newest },
  ...[...AHEAD.map((name) => [name]), AHEAD].map((ahead) => ({
    name: `the same, but ${short(ahead)} ${PRERELEASE}`, admitted: false, versions: { ...newest, ...versions(ahead, PRERELEASE) },
  })),
];

/** Pairs names with versions; the last version stands for all further names. */
function versions(names: readonly string[], ...given: readonly string[]): Versions {
  return Object.fromEntries(names.map((name, index) => [name, given[index] ?? given.at(-1)!]));
}

function short(names: readonly string[]): string {
  return names.join(', ').replaceAll('@deepseek-ai/', '');
}

/** What stands beside this package after an install. */
async function installed(folder: string): Promise<Manifest[]> {
  const scope = join(folder, 'node_modules/@deepseek-ai');
  const names = await readdir(scope);
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(scope, name, 'package.json'), 'utf8')) as Manifest));
}

function refusing(manifests: readonly Manifest[]): string[] {
  const found = new Map(manifests.map(({ name, version }) => [name, version]));
  const refuses = ([peer, range]: [string, string]): boolean => found.has(peer) && !satisfies(found.get(peer)!, range);
  return manifests.filter(({ peerDependencies = {} }) => Object.entries(peerDependencies).some(refuses)).map(({ name }) => name);
}

/** The peer in npm's report of a conflict, or all of the report when it is another one. */
function conflictOf(error: unknown): string {
  const report = (error as { readonly stderr: string }).stderr;
  return /Could not resolve dependency:\nnpm error (.+)/.exec(report)?.[1] ?? report;
}

/**
 * Installs, boots and forks in a folder of its own.
 * @param peers - versions for peers that npm does not add with `--legacy-peer-deps`.
 */
async function attempt(folder: string, tarball: string, combination: Combination, peers: Versions): Promise<Outcome> {
  const conflict = await install(folder, tarball, combination.versions).then(() => undefined, conflictOf);
  if (conflict !== undefined) await install(folder, tarball, { ...peers, ...combination.versions }, '--legacy-peer-deps');
  const account = await boot(folder).catch((error: unknown): Account => ({ mounted: [], children: {}, errors: [String(error)] }));
  return { name: combination.name, admitted: combination.admitted, conflict, refusing: refusing(await installed(folder)), account };
}

const mounts = ({ mounted }: Account): boolean =>
  mounted.filter((name) => name === SELF).length === 2 && mounted.includes(`${SELF}/invariant`);
const forks = ({ children: { turn_fork: turn, step_fork: step } }: Account): boolean =>
  turn?.join(' ') === 'The first request. Answer 0. The task of turn_fork.'
  && step?.join(' ').startsWith('The first request. Answer 0. The second request. ') === true && step.at(-1) === 'The task of step_fork.';
const refusesMisspelt = ({ errors }: Account): boolean => errors.some((text) => text.includes('seedBoundery is not an option'));

/** Whether npm installs this package in an empty folder, and every entry of it loads there. */
async function standsAlone(folder: string, tarball: string): Promise<boolean> {
  await mkdir(folder);
  try {
    await install(folder, tarball, {});
    await load(folder);
    return true;
  } catch (error) {
    console.error(conflictOf(error));
    return false;
  }
}

const scratch = await mkdtemp(join(tmpdir(), 'fork-compat-'));
try {
  const { tarball } = await pack(scratch);
  const alone = await standsAlone(join(scratch, 'alone'), tarball);
  const outcomes: Outcome[] = [];
  let peers: Versions = {};
  for (const [index, combination] of combinations.entries()) {
    const folder = join(scratch, String(index));
    outcomes.push(await attempt(folder, tarball, combination, peers));
    peers = Object.fromEntries((await installed(folder)).filter(({ name }) => name !== SELF).map(({ name, version }) => [name, version]));
  }
  const word = (holds: boolean): string => holds ? 'yes' : 'NO';
  console.log(`Installed alone in an empty folder, it loads: ${word(alone)}\n`);
  console.log('| combination | npm installs | refusing packages | this one among them | mounts | forks | misspelt key refused |');
  console.log('|---|---|---|---|---|---|---|');
  for (const { name, conflict, refusing, account } of outcomes) {
    const cells = [
      name, conflict === undefined ? 'yes' : `with --legacy-peer-deps; else ${conflict}`, refusing.length,
      refusing.includes(SELF) ? 'yes' : 'no', word(mounts(account)), word(forks(account)), word(refusesMisspelt(account)),
    ];
    console.log(`| ${cells.join(' | ')} |`);
  }
  const fine = outcomes.every(({ admitted, conflict, refusing, account }) =>
    (!admitted || (conflict === undefined && !refusing.includes(SELF)))
    && mounts(account) && forks(account) && refusesMisspelt(account));
  process.exitCode = alone && fine ? 0 : 1;
} finally {
  await rm(scratch, { recursive: true });
}
