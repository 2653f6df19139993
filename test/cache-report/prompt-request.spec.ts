import type { GenerateOptions, TokenUsage } from '@deepseek-ai/dsh-llm';
import { CONTEXT_WINDOW_EXCEEDED_CODE } from '@deepseek-ai/dsh-llm';
import { describe, expect, test } from 'vitest';
import { latestRequest, promptTokens, requestBefore } from '../../src/cache-report/prompt-request.ts';
import type { PromptRequest } from '../../src/cache-report/prompt-request.ts';
import { advertise, LONG, mountCompaction, summarizes } from '../support/compaction.ts';
import { calls, logged } from '../support/delegation.ts';
import { ask, registerTool, requestsOf, runFork, say, setup } from '../support/harness.ts';

const usage: TokenUsage = { inputTokens: 5, outputTokens: 1, cacheReadTokens: 3, cacheWriteTokens: 2 };

/** Expects that what was read from a log is what the model was sent. */
function expectSent(read: PromptRequest | undefined, { provider, model, system, tools, messages }: GenerateOptions): void {
  const { header, messages: known } = read!;
  expect([header.config.provider, header.config.model, header.system, header.tools, known.map(({ message }) => message)])
    .toEqual([provider, model, system, tools, messages]);
}

describe('the latest request', () => {
  test('is the one that called a running tool', async () => {
    const lengths: number[] = [];
    const { model, parent } = await setup({
      mount: (ctx) => {
        registerTool(ctx, 'quick', 'Q');
        registerTool(ctx, 'look', async ({ session }) => String(lengths.push(session.seq)));
      },
      script: (_request, index) => index < 2 ? { ...calls('quick', 'look', 'look'), usage } : 'done',
    });
    await ask(parent, 'question');
    expect(lengths).toHaveLength(4);
    for (const [index, length] of lengths.entries()) {
      const read = latestRequest(parent.session.events.slice(0, length), 0);
      expectSent(read, model.requests[index < 2 ? 0 : 1]!);
      expect(read!.usage).toEqual(usage);
    }
  });

  test('is that of the last step once the turn is over', async () => {
    const { model, parent } = await setup({ script: () => ({ text: 'done', usage }) });
    await ask(parent, 'first');
    await ask(parent, 'second');
    const read = latestRequest(parent.session.events, 0);
    expectSent(read, model.requests[1]!);
    expect(read!.usage).toEqual(usage);
  });

  test('is the one being answered, whose usage is not known', async () => {
    const until = Promise.withResolvers<void>();
    const { ctx, model, parent } = await setup({ script: (_request, index) => index === 0 ? { text: 'first', usage } : { text: 'word by word', until: until.promise } });
    await ask(parent, 'first');
    say(parent, 'second');
    await logged(ctx, parent.session, 'assistant/chunk');
    const read = latestRequest(parent.session.events, 0);
    expectSent(read, model.requests[1]!);
    expect(read!.usage).toBeUndefined();
    until.resolve();
    await parent.whenIdle();
  });

  test('is the failed one, and not what a compaction made of it later', async () => {
    const { ctx, model, parent } = await setup({
      mount: mountCompaction(),
      script: summarizes((_request, index) => index === 2
        ? { text: 'half', finish: { kind: 'error', failure: { code: 'SERVER', message: 'gone' } } }
        : { text: LONG, usage }),
    });
    for (const text of ['first', 'second', 'third']) await ask(parent, text);
    const [, , failed] = model.requests;
    await ctx.compaction.compactNow(parent, new AbortController().signal);
    expect(parent.session.deriveMessages()).not.toEqual(failed!.messages);
    const read = latestRequest(parent.session.events, 0);
    expectSent(read, failed!);
    expect(read!.usage).toBeUndefined();
  });

  test('is the repeated one after an overflow, and says what was replaced', async () => {
    const { model, parent } = await setup({
      mount: mountCompaction(),
      script: summarizes((request) => request.messages.length > 6
        ? { finish: { kind: 'error', failure: { code: CONTEXT_WINDOW_EXCEEDED_CODE, message: 'too long' } } }
        : { text: LONG, usage }),
    });
    advertise(model, 1_000_000);
    for (const text of ['first', 'second', 'third', 'fourth']) await ask(parent, text);
    const read = latestRequest(parent.session.events, 0);
    expectSent(read, requestsOf(model, parent.session).at(-1)!);
    expect(read!.messages.map(({ isReplacement }) => isReplacement)).toEqual([true, false]);
  });

  test('is none before the first and none of an ancestor', async () => {
    const { ctx, parent } = await setup();
    expect(latestRequest(parent.session.events, 0)).toBeUndefined();
    await ask(parent, 'first');
    const { session } = await runFork(ctx, parent, 'task');
    const inherited = session.header.seedLength!;
    expect(latestRequest(session.events.slice(0, inherited + 1), inherited)).toBeUndefined();
    expect(latestRequest(session.events, inherited)).toBeDefined();
  });
});

describe('the request before an answer', () => {
  test('is none when nothing was requested before', async () => {
    const { parent } = await setup();
    say(parent, 'first');
    expect(requestBefore(parent.session.events, parent.session.seq)).toBeUndefined();
    await parent.whenIdle();
  });

  test('leaves out an answer without content, which the model never sees', async () => {
    const { model, parent } = await setup({ script: (_request, index) => index === 0 ? { usage, finish: { kind: 'max-tokens' } } : 'done' });
    await ask(parent, 'first');
    await ask(parent, 'second');
    const answer = parent.session.events.findLast((event) => event.type === 'assistant/message')!;
    expectSent(requestBefore(parent.session.events, answer.seq), model.requests[1]!);
  });
});

test('prompt tokens are the sum of what was and was not cached', () => {
  expect([usage, { inputTokens: 5, outputTokens: 1 }, undefined].map(promptTokens)).toEqual([10, 5, undefined]);
});
