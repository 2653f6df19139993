/**
 * Accounts a prompt as DeepSeek's prefix cache does: by whole blocks of its longest known prefix.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';

/** How many tokens make up one unit of the cache. */
export const BLOCK_TOKENS = 64;

/** A word, with the space before it, in pieces of eight characters; or any other single character. */
const TOKEN = / ?[\p{L}\p{N}_]{1,8}|[^]/gu;

/** The tokens of one prompt, of which the leading ones were known already. */
export interface PromptTokens {
  readonly total: number;
  readonly cached: number;
}

/**
 * The tokens of a text. They stand in for a real tokeniser's: deterministic and of a similar count.
 * @param text - any text.
 * @returns its tokens in order; joined they are the text.
 */
export function tokens(text: string): string[] {
  return text.match(TOKEN) ?? [];
}

/**
 * The tokens of a prompt. A prompt that adds parts to the end of another starts with its tokens.
 * @param parts - the prompt's parts in the order in which a provider reads them.
 * @returns the tokens of each part's JSON, in order.
 */
export function promptTokens(parts: readonly unknown[]): string[] {
  return parts.flatMap((part) => tokens(JSON.stringify(part)));
}

/** Every prompt seen so far, by model; models share nothing. */
export class PrefixCache {
  private readonly known = new Map<string, Set<string>>();

  /**
   * Count a prompt and remember it.
   * @param model - whose cache to use.
   * @param prompt - the prompt's tokens in order.
   * @returns how many tokens it has, and how many of them fill the leading blocks that were known.
   */
  account(model: string, prompt: readonly string[]): PromptTokens {
    const known = this.known.get(model) ?? new Set();
    this.known.set(model, known);
    const digests = blockDigests(prompt);
    const unknown = digests.findIndex((digest) => !known.has(digest));
    for (const digest of digests) known.add(digest);
    return { total: prompt.length, cached: (unknown === -1 ? digests.length : unknown) * BLOCK_TOKENS };
  }
}

/** For each whole block of a prompt, what identifies the prompt from its start to that block's end. */
function blockDigests(prompt: readonly string[]): string[] {
  const hash: Hash = createHash('sha256');
  const digests: string[] = [];
  for (let end = BLOCK_TOKENS; end <= prompt.length; end += BLOCK_TOKENS) {
    hash.update(JSON.stringify(prompt.slice(end - BLOCK_TOKENS, end)));
    digests.push(hash.copy().digest('base64'));
  }
  return digests;
}
