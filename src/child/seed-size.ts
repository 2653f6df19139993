/**
 * How large the prompt is that a child inherits.
 *
 * @module
 */
import { deriveEventMessage, foldSurface, isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { EpochHeader, Session, SessionEvent } from '@deepseek-ai/dsh-session';
import type { Seed } from '../seed/build.ts';

/** A size and where it comes from. */
export interface SeedSize {
  /** Tokens of system prompt, tools and inherited messages. */
  readonly tokens: number;
  readonly source: 'usage' | 'meter' | 'estimate';
}

/** What is used of the harness's token meter. */
export interface Meter {
  measure(session: Session): { readonly totalTokens: number; readonly nodes: readonly { readonly seq: number; readonly tokens: number }[] };
}

/** How many bytes of UTF-8 are counted as one token where nothing else is known. */
const BYTES_PER_TOKEN = 4;

/**
 * The size of the prompt that a seed makes a child inherit.
 * @param seed - the seed.
 * @param parent - the session it was taken from, unchanged since.
 * @param meter - the harness's token meter, when it is mounted.
 * @returns what the parent's own usage says, else the meter's figure, else an estimate.
 */
export function seedSize({ log, end }: Seed, parent: Session, meter: Meter | undefined): SeedSize {
  const used = usedTokens(log, end);
  if (used !== undefined) return { tokens: used, source: 'usage' };
  const replaced = log.slice(end).some((event) => isSurfaceEvent(event) && event.surfaceOp !== 'append');
  if (meter !== undefined && !replaced) {
    const { totalTokens, nodes } = meter.measure(parent);
    const behind = nodes.filter(({ seq }) => seq >= end).reduce((sum, { tokens }) => sum + tokens, 0);
    return { tokens: Math.max(0, totalTokens - behind), source: 'meter' };
  }
  return { tokens: estimatedTokens(log.slice(0, end), parent.requestHeader()), source: 'estimate' };
}

/** The usage of the request whose prompt is just the seed, or of the one whose answer ends it. */
function usedTokens(log: readonly SessionEvent[], end: number): number | undefined {
  const answer = log.slice(end).find(isSurfaceEvent);
  if (answer?.type === 'assistant/message') return promptTokens(answer);
  const last = log.slice(0, end).findLast(isSurfaceEvent);
  if (last?.type !== 'assistant/message') return undefined;
  const prompt = promptTokens(last);
  return prompt === undefined ? undefined : prompt + last.data.usage!.outputTokens;
}

/** Fresh and cached tokens of a prompt, which the harness counts apart. */
function promptTokens({ data: { usage } }: SessionEvent<'assistant/message'>): number | undefined {
  return usage && usage.inputTokens + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
}

function estimatedTokens(events: readonly SessionEvent[], header: EpochHeader | undefined): number {
  const contents = foldSurface(events).nodes.map((seq) => deriveEventMessage(events[seq]!)?.content);
  const text = JSON.stringify([header?.system, header?.tools, contents]);
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
