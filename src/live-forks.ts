/**
 * Bounds how many children of one provider live at once.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { SessionId } from '@deepseek-ai/dsh-session';
import { SubagentError } from '@deepseek-ai/dsh-subagent';

/** One place among the live children. */
interface Slot {
  readonly parent: Agent;
  /** The child that holds the place, once it is known. */
  child: SessionId | undefined;
}

/** Counts a provider's live children and refuses the one too many. */
export class LiveForks {
  private readonly slots = new Set<Slot>();
  private readonly limit: number;

  /**
   * @param ctx - the provider's context; disposed sessions are followed for its lifetime.
   * @param limit - how many children may live at once, a positive integer or `Infinity`.
   */
  constructor(ctx: Context, limit: number) {
    this.limit = limit;
    ctx.on('session/disposed', (session) => {
      for (const slot of this.slots) if (slot.child === session.id || slot.parent.session === session) this.slots.delete(slot);
    }, { global: true });
  }

  /**
   * Take a place for a child whose id the driver will choose.
   * @param parent - the delegating agent.
   * @param start - starts the child; its failure frees the place.
   * @returns what `start` returns.
   * @throws {SubagentError} `FORK_LIMIT` when every place is taken; `start` is then not called.
   */
  async hold<T extends { readonly id: SessionId }>(parent: Agent, start: () => Promise<T>): Promise<T> {
    const slot = this.take(parent, undefined);
    try {
      const run = await start();
      slot.child = run.id;
      return run;
    } catch (error) {
      this.slots.delete(slot);
      throw error;
    }
  }

  /**
   * Take a place for a child that another owner creates under a known id. The place is free again
   * when that child or its parent is disposed, or `signal` aborts before the child lives.
   * @param parent - the delegating agent.
   * @param child - the reserved session id.
   * @param signal - the creation's cancellation.
   * @param prepare - prepares the creation; its failure frees the place.
   * @returns what `prepare` returns.
   * @throws {SubagentError} `FORK_LIMIT` when every place is taken; `prepare` is then not called.
   */
  reserve<T>(parent: Agent, child: SessionId, signal: AbortSignal, prepare: () => T): T {
    const slot = this.take(parent, child);
    signal.addEventListener('abort', () => {
      if (parent.ctx.agents.get(child) === undefined) this.slots.delete(slot);
    }, { once: true });
    try {
      return prepare();
    } catch (error) {
      this.slots.delete(slot);
      throw error;
    }
  }

  private take(parent: Agent, child: SessionId | undefined): Slot {
    const live = this.slots.size;
    if (live >= this.limit) {
      throw new SubagentError(
        `fork refused: ${live} of at most ${this.limit} forks are running. Wait for one to finish, or do this work yourself.`,
        'FORK_LIMIT',
      );
    }
    const slot: Slot = { parent, child };
    this.slots.add(slot);
    return slot;
  }
}
