/**
 * The events by which a fork announces its seed.
 *
 * @module
 */
import type {} from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { Scoped } from '@deepseek-ai/dsh-scope';
import type { SessionId } from '@deepseek-ai/dsh-session';
import type { Seed } from './seed/build.ts';

/** One seed on its way to a child. */
export interface Seeding {
  /** Name of the provider that built the seed. */
  readonly provider: string;
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
     * awaited, so the parent's log is still what was read. A listener that throws synchronously
     * refuses the fork. Scope-filtered by the parent: a listener of another agent does not hear it.
     * @param seeding - parent, seed and, when known, the child's id.
     * @mode emit
     */
    'subagent-fork/seeded'(this: Scoped<Agent>, seeding: Seeding): void;
    /**
     * A one-shot start failed after its seed was announced: no child comes of it. Scope-filtered by
     * the parent.
     * @param seeding - the same object that was announced.
     * @mode emit
     */
    'subagent-fork/withdrawn'(this: Scoped<Agent>, seeding: Seeding): void;
  }
}
