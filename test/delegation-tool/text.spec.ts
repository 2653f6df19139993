import { expect, test } from 'vitest';
import { correctedDeclarations, correctedTool, isKnown } from '../../src/delegation-tool/text.ts';

const KNOWN = 'seeded with all completed turns so far (it does not see the current in-flight turn)';
const PROMPT = 'The task. It already sees this conversation\'s completed turns, so build on them freely and state only what is new.';

function tool(description: string, prompt: object | undefined): Parameters<typeof isKnown>[0] {
  return { name: 'subagent', description, parameters: { type: 'object', ...(prompt && { properties: { prompt } }) } };
}

test.each<[string, string, object | undefined, boolean]>([
  ['both sentences as they are known', `A child ${KNOWN}.`, { type: 'string', description: PROMPT }, true],
  ['another description', 'A child.', { type: 'string', description: PROMPT }, false],
  ['the sentence twice', `${KNOWN} ${KNOWN}`, { type: 'string', description: PROMPT }, false],
  ['another prompt', `A child ${KNOWN}.`, { type: 'string', description: 'The task.' }, false],
  ['a prompt without a description', `A child ${KNOWN}.`, { type: 'string' }, false],
  ['no parameters', `A child ${KNOWN}.`, undefined, false],
])('a tool with %s is the known one or is left alone', (_title, description, prompt, known) => {
  expect(isKnown(tool(description, prompt))).toBe(known);
});

test('a corrected tool is a copy: the tool of the registry keeps its text', () => {
  const given = tool(`A child ${KNOWN}.`, { type: 'string', description: PROMPT });
  const before = structuredClone(given);
  expect(correctedTool(given)).not.toEqual(before);
  expect(given).toEqual(before);
});

test('declarations with another number of the sentences than there are tools are left alone', () => {
  const text = `one ${KNOWN} two ${KNOWN}`;
  expect(correctedDeclarations(text, ['a'], () => true)).toBe(text);
  expect(correctedDeclarations(text, ['b', 'a'], (name) => name === 'b')).toMatch(/^one seeded with .* two that sees /);
});
