import fc from 'fast-check';
import { test } from 'vitest';
import { foreignForks } from '../support/foreign-forks.ts';
import { anything, foreign, mixed } from '../support/foreign-log.ts';

test('whatever other writers logged that a model can be shown, a fork does its task, is shown the same and leaves its parent alone', async () => {
  await using forks = await foreignForks();
  await fc.assert(fc.asyncProperty(mixed(foreign), (words) => forks.hold(true, words)), { numRuns: 100 });
}, 120_000);

test('whatever other writers logged, a fork does its task and leaves its parent alone', async () => {
  await using forks = await foreignForks();
  await fc.assert(fc.asyncProperty(mixed(anything), (words) => forks.hold(false, words)), { numRuns: 100 });
}, 120_000);
