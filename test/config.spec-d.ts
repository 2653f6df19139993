import type { Context } from '@deepseek-ai/cordis';
import { describe, expectTypeOf, test } from 'vitest';
import * as fork from '../src/index.ts';

declare const ctx: Context;

test('the plugin mounts without options, with none and with all of them', () => {
  expectTypeOf(ctx.plugin<typeof fork>).toBeCallableWith(fork);
  expectTypeOf(ctx.plugin<typeof fork>).toBeCallableWith(fork, {});
  expectTypeOf(ctx.plugin<typeof fork>).toBeCallableWith(fork, {
    providerName: 'fork', seedBoundary: 'step', notice: 'text', compactSeed: true, maxLiveForks: 1,
  });
});

test('the plugin mounts, and applies, with the config of the published package', () => {
  const published: { providerName: string } = { providerName: 'fork' };
  expectTypeOf(ctx.plugin<typeof fork>).toBeCallableWith(fork, published);
  expectTypeOf(fork.apply).toBeCallableWith(ctx, published);
  expectTypeOf(fork.apply).toBeCallableWith(ctx);
});

describe('what does not compile', () => {
  test('a key that does not exist', () => {
    // @ts-expect-error -- accepted is seedBoundary
    void ctx.plugin(fork, { seedBoundery: 'step' });
  });

  test('a boundary that does not exist', () => {
    // @ts-expect-error -- accepted are turn and step
    void ctx.plugin(fork, { seedBoundary: 'message' });
  });

  test('a guard with a single name', () => {
    // @ts-expect-error -- accepted is an array
    void ctx.plugin(fork, { toolGuard: { deny: 'write' } });
  });

  test('a bound that is no number', () => {
    // @ts-expect-error -- accepted is a number
    void ctx.plugin(fork, { maxLiveForks: '4' });
  });
});

describe('an option', () => {
  test('has its type and may be left out', () => {
    expectTypeOf<fork.Config>().toEqualTypeOf<{
      providerName?: string;
      seedBoundary?: 'turn' | 'step';
      notice?: boolean | string;
      compactSeed?: boolean;
      maxLiveForks?: number;
      toolGuard?: fork.ToolGuard;
      maxSeedTokens?: number;
      maxSeedTokensOnOtherRoute?: number;
    }>();
  });

  test('that has a default is present once the schema resolved it', () => {
    expectTypeOf(fork.Config({})).toEqualTypeOf<fork.ResolvedConfig>();
    expectTypeOf<Pick<fork.ResolvedConfig, keyof fork.ResolvedConfig>>().toEqualTypeOf<{
      providerName: string;
      seedBoundary: 'turn' | 'step';
      compactSeed: boolean;
      notice?: boolean | string;
      maxLiveForks?: number;
      toolGuard?: fork.ToolGuard;
      maxSeedTokens?: number;
      maxSeedTokensOnOtherRoute?: number;
    }>();
  });
});
