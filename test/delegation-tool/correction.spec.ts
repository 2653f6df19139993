import type { Context } from '@deepseek-ai/cordis';
import { createScope } from '@deepseek-ai/dsh-scope';
import * as spawn from '@deepseek-ai/dsh-subagent-spawn-in-process';
import * as toolSubagent from '@deepseek-ai/dsh-tool-subagent';
import { describe, expect, test } from 'vitest';
import { providerOf } from '../../src/delegation-tool/correction.ts';
import * as fork from '../../src/index.ts';
import { childSessions, delegates, replies } from '../support/delegation.ts';
import { ask, requestsOf, setup } from '../support/harness.ts';
import type { Setup, SetupOptions } from '../support/harness.ts';

const SEES = 'that sees all you see now, the current turn included (it does not see the message that calls this tool)';
const SEES_NOT = 'seeded with all completed turns so far (it does not see the current in-flight turn)';

async function mountTool(ctx: Context, provider: string, toolName: string): Promise<void> {
  await ctx.plugin(toolSubagent, toolSubagent.Config({ provider, toolName }));
}

/** A harness with tools on a row at `step`, on one at `turn` and on a fresh agent. It delegates once. */
async function delegating(options: SetupOptions): Promise<Setup & { readonly children: ReturnType<typeof childSessions> }> {
  const mounted = await setup({
    config: { seedBoundary: 'step' },
    tool: {},
    script: replies({ 'user: Go on.': delegates('Do it.') }),
    ...options,
    mount: async (ctx) => {
      await ctx.plugin(spawn, { providerName: 'spawn' });
      await ctx.plugin(fork, { providerName: 'turn-fork' });
      await mountTool(ctx, 'spawn', 'subagent');
      await mountTool(ctx, 'turn-fork', 'turn_fork');
      await mountTool(ctx, 'turn-fork', 'a_turn_fork');
      await options.mount?.(ctx);
    },
  });
  const children = childSessions(mounted.ctx);
  await ask(mounted.parent, 'Go on.');
  return { ...mounted, children };
}

/** The tools of a request, each with what is said of its child. */
function said({ model, parent }: Setup): Record<string, string | undefined> {
  const { tools } = requestsOf(model, parent.session)[0]!;
  return Object.fromEntries(tools!.map(({ name, description }) => [name, [SEES, SEES_NOT].find((text) => description.includes(text))]));
}

describe('a delegation tool', () => {
  test('on a `step` row says that its child sees the current turn; one on another provider keeps its text', async () => {
    expect(said(await delegating({}))).toEqual({ a_turn_fork: SEES_NOT, subagent: undefined, subagent_fork: SEES, turn_fork: SEES_NOT });
  });

  test('tells parent and child the same', async () => {
    const mounted = await delegating({});
    const [first] = requestsOf(mounted.model, mounted.parent.session);
    expect(JSON.stringify(requestsOf(mounted.model, mounted.children[0]!)[0]!.tools)).toBe(JSON.stringify(first!.tools));
  });

  test('says of its prompt that the current turn is known, too, and nothing else in it changes', async () => {
    const shown = async (config: fork.Config): Promise<string> => {
      const { model, parent } = await delegating({ config });
      return JSON.stringify(requestsOf(model, parent.session)[0]!.tools!.find(({ name }) => name === 'subagent_fork'));
    };
    const turn = await shown({});
    expect(turn).toContain(SEES_NOT);
    expect(await shown({ seedBoundary: 'step' })).toBe(turn.replace(SEES_NOT, SEES).replace(
      'It already sees this conversation\'s completed turns, so build on them freely and state only what is new.',
      'It already sees this conversation, the current turn included, so build on it freely and state only what is new.',
    ));
  });

  test('that was mounted before its provider says so as well', async () => {
    const mounted = await setup({ config: false, mount: (ctx) => mountTool(ctx, 'fork', 'subagent_fork') });
    await mounted.ctx.plugin(fork, { seedBoundary: 'step' });
    await ask(mounted.parent, 'Hello.');
    expect(said(mounted)).toEqual({ subagent_fork: SEES });
  });

  test('has its published text again when the plugin is gone', async () => {
    const mounted = await setup({ config: false });
    const { ctx, parent } = mounted;
    const fiber = ctx.plugin(fork, { seedBoundary: 'step' });
    await fiber;
    await fiber.dispose();
    await ctx.plugin(fork, {});
    await mountTool(ctx, 'fork', 'subagent_fork');
    await ask(parent, 'Hello.');
    expect(said(mounted)).toEqual({ subagent_fork: SEES_NOT });
  });

  test.each(['continuable', 'one-shot'] as const)('that runs %s children in the background is corrected, too', async (backgroundMode) => {
    const mounted = await delegating({ tool: { backgroundMode, enableRunInBackground: true } });
    expect(said(mounted)).toMatchObject({ subagent_fork: SEES });
  });
});

describe.each(['code', 'both'] as const)('with tools in `%s` mode', (toolMode) => {
  test('the declarations say the same: corrected for the tool on the `step` row alone', async () => {
    const declared = async (config: fork.Config): Promise<string> => {
      const { model, parent } = await delegating({ config, toolMode });
      return requestsOf(model, parent.session)[0]!.system!;
    };
    const turn = await declared({});
    const step = await declared({ seedBoundary: 'step' });
    // By name: a_turn_fork, subagent, subagent_fork, turn_fork.
    expect(turn.split(SEES_NOT)).toHaveLength(4);
    expect(step.split(SEES_NOT)).toHaveLength(3);
    expect(step.indexOf(SEES)).toBeGreaterThan(step.indexOf(SEES_NOT));
    expect(step.indexOf(SEES)).toBeLessThan(step.lastIndexOf(SEES_NOT));
    expect(step.replace(SEES, SEES_NOT).replace(
      'It already sees this conversation, the current turn included, so build on it freely and state only what is new.',
      'It already sees this conversation\'s completed turns, so build on them freely and state only what is new.',
    )).toBe(turn);
  });
});

test('an agent without Code Mode under a deployment with it has no declarations to correct', async () => {
  const { ctx, parent, model } = await setup({ config: { seedBoundary: 'step' }, tool: {}, toolMode: 'both' });
  parent.ctx.tools.presentAs('native');
  await ask(parent, 'Hello.');
  expect(requestsOf(model, parent.session)[0]!.system).not.toContain('tools.name');
  expect(ctx.tools.get('subagent_fork', parent)).toBeDefined();
});

test('of two tools of one name the one of the nearest scope counts, as in the harness', async () => {
  const { ctx } = await setup();
  const [preset, agent, other] = [{}, {}, {}];
  createScope(ctx, preset);
  const mounted = [
    { name: 'subagent', provider: 'spawn', scope: undefined },
    { name: 'subagent', provider: 'fork', scope: preset },
    { name: 'only_other', provider: 'fork', scope: other },
  ];
  expect(providerOf(mounted, 'subagent', [agent, preset])).toBe('fork');
  expect(providerOf(mounted, 'subagent', [agent])).toBe('spawn');
  expect(providerOf(mounted, 'only_other', [agent])).toBeUndefined();
  expect(providerOf(mounted, 'absent', [agent])).toBeUndefined();
});
