import type { KnipConfig } from 'knip';

/** A row of a cordis.yml uses the package it names. */
const rows = (text: string): string => [...text.matchAll(/name: '(@[^']+)'/g)].map(([, name]) => `import '${name}';`).join('\n');

const config: KnipConfig = {
  entry: [
    'src/{index,invariant/index,cache-report/index}.ts',
    '{demo,bench}/main.ts',
    'scripts/{compat,readme}.ts',
    'scripts/deployment/main.ts',
    'scripts/product/{main,disturbance}.ts',
    'test/support/doomed-host.ts',
    '{demo,scripts,test}/**/*.yml',
    'test/**/*.spec-d.ts',
  ],
  project: ['{src,test,demo,bench,soak,mutation,scripts}/**/*.{ts,yml}', '*.config.ts'],
  vitest: { config: ['vitest.config.ts', '{mutation,soak}/*vitest.config.ts'] },
  stryker: { config: ['mutation/*.json'] },
  compilers: { yml: rows },
  ignoreExportsUsedInFile: { interface: true, type: true },
};

export default config;
