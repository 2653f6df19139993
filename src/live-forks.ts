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
export interface Place {
  readonly parent: Agent;
  /** The child that holds the place, once it is known. */
  child: SessionId | undefined;
  /** Aborts when the place is free again. */
  readonly freed: AbortController;
}

/** Counts a provider's live children and refuses the one too many. */
export class LiveForks {
  private readonly places = new Set<Place>();
  private readonly limit: number;

  /**
   * @param ctx - the provider's context. While it lives, a place is freed when the session of its
   *   child or of its parent is disposed.
   * @param limit - how many children may live at once, a positive integer or `Infinity`.
   */
  constructor(ctx: Context, limit: number) {
    this.limit = limit;
    ctx.on('session/disposed', (session) => {
      for (const place of this.places) if (place.child === session.id || place.parent.session === session) this.free(place);
    }, { global: true });
  }

  /**
   * Take a place for a child that is about to start.
   * @param parent - the delegating agent.
   * @param child - its session id, where it is known beforehand.
   * @returns the place; whoever took it frees it when no child comes to live.
   * @throws {SubagentError} `FORK_LIMIT` when every place is taken.
   */
  take(parent: Agent, child?: SessionId): Place {
    if (this.places.size >= this.limit) {
      throw new SubagentError(
        `fork refused: forks running: ${this.places.size}, at most: ${this.limit}. Wait for another one to finish, or do this work yourself.`,
        'FORK_LIMIT',
      );
    }
    return this.add(parent, child);
  }

  /**
   * Count a child that lives already, such as one resumed from disk. It is not refused.
   * @param parent - its parent.
   * @param child - its session id.
   */
  count(parent: Agent, child: SessionId): void {
    for (const place of this.places) if (place.child === child) return;
    this.add(parent, child);
  }

  /**
   * Give a place back. Giving it back twice is as giving it back once.
   * @param place - what {@link take} returned.
   */
  free(place: Place): void {
    this.places.delete(place);
    place.freed.abort();
  }

  private add(parent: Agent, child: SessionId | undefined): Place {
    const place: Place = { parent, child, freed: new AbortController() };
    this.places.add(place);
    return place;
  }
}
