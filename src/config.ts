/**
 * The plugin's options: their types, defaults and checks.
 *
 * @module
 */
import z from '@deepseek-ai/schemastery';
import { closestMatch } from 'leven';
import type { SeedLimits } from './child/seed-limit.ts';
import type { ToolGuard } from './child/guard.ts';
import type { SeedBoundary } from './seed/boundary.ts';
import type { SeedOptions } from './seed/build.ts';

/** Options of the plugin, as a cordis.yml row or `ctx.plugin()` gives them. This is where each is described. */
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
  /** Tools that the children of this provider, and theirs, may not call: exact names. Default: none is forbidden. */
  toolGuard?: ToolGuard;
  /** The most tokens of prompt that a fork may inherit, a positive integer. Default: no bound. */
  maxSeedTokens?: number;
  /** The same for a fork on another route than its parent's, at full price. Default: `maxSeedTokens`. */
  maxSeedTokensOnOtherRoute?: number;
}

/** Options as the schema returns them: defaults filled in, what has no fixed default as given. */
export type ResolvedConfig = Required<Omit<Config, Undefaulted>> & Pick<Config, Undefaulted>;

type Undefaulted = 'notice' | 'maxLiveForks' | 'toolGuard' | 'maxSeedTokens' | 'maxSeedTokensOnOtherRoute';

/** The default of an object that is absent unless it is given: its own would be an empty object. */
const ABSENT = undefined as never;

const names = z.array(z.string()).default(ABSENT);

const options = z.object({
  providerName: z.string().default('fork'),
  seedBoundary: z.union(['turn', 'step']).default('turn'),
  notice: z.union([z.boolean(), z.string()]),
  compactSeed: z.boolean().default(false),
  maxLiveForks: z.number().min(1).step(1),
  toolGuard: z.object({ allow: names, deny: names }).default(ABSENT),
  maxSeedTokens: z.number().min(1).step(1),
  maxSeedTokensOnOtherRoute: z.number().min(1).step(1),
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

/** How many tokens a fork may inherit; undefined when nothing bounds them. */
export function seedLimits({ maxSeedTokens, maxSeedTokensOnOtherRoute }: ResolvedConfig): SeedLimits | undefined {
  const sameRoute = maxSeedTokens ?? Infinity;
  const otherRoute = maxSeedTokensOnOtherRoute ?? sameRoute;
  return sameRoute === Infinity && otherRoute === Infinity ? undefined : { sameRoute, otherRoute };
}

/** Which tools children may not call; undefined when nothing is forbidden. */
export function guardOf({ toolGuard }: ResolvedConfig): ToolGuard | undefined {
  if (!toolGuard) return undefined;
  const { allow, deny } = toolGuard;
  return { ...(allow && { allow }), ...(deny && { deny }) };
}

/**
 * Schema of {@link Config}. It fills the defaults in, and refuses every key that is not an option and every value
 * that is out of range, all of them in one error.
 */
export const Config: z<Config, ResolvedConfig> = z.intersect([
  z.transform(z.any(), refuseFaulty).default({}),
  options,
]) as z<Config, ResolvedConfig>;

/** Refuses an object with all its faulty keys. What is no object is left to the schema of the options. */
function refuseFaulty(given: unknown): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
  const faults = Object.entries(given).flatMap(([key, value]) => {
    const fault = faultOf(key, value);
    return fault === undefined ? [] : `${key} ${fault}`;
  });
  // Cordis prints the message as one item of a list.
  if (faults.length > 0) throw new z.ValidationError(faults.join('\n  - '), {});
}

/** What is wrong with one key or its value. An object schema alone lets pass some of it. */
function faultOf(key: string, value: unknown): string | undefined {
  if (!Object.hasOwn(options.dict!, key)) return unknownKey(key);
  try {
    options.dict![key]!(value);
  } catch (error) {
    return (error as Error).message;
  }
  if (key === 'toolGuard') return faultOfGuard(value as object | null | undefined);
  return typeof value === 'string' ? faultOfText(key, value) : undefined;
}

function unknownKey(key: string): string {
  const accepted = Object.keys(options.dict!);
  const meant = closestMatch(key, accepted, { maxDistance: key.length / 2 });
  return `is not an option; ${meant === undefined ? `accepted are ${accepted.join(', ')}` : `did you mean ${meant}?`}`;
}

/** A blank text, a name with blanks around it, and one word as a notice: among it what YAML reads as text, not as a value. */
function faultOfText(key: string, text: string): string | undefined {
  const got = `but got ${JSON.stringify(text)}`;
  if (text.trim() === '') return `expected text that is not blank ${got}`;
  if (key === 'providerName' && text !== text.trim()) return `expected a name without blanks around it ${got}`;
  if (key === 'notice' && /^[!-~]+$/.test(text.trim())) return `expected true, false or a text of several words ${got}`;
  return undefined;
}

/** A guard that would forbid nothing, or something else than was meant. */
function faultOfGuard(given: object | null | undefined): string | undefined {
  const lists = Object.entries(given ?? {});
  const key = lists.map(([key]) => key).find((key) => key !== 'allow' && key !== 'deny');
  if (key !== undefined) return `has a key that is not an option: ${key}; accepted are allow, deny`;
  if (given && lists.every(([, names]) => !names)) return 'expected allow, deny or both but got none of them';
  const name = lists.flatMap(([, names]) => (names ?? []) as unknown[]).find((name) => !isName(name));
  return name === undefined ? undefined : `expected names of tools but got ${JSON.stringify(name)}`;
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value === value.trim();
}
