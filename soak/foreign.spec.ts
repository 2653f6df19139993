import fc from 'fast-check';
import { test } from 'vitest';
import { foreignForks } from '../test/support/foreign-forks.ts';
import { anything, foreign, mixed } from '../test/support/foreign-log.ts';
import { holdsOfSeeds } from '../test/support/foreign-properties.ts';
import { soakProperty } from './logs.ts';

test('forks of logs with other writers\' events are right', async () => {
  for (const [name, events, isShown] of [['shown', foreign, true], ['anything', anything, false]] as const) {
    await using forks = await foreignForks();
    const seen = { logs: 0, words: 0 };
    await soakProperty(`other writers, ${name}`, fc.asyncProperty(mixed(events), async (words) => {
      seen.logs++;
      seen.words += words.length;
      holdsOfSeeds(words);
      await forks.hold(isShown, words);
    }), 0.5, seen);
  }
});
