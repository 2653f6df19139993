import type { ViteUserConfig } from 'vitest/config';
import base from '../vitest.config.ts';

/** The specs of what mounts the rules on the harness. */
const config: ViteUserConfig = {
  ...base,
  test: {
    ...base.test,
    include: ['test/{cache-report,compact,continuable,faults,invariant,live-forks,notice,provider,route,step}.spec.ts', 'test/faults/cut-short.spec.ts'],
    isolate: false,
    typecheck: { enabled: false },
  },
};

export default config;
