import { defineConfig } from 'tsdown';
import type { UserConfig } from 'tsdown';

/** Three entries, their code in `lib` and their declarations in `lib/types`. Nothing of node_modules is inlined. */
const shared: UserConfig = {
  entry: { index: 'src/index.ts', invariant: 'src/invariant/index.ts', 'cache-report': 'src/cache-report/index.ts' },
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
