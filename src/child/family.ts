/**
 * Which agents are children of a provider, and which descend from one.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { Session } from '@deepseek-ai/dsh-session';
import { readLog } from '../harness/log.ts';
import { read } from '../seed/data.ts';
import { startOf } from './start.ts';

/** The children of one provider and all their descendants, as long as they live. */
export class Family {
  private readonly provider: string;
  /** One-shot children: they are known before their log says so. */
  private readonly started = new WeakSet<Session>();
  /** Whoever was found to belong here. An ancestor's end changes nothing about it. */
  private readonly members = new WeakSet<Session>();

  /**
   * @param ctx - the provider's context.
   * @param provider - the provider's name.
   */
  constructor(ctx: Context, provider: string) {
    this.provider = provider;
    ctx.on('session/created', (session) => {
      if (startOf(session)?.provider === provider) this.started.add(session);
    }, { global: true });
  }

  /**
   * Whether an agent is a child of the provider: one-shot or continuable, created now or resumed.
   * @param agent - any agent.
   */
  isChild({ session }: Agent): boolean {
    return this.started.has(session) || providerOf(session) === this.provider;
  }

  /**
   * Whether an agent is such a child or descends from one.
   * @param agent - a live agent.
   */
  has(agent: Agent): boolean {
    const { session } = agent;
    if (this.members.has(session)) return true;
    const parent = parentOf(agent);
    if (!this.isChild(agent) && (parent === undefined || !this.has(parent))) return false;
    this.members.add(session);
    return true;
  }
}

/**
 * The live agent that delegated to an agent.
 * @param agent - a live agent.
 * @returns its parent; undefined when nobody delegated to it or the parent has ended.
 */
export function parentOf({ ctx, session }: Agent): Agent | undefined {
  const { id, origin, parentSession } = session.header;
  if (origin !== 'subagent' || parentSession === undefined || parentSession === id) return undefined;
  return ctx.agents.get(parentSession);
}

/** What a session's own part of its log names as its provider. The first descriptor there is its own. */
function providerOf(session: Session): unknown {
  const log = readLog(session);
  for (let seq = session.header.seedLength ?? 0; seq < log.length; seq++) {
    const event = log[seq]!;
    if (event.type === 'subagent/descriptor') return read(event.data, 'provider');
  }
  return undefined;
}
