import { test } from 'vitest';
import { conversations } from '../test/support/conversation.ts';
import { soak } from './logs.ts';

test('forks of random conversations have every property', async () => {
  await soak('in memory', conversations.map(({ script, ...rest }) => ({ ...rest, script: script.filter(({ kind }) => kind !== 'reopen') })), 0.75);
});
