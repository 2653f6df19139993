import { Context } from '@deepseek-ai/cordis';
import { SubagentRuntime } from '@deepseek-ai/dsh-subagent';
import { describe, expect, test } from 'vitest';
import * as fork from '../src/index.ts';
import { Config } from '../src/index.ts';
import { ask, requestsOf, runFork, setup, shown } from './support/harness.ts';

const KEYS = 'providerName, seedBoundary, notice, compactSeed, maxLiveForks';

test.each([undefined, null, {}])('%j means every default', (given) => {
  expect(Config(given)).toEqual({ providerName: 'fork', seedBoundary: 'turn', compactSeed: false });
});

test.each(['providerName', 'seedBoundary', 'notice', 'compactSeed', 'maxLiveForks'])('`%s:` left empty in a cordis.yml means its default', async (key) => {
  const { ctx, model, parent } = await setup({ config: { [key]: null } });
  await ask(parent, 'first');
  const { session } = await runFork(ctx, parent, 'the task');
  expect(shown(requestsOf(model, session)[0]!)).toEqual(['user: first', 'assistant: done', 'user: the task']);
});

test('every option is taken as given', () => {
  const given = { providerName: 'clone', seedBoundary: 'step', notice: 'Go on now.', compactSeed: true, maxLiveForks: 3 } as const;
  expect(Config(given)).toEqual(given);
  expect(Config({ notice: false })).toMatchObject({ notice: false });
});

test.each([{ notice: 'Go on' }, { notice: 'Yes, you may.' }, { notice: 'no-one else' }, { providerName: 'on' }])('%j is not taken for a boolean', (given) => {
  expect(Config(given)).toMatchObject(given);
});

test('every option says what it is', () => {
  const { dict } = Config.list![0]!;
  expect(Object.keys(dict!).join(', ')).toBe(KEYS);
  for (const { meta } of Object.values(dict!)) expect(meta.description).toMatch(/^[A-Z].+\.$/);
});

test.each([
  [{ providerName: '' }, 'providerName expected text that is not blank but got ""'],
  [{ providerName: '  ' }, 'providerName expected text that is not blank but got "  "'],
  [{ providerName: 7 }, 'providerName expected string but got 7'],
  [{ provderName: 'fork' }, `provderName is not an option; accepted are ${KEYS}`],
  [{ seedBoundary: 'message' }, 'seedBoundary expected "turn" | "step" but got "message"'],
  [{ notice: ' ' }, 'notice expected text that is not blank but got " "'],
  [{ notice: 'off' }, 'notice expected true, false or a text for the model but got "off"'],
  [{ notice: 'Yes' }, 'notice expected true, false or a text for the model but got "Yes"'],
  [{ notice: 1 }, 'notice expected boolean | string but got 1'],
  [{ compactSeed: 'yes' }, 'compactSeed expected boolean but got yes'],
  [{ maxLiveForks: 0 }, 'maxLiveForks expected number >= 1 but got 0'],
  [{ maxLiveForks: -1 }, 'maxLiveForks expected number >= 1 but got -1'],
  [{ maxLiveForks: 1.5 }, 'maxLiveForks expected number multiple of 1 but got 1.5'],
  [{ maxLiveForks: Infinity }, 'maxLiveForks expected number multiple of 1 but got Infinity'],
  [[], 'expected object but got '],
  ['fork', 'expected object but got fork'],
])('%j is refused, naming the key and what is accepted', (given, message) => {
  expect(() => Config(given as never)).toThrow(message);
});

describe('at load', () => {
  test.each([{ providerName: ' ' }, { provderName: 'fork' }])('%j registers nothing', async (given) => {
    const ctx = new Context();
    await ctx.plugin(SubagentRuntime);
    await expect(Promise.resolve(ctx.plugin(fork, given as never))).rejects.toThrow('invalid config');
    expect(ctx.subagents.list()).toEqual([]);
  });
});
