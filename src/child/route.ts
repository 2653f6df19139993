/**
 * The provider, model and reasoning effort a child runs on.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent, AgentOptions, ModelSelection } from '@deepseek-ai/dsh-agent';
import type { LlmCallConfig } from '@deepseek-ai/dsh-llm';
import type { EpochHeader, Session, SessionEvent } from '@deepseek-ai/dsh-session';
import type {} from '@deepseek-ai/dsh-system-prompt';
import { readLog } from '../harness/log.ts';
import { acceptable } from '../seed/acceptable.ts';

/**
 * The route of an agent's latest request, from the `request/header` events of its log. Headers that
 * it inherited with its seed tell its ancestor's route; headers from before it was resumed, one that
 * its resumption may have changed. Neither is its own.
 * @param agent - the agent to read.
 * @returns the route, with the effort when the adapter's default was not in force; undefined when
 *   the agent has made no request yet since it was created or resumed.
 */
export function latestRoute({ session }: Agent): ModelSelection | undefined {
  return routeSince(session, session.firstLiveSeq);
}

/** How a one-shot child runs. */
export interface OneShotRoute {
  /** Options for the driver, which fills what is absent from the parent's creation options. */
  readonly agentOptions: AgentOptions;
  /** Lets the published child follow the route. To be called before its first request. */
  readonly follow: (child: Agent) => void;
}

/**
 * The route of a one-shot child: the parent's latest one, overridden key by key by what the request
 * names. A key given as `undefined` names nothing. The effort is no option: on its parent's route the
 * child's first request takes it, and the loop keeps it from then on.
 * @param parent - the agent that forks.
 * @param requested - the request's explicit options, when it has any.
 * @returns the child's options, and what it needs to follow the route.
 */
export function oneShotRoute(parent: Agent, requested: AgentOptions | undefined): OneShotRoute {
  const route = latestRoute(parent);
  const named = Object.entries(requested ?? {}).filter(([, value]) => value !== undefined);
  return {
    agentOptions: { ...(route && { provider: route.provider, model: route.model }), ...Object.fromEntries(named) },
    follow: (child) => followEffort(child, route),
  };
}

function followEffort(child: Agent, route: ModelSelection | undefined): void {
  const { provider, model } = child.options;
  if (route === undefined || route.provider !== provider || route.model !== model) return;
  child.ctx.once('agent/pre-step', (_payload, next) => {
    proposeFirstRequest(child, route);
    return next();
  });
}

/**
 * Lets a continuable child run on its own latest route or, before it has one, on its parent's. The
 * harness creates such a child on the parent's creation options; an option that differs from those
 * was named by the request and stays. What anyone else decides for the child stays, too: the
 * harness's `installModelSelection` would override it, and clear the effort of a later route.
 * @param childCtx - the unpublished child's context, with whose scope this ends.
 * @param parent - the child's live parent.
 */
export function followRoute(childCtx: Context, parent: Agent): void {
  const child = childCtx.agent!;
  const own = routeSince(child.session, child.session.header.seedLength ?? 0);
  const route = own ?? latestRoute(parent);
  if (route === undefined) return;
  const named = own === undefined ? differing(child.options, parent.options) : {};
  const { provider, model } = { ...route, ...named };
  const target = provider === route.provider && model === route.model ? route : { provider, model };
  childCtx.once('agent/session-start', () => {
    proposeFirstRequest(child, target);
    const before = child.session.requestHeader();
    childCtx.on('system-prompt/assemble', async (_assembly, _context, next) => {
      const assembly = await next();
      const { variables } = assembly;
      if (variables.provider !== child.options.provider || variables.model !== child.options.model) return assembly;
      const header = child.session.requestHeader();
      const current = header === before ? target : header!.config;
      return { ...assembly, variables: { ...variables, provider: current.provider, model: current.model } };
    });
  });
}

/**
 * Puts an agent's first request of this life on a route, unless someone else decides it. Listeners
 * that are there already come before this one, so what they decide is decided on this proposal.
 */
function proposeFirstRequest(agent: Agent, route: ModelSelection): void {
  const before = agent.session.requestHeader();
  agent.ctx.on('agent/request', async (_payload, next) => {
    const config = await next();
    if (agent.session.requestHeader() !== before || !isUndecided(config, agent)) return config;
    const { reasoningEffort: _inherited, ...rest } = config;
    return { ...rest, ...route };
  });
}

/** Whether a first request is as the loop proposes it: on the agent's options, with their last effort. */
function isUndecided(config: LlmCallConfig, { options: { provider = '', model = '' }, session }: Agent): boolean {
  const last = routeOf(session.requestHeader());
  const effort = last?.provider === provider && last.model === model ? last.reasoningEffort : undefined;
  return config.provider === provider && config.model === model && config.reasoningEffort === effort;
}

function routeSince(session: Session, start: number): ModelSelection | undefined {
  const request = readLog(session).findLast((event): event is SessionEvent<'request/header'> => (
    event.seq >= start && event.type === 'request/header' && acceptable(event) === event
  ));
  return routeOf(request?.data.header);
}

function routeOf(header: EpochHeader | undefined): ModelSelection | undefined {
  if (header === undefined) return undefined;
  const { provider, model, reasoningEffort } = header.config;
  const chosen = reasoningEffort !== undefined && header.adapterDefaults?.reasoningEffort !== true;
  return { provider, model, ...(chosen && { reasoningEffort }) };
}

function differing({ provider, model }: AgentOptions, created: AgentOptions): AgentOptions {
  return {
    ...(provider !== undefined && provider !== created.provider && { provider }),
    ...(model !== undefined && model !== created.model && { model }),
  };
}
