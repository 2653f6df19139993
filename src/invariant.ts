/**
 * Companion plugin that owns this package's place in the harness's invariant service.
 *
 * @module @deepseek-ai/dsh-subagent-fork-in-process/invariant
 */
import type { Context } from '@deepseek-ai/cordis';
import type {} from '@deepseek-ai/dsh-invariants';

export const name = 'subagent-fork-in-process-invariant';
export const inject: string[] = ['invariants'];
export const apply = (ctx: Context): Promise<() => void> => Promise.resolve(
  ctx.invariants.register('@deepseek-ai/dsh-subagent-fork-in-process', () => {}),
);
