/** Rows of a profile's `cordis.patch.yml`. */
import { SELF } from '../deployment.ts';

/** The companions, by the ids that the README gives them. */
export const INVARIANT: Readonly<Record<string, string>> = {
  invariants: '@deepseek-ai/dsh-invariants',
  'subagent-fork-in-process-invariant': `${SELF}/invariant`,
};
export const CACHE_REPORT: Readonly<Record<string, string>> = {
  'subagent-fork-in-process-cache-report': `${SELF}/cache-report`,
};

/** The row of the provider, with these options. */
export function provider(options: string): string {
  return `- id: subagent-fork-in-process\n  config: ${options}\n`;
}

/** New rows: names by id. */
export function inserted(rows: Readonly<Record<string, string>>): string {
  const lines = Object.entries(rows).map(([id, name]) => `  - id: ${id}\n    name: '${name}'\n`);
  return `- insert:\n${lines.join('')}`;
}
