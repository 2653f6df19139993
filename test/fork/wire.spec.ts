/** The bodies that the real DeepSeek adapter sends for a parent and its children. */
import { expect, test } from 'vitest';
import type { ChatMessage, EndpointRequest } from '../support/endpoint.ts';
import { BLOCK_TOKENS } from '../support/prefix-cache.ts';
import type { Config } from '../../src/index.ts';
import { ask } from '../support/harness.ts';
import { delegate, peek, wired } from '../support/wired.ts';

const QUESTION = 'What is in the file?';

/** A first turn in which the parent peeks and delegates these tasks, and the children answer. */
async function peekAndDelegate(config: Config, ...tasks: string[]): Promise<readonly EndpointRequest[]> {
  const { parent, requests } = await wired(config, (_request, index) => [peek, delegate(...tasks)][index] ?? `answer ${index}`);
  await ask(parent, QUESTION);
  return requests;
}

/** A body from its first byte to the end of its n-th message. */
function leading({ raw, body: { model, messages } }: EndpointRequest, count: number): string {
  const bytes = JSON.stringify({ model, messages: messages.slice(0, count) }).slice(0, -']}'.length);
  expect(raw.slice(0, bytes.length)).toBe(bytes);
  return bytes;
}

/** A body from the end of its messages to its last byte: the tools and every setting. */
function trailing(request: EndpointRequest): string {
  return request.raw.slice(leading(request, request.body.messages.length).length);
}

/** The messages a child sends behind the first n of another request's, all of whose bytes it repeats. */
function added(child: EndpointRequest, origin: EndpointRequest, count: number = origin.body.messages.length): string[] {
  expect(leading(child, count)).toBe(leading(origin, count));
  expect(trailing(child)).toBe(trailing(origin));
  return child.body.messages.slice(count).map(opening);
}

function opening({ role, content }: ChatMessage): string {
  return `${role}: ${content.split(/[.\n]/)[0]}`;
}

function wholeBlocks(tokens: number): number {
  return tokens - tokens % BLOCK_TOKENS;
}

test('at `step` a child repeats every byte of the delegating request, and all its whole blocks are cached', async () => {
  const [, delegating, child] = await peekAndDelegate({ seedBoundary: 'step' }, 'THE TASK');
  expect(delegating!.body.messages.map(opening)).toMatchInlineSnapshot(`
    [
      "system: You are an AI agent powered by DeepSeek Harness",
      "user: What is in the file?",
      "assistant: Looking",
      "tool: line 0 of the file",
    ]
  `);
  expect(added(child!, delegating!)).toMatchInlineSnapshot(`
    [
      "user: You are a subagent",
      "user: THE TASK",
      "user: Current runtime context",
    ]
  `);
  expect(child!.usage!.prompt_cache_hit_tokens).toBe(wholeBlocks(delegating!.usage!.prompt_tokens));
});

test('three parallel forks in one step each repeat every byte of the delegating request and none of a sibling', async () => {
  const [, delegating, ...rest] = await peekAndDelegate({ seedBoundary: 'step' }, 'First task', 'Second task', 'Third task');
  const children = rest.slice(0, 3);
  expect(children.map((child) => added(child, delegating!)[1])).toEqual(['user: First task', 'user: Second task', 'user: Third task']);
  const cached = children.map((child) => child.usage!.prompt_cache_hit_tokens);
  expect(cached[0]).toBe(wholeBlocks(delegating!.usage!.prompt_tokens));
  expect(Math.min(...cached)).toBe(cached[0]);
});

test.for(['turn', 'step'] as const)('at `%s` a compacted seed gives the same bytes as a whole one', async (seedBoundary) => {
  const bodies = async (compactSeed: boolean): Promise<string[]> => {
    const { parent, requests } = await wired({ seedBoundary, compactSeed }, (_request, index) =>
      [peek, 'It has 200 lines.', peek, delegate('THE TASK')][index] ?? `answer ${index}`);
    await ask(parent, QUESTION);
    await ask(parent, 'And now?');
    return requests.map((request) => request.raw);
  };
  const whole = await bodies(false);
  expect(whole).toHaveLength(6);
  expect(await bodies(true)).toEqual(whole);
});

test('at `turn` a child repeats the completed turn byte for byte and nothing of the open one', async () => {
  const { parent, requests } = await wired({}, (_request, index) =>
    [peek, 'It has 200 lines.', delegate('THE TASK')][index] ?? `answer ${index}`);
  await ask(parent, QUESTION);
  await ask(parent, 'Have it checked.');
  const [, , delegating, child] = requests;
  const completed = delegating!.body.messages.length - 1;
  expect(delegating!.body.messages.map(opening)).toMatchInlineSnapshot(`
    [
      "system: You are an AI agent powered by DeepSeek Harness",
      "user: What is in the file?",
      "assistant: Looking",
      "tool: line 0 of the file",
      "assistant: It has 200 lines",
      "user: Have it checked",
    ]
  `);
  expect(added(child!, delegating!, completed)).toMatchInlineSnapshot(`
    [
      "user: THE TASK",
      "user: Current runtime context",
    ]
  `);
});

test('at `turn` a fork in the first turn holds the task alone', async () => {
  const [, delegating, child] = await peekAndDelegate({}, 'THE TASK');
  expect(added(child!, delegating!, 1)).toMatchInlineSnapshot(`
    [
      "user: THE TASK",
      "user: Current runtime context",
    ]
  `);
});

test('a child whose request is refused tells the parent why', async () => {
  const { parent, requests } = await wired({ seedBoundary: 'step' }, (_request, index) => [
    peek, delegate('THE TASK'), { status: 400, message: 'maximum context length is 131072 tokens' },
  ][index] ?? 'It did not fit.');
  await ask(parent, QUESTION);
  expect(requests.at(-1)!.body.messages.at(-1)!.content).toMatchInlineSnapshot(`
    "Error: subagent run failed
    Diagnostic: CONTEXT_WINDOW_EXCEEDED: maximum context length is 131072 tokens"
  `);
});
