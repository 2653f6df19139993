/**
 * The events by which a fork announces its seed.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import { agentCarrier } from '@deepseek-ai/dsh-agent';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { Scoped } from '@deepseek-ai/dsh-scope';
import type { SessionId } from '@deepseek-ai/dsh-session';
import type { Seed } from './seed/build.ts';

/** One seed on its way to a child. Nothing in it can be changed. */
export interface SeedAnnouncement {
  /** Name of the provider that built the seed. */
  readonly provider: string;
  /** The agent whose history is inherited. */
  readonly parent: Agent;
  /** The seed, with the parent's log as it was read. Never empty. */
  readonly seed: Seed;
  /** The child's session id. Known beforehand for a continuable child alone. */
  readonly childId?: SessionId;
}

declare module '@deepseek-ai/cordis' {
  interface Events {
    /**
     * A fork decided its seed. Emitted before the child's session exists and before anything is
     * awaited, so the parent's log is still what was read. A listener that throws synchronously
     * refuses the fork. Scope-filtered by the parent: a listener of another agent does not hear it.
     * @param announcement - parent, seed and, when known, the child's id; frozen.
     * @mode emit
     */
    'subagent-fork/seeded'(this: Scoped<Agent>, announcement: SeedAnnouncement): void;
    /**
     * A one-shot start failed after every listener had heard of its seed: no child comes of it.
     * A listener that throws is logged and changes nothing. Scope-filtered by the parent.
     * @param announcement - the same object that was announced.
     * @mode emit
     */
    'subagent-fork/withdrawn'(this: Scoped<Agent>, announcement: SeedAnnouncement): void;
  }
}

/**
 * Announce a seed, unless it is empty.
 * @param ctx - the provider's context.
 * @param announcement - what is announced; it is frozen.
 * @returns the announcement that every listener has heard; undefined for an empty seed.
 * @throws what a listener throws, which refuses the fork.
 */
export function announce(ctx: Context, announcement: SeedAnnouncement): SeedAnnouncement | undefined {
  if (announcement.seed.events.length === 0) return undefined;
  ctx.emit(agentCarrier(announcement.parent), 'subagent-fork/seeded', Object.freeze(announcement));
  return announcement;
}

/**
 * Take an announcement back.
 * @param ctx - the provider's context.
 * @param announcement - what {@link announce} returned.
 */
export function withdraw(ctx: Context, announcement: SeedAnnouncement): void {
  try {
    ctx.emit(agentCarrier(announcement.parent), 'subagent-fork/withdrawn', announcement);
  } catch (error) {
    ctx.logger.warn(`"${announcement.provider}": a listener of subagent-fork/withdrawn failed: ${String(error)}`);
  }
}
