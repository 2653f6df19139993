/** The published harness, mounted in its own order, without a model and without agents. */
import { Context } from '@deepseek-ai/cordis';
import * as agentModule from '@deepseek-ai/dsh-agent';
import * as agentInvariant from '@deepseek-ai/dsh-agent/invariant';
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop';
import * as agentLoopInvariant from '@deepseek-ai/dsh-agent-loop/invariant';
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants';
import { LlmRuntime } from '@deepseek-ai/dsh-llm';
import { SessionStore } from '@deepseek-ai/dsh-session';
import * as sessionInvariant from '@deepseek-ai/dsh-session/invariant';
import { SubagentRuntime } from '@deepseek-ai/dsh-subagent';
import * as subagentInvariant from '@deepseek-ai/dsh-subagent/invariant';
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt';
import { ToolRuntime } from '@deepseek-ai/dsh-tools';

/** The harness's own checks of itself. */
const INVARIANTS = [sessionInvariant, agentInvariant, agentLoopInvariant, subagentInvariant];

/** How the harness is mounted. */
export interface MountOptions {
  readonly invariants: boolean;
  readonly toolMode?: 'native' | 'code' | 'both';
}

/**
 * Mount the harness.
 * @param options - whether the harness checks itself while it runs, and how tools are presented.
 * @returns the root context.
 */
export async function mountHarness({ invariants, toolMode = 'native' }: MountOptions): Promise<Context> {
  const ctx = new Context();
  await ctx.plugin(LlmRuntime);
  await ctx.plugin(SessionStore);
  await ctx.plugin(SystemPrompt);
  await ctx.plugin(ToolRuntime, { mode: toolMode, maxParallelSubCalls: 10 });
  await ctx.plugin(agentModule.AgentRegistry);
  if (invariants) {
    await ctx.plugin(InvariantRegistry);
    for (const invariant of INVARIANTS) await ctx.plugin(invariant);
  }
  await ctx.plugin(AgentLoop, { agents: [] });
  await ctx.plugin(SubagentRuntime);
  return ctx;
}
