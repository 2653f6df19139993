import fc from 'fast-check';
import { test } from 'vitest';
import { conversations, converse } from '../support/conversation.ts';
import { holds } from '../support/properties.ts';

test('whatever was said before and whenever it starts, a fork with any options has every property', async () => {
  await fc.assert(fc.asyncProperty(conversations, (conversation) => converse(conversation, holds)), { numRuns: 30, seed: 3 });
}, 120_000);
