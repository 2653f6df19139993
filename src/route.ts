/**
 * The provider, model and reasoning effort a child runs on.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import { installModelSelection } from '@deepseek-ai/dsh-agent';
import type { Agent, AgentOptions, ModelSelection } from '@deepseek-ai/dsh-agent';
import { readLog } from './log.ts';

/**
 * The route of an agent's latest own request, from the `request/header` events of its log. Headers
 * an agent inherited with its seed tell its ancestor's route, not its own.
 * @param agent - the agent to read.
 * @returns the route, with the effort when the adapter's default was not in force; undefined when
 *   the agent has made no request yet.
 */
export function latestRoute({ session }: Agent): ModelSelection | undefined {
  const inherited = session.header.seedLength ?? 0;
  if (inherited > 0 && !readLog(session).some(({ type, seq }) => type === 'request/header' && seq >= inherited)) return undefined;
  const header = session.requestHeader();
  if (header === undefined) return undefined;
  const { provider, model, reasoningEffort } = header.config;
  const chosen = reasoningEffort !== undefined && header.adapterDefaults?.reasoningEffort !== true;
  return { provider, model, ...(chosen && { reasoningEffort }) };
}

/**
 * The options of a one-shot child: the parent's latest route, overridden key by key by what the
 * request names. A key given as `undefined` names nothing.
 * @param route - the parent's latest route, when it has one.
 * @param requested - the request's explicit options, when it has any.
 * @returns options for the driver, which fills what is absent from the parent's creation options.
 */
export function childOptions(route: ModelSelection | undefined, requested: AgentOptions | undefined): AgentOptions {
  const named = Object.entries(requested ?? {}).filter(([, value]) => value !== undefined);
  return { ...(route && { provider: route.provider, model: route.model }), ...Object.fromEntries(named) };
}

/**
 * Lets a one-shot child's first request run with the effort of the route it follows; the loop keeps
 * it from then on. A child on another route is left alone. Call before the child's first request.
 * @param child - the published child.
 * @param route - the parent's latest route, when it has one.
 */
export function followEffort(child: Agent, route: ModelSelection | undefined): void {
  if (route === undefined || child.options.provider !== route.provider || child.options.model !== route.model) return;
  const stop = child.ctx.on('agent/request', async (_payload, next) => {
    stop();
    const { reasoningEffort: _seeded, ...config } = await next();
    return { ...config, ...(route.reasoningEffort !== undefined && { reasoningEffort: route.reasoningEffort }) };
  });
}

/**
 * Lets a continuable child run on its own latest route or, before it has one, on its parent's. The
 * harness creates such a child on the parent's creation options; an option that differs from those
 * was named by the request and stays.
 * @param childCtx - the unpublished child's context.
 * @returns the disposer.
 */
export function selectRoute(childCtx: Context): () => void {
  const child = childCtx.agent!;
  const parent = childCtx.agents.get(child.session.header.parentSession!)!;
  const own = latestRoute(child);
  const route = own ?? latestRoute(parent);
  if (route === undefined) return () => {};
  const named = own === undefined ? differing(child.options, parent.options) : {};
  const { provider, model } = { ...route, ...named };
  const current = provider === route.provider && model === route.model ? route : { provider, model };
  return installModelSelection(childCtx, { current, assembled: undefined });
}

function differing({ provider, model }: AgentOptions, created: AgentOptions): AgentOptions {
  return {
    ...(provider !== undefined && provider !== created.provider && { provider }),
    ...(model !== undefined && model !== created.model && { model }),
  };
}
