import { Context } from '@deepseek-ai/cordis';
import { SubagentRuntime } from '@deepseek-ai/dsh-subagent';
import { describe, expect, test } from 'vitest';
import * as fork from '../src/index.ts';
import { Config } from '../src/index.ts';
import { ask, requestsOf, runFork, setup, shown } from './support/harness.ts';

const KEYS = 'providerName, seedBoundary, notice, compactSeed, maxLiveForks, toolGuard, maxSeedTokens, maxSeedTokensOnOtherRoute';

test.each([undefined, null, {}])('%j means every default', (given) => {
  expect(Config(given)).toEqual({ providerName: 'fork', seedBoundary: 'turn', compactSeed: false });
});

test.each(['providerName', 'seedBoundary', 'notice', 'compactSeed', 'maxLiveForks', 'toolGuard', 'maxSeedTokens', 'maxSeedTokensOnOtherRoute'])('`%s:` left empty in a cordis.yml means its default', async (key) => {
  const { ctx, model, parent } = await setup({ config: { [key]: null } });
  await ask(parent, 'first');
  const { session } = await runFork(ctx, parent, 'the task');
  expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
});

test('a list of the guard that is left empty in a cordis.yml counts as left out', async () => {
  const { ctx, parent } = await setup({ config: { toolGuard: { allow: null, deny: ['write'] } as never } });
  const { result } = await runFork(ctx, parent, 'the task');
  expect(result.stopReason).toBe('completed');
});

test('every option is taken as given', () => {
  const given = { providerName: 'clone', seedBoundary: 'step', notice: 'Go on now.', compactSeed: true, maxLiveForks: 3, toolGuard: { allow: ['read', 'grep'], deny: ['grep'] } } as const;
  expect(Config(given)).toEqual(given);
  expect(Config({ notice: false })).toMatchObject({ notice: false });
});

test.each([{ notice: 'Go on' }, { notice: 'Yes, you may.' }, { notice: 'no-one else' }, { notice: '以上是父代理的对话。' }, { providerName: 'on' }])('%j is not taken for a boolean', (given) => {
  expect(Config(given)).toMatchObject(given);
});

const REFUSED: [unknown, string][] = [
  [{ providerName: '' }, 'providerName expected text that is not blank but got ""'],
  [{ providerName: '  ' }, 'providerName expected text that is not blank but got "  "'],
  [{ providerName: 7 }, 'providerName expected string but got 7'],
  [{ providerName: ' fork' }, 'providerName expected a name without blanks around it but got " fork"'],
  [{ providerName: 'fork\n' }, 'providerName expected a name without blanks around it but got "fork\\n"'],
  [{ provderName: 'fork' }, 'provderName is not an option; did you mean providerName?'],
  [{ compact_seed: true }, 'compact_seed is not an option; did you mean compactSeed?'],
  [{ provider: 'fork' }, 'provider is not an option; did you mean providerName?'],
  [{ constructor: 1 }, `constructor is not an option; accepted are ${KEYS}`],
  [{ verbose: true }, `verbose is not an option; accepted are ${KEYS}`],
  [{ seedBoundary: 'message' }, 'seedBoundary expected "turn" | "step" but got "message"'],
  [{ notice: ' ' }, 'notice expected text that is not blank but got " "'],
  ...['off', 'Yes', 'true', 'True', 'false', 'none', 'null', '~', '1', 'default', ' off\n'].map((text): [unknown, string] => (
    [{ notice: text }, `notice expected true, false or a text of several words but got ${JSON.stringify(text)}`]
  )),
  [{ notice: 1 }, 'notice expected boolean | string but got 1'],
  [{ compactSeed: 'yes' }, 'compactSeed expected boolean but got yes'],
  [{ maxSeedTokens: 0 }, 'maxSeedTokens expected number >= 1 but got 0'],
  [{ maxSeedTokensOnOtherRoute: 1.5 }, 'maxSeedTokensOnOtherRoute expected number multiple of 1 but got 1.5'],
  [{ maxLiveForks: 0 }, 'maxLiveForks expected number >= 1 but got 0'],
  [{ maxLiveForks: -1 }, 'maxLiveForks expected number >= 1 but got -1'],
  [{ maxLiveForks: 1.5 }, 'maxLiveForks expected number multiple of 1 but got 1.5'],
  [{ maxLiveForks: Infinity }, 'maxLiveForks expected number multiple of 1 but got Infinity'],
  [{ toolGuard: {} }, 'toolGuard expected allow, deny or both but got none of them'],
  [{ toolGuard: { allow: null } }, 'toolGuard expected allow, deny or both but got none of them'],
  [{ toolGuard: 'write' }, 'toolGuard expected object but got write'],
  [{ toolGuard: { deny: 'write' } }, 'toolGuard $.deny expected array but got write'],
  [{ toolGuard: { deny: ['write', ''] } }, 'toolGuard expected names of tools but got ""'],
  [{ toolGuard: { deny: ['write '] } }, 'toolGuard expected names of tools but got "write "'],
  [{ toolGuard: { allow: [null] } }, 'toolGuard expected names of tools but got null'],
  [{ toolGuard: { dney: ['write'] } }, 'toolGuard has a key that is not an option: dney; accepted are allow, deny'],
  [[], 'expected object but got '],
  ['fork', 'expected object but got fork'],
];

test.each(REFUSED)('%j is refused, naming the key and what is accepted', (given, message) => {
  expect(() => Config(given as never)).toThrow(message);
});

describe('at load', () => {
  const load = async (given: object): Promise<void> => {
    const ctx = new Context();
    await ctx.plugin(SubagentRuntime);
    const loading = Promise.resolve(ctx.plugin(fork, given));
    await loading.finally(() => expect(ctx.subagents.list()).toEqual([]));
  };

  test.each([{ providerName: ' ' }, { provderName: 'fork' }])('%j registers nothing', async (given) => {
    await expect(load(given)).rejects.toThrow('invalid config');
  });

  test('one error names every bad key, and each key once', async () => {
    const given = { providerName: ' fork', seedBoundery: 'step', notice: 'none', compactSeed: 'yes', maxLiveForks: 4 };
    await expect(load(given)).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ValidationError: invalid config:
        - providerName expected a name without blanks around it but got " fork"
        - seedBoundery is not an option; did you mean seedBoundary?
        - notice expected true, false or a text of several words but got "none"
        - compactSeed expected boolean but got yes]
    `);
  });
});

describe('`apply` called by a host itself', () => {
  test.each([undefined, {}, { providerName: 'fork' }])('fills every default in for %j', async (given) => {
    const { ctx, model, parent } = await setup({ config: false });
    fork.apply(ctx, given);
    await ask(parent, 'first');
    const { session } = await runFork(ctx, parent, 'the task');
    expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
  });

  test('refuses what the schema refuses', async () => {
    const { ctx } = await setup({ config: false });
    expect(() => fork.apply(ctx, { providerName: ' fork' })).toThrow('providerName expected a name without blanks around it');
    expect(ctx.subagents.list()).toEqual([]);
  });
});
