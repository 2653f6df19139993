/**
 * Boots a cordis.yml as a host does: through the Loader and an include entry.
 *
 * @module
 */
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Context } from '@deepseek-ai/cordis';
import { Include } from '@deepseek-ai/cordis-plugin-include';
import { Loader } from '@deepseek-ai/cordis-plugin-loader';
import type { Entry } from '@deepseek-ai/cordis-plugin-loader';

/** Fiber states of Cordis, which exports them as a type only. */
const PENDING = 0;
const ACTIVE = 2;

/**
 * Mount every row of a cordis.yml.
 * @param file - path of the file.
 * @returns the root context with all rows running.
 * @throws {Error} naming each row that does not run, with its cause.
 */
export async function boot(file: string): Promise<Context> {
  const ctx = new Context();
  const errors = new Set<string>();
  const stopCollecting = ctx.logger.exporter({ levels: { default: 0 }, export: ({ args: [error] }) => void errors.add(String(error)) });
  const url = pathToFileURL(file);
  ctx.baseUrl = new URL('.', url).href;
  await ctx.plugin(Loader);
  ctx.loader.builtins.include = Include;
  await ctx.loader.create({ name: 'cordis:include', config: { path: url.href } });
  await ctx.loader.await();
  const missing = [...ctx.loader.entries()].filter((entry) => !entry.disabled && entry.fiber?.state !== ACTIVE);
  if (missing.length === 0) {
    await stopCollecting();
    return ctx;
  }
  const problems = missing.map((entry) => problem(ctx, entry));
  await ctx.fiber.dispose();
  throw new Error([`${basename(file)} does not boot`, ...problems, ...errors].join('\n'));
}

function problem(ctx: Context, { fiber, options: { id, name } }: Entry): string {
  const absent = Object.keys(fiber?.inject ?? {}).filter((service) => ctx.get(service) === undefined);
  return `row ${id} (${name}) ${fiber?.state === PENDING ? `waits for ${absent.join(', ')}` : 'does not run'}`;
}
