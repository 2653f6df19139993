import { devNull } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';

const source = (file: string): string => fileURLToPath(new URL(`src/${file}.ts`, import.meta.url));

const config: ViteUserConfig = defineConfig({
  resolve: {
    alias: [
      { find: /^@deepseek-ai\/dsh-subagent-fork-in-process$/, replacement: source('index') },
      { find: /^@deepseek-ai\/dsh-subagent-fork-in-process\/invariant$/, replacement: source('invariant/index') },
      { find: /^@deepseek-ai\/dsh-subagent-fork-in-process\/cache-report$/, replacement: source('cache-report/index') },
    ],
  },
  test: {
    include: ['test/**/*.spec.ts'],
    // No harness package writes to the home of whoever runs the tests.
    env: { DSH_HOME: devNull },
    // A plugin that a cordis.yml names is resolved by the aliases above only when the harness is inlined.
    server: { deps: { inline: [/@deepseek-ai\//, /published-fork/] } },
    typecheck: { enabled: true, include: ['test/**/*.spec-d.ts'] },
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      thresholds: { perFile: true, statements: 100, branches: 100, functions: 100, lines: 100 },
    },
  },
});

export default config;
