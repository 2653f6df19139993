/**
 * How large an inherited prompt may be.
 *
 * @module
 */
import type { Agent, AgentOptions } from '@deepseek-ai/dsh-agent';
import { SubagentError } from '@deepseek-ai/dsh-subagent';
import type { SeedSize } from './seed-size.ts';
import { latestRoute } from './route.ts';

/** Bounds in tokens; `Infinity` for none. */
export interface SeedLimits {
  readonly sameRoute: number;
  /** For a child on another route than its parent's, where nothing of its prompt is cached. */
  readonly otherRoute: number;
}

const SOURCES: Readonly<Record<SeedSize['source'], string>> = {
  usage: 'as its last request was counted',
  meter: 'as the token meter says',
  estimate: 'an estimate by its length',
};

/**
 * Refuse a fork that would inherit too much.
 * @param size - the size of the inherited prompt.
 * @param limits - the bounds.
 * @param isOtherRoute - whether the child leaves its parent's route.
 * @throws {SubagentError} `SEED_TOO_LARGE`.
 */
export function assertSize({ tokens, source }: SeedSize, limits: SeedLimits, isOtherRoute: boolean): void {
  const limit = isOtherRoute ? limits.otherRoute : limits.sameRoute;
  if (tokens <= limit) return;
  throw new SubagentError(
    `fork refused: this conversation has ${tokens} tokens (${SOURCES[source]}), at most ${limit} may be inherited${isOtherRoute ? ' on another model' : ''}. `
    + 'Delegate to a fresh agent instead, with a brief that says all it needs.',
    'SEED_TOO_LARGE',
  );
}

/**
 * Whether options put a child on another route than that of its parent's latest request.
 * @param parent - the agent that forks.
 * @param options - the child's options; what is absent is the parent's.
 */
export function leavesRoute(parent: Agent, { provider, model }: AgentOptions): boolean {
  const route = latestRoute(parent) ?? parent.options;
  return (provider ?? route.provider) !== route.provider || (model ?? route.model) !== route.model;
}
