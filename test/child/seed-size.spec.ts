import { TokenMeter } from '@deepseek-ai/dsh-token-meter';
import type { SubagentStartRequest } from '@deepseek-ai/dsh-subagent';
import { describe, expect, test } from 'vitest';
import { seedSize } from '../../src/child/seed-size.ts';
import type { Meter } from '../../src/child/seed-size.ts';
import type * as fork from '../../src/index.ts';
import { buildSeed } from '../../src/seed/build.ts';
import { mountCompaction } from '../support/compaction.ts';
import { calls, childSessions, delegates, replies } from '../support/delegation.ts';
import { ask, registerTool, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup, SetupOptions } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

const USAGE = { inputTokens: 100, cacheReadTokens: 800, cacheWriteTokens: 50, outputTokens: 7 };
const REFUSAL = 'Delegate to a fresh agent instead, with a brief that says all it needs.';

/** A parent with one turn, whose requests are counted or not. */
async function talked(config: fork.Config, options: SetupOptions & { readonly counted?: boolean } = {}): Promise<Setup> {
  const mounted = await setup({ config, script: () => options.counted === false ? 'done' : { text: 'done', usage: USAGE }, ...options });
  await ask(mounted.parent, 'Hello.');
  return mounted;
}

function measured({ ctx, parent }: Setup, seedBoundary: 'turn' | 'step' = 'turn'): ReturnType<typeof seedSize> {
  const seed = buildSeed(parent.session, { seedBoundary, notice: false, compactSeed: false });
  return seedSize(seed, parent.session, ctx.get('tokenMeter') as Meter | undefined);
}

function refusal({ ctx, parent }: Setup, request: Partial<SubagentStartRequest> = {}): Promise<string> {
  return runFork(ctx, parent, 'Do it.', request).then(() => 'started', (error: Error) => error.message);
}

describe('the size of what a fork inherits', () => {
  test('is what the parent\'s last request was counted as, with its answer', async () => {
    expect(measured(await talked({}))).toEqual({ tokens: 957, source: 'usage' });
  });

  test('counts an endpoint without a cache, too', async () => {
    const mounted = await talked({}, { script: () => ({ text: 'done', usage: { inputTokens: 10, outputTokens: 2 } }) });
    expect(measured(mounted)).toEqual({ tokens: 12, source: 'usage' });
  });

  test('is not what an earlier request was counted as when more stands behind it', async () => {
    const mounted = await talked({});
    mounted.model.script = () => ({ finish: { kind: 'error', failure: { code: 'UNKNOWN', message: 'no' } } });
    await ask(mounted.parent, 'More.');
    expect(measured(mounted).source).toBe('estimate');
  });

  test('is the delegating request\'s own count at `step`', async () => {
    const { ctx, parent } = await setup({
      config: { seedBoundary: 'step', maxSeedTokens: 950 },
      tool: {},
      script: (request, index) => shown(request).at(-1) === 'user: Go on.' ? { ...delegates('Do it.'), usage: USAGE } : replies({})(request, index),
    });
    const children = childSessions(ctx);
    await ask(parent, 'Go on.');
    expect(children).toHaveLength(1);
  });

  test('is the meter\'s figure when nothing was counted, without what stands behind the seed', async () => {
    const mounted = await talked({}, { counted: false, mount: (ctx) => ctx.plugin(TokenMeter) });
    const { tokens, source } = measured(mounted);
    expect(source).toBe('meter');
    expect(tokens).toBe(mounted.ctx.tokenMeter.measure(mounted.parent.session).totalTokens);
    let inTurn: unknown;
    registerTool(mounted.ctx, 'look', () => {
      inTurn = measured(mounted);
      return Promise.resolve('seen');
    });
    mounted.model.script = replies({ 'user: Look.': calls('look') });
    await ask(mounted.parent, 'Look.');
    expect(inTurn).toMatchObject({ source: 'meter' });
    // The tool that was registered in between is in the request's head, and counts.
    expect((inTurn as { tokens: number }).tokens).toBeGreaterThanOrEqual(tokens);
    expect((inTurn as { tokens: number }).tokens).toBeLessThan(mounted.ctx.tokenMeter.measure(mounted.parent.session).totalTokens);
  });

  test('is an estimate without a meter: the bytes of what shows and of the request\'s head by four', async () => {
    const mounted = await talked({}, { counted: false });
    const { messages, system, tools } = requestsOf(mounted.model, mounted.parent.session)[0]!;
    const contents = [...messages.map(({ content }) => content), [{ type: 'text', text: 'done' }]];
    expect(measured(mounted)).toEqual({ tokens: Math.ceil(JSON.stringify([system, tools, contents]).length / 4), source: 'estimate' });
  });

  test('is an estimate when the meter has seen a compaction that the seed has not', async () => {
    const mounted = await talked({}, { counted: false, mount: mountCompaction() });
    const { session } = mounted.parent;
    const seed = buildSeed(session, { seedBoundary: 'turn', notice: false, compactSeed: false });
    const [first] = session.surface.nodes;
    session.append('user/message', session.events[first!]!.data as never, { surfaceOp: { op: 'replace', start: first!, end: first! }, sourceEventSeqs: [first!] });
    const later = { ...seed, log: session.events };
    expect(seedSize(later, session, mounted.ctx.tokenMeter)).toMatchObject({ source: 'estimate' });
  });
});

