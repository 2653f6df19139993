/** Everything of the harness that writes into a session's log, with the checks of its invariants. */
import type { Context } from '@deepseek-ai/cordis';
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic';
import * as compactionInvariant from '@deepseek-ai/dsh-compaction/invariant';
import { ToolResultPruner } from '@deepseek-ai/dsh-compaction-tool-result-pruner';
import { GoalService } from '@deepseek-ai/dsh-goal';
import * as goalInvariant from '@deepseek-ai/dsh-goal/invariant';
import * as llmInvariant from '@deepseek-ai/dsh-llm/invariant';
import * as retry from '@deepseek-ai/dsh-llm-retry';
import * as retryInvariant from '@deepseek-ai/dsh-llm-retry/invariant';
import { PlanModeController } from '@deepseek-ai/dsh-plan-mode';
import * as planModeInvariant from '@deepseek-ai/dsh-plan-mode/invariant';
import { SandboxPolicyService } from '@deepseek-ai/dsh-sandbox-policy';
import * as sandboxPolicyInvariant from '@deepseek-ai/dsh-sandbox-policy/invariant';
import { TokenMeter } from '@deepseek-ai/dsh-token-meter';
import * as toolsInvariant from '@deepseek-ai/dsh-tools/invariant';
import { ApprovalService } from '@deepseek-ai/dsh-user-approval';
import * as approvalInvariant from '@deepseek-ai/dsh-user-approval/invariant';

/** What stands in the system prompt while plan mode is on. */
export const PLAN_SECTION = 'PLAN MODE IS ON';

/** Mounts them. */
export async function mountFull(ctx: Context): Promise<void> {
  for (const companion of [
    llmInvariant, toolsInvariant, compactionInvariant, goalInvariant, retryInvariant, planModeInvariant,
    sandboxPolicyInvariant, approvalInvariant,
  ]) await ctx.plugin(companion);
  await ctx.plugin(TokenMeter);
  await ctx.plugin(ToolResultPruner, { thresholdChars: 400, headChars: 60, tailChars: 20 });
  await ctx.plugin(BasicCompactionEngine, { retainTokens: 60 });
  await ctx.plugin(GoalService, {});
  await ctx.plugin(PlanModeController, { section: PLAN_SECTION });
  await ctx.plugin(SandboxPolicyService, { mode: 'read-only', workspaceRoot: process.cwd() });
  await ctx.plugin(ApprovalService, { policy: 'ask' });
  await ctx.plugin(retry, {});
}
