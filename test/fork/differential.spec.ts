import fc from 'fast-check';
import { expect, test } from 'vitest';
import * as fork from '../../src/index.ts';
import * as published from 'published-fork';
import { conversations, converse, DEFAULT, PUBLISHED } from '../support/conversation.ts';
import type { Conversation } from '../support/conversation.ts';
import { inherited, setup } from '../support/harness.ts';

/** Conversations that log nothing but turns and the inbox. */
const turnsOnly: fc.Arbitrary<Conversation> = conversations.map(({ script, meanwhile, summaries }) => ({
  script: script.filter(({ kind }) => kind === 'turn' || kind === 'blocked turn'),
  meanwhile: meanwhile.filter(({ act }) => ['cancel', 'steer', 'queue', 'inject', 'fork'].includes(act)),
  summaries,
}));

test('where nothing lies between turns, the default seed is the published one, event for event', async () => {
  await fc.assert(fc.asyncProperty(turnsOnly, (conversation) => converse(conversation, ({ moments }) => {
    for (const [ours, theirs] of moments) {
      expect(inherited(ours!.session)).toEqual(inherited(theirs!.session));
      expect(ours!.continuable).toEqual(theirs!.continuable);
      expect(ours!.result).toEqual(theirs!.result);
      expect(ours!.session.events.map(({ type }) => type)).toEqual(theirs!.session.events.map(({ type }) => type));
    }
  }, [DEFAULT])), { numRuns: 60, seed: 1 });
}, 120_000);

test('it declares what the published one declares, and `agentOptions`', async () => {
  const { ctx } = await setup({ config: false });
  await ctx.plugin(fork);
  await ctx.plugin(published, { providerName: PUBLISHED });
  const [ours, theirs] = ['fork', PUBLISHED].map((name) => ctx.subagents.getProvider(name)!);
  expect({ ...ours!.capabilities }).toEqual({ ...theirs!.capabilities, agentOptions: true });
  expect(ours!.inheritsParentContext).toBe(theirs!.inheritsParentContext);
});
