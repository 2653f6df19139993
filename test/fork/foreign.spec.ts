import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foreignForks } from '../support/foreign-forks.ts';
import { anything, eachType, foreign, mixed } from '../support/foreign-log.ts';

test('whatever other writers logged that a model can be shown, a fork does its task, is shown the same and leaves its parent alone', async () => {
  await using forks = await foreignForks();
  await fc.assert(fc.asyncProperty(mixed(foreign), (words) => forks.hold(true, words)), { numRuns: 100 });
}, 120_000);

test('whatever other writers logged, a fork does its task and leaves its parent alone', async () => {
  await using forks = await foreignForks();
  await fc.assert(fc.asyncProperty(mixed(anything), (words) => forks.hold(false, words)), { numRuns: 100 });
}, 120_000);

test.for<[unknown]>([[null], [7], ['text'], [[]], [{}], [{ turn: 'one', reason: null }]])('each known type may hold %j: a fork is shown what its parent was', async ([data]) => {
  await using forks = await foreignForks();
  await forks.hold(true, ['turn', 'step', 'ask', 'say', '/step', '/turn', ...eachType(data)]);
  await forks.hold(true, [...eachType(data), 'turn', 'step', 'ask', 'chunk', ...eachType(data), 'chunk', 'call1', 'queue']);
  await expect(forks.hold(false, [...eachType(data), { type: 'turn/end', data }, { type: 'request/header', data }])).resolves.toBeUndefined();
});
