/**
 * The event by which a fork announces its seed.
 *
 * @module
 */
import type {} from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { SessionId } from '@deepseek-ai/dsh-session';
import type { Seed } from './seed.ts';

/** One seed on its way to a child. */
export interface Seeding {
  /** The agent whose history is inherited. */
  readonly parent: Agent;
  /** The seed, with the parent's log as it was read. Never empty. */
  readonly seed: Seed;
  /** The child's session id, where it is known beforehand: for a continuable child. */
  readonly childId?: SessionId;
}

declare module '@deepseek-ai/cordis' {
  interface Events {
    /**
     * A fork decided its seed. Emitted before the child's session exists and before anything is
     * awaited, so the parent's log is still what was read. A listener that throws refuses the fork.
     * @param seeding - parent, seed and, when known, the child's id.
     * @mode emit
     */
    'subagent-fork/seeded'(seeding: Seeding): void;
  }
}
