/**
 * Lays out the demo's last table.
 *
 * @module
 */

/** One request that a model answered. */
export interface RequestRow {
  /** The turn and step it belongs to. */
  readonly request: string;
  /** Who asked: the parent, or a child by its provider's name. */
  readonly agent: string;
  /** How many messages it carried, the system prompt not counted. */
  readonly messages: number;
  /** All tokens of its prompt, and those of them read from cache; undefined when the provider does not say. */
  readonly promptTokens: number | undefined;
  readonly cachedTokens: number | undefined;
}

const HEADINGS = ['request', 'agent', 'messages', 'prompt tokens', 'from cache', 'share'];

/**
 * A table with numbers aligned to the right.
 * @param rows - the requests in the order of their answers.
 * @returns the lines: headings, a rule, one line per request.
 */
export function table(rows: readonly RequestRow[]): string[] {
  const cells = [HEADINGS, ...rows.map((row) => [
    row.request, row.agent, count(row.messages), count(row.promptTokens), count(row.cachedTokens), share(row),
  ])];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((line) => line[column]!.length)));
  const [head, ...body] = cells.map((line) => line.map((cell, column) =>
    column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)).join('   ').trimEnd());
  return [head!, widths.map((width) => '─'.repeat(width)).join('   '), ...body];
}

function count(value: number | undefined): string {
  return value?.toLocaleString('en') ?? 'unknown';
}

function share({ promptTokens, cachedTokens }: RequestRow): string {
  return promptTokens === undefined || cachedTokens === undefined ? 'unknown' : `${Math.round(100 * cachedTokens / promptTokens)} %`;
}
