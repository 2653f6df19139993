import fc from 'fast-check';
import { test } from 'vitest';
import { conversations } from '../test/support/conversation.ts';
import { soak } from './logs.ts';

test('forks of random conversations that are on disk have every property', async () => {
  const reopened = fc.tuple(conversations, fc.nat(7)).map(([{ script, ...rest }, at]) => ({ ...rest, script: script.toSpliced(at, 0, { kind: 'reopen' }) }));
  await soak('on disk', reopened, 0.25);
});
