/** The published plan mode, whose guidance is one line of the system prompt. */
import type { Context } from '@deepseek-ai/cordis';
import { PlanModeController } from '@deepseek-ai/dsh-plan-mode';

/** What the system prompt says while plan mode is on. */
export const PLANNING = 'You are in plan mode.';

/** Mounts plan mode. */
export async function mountPlanMode(ctx: Context): Promise<void> {
  await ctx.plugin(PlanModeController, { section: PLANNING });
}
