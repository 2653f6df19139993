/**
 * The provider and model a child runs on.
 *
 * @module
 */
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent';
import { readLog } from './log.ts';

/**
 * The options of one child: the route of the parent's latest own request, overridden key by key by
 * what the request names. A key given as `undefined` names nothing.
 * @param parent - the delegating agent.
 * @param requested - the request's explicit options, when it has any.
 * @returns options for the driver, which fills what is absent from the parent's creation options.
 */
export function childOptions(parent: Agent, requested: AgentOptions | undefined): AgentOptions {
  const named = Object.entries(requested ?? {}).filter(([, value]) => value !== undefined);
  return { ...latestRoute(parent), ...Object.fromEntries(named) };
}

/**
 * The route of an agent's latest own request, from the `request/header` events of its log. Headers
 * an agent inherited with its seed tell its ancestor's route, not its own.
 * @param agent - the agent to read.
 * @returns provider and model, or an empty record when the agent has made no request yet.
 */
export function latestRoute(agent: Agent): Pick<AgentOptions, 'provider' | 'model'> {
  const { session } = agent;
  const inherited = session.header.seedLength ?? 0;
  if (inherited > 0 && !hasHeaderFrom(agent, inherited)) return {};
  const config = session.requestHeader()?.config;
  return config === undefined ? {} : { provider: config.provider, model: config.model };
}

function hasHeaderFrom(agent: Agent, from: number): boolean {
  const events = readLog(agent.session);
  for (let index = from; index < events.length; index++) if (events[index]?.type === 'request/header') return true;
  return false;
}
