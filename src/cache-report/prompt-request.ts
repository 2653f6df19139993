/**
 * Reads from a session's log what a model request was built from.
 *
 * @module
 */
import type { Message, TokenUsage } from '@deepseek-ai/dsh-llm';
import { deriveEventMessage, foldRequestHeader, foldSurface, isReplacementSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { EpochHeader, SessionEvent } from '@deepseek-ai/dsh-session';
import { seedEnd } from '../seed/boundary.ts';

/** One message of a request. */
export interface PromptMessage {
  readonly message: Message;
  /** Whether it stands for earlier messages, as a compaction's summary does. */
  readonly isReplacement: boolean;
}

/** One request to a model. */
export interface PromptRequest {
  /** Route, tools and system prompt. */
  readonly header: EpochHeader;
  /** The messages in the order in which the model sees them. */
  readonly messages: readonly PromptMessage[];
  /** What its answer cost; undefined when it is not answered or the adapter reported nothing. */
  readonly usage: TokenUsage | undefined;
}

/**
 * A session's own latest request: that of its last step, whether it is being answered, was answered or failed.
 * @param log - the session's log, `seq` equal to index.
 * @param inherited - how many leading events are not the session's own.
 * @returns the request, or undefined when the session has made none.
 */
export function latestRequest(log: readonly SessionEvent[], inherited: number): PromptRequest | undefined {
  const start = log.findLastIndex((event) => event.type === 'step/start');
  if (start < inherited) return undefined;
  const end = log.findLastIndex((event) => event.type === 'step/end');
  return requestBefore(log, seedEnd(end > start ? log.slice(0, end) : log, 'step'));
}

/**
 * The request whose answer begins at a position.
 * @param log - a session's log, `seq` equal to index.
 * @param end - the length of what was logged before the answer.
 * @returns the request, or undefined when nothing was requested before.
 */
export function requestBefore(log: readonly SessionEvent[], end: number): PromptRequest | undefined {
  const input = log.slice(0, end);
  const header = foldRequestHeader(input);
  if (header === undefined) return undefined;
  const answer = log.slice(end).find((event) => event.type === 'assistant/message');
  return { header, messages: foldSurface(input).nodes.flatMap((seq) => promptMessage(input[seq]!)), usage: answer?.data.usage };
}

/**
 * The tokens of a request's prompt, from cache or not.
 * @param usage - what the answer cost; its counts are disjoint.
 * @returns their sum, or undefined without usage.
 */
export function promptTokens(usage: TokenUsage | undefined): number | undefined {
  return usage && usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
}

/** The message of an event; none for an answer without content, which only hosts usage. */
function promptMessage(event: SessionEvent): PromptMessage[] {
  const message = deriveEventMessage(event);
  return message === null ? [] : [{ message, isReplacement: isReplacementSurfaceEvent(event) }];
}
