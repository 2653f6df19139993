import type { ViteUserConfig } from 'vitest/config';
import base from '../vitest.config.ts';

/** The specs of what mounts the rules on the harness. */
const config: ViteUserConfig = {
  ...base,
  test: {
    ...base.test,
    include: ['test/{provider,child/*,invariant/index,cache-report/index,seed/compact,seed/notice,fork/step,hostile/faults,hostile/cut-short}.spec.ts'],
    isolate: false,
    typecheck: { enabled: false },
  },
};

export default config;
