/**
 * Which requests are refused before a child exists.
 *
 * @module
 */
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { SessionId } from '@deepseek-ai/dsh-session';
import { SubagentError } from '@deepseek-ai/dsh-subagent';
import type { ResolvedSubagentStartRequest } from '@deepseek-ai/dsh-subagent';

/**
 * Refuse a task that says nothing. Anything but text counts as a task.
 * @throws {SubagentError} `BLANK_PROMPT`.
 */
export function assertTask({ prompt }: ResolvedSubagentStartRequest): void {
  if (prompt.every((block) => block.type === 'text' && block.text.trim() === '')) {
    throw new SubagentError(
      'fork refused: the prompt is blank; expected text that is not blank, or an image', 'BLANK_PROMPT',
    );
  }
}

/**
 * Refuse a parent that can neither own a child nor get its answer.
 * @param parent - the agent that forks; undefined when no agent of that id is live.
 * @param id - its session id.
 * @throws {SubagentError} `PARENT_GONE`.
 */
export function assertLive(parent: Agent | undefined, id: SessionId): asserts parent is Agent {
  if (parent !== undefined && !hasEnded(parent)) return;
  throw new SubagentError(`fork refused: the parent agent ${id} is gone; expected a live agent`, 'PARENT_GONE');
}

/** Whether an agent's scope has ended. */
export function hasEnded({ ctx }: Agent): boolean {
  return ctx.fiber.uid === null;
}
