import fc from 'fast-check';
import { test } from 'vitest';
import { anything, foreign, mixed } from '../support/foreign-log.ts';
import { holdsOfSeeds } from '../support/foreign-properties.ts';

test.for([['a model can be shown', foreign], ['a session can log', anything]] as const)(
  'whatever other writers logged that %s, a seed is built, a session takes it, and it shows what the log showed', ([, events]) => {
    fc.assert(fc.property(mixed(events), holdsOfSeeds), { numRuns: 300 });
  },
);
