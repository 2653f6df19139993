import { defineConfig } from 'tsdown';
import type { UserConfig } from 'tsdown';

/** Three entries, their code in `lib` and their declarations in `lib/types`. Nothing of node_modules is inlined. */
const shared: UserConfig = {
  entry: ['src/index.ts', 'src/invariant.ts', 'src/cache-report.ts'],
  hash: false,
  fixedExtension: false,
  failOnWarn: true,
  deps: { onlyBundle: [] },
};

const config: UserConfig[] = defineConfig([
  { ...shared, outDir: 'lib', dts: false },
  { ...shared, outDir: 'lib/types', dts: { dtsOnly: true } },
]);

export default config;
