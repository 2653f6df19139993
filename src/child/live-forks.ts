/**
 * How many children of one provider live at once under one root agent.
 *
 * @module
 */
import type { Agent } from '@deepseek-ai/dsh-agent';
import { SubagentError } from '@deepseek-ai/dsh-subagent';

/** Counts a provider's live children and refuses the one too many. */
export class LiveForks {
  private readonly limit: number;
  private readonly live = new WeakMap<Agent, number>();

  /** @param limit - how many children may live under one root, a positive integer or `Infinity`. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /**
   * Refuse a new child when every place is taken.
   * @param parent - the agent that forks.
   * @throws {SubagentError} `FORK_LIMIT`.
   */
  assertPlace(parent: Agent): void {
    const live = this.liveUnder(rootOf(parent));
    if (live < this.limit) return;
    throw new SubagentError(
      `fork refused: forks running: ${live}, at most: ${this.limit}. Wait for another one to finish, or do this work yourself.`,
      'FORK_LIMIT',
    );
  }

  /**
   * Take a place for a child, whether one is left or not.
   * @param parent - the agent that forks.
   * @returns gives the place back; to be called once.
   */
  take(parent: Agent): () => void {
    const root = rootOf(parent);
    this.live.set(root, this.liveUnder(root) + 1);
    return () => void this.live.set(root, this.liveUnder(root) - 1);
  }

  private liveUnder(root: Agent): number {
    return this.live.get(root) ?? 0;
  }
}

/** The agent that no live agent delegated to: a session that a person talks to. */
function rootOf(agent: Agent): Agent {
  const { origin, parentSession } = agent.session.header;
  const parent = origin === 'subagent' && parentSession !== undefined ? agent.ctx.agents.get(parentSession) : undefined;
  return parent === undefined ? agent : rootOf(parent);
}
