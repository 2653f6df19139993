/**
 * Bounds how many children of one provider live at once.
 *
 * @module
 */
import { SubagentError } from '@deepseek-ai/dsh-subagent';

/** Counts a provider's live children and refuses the one too many. */
export class LiveForks {
  private readonly limit: number;
  private live = 0;

  /** @param limit - how many children may live at once, a positive integer or `Infinity`. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /**
   * Refuse a new child when every place is taken.
   * @throws {SubagentError} `FORK_LIMIT`.
   */
  assertPlace(): void {
    if (this.live < this.limit) return;
    throw new SubagentError(
      `fork refused: forks running: ${this.live}, at most: ${this.limit}. Wait for another one to finish, or do this work yourself.`,
      'FORK_LIMIT',
    );
  }

  /**
   * Take a place for a child, be there one or not.
   * @returns gives the place back; to be called once.
   */
  take(): () => void {
    this.live++;
    return () => {
      this.live--;
    };
  }
}
