/** An endpoint that fails under the real DeepSeek adapter, for a child and for the parent that forks. */
import { describe, expect, test } from 'vitest';
import type { Answer, ChatMessage, Failure } from '../support/endpoint.ts';
import { logged } from '../support/delegation.ts';
import { ask, forkOf, inherited, runFork, say } from '../support/harness.ts';
import { delegate, peek, wired } from '../support/wired.ts';

const PARTIAL = 'I begin with';

const cut: Answer = { text: PARTIAL, ending: 'cut' };
const broken: Failure = { status: 500, message: 'the server is broken' };
const limited: Failure = { status: 429, message: 'the rate limit is reached' };
const overflow: Failure = { status: 400, message: 'maximum context length is 131072 tokens' };

describe.each(['turn', 'step'] as const)('at `%s`', (seedBoundary) => {
  test.each<[string, Answer | Failure, RegExp, string[]]>([
    ['is cut off', cut, /^TRANSPORT: DeepSeek API stream from http:\S+ failed$/, [PARTIAL]],
    ['is refused with 500', broken, /^SERVER: the server is broken$/, []],
    ['is refused with 429', limited, /^RATE_LIMIT: the rate limit is reached$/, []],
    ['overflows the context', overflow, /^CONTEXT_WINDOW_EXCEEDED: maximum context length is 131072 tokens$/, []],
  ])('a child whose answer %s says so, its parent is untouched, and the next fork is whole', async (_title, fault, diagnostic, output) => {
    const { ctx, parent, requests } = await wired({ seedBoundary, maxLiveForks: 1 }, (_request, index) => index === 1 ? fault : `answer ${index}`);
    await ask(parent, 'first');
    const log = [...parent.session.events];
    const run = await forkOf(ctx, parent, 'the task');
    expect(await run.result).toEqual({
      output: output.map((text) => ({ type: 'text', text })), stopReason: 'error', diagnostic: expect.stringMatching(diagnostic) as string,
    });
    await run.dispose();
    expect(ctx.agents.list()).not.toContain(run.localAgent);
    const { result, session } = await runFork(ctx, parent, 'the task');
    expect(result).toEqual({ output: [{ type: 'text', text: 'answer 2' }], stopReason: 'completed' });
    expect(requests[2]!.raw).toBe(requests[1]!.raw);
    expect(inherited(session).slice(0, log.length)).toEqual(log);
    expect(parent.session.events).toEqual(log);
  });

  test.each<[string, Answer | Failure]>([
    ['is cut off', cut], ['is refused with 500', broken], ['is refused with 429', limited],
  ])('an answer that %s is asked for again, byte for byte, and no partial answer reaches a child', async (_title, fault) => {
    const answers = ['hello', fault, peek, fault, delegate('the task'), fault, 'the child is done', 'the parent is done'];
    const { parent, requests } = await wired({ seedBoundary }, (_request, index) => answers[index]!, true);
    await ask(parent, 'first');
    await ask(parent, 'second');
    expect(requests).toHaveLength(8);
    for (const failed of [1, 3, 5]) expect(requests[failed + 1]!.raw).toBe(requests[failed]!.raw);
    const messages = (index: number): readonly ChatMessage[] => requests[index]!.body.messages;
    const known = seedBoundary === 'step' ? messages(4) : [...messages(0), { role: 'assistant', content: 'hello' }];
    const child = messages(6);
    expect(child.slice(0, known.length)).toEqual(known);
    expect(JSON.stringify(child)).not.toContain(PARTIAL);
    expect(messages(7).at(-1)).toMatchObject({ role: 'tool', content: 'the child is done' });
  });

  test.each<[string, Answer | undefined, string]>([
    ['before its answer begins', undefined, 'ABORTED: the run was cancelled before its turn ended'],
    ['while its answer stalls', { text: PARTIAL, ending: 'stall' }, 'ABORTED: the turn was cancelled by its parent'],
  ])('a child that is aborted %s ends at once and leaves nothing open', async (_title, answer, diagnostic) => {
    const arrived = Promise.withResolvers<void>();
    const { ctx, parent } = await wired({ seedBoundary, maxLiveForks: 1 }, (_request, index) => {
      if (index !== 1) return `answer ${index}`;
      arrived.resolve();
      return answer ?? new Promise(() => {});
    });
    await ask(parent, 'first');
    const log = [...parent.session.events];
    const controller = new AbortController();
    const run = await forkOf(ctx, parent, 'the task', { signal: controller.signal });
    await (answer === undefined ? arrived.promise : logged(ctx, run.localAgent!.session, 'assistant/chunk'));
    controller.abort();
    expect(await run.result).toMatchObject({ stopReason: 'aborted', diagnostic });
    await run.dispose();
    expect(ctx.agents.list()).not.toContain(run.localAgent);
    expect(parent.session.events).toEqual(log);
    expect((await runFork(ctx, parent, 'the task')).result.stopReason).toBe('completed');
  });

  test('a parent cancelled before its answer begins, whose turn the harness cannot log as ended, still forks', async () => {
    const arrived = Promise.withResolvers<void>();
    const { ctx, parent, requests } = await wired({ seedBoundary }, (_request, index) => {
      if (index !== 1) return `answer ${index}`;
      arrived.resolve();
      return new Promise(() => {});
    });
    await ask(parent, 'first');
    say(parent, 'second');
    await arrived.promise;
    parent.cancel({ kind: 'user' });
    await parent.whenIdle();
    // Node adds a `stack` to the reason of an aborted fetch, and the session takes no event with such a reason.
    expect(parent.session.events.at(-1)!.type).toBe('step/end');
    const log = [...parent.session.events];
    expect((await runFork(ctx, parent, 'the task')).result.stopReason).toBe('completed');
    const asked = requests[1]!.body.messages;
    const known = seedBoundary === 'step' ? asked : asked.slice(0, -1);
    expect(requests[2]!.body.messages.slice(0, known.length)).toEqual(known);
    expect(requests[2]!.body.messages.slice(known.length).some(({ content }) => content === 'second')).toBe(false);
    expect(parent.session.events).toEqual(log);
  });
});
