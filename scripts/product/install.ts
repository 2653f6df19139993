/** The real `dsh`, installed in a folder of its own that later runs use again. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** An installed product. */
export interface Product {
  /** The script that `node --expose-internals` runs as `dsh`. */
  readonly script: string;
  /** The PATH it needs: this Node and pnpm first. */
  readonly path: string;
}

const VERSION = '0.1.0-rc.8';

/** The versions that go with {@link VERSION}; later ones ask for packages that are not published. */
const MANIFEST = {
  name: 'dsh-product',
  private: true,
  dependencies: { '@deepseek-ai/dsh': VERSION },
  pnpm: {
    overrides: {
      '@deepseek-ai/cordis': '4.0.1',
      '@deepseek-ai/cordis-plugin-group': '1.0.1',
      '@deepseek-ai/cordis-plugin-hmr': '1.0.16',
      '@deepseek-ai/cordis-plugin-include': '1.0.6',
      '@deepseek-ai/cordis-plugin-loader': '1.0.2',
      '@deepseek-ai/cordis-plugin-timer': '1.1.3',
      '@deepseek-ai/schemastery': '3.18.1',
    },
    onlyBuiltDependencies: ['@deepseek-ai/dsh-subprocess-local', 'koffi', 'node-pty', 'protobufjs'],
  },
};

const run = promisify(execFile);

/**
 * Install the product unless it is there already.
 * The folder is `DSH_PRODUCT_DIR`, or one in the system's folder for temporary files.
 */
export async function installProduct(): Promise<Product> {
  const folder = process.env.DSH_PRODUCT_DIR ?? join(tmpdir(), `dsh-product-${VERSION}`);
  const manifest = JSON.stringify(MANIFEST, null, 2);
  const complete = await readFile(join(folder, 'complete.json'), 'utf8').catch(() => undefined);
  if (complete === manifest) {
    console.log(`dsh ${VERSION}: already in ${folder}`);
    return at(folder);
  }
  console.log(`dsh ${VERSION}: installing into ${folder}`);
  const fresh = `${folder}.${process.pid}`;
  await mkdir(fresh, { recursive: true });
  await writeFile(join(fresh, 'package.json'), manifest);
  const options = { cwd: fresh, env: { ...process.env, PATH: at(fresh).path }, maxBuffer: 2 ** 26 };
  await run('npm', ['install', '--prefix', 'tools', '--no-audit', '--no-fund', 'pnpm@10'], options);
  await run('pnpm', ['install', '--config.node-linker=hoisted'], options);
  await writeFile(join(fresh, 'complete.json'), manifest);
  await rm(folder, { recursive: true, force: true });
  await rename(fresh, folder);
  return at(folder);
}

function at(folder: string): Product {
  return {
    script: join(folder, 'node_modules/@deepseek-ai/dsh/lib/bin.js'),
    path: [join(folder, 'tools/node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
  };
}
