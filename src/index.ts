/**
 * The fork provider of DeepSeek Harness: a subagent that starts from its parent's session log.
 *
 * @module @deepseek-ai/dsh-subagent-fork-in-process
 */
import type { Context } from '@deepseek-ai/cordis';
import { Family } from './child/family.ts';
import { holdToGuard } from './child/guard.ts';
import { remind, reminderFor, spoken } from './child/reminder.ts';
import { renewWhenCompacted } from './child/renewal.ts';
import { Config, guardOf, seedOptions } from './config.ts';
import { correctDelegationTools } from './delegation-tool/correction.ts';
import { ForkInProcessProvider } from './provider.ts';

export { seedEnd } from './seed/boundary.ts';
export type { SeedBoundary } from './seed/boundary.ts';
export type { ResolvedConfig } from './config.ts';
export type { ToolGuard } from './child/guard.ts';
export { ForkInProcessProvider } from './provider.ts';
export type { Seed } from './seed/build.ts';
export type { SeedAnnouncement } from './announcement.ts';

export const name = 'subagent-fork-in-process';
export const inject: string[] = ['subagents'];
export { Config };
/**
 * Register the provider.
 * @param ctx - the plugin's context.
 * @param config - the options; their defaults are filled in here, so a direct call needs no schema.
 * @throws {ValidationError} for a key that is not an option and for a value that is out of range.
 */
export function apply(ctx: Context, config: Config = {}): void {
  const resolved = Config(config);
  const provider = new ForkInProcessProvider(ctx, resolved);
  ctx.subagents.registerProvider(provider);
  ctx.subagents.registerContinuableSetup((childCtx) => provider.composeContinuable(childCtx));
  if (resolved.seedBoundary === 'step') ctx.inject(['tools'], (scoped) => correctDelegationTools(scoped, provider.name));
  const guard = guardOf(resolved);
  const family = new Family(ctx, provider.name);
  if (guard !== undefined) holdToGuard(ctx, provider.name, family, guard);
  if (guard !== undefined || seedOptions(resolved).notice !== false) {
    const parts = reminderFor(family, guard);
    ctx.inject(['systemPrompt'], (scoped) => {
      remind(scoped, provider.name, parts);
      renewWhenCompacted(scoped, (agent) => spoken(parts(agent)));
    });
  }
}
