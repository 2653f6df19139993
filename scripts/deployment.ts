/** This package as a deployment has it: packed, installed beside a harness in a scratch folder, booted from a cordis.yml. */
import { execFile } from 'node:child_process';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** This package as npm packed it. */
export interface Packed {
  readonly tarball: string;
  /** Every path in it, in order. */
  readonly files: readonly string[];
}

/** Exact versions by package name. */
export type Versions = Readonly<Record<string, string>>;

/** What `deployment/main.ts` saw. */
export interface Account {
  /** The name of each row that runs. */
  readonly mounted: readonly string[];
  /** The texts of each child's first request, by the tool that started it. */
  readonly children: Readonly<Record<string, readonly string[]>>;
  /** What was logged as an error. */
  readonly errors: readonly string[];
}

/** This package's name. */
export const SELF = '@deepseek-ai/dsh-subagent-fork-in-process';

/** The packages a deployment names; npm adds the peers they ask for. */
export const CORDIS: readonly string[] = ['cordis', 'cordis-plugin-loader', 'cordis-plugin-include', 'schemastery'].map(scoped);
export const HARNESS: readonly string[] = [
  'agent', 'agent-loop', 'invariants', 'llm', 'session', 'subagent', 'subagent-in-process-driver', 'system-prompt',
  'tool-subagent', 'tools',
].map((name) => scoped(`dsh-${name}`));

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const sources = ['scripts/deployment/cordis.yml', 'scripts/deployment/main.ts', 'test/support/model.ts'];

function scoped(name: string): string {
  return `@deepseek-ai/${name}`;
}

/** The entries of this package. */
const entries = [SELF, `${SELF}/invariant`, `${SELF}/cache-report`];

/** Build this package and pack it into a folder. */
export async function pack(into: string): Promise<Packed> {
  const { stdout } = await run('npm', ['pack', '--json', '--foreground-scripts=false', '--pack-destination', into], { cwd: root });
  const [packed] = JSON.parse(stdout) as [{ readonly filename: string; readonly files: readonly { readonly path: string }[] }];
  return { tarball: join(into, packed.filename), files: packed.files.map(({ path }) => path) };
}

/**
 * Install this package.
 * @param folder - an empty folder, which gets the deployment's files too.
 * @param tarball - this package, packed.
 * @param versions - the packages to install beside it; with none, npm adds the peers alone.
 * @param flags - further arguments of `npm install`.
 * @throws {Error} with npm's account in `stderr` when npm refuses.
 */
export async function install(folder: string, tarball: string, versions: Versions, ...flags: readonly string[]): Promise<void> {
  const dependencies = { ...versions, [SELF]: `file:${tarball}` };
  for (const source of sources) await cp(join(root, source), join(folder, source));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }, null, 2));
  await run('npm', ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...flags], { cwd: folder });
}

/** Import every entry of an installed package, and return the names that each exports. */
export async function load(folder: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const script = `
    const modules = await Promise.all(${JSON.stringify(entries)}.map(async (name) => [name, Object.keys(await import(name))]));
    console.log(JSON.stringify(Object.fromEntries(modules)));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: folder });
  return JSON.parse(stdout) as Readonly<Record<string, readonly string[]>>;
}

/** Boot an installed deployment, fork once at each boundary and return what was seen. */
export async function boot(folder: string): Promise<Account> {
  const { stdout } = await run(process.execPath, ['scripts/deployment/main.ts'], { cwd: folder });
  return JSON.parse(stdout) as Account;
}
