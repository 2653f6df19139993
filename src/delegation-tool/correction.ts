/**
 * Corrects the tools that delegate to a provider, wherever a model is shown them.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import { scopeChainOf, scopeOf } from '@deepseek-ai/dsh-scope';
import type { ScopeKey } from '@deepseek-ai/dsh-scope';
import type {} from '@deepseek-ai/dsh-system-prompt';
import { correctedDeclarations, correctedTool, isKnown } from './text.ts';

/** The plugin that registers delegation tools, by its name in Cordis. */
const DELEGATION_PLUGIN = 'tool-subagent';

/** The section of the system prompt in which Code Mode declares the tools. */
const DECLARATIONS = 'tools:sdk';

/** A mounted delegation tool. */
export interface DelegationTool {
  readonly name: string;
  /** The name of the provider it delegates to. */
  readonly provider: string;
  /** Whose tool it is; undefined for one that every agent has. */
  readonly scope: ScopeKey | undefined;
}

/**
 * Let each model read of the tools that delegate to a provider that a child sees the current turn. A
 * parent and its children read the same. A tool on another provider and one with another text stay.
 * @param ctx - a context with the service `tools`, with which this ends.
 * @param provider - the provider's name.
 */
export function correctDelegationTools(ctx: Context, provider: string): void {
  ctx.on('system-prompt/assemble', async (_assembly, { scope }, next) => {
    const assembly = await next();
    const mounted = delegationTools(ctx);
    const isCorrected = (name: string): boolean => providerOf(mounted, name, scopeChainOf(scope)) === provider;
    return {
      ...assembly,
      tools: assembly.tools.map((tool) => isKnown(tool) && isCorrected(tool.name) ? correctedTool(tool) : tool),
      sections: assembly.sections.map((section) => {
        if (section.name !== DECLARATIONS || section.text === '') return section;
        const known = ctx.tools.schemas(scope).filter(isKnown).map(({ name }) => name);
        return { ...section, text: correctedDeclarations(section.text, known, isCorrected) };
      }),
    };
  }, { global: true, prepend: true });
}

/**
 * The provider that a tool delegates to, as one agent sees it.
 * @param mounted - all delegation tools.
 * @param name - the tool's name.
 * @param chain - the agent's scope and those around it, nearest first.
 * @returns the provider of the nearest tool of that name; undefined when there is none.
 */
export function providerOf(mounted: readonly DelegationTool[], name: string, chain: readonly ScopeKey[]): string | undefined {
  const named = mounted.filter((tool) => tool.name === name);
  const scope = chain.find((key) => named.some((tool) => tool.scope === key));
  return named.find((tool) => tool.scope === scope)?.provider;
}

/** The delegation tools that are mounted. The plugin keeps the provider of each in its config alone. */
function delegationTools(ctx: Context): DelegationTool[] {
  const runtimes = [...ctx.registry.values()].filter(({ name }) => name === DELEGATION_PLUGIN);
  return runtimes.flatMap(({ fibers }) => [...fibers].map(({ config, ctx }) => {
    const { toolName = 'subagent', provider } = config as { readonly toolName?: string; readonly provider: string };
    return { name: toolName, provider, scope: scopeOf(ctx) };
  }));
}
