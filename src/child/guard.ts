/**
 * Which tools the children of a provider may not call.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { Family } from './family.ts';
import { parentOf } from './family.ts';

/** Exact tool names. With both lists a tool has to be in `allow` and not in `deny`. */
export interface ToolGuard {
  /** The only tools that may be called. */
  readonly allow?: readonly string[];
  /** Tools that may not be called. */
  readonly deny?: readonly string[];
}

/**
 * What `allow` admits unnamed: Code Mode's transport, each of whose calls is asked about itself,
 * and the tool through which a run with an output schema answers.
 */
const MACHINERY: ReadonlySet<string> = new Set(['run_code', 'structured_output']);

/**
 * Whether a guard forbids a tool.
 * @param guard - the guard.
 * @param tool - the tool's exact name.
 */
export function forbids({ allow, deny }: ToolGuard, tool: string): boolean {
  return deny?.includes(tool) === true || (allow?.includes(tool) === false && !MACHINERY.has(tool));
}

/**
 * What a model reads in place of the result of a call that is refused.
 * @param tool - the tool's name.
 * @returns a sentence that names the tool and says to go on without it.
 */
export function refusal(tool: string): string {
  return `You are a subagent and may not call the tool "${tool}". The call was not executed. `
    + 'Go on without it. If the task cannot be done without it, say so in your answer.';
}

/**
 * What a guard says to its model before any call.
 * @param guard - the guard.
 * @returns one sentence; empty when it forbids nothing.
 */
export function guardText({ allow, deny = [] }: ToolGuard): string {
  if (allow !== undefined) {
    const admitted = allow.filter((tool) => !deny.includes(tool));
    return admitted.length === 0 ? 'You may not call any tool.' : `You may call no other tools than these: ${admitted.join(', ')}.`;
  }
  return deny.length === 0 ? '' : `You may not call these tools: ${deny.join(', ')}.`;
}

/**
 * The names in a guard that no tool has.
 * @param guard - the guard.
 * @param isTool - whether a tool of this name exists.
 */
export function unknownTools({ allow = [], deny = [] }: ToolGuard, isTool: (name: string) => boolean): string[] {
  return [...new Set([...allow, ...deny])].filter((name) => !MACHINERY.has(name) && !isTool(name));
}

/**
 * Hold a provider's children and their descendants to a guard, as long as the given context lives.
 * No context of a child's own is involved, so nothing a child or its plugins do can end it.
 * @param ctx - the provider's context.
 * @param provider - the provider's name, for the log.
 * @param family - whom the guard holds.
 * @param guard - the guard.
 */
export function holdToGuard(ctx: Context, provider: string, family: Family, guard: ToolGuard): void {
  ctx.inject(['tools'], (scoped) => {
    scoped.tools.guard(({ agent, name }) => (
      agent !== undefined && forbids(guard, name) && family.has(agent) ? refusal(name) : undefined
    ));
    const said = new Set<string>();
    scoped.on('agent/session-start', ({ agent }) => {
      if (!family.has(agent)) return;
      for (const name of unknownTools(guard, (tool) => isTool(agent, tool))) {
        if (said.has(name)) continue;
        said.add(name);
        ctx.logger.warn(`"${provider}": toolGuard names "${name}", but session ${agent.id} and its parents have no tool of that name; expected an exact tool name`);
      }
    }, { global: true });
  });
}

/** Whether an agent or anyone it descends from has a tool. A filter may have taken it from some of them. */
function isTool(agent: Agent, name: string): boolean {
  if (agent.ctx.tools.get(name, agent) !== undefined) return true;
  const parent = parentOf(agent);
  return parent !== undefined && isTool(parent, name);
}