describe('`maxSeedTokens`', () => {
  test('lets a fork of exactly that size start, and refuses the next smaller bound before a child exists', async () => {
    expect(await refusal(await talked({ maxSeedTokens: 957 }))).toBe('started');
    const mounted = await talked({ maxSeedTokens: 956 });
    mounted.ctx.on('session/created', () => expect.unreachable());
    mounted.ctx.on('subagent-fork/seeded', () => expect.unreachable());
    expect(await refusal(mounted)).toBe(`fork refused: this conversation has 957 tokens (as its last request was counted), at most 956 may be inherited. ${REFUSAL}`);
  });

  test.each<[string, SetupOptions]>([
    ['as the token meter says', { mount: (ctx) => ctx.plugin(TokenMeter) }],
    ['an estimate by its length', {}],
  ])('refuses by a size that is %s, and passes at exactly that', async (said, options) => {
    const { tokens } = measured(await talked({}, { ...options, counted: false }));
    expect(await refusal(await talked({ maxSeedTokens: tokens }, { ...options, counted: false }))).toBe('started');
    expect(await refusal(await talked({ maxSeedTokens: tokens - 1 }, { ...options, counted: false })))
      .toContain(`has ${tokens} tokens (${said}), at most ${tokens - 1}`);
  });

  test('does not refuse a child that inherits nothing', async () => {
    expect(await refusal(await setup({ config: { maxSeedTokens: 1 } }))).toBe('started');
  });

  test.each<[number, string]>([[957, 'started'], [956, 'SEED_TOO_LARGE']])('of %i holds for a continuable child: %s', async (maxSeedTokens, outcome) => {
    const mounted = await talked({ maxSeedTokens }, { mount: mountPersistence(await temporaryDirectory()) });
    expect(await continuable(mounted)).toBe(outcome);
  });
});

describe('`maxSeedTokensOnOtherRoute`', () => {
  const config = { maxSeedTokensOnOtherRoute: 956 };
  const other = { agentOptions: { model: 'model-b' } };

  test('bounds a fork onto another route alone', async () => {
    expect(await refusal(await talked(config))).toBe('started');
    expect(await refusal(await talked(config), { agentOptions: { model: 'model-a' } })).toBe('started');
    expect(await refusal(await talked(config), other)).toContain('at most 956 may be inherited on another model.');
    expect(await refusal(await talked(config), { agentOptions: { provider: 'other' } })).toContain('on another model.');
  });

  test('is `maxSeedTokens` by default, and holds in its place when it is given', async () => {
    expect(await refusal(await talked({ maxSeedTokens: 956 }), other)).toContain('at most 956 may be inherited on another model.');
    expect(await refusal(await talked({ maxSeedTokens: 1, maxSeedTokensOnOtherRoute: 957 }), other)).toBe('started');
  });

  test('bounds a continuable child on another route, and not one on its parent\'s', async () => {
    const directory = await temporaryDirectory();
    const mounted = await talked(config, { mount: mountPersistence(directory) });
    expect(await continuable(mounted)).toBe('started');
    expect(await continuable(mounted, other)).toBe('SEED_TOO_LARGE');
  });
});

async function continuable({ ctx, parent }: Setup, request: Partial<SubagentStartRequest> = {}): Promise<string> {
  const started = ctx.subagents.startContinuable({
    provider: 'fork', label: 'child', signal: new AbortController().signal, request: { parent, prompt: [{ type: 'text', text: 'Do it.' }], ...request },
  });
  return started.then(async ({ childId }) => {
    await ctx.agents.get(childId)?.whenIdle();
    return 'started';
  }, (error: { code: string }) => error.code);
}
