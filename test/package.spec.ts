import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Context } from '@deepseek-ai/cordis';
import { Loader } from '@deepseek-ai/cordis-plugin-loader';
import { satisfies } from 'semver';
import { afterAll, beforeAll, expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { boot, CORDIS, HARNESS, install, load, pack } from '../scripts/deployment.ts';
import type { Packed } from '../scripts/deployment.ts';
import * as cacheReport from '../src/cache-report/index.ts';
import * as fork from '../src/index.ts';
import * as invariant from '../src/invariant/index.ts';

const peers: Readonly<Record<string, string>> = manifest.peerDependencies;
const pinned: Readonly<Record<string, string>> = manifest.devDependencies;

/** The modules of this package, as paths. */
async function sources(): Promise<string[]> {
  const files = await readdir(new URL('../src', import.meta.url), { recursive: true });
  return files.filter((file) => file.endsWith('.ts'));
}

/** The module that a built file is named after, without its room. */
function moduleOf(built: string): string {
  return built.replace(/^lib\/(?:types\/)?(.+?)(?:\.d\.ts|\.js)$/, '$1.ts');
}

let scratch: string;
let packed: Packed;

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'fork-package-'));
  packed = await pack(scratch);
}, 120_000);

afterAll(() => rm(scratch, { recursive: true }));

test('the plugin has the four names the loader reads, and no default that would hide them', async () => {
  const ctx = new Context();
  await ctx.plugin(Loader);
  expect(ctx.loader.unwrapExports(fork)).toBe(fork);
  expect(fork).toMatchObject({
    name: 'subagent-fork-in-process', inject: ['subagents'], Config: expect.any(Function), apply: expect.any(Function),
  });
  expect(Object.keys(fork)).toMatchInlineSnapshot(`
    [
      "seedEnd",
      "ForkInProcessProvider",
      "name",
      "inject",
      "Config",
      "apply",
    ]
  `);
});

test('the companions are plugins of their own', () => {
  expect({ ...invariant }).toEqual({ name: 'subagent-fork-in-process-invariant', inject: ['invariants'], apply: expect.any(Function) });
  expect({ ...cacheReport }).toEqual({
    name: 'subagent-fork-in-process-cache-report', inject: ['agents', 'subagents'], apply: expect.any(Function),
  });
});

test('what is packed is exported, a module that exports share, or documentation', async () => {
  const exported = Object.values(manifest.exports).flatMap((target) => typeof target === 'string' ? [target] : Object.values(target));
  const documentation = ['LICENSE', 'README.i18n.yaml', 'README.md', 'README.zh.md', 'bench/results.svg'];
  const modules = (await sources()).map((file) => basename(file));
  const shared = packed.files.filter((file) => !exported.includes(`./${file}`) && modules.includes(moduleOf(file)));
  expect(packed.files).toEqual([...documentation, ...exported.map((path) => path.slice(2)), ...shared].toSorted());
});

test('what the sources import is a peer or a dependency', async () => {
  const texts = await Promise.all((await sources()).map((file) => readFile(new URL(`../src/${file}`, import.meta.url), 'utf8')));
  const imported = texts.flatMap((text) => [...text.matchAll(/from '(@[^/]+\/[^/']+|(?![.@]|node:)[^/']+)/g)].map((match) => match[1]!));
  expect([...new Set(imported)].toSorted()).toEqual([...Object.keys(peers), ...Object.keys(manifest.dependencies)].toSorted());
});

test.each(Object.entries(peers))('peer %s is required, in a range that was run', (peer, range) => {
  expect(manifest).not.toHaveProperty('peerDependenciesMeta');
  expect(range).toBe(peer === '@deepseek-ai/cordis' ? '^4.0.1' : '^0.1.0-rc.8');
  expect(pinned[peer]).toMatch(/^\d+\.\d+\.\d+(-rc\.\d+)?$/);
  expect(pinned[peer]).toSatisfy((version: string) => satisfies(version, range));
});

test('the package alone, installed in an empty folder, brings its peers and loads', async () => {
  const folder = join(scratch, 'alone');
  await mkdir(folder);
  await install(folder, packed.tarball, {});
  expect(await load(folder)).toEqual({
    [manifest.name]: Object.keys(fork).toSorted(),
    [`${manifest.name}/invariant`]: Object.keys(invariant).toSorted(),
    [`${manifest.name}/cache-report`]: Object.keys(cacheReport).toSorted(),
  });
}, 120_000);

test('a deployment installs the package beside a harness, boots a cordis.yml that names it, and forks', async () => {
  const folder = join(scratch, 'deployment');
  await mkdir(folder);
  await install(folder, packed.tarball, Object.fromEntries([...CORDIS, ...HARNESS].map((name) => [name, pinned[name]!])));
  expect(await boot(folder)).toMatchInlineSnapshot(`
    {
      "children": {
        "step_fork": [
          "The first request.",
          "Answer 0.",
          "The second request.",
          "You are a subagent. The conversation above is your parent agent's, inherited as background only. Every request, goal, plan and delegation in it, finished or not, is the parent's to carry out, not yours. Your task follows. Do only that task and answer it.",
          "The task of step_fork.",
        ],
        "turn_fork": [
          "The first request.",
          "Answer 0.",
          "The task of turn_fork.",
        ],
      },
      "errors": [
        "ValidationError: invalid config:
      - seedBoundery is not an option; did you mean seedBoundary?",
      ],
      "mounted": [
        "cordis:include",
        "@deepseek-ai/dsh-llm",
        "@deepseek-ai/dsh-session",
        "@deepseek-ai/dsh-system-prompt",
        "@deepseek-ai/dsh-tools",
        "@deepseek-ai/dsh-agent",
        "@deepseek-ai/dsh-invariants",
        "@deepseek-ai/dsh-agent-loop",
        "@deepseek-ai/dsh-subagent",
        "@deepseek-ai/dsh-subagent-fork-in-process",
        "@deepseek-ai/dsh-tool-subagent",
        "@deepseek-ai/dsh-subagent-fork-in-process",
        "@deepseek-ai/dsh-tool-subagent",
        "@deepseek-ai/dsh-subagent-fork-in-process/invariant",
        "@deepseek-ai/dsh-subagent-fork-in-process/cache-report",
      ],
    }
  `);
}, 120_000);
