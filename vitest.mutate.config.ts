import { mergeConfig } from 'vitest/config';
import type { ViteUserConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** Without the specs that run the sources in another process and the one that takes minutes; one worker for all files. */
const config: ViteUserConfig = mergeConfig(base, {
  test: {
    exclude: ['test/package.spec.ts', 'test/demo.spec.ts', 'test/faults/killed.spec.ts', 'test/random.spec.ts'],
    isolate: false,
    typecheck: { enabled: false },
  },
});

export default config;
