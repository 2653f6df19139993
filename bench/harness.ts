/**
 * Every contender, mounted on the harness.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import * as spawn from '@deepseek-ai/dsh-subagent-spawn-in-process';
import { defineTool } from '@deepseek-ai/dsh-tools';
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
