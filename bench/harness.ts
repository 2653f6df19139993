/**
 * The published harness with every contender mounted on it.
 *
 * @module
 */
import { Context } from '@deepseek-ai/cordis';
import * as agentModule from '@deepseek-ai/dsh-agent';
import type { Agent } from '@deepseek-ai/dsh-agent';
import * as agentInvariant from '@deepseek-ai/dsh-agent/invariant';
import { AgentLoop } from '@deepseek-ai/dsh-agent-loop';
import * as agentLoopInvariant from '@deepseek-ai/dsh-agent-loop/invariant';
import { InvariantRegistry } from '@deepseek-ai/dsh-invariants';
import { createUserMessage, LlmRuntime } from '@deepseek-ai/dsh-llm';
import { SessionStore } from '@deepseek-ai/dsh-session';
import * as sessionInvariant from '@deepseek-ai/dsh-session/invariant';
import { SubagentRuntime } from '@deepseek-ai/dsh-subagent';
import * as subagentInvariant from '@deepseek-ai/dsh-subagent/invariant';
import * as spawn from '@deepseek-ai/dsh-subagent-spawn-in-process';
import { SystemPrompt } from '@deepseek-ai/dsh-system-prompt';
import { defineTool, ToolRuntime } from '@deepseek-ai/dsh-tools';
import * as published from 'published-fork';
import * as fork from '../src/index.ts';

/** What is compared, by the name of its provider. */
export type Contender = 'published' | Own | 'spawn';
/** This package in one of its configurations. */
export type Own = 'default' | 'compact turn' | 'compact step';

/** All contenders, the published provider first. */
export const CONTENDERS: readonly Contender[] = ['published', 'default', 'compact turn', 'compact step', 'spawn'];

/** This package's options by contender. */
export const OPTIONS: Readonly<Record<Own, Pick<fork.Config, 'compactSeed' | 'seedBoundary'>>> = {
  default: {},
  'compact turn': { compactSeed: true },
  'compact step': { compactSeed: true, seedBoundary: 'step' },
};

/**
 * Mount the harness without a model and without agents.
 * @param invariants - whether the harness checks itself while it runs.
 */
export async function mountHarness(invariants: boolean): Promise<Context> {
  const ctx = new Context();
  await ctx.plugin(LlmRuntime);
  await ctx.plugin(SessionStore);
  await ctx.plugin(SystemPrompt);
  await ctx.plugin(ToolRuntime);
  await ctx.plugin(agentModule.AgentRegistry);
  if (invariants) {
    await ctx.plugin(InvariantRegistry);
    for (const companion of [sessionInvariant, agentInvariant, agentLoopInvariant, subagentInvariant]) await ctx.plugin(companion);
  }
  await ctx.plugin(AgentLoop, { agents: [] });
  await ctx.plugin(SubagentRuntime);
  return ctx;
}

/**
 * Mount the provider of every contender.
 * @param ctx - a mounted harness.
 */
export async function mountContenders(ctx: Context): Promise<void> {
  await ctx.plugin(spawn, { providerName: 'spawn' });
  await ctx.plugin(published, { providerName: 'published' });
  for (const [providerName, options] of Object.entries(OPTIONS)) await ctx.plugin(fork, { providerName, ...options });
}

/**
 * Register a tool that takes a text and answers with one.
 * @param ctx - a mounted harness.
 * @param name - the tool's name.
 * @param answer - gives the answer.
 */
export function registerTool(ctx: Context, name: string, answer: (agent: Agent) => string | Promise<string>): void {
  const text = { type: 'string', required: true } as const;
  ctx.tools.register(defineTool({
    name,
    description: `Benchmark tool ${name}.`,
    parameters: { text },
    output: {
      schema: { type: 'object', additionalProperties: false, properties: { text } },
      render: (_args, value) => [{ type: 'text', text: value.text }],
    },
    execute: async (_args, { agent }) => ({ text: await answer(agent!) }),
  }));
}

/**
 * Queue a user's request.
 * @param agent - whom it is for.
 * @param text - the request.
 */
export function say(agent: Agent, text: string): void {
  agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }));
}
