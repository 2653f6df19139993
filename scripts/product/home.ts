/** A `DSH_HOME` of its own, with this package added as a user adds it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Product } from './install.ts';

/** What a command printed and how it ended. */
export interface Outcome {
  /** Its exit code; `null` when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running web product. */
export interface Server {
  readonly url: string;
  /** Ends it and waits until it has ended. */
  stop(): Promise<void>;
}

/** What every home is made of. */
export interface Kit {
  readonly product: Product;
  /** This package as npm packed it. */
  readonly tarball: string;
  /** A folder for everything of this run. */
  readonly scratch: string;
}

/** The profiles that users run. */
export type Profile = 'headless' | 'web';

/** One user's `dsh`. */
export interface Home {
  /** The folder it is run in. */
  readonly workspace: string;
  /** The folder of its sessions. */
  readonly sessions: string;
  /** What `dsh plugin add` of this package said. */
  readonly added: Outcome;
  /** Runs `dsh` to its end. */
  run(...args: readonly string[]): Promise<Outcome>;
  /** Replaces the profile's `cordis.patch.yml`. */
  patch(rows: string): Promise<void>;
  /** Starts `dsh web`, on a free port when none is given. A system prompt names the port. */
  serve(port?: string): Promise<Server>;
}

/** The text file of each workspace. */
export const PLAN = {
  file: 'plan.txt',
  text: 'The harbour has four cranes. Crane two is out of order until Friday.\n',
};

/** How long a command may take, in milliseconds. */
const PATIENCE = 60_000;

/**
 * Make a home and add this package to a profile of it.
 * @param url - where the model answers.
 */
export async function createHome({ product, tarball, scratch }: Kit, profile: Profile, url: string): Promise<Home> {
  const folder = await mkdtemp(join(scratch, `${profile}-`));
  const workspace = join(folder, 'harbour');
  await mkdir(workspace);
  await writeFile(join(workspace, PLAN.file), PLAN.text);
  await copyFile(tarball, join(workspace, basename(tarball)));
  const env = {
    ...process.env, PATH: product.path, DSH_HOME: join(folder, 'home'), DEEPSEEK_BASE_URL: url, DEEPSEEK_API_KEY: 'any',
    // With a display the web product asks for a folder in a window of the desktop.
    DISPLAY: undefined, WAYLAND_DISPLAY: undefined,
    // `npm run --silent` would have pnpm say nothing.
    npm_config_loglevel: undefined,
  };
  const start = (args: readonly string[]): ChildProcess => spawn(
    process.execPath,
    ['--expose-internals', product.script, ...args],
    { cwd: workspace, env, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const run = (...args: readonly string[]): Promise<Outcome> => outcome(start(args));
  return {
    workspace,
    sessions: join(env.DSH_HOME, 'sessions'),
    added: await run('plugin', '--profile', profile, 'add', `./${basename(tarball)}`),
    run,
    patch: (rows) => writeFile(join(env.DSH_HOME, 'profiles', profile, 'cordis.patch.yml'), rows),
    serve: (port = '0') => server(start(['web', '--no-open', '--port', port])),
  };
}

/** Runs a `dsh` to its end. */
async function outcome(child: ChildProcess): Promise<Outcome> {
  const late = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
  const ended = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout!), text(child.stderr!), ended]);
  clearTimeout(late);
  return { code: child.exitCode, stdout, stderr };
}

/** Waits until a `dsh web` has named its address. */
async function server(child: ChildProcess): Promise<Server> {
  const ended = once(child, 'exit');
  let printed = '';
  const url = new Promise<string>((resolve) => {
    child.stdout!.setEncoding('utf8').on('data', (piece: string) => {
      printed += piece;
      const found = /dsh web: (http\S+)/.exec(printed)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
  child.stderr!.setEncoding('utf8').on('data', (piece: string) => void (printed += piece));
  const started = await Promise.race([url, ended.then(() => undefined)]);
  if (started === undefined) throw new Error(`dsh web ended before it named its address; it printed: ${printed}`);
  return {
    url: started,
    stop: async () => {
      child.kill('SIGINT');
      await ended;
    },
  };
}
