/** What the endpoint was sent, read as conversations. */
import type { ChatMessage, EndpointRequest } from '../../test/support/endpoint.ts';
import { BLOCK_TOKENS } from '../../test/support/prefix-cache.ts';
import { RUNTIME_CONTEXT } from './model.ts';

/** The requests of one agent's conversation, in order; requests for titles are left out. */
export type Conversation = readonly EndpointRequest[];

/** The conversations in the order in which they began: the parent's, then each child's. */
export function conversations(requests: readonly EndpointRequest[]): Conversation[] {
  const asked = requests.filter(({ body }) => body.tools !== undefined);
  return [...Map.groupBy(asked, ({ sessionId }) => sessionId).values()];
}

/** The messages of a request without the harness's runtime context. */
export function messagesOf({ body: { messages } }: EndpointRequest): ChatMessage[] {
  return messages.filter(({ content }) => !content.startsWith(RUNTIME_CONTEXT));
}

/** What each message says, but for the system prompt. */
export function textsOf(request: EndpointRequest): string[] {
  return messagesOf(request).slice(1).map(({ content }) => content);
}

/** The part of a prompt that was read from the cache, from 0 to 1. */
export function cachedShare({ usage }: EndpointRequest): number {
  return usage === undefined ? 0 : usage.prompt_cache_hit_tokens / usage.prompt_tokens;
}

/** The tokens of all whole blocks of a prompt: what an identical beginning gives. */
export function wholeBlocks({ usage }: EndpointRequest): number {
  return usage === undefined ? 0 : usage.prompt_tokens - usage.prompt_tokens % BLOCK_TOKENS;
}
