import { devNull } from 'node:os';
import { defineConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['soak/**/*.spec.ts'],
    env: { DSH_HOME: devNull, DEEPSEEK_API_KEY: 'loopback' },
    pool: 'forks',
    maxWorkers: '100%',
    execArgv: ['--expose-gc'],
    testTimeout: 2 * 60 * 60 * 1000,
    disableConsoleIntercept: true,
  },
});

export default config;
