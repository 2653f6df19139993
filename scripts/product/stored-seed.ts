/** What a fork inherited, as the product stored it. */
import { Context } from '@deepseek-ai/cordis';
import { LlmRuntime } from '@deepseek-ai/dsh-llm';
import { SessionId, SessionStore } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl';

/**
 * Read the inherited part of a stored log.
 * @param root - the product's folder of sessions.
 * @param sessionId - the fork's session.
 */
export async function storedSeed(root: string, sessionId: string): Promise<readonly SessionEvent[]> {
  const ctx = new Context();
  for (const service of [LlmRuntime, SessionStore]) await ctx.plugin(service);
  const persistence = ctx.plugin(JsonlSessionPersistence, { root });
  await persistence;
  const { meta, events } = await ctx.sessionPersistence.readFrom(SessionId(sessionId), 0);
  await persistence.dispose();
  return events.slice(0, meta.seedLength);
}
