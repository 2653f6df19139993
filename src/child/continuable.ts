/**
 * Looks after a continuable child, which the harness creates and drives itself.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { foldSubagentDescriptor } from '@deepseek-ai/dsh-subagent';
import { readLog } from '../harness/log.ts';
import { assertLive } from './admission.ts';
import type { LiveForks } from './live-forks.ts';
import { followRoute } from './route.ts';

/**
 * Take in a child that the harness is creating or resuming, if a fork provider of this name gave its
 * seed. Starts that overlap were all let through when they asked for their seed; here they take their
 * places. A child that has been given a task before is never refused.
 * @param childCtx - the unpublished child's context.
 * @param provider - the provider's name.
 * @param live - the provider's live children.
 * @returns gives the child's place back when its scope ends.
 * @throws {SubagentError} `PARENT_GONE` or `FORK_LIMIT`, which refuses the child's creation.
 */
export function takeIn(childCtx: Context, provider: string, live: LiveForks): () => void {
  const { session } = childCtx.agent!;
  const own = readLog(session).slice(session.header.seedLength ?? 0);
  if (foldSubagentDescriptor(own)?.provider !== provider) return () => {};
  const parentId = session.header.parentSession!;
  const parent = childCtx.agents.get(parentId);
  assertLive(parent, parentId);
  if (!wasTold(own)) live.assertPlace(parent);
  // The route ends with the child's own scope: it stays when this plugin is unloaded.
  followRoute(childCtx, parent);
  return live.take(parent);
}

/**
 * Whether a child has been given a task. A child that is being created has not.
 * @param own - the child's own part of its log.
 */
export function wasTold(own: readonly SessionEvent[]): boolean {
  return own.some((event) => event.type === 'agent/inbox/spliced');
}
