/**
 * The plugin's options: their types, defaults and checks.
 *
 * @module
 */
import z from '@deepseek-ai/schemastery';
import type { SeedBoundary } from './seed/boundary.ts';
import type { SeedOptions } from './seed/build.ts';

/** Options of the plugin, as a cordis.yml row or `ctx.plugin()` gives them. */
export interface Config {
  /** Name in `ctx.subagents` that a delegation tool's `provider` refers to. Default `fork`. */
  providerName?: string;
  /** Where inherited history ends: `turn`, the last completed turn, or `step`, the request being answered. Default `turn`. */
  seedBoundary?: SeedBoundary;
  /** The message between history and task: the standard one, none, or this text. Default: on with `step`, off with `turn`. */
  notice?: boolean | string;
  /** Whether the seed leaves out streamed chunks, inbox bookkeeping and inherited descriptors. Default `false`. */
  compactSeed?: boolean;
  /** How many children of this provider may live at once under one root agent, a positive integer. Default: no bound. */
  maxLiveForks?: number;
}

/** Options as the schema returns them: defaults filled in, what has no fixed default as given. */
export type ResolvedConfig = Required<Omit<Config, 'notice' | 'maxLiveForks'>> & Pick<Config, 'notice' | 'maxLiveForks'>;

const options = z.object({
  providerName: z.string().default('fork').description('Name in `ctx.subagents`.'),
  seedBoundary: z.union(['turn', 'step']).default('turn').description('Where inherited history ends.'),
  notice: z.union([z.boolean(), z.string()]).description('Message between history and task.'),
  compactSeed: z.boolean().default(false).description('Leave out of the seed what no reader of a child uses.'),
  maxLiveForks: z.number().min(1).step(1).description('How many children may live at once under one root agent.'),
});

/**
 * What shapes a seed. The default of `notice` is here, because it depends on the boundary.
 * A key that a cordis.yml leaves empty is null, which counts as left out.
 */
export function seedOptions({ seedBoundary, notice, compactSeed }: ResolvedConfig): SeedOptions {
  return { seedBoundary, notice: notice ?? seedBoundary === 'step', compactSeed };
}

/** How many children may live at once under one root agent; `Infinity` by default. */
export function liveLimit({ maxLiveForks }: ResolvedConfig): number {
  return maxLiveForks ?? Infinity;
}

/** Schema of {@link Config}: a blank text, a value out of range and a key that does not exist are refused. */
export const Config: z<Config, ResolvedConfig> = z.intersect([
  options,
  z.transform(z.any(), refuseUnknownAndBlank),
]) as z<Config, ResolvedConfig>;

/** Refuses what an object schema alone lets pass: among it the words for a boolean that YAML reads as text. */
function refuseUnknownAndBlank(given: object): void {
  const accepted = Object.keys(options.dict!);
  for (const [key, value] of Object.entries(given)) {
    if (!accepted.includes(key)) {
      throw new z.ValidationError(`is not an option; accepted are ${accepted.join(', ')}`, { path: [key] });
    }
    if (key === 'notice' && /^(?:on|off|yes|no)$/i.test(String(value))) {
      throw new z.ValidationError(`expected true, false or a text for the model but got ${JSON.stringify(value)}`, { path: [key] });
    }
    if (typeof value === 'string' && value.trim() === '') {
      throw new z.ValidationError(`expected text that is not blank but got ${JSON.stringify(value)}`, { path: [key] });
    }
  }
}
