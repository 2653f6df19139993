import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BLOCK_TOKENS, PrefixCache, promptTokens, tokens } from './prefix-cache.ts';

/** That many tokens, all different; two labels share none. */
const prompt = (count: number, label = 'a'): string[] => Array.from({ length: count }, (_, index) => `${label}${index}`);

test('a first prompt has nothing cached', () => {
  expect(new PrefixCache().account('m', prompt(200))).toEqual({ total: 200, cached: 0 });
});

test('the same prompt again is cached in whole blocks', () => {
  const cache = new PrefixCache();
  cache.account('m', prompt(200));
  expect(cache.account('m', prompt(200))).toEqual({ total: 200, cached: 192 });
});

test('a longer prompt has the whole blocks of the one it extends', () => {
  const cache = new PrefixCache();
  cache.account('m', prompt(130));
  expect(cache.account('m', [...prompt(130), ...prompt(300, 'b')])).toEqual({ total: 430, cached: 128 });
});

test('nothing behind the first different block is cached', () => {
  const cache = new PrefixCache();
  cache.account('m', prompt(640));
  expect(cache.account('m', prompt(640).with(64, 'other'))).toEqual({ total: 640, cached: 64 });
});

test('the longest prefix of all earlier prompts counts', () => {
  const cache = new PrefixCache();
  cache.account('m', prompt(64));
  cache.account('m', prompt(192));
  cache.account('m', prompt(128));
  expect(cache.account('m', prompt(256))).toEqual({ total: 256, cached: 192 });
});

test('a prompt shorter than a block is never cached', () => {
  const cache = new PrefixCache();
  cache.account('m', prompt(BLOCK_TOKENS - 1));
  expect(cache.account('m', prompt(BLOCK_TOKENS - 1)).cached).toBe(0);
});

test('another model shares nothing', () => {
  const cache = new PrefixCache();
  cache.account('m', prompt(128));
  expect([cache.account('n', prompt(128)).cached, cache.account('m', prompt(128)).cached]).toEqual([0, 128]);
});

test('tokens are words in pieces and single characters, and lose nothing', () => {
  expect(tokens('{"role": "user"} extraordinary  Überraschung')).toEqual([
    '{', '"', 'role', '"', ':', ' ', '"', 'user', '"', '}', ' extraord', 'inary', ' ', ' Überrasc', 'hung',
  ]);
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => tokens(text).join('') === text));
});

test('a prompt with parts added starts with the tokens of the one without', () => {
  fc.assert(fc.property(fc.array(fc.json()), fc.array(fc.json()), (parts, added) => {
    const before = promptTokens(parts);
    expect(promptTokens([...parts, ...added]).slice(0, before.length)).toEqual(before);
  }));
});
