import type { ViteUserConfig } from 'vitest/config';
import base from '../vitest.config.ts';

/** The specs of the rules that are functions of a log, of options or of a result. */
const config: ViteUserConfig = {
  ...base,
  test: {
    ...base.test,
    include: ['test/{config,harness/*,seed/*,child/diagnostic,invariant/inheritance,cache-report/prefix-difference,cache-report/prompt-request}.spec.ts'],
    isolate: false,
    typecheck: { enabled: false },
  },
};

export default config;
