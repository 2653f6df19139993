/**
 * Tells a child what a compaction has taken from it in the request that follows at once.
 *
 * The loop assembles a request before it lets anyone compact, so the reminder in it is then out of date.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import { assembleContextFor } from '@deepseek-ai/dsh-agent';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import type { UserMessage } from '@deepseek-ai/dsh-llm';
import { joinContextSections, renderContextSections } from '@deepseek-ai/dsh-system-prompt';

/** Whose messages the harness takes for its own runtime context. */
const OWNER = '@deepseek-ai/dsh-system-prompt';

/**
 * Renew an agent's runtime context when its reminder has changed since its request was assembled:
 * by a compaction at the beginning of a step, and by one after a request that was too long.
 * @param ctx - a context with the service `systemPrompt`, with which this ends.
 * @param reminder - the text of which an agent is reminded now; empty when there is none.
 */
export function renewWhenCompacted(ctx: Context, reminder: (agent: Agent) => string): void {
  ctx.on('agent/pre-step', async ({ agent, signal }, next) => {
    const assembled = reminder(agent);
    const decision = await next();
    if (decision.kind !== 'enter' || reminder(agent) === assembled) return decision;
    const messages = decision.messages.filter((message) => !isSnapshot(message));
    return { ...decision, messages: [...messages, await snapshotOf(ctx, agent, signal)] };
  }, { global: true, prepend: true });
  ctx.on('agent/request-error', async ({ agent, signal }, next) => {
    const assembled = reminder(agent);
    const action = await next();
    if (action?.kind === 'retry' && reminder(agent) !== assembled) {
      agent.session.append('user/message', await snapshotOf(ctx, agent, signal), { surfaceOp: 'append' });
    }
    return action;
  }, { global: true, prepend: true });
}

/** The runtime context as the harness itself writes it. */
async function snapshotOf(ctx: Context, agent: Agent, signal: AbortSignal): Promise<UserMessage> {
  const sections = renderContextSections(await ctx.systemPrompt.assemble(assembleContextFor(agent, signal)));
  return createUserMessage({
    content: [{ type: 'text', text: joinContextSections(sections) }],
    source: { kind: 'plugin', plugin: OWNER, form: 'snapshot', sections },
  });
}

function isSnapshot({ source }: UserMessage): boolean {
  return source.kind === 'plugin' && source.plugin === OWNER;
}
