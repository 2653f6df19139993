import { expect, test } from 'vitest';
import { read } from '../../src/seed/data.ts';

test.for<[unknown, readonly string[], unknown]>([
  [{ chunk: { type: 'finish' } }, ['chunk', 'type'], 'finish'],
  [{ chunk: null }, ['chunk', 'type'], undefined],
  [{ chunk: 'finish' }, ['chunk', 'length'], undefined],
  [null, ['chunk'], undefined],
  [undefined, ['chunk'], undefined],
  ['text', ['length'], undefined],
  [{ content: [{ text: 'do' }] }, ['content', '0', 'text'], 'do'],
  [{ content: null }, ['content'], null],
  [{}, ['content'], undefined],
  [7, [], 7],
])('of %j at %j stands %j', ([data, path, value]) => {
  expect(read(data, ...path)).toBe(value);
});
