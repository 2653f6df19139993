import type { GenerateOptions } from '@deepseek-ai/dsh-llm';
import { foldPlanMode } from '@deepseek-ai/dsh-plan-mode';
import { describe, expect, test } from 'vitest';
import type { SeedBoundary } from '../../src/index.ts';
import { behind, calls, childSessions, delegates, NOTICE, peeking, replies } from '../support/delegation.ts';
import { ask, registerTool, requestsOf, shown } from '../support/harness.ts';
import type { Setup } from '../support/harness.ts';
import { mountPlanMode, PLANNING } from '../support/plan-mode.ts';

const LEFT = 'user: The user switched this session back to the default mode.';
const ENTERED = 'user: The user switched this session to plan mode.';

/** A parent in plan mode or out of it, whose tools `plan` and `act` switch it on and off as a user would. */
const switching = (seedBoundary: SeedBoundary): Promise<Setup> => peeking({
  config: { seedBoundary },
  mount: async (ctx) => {
    await mountPlanMode(ctx);
    registerTool(ctx, 'plan', (agent) => Promise.resolve(ctx.planMode.set(agent, true)));
    registerTool(ctx, 'act', (agent) => Promise.resolve(ctx.planMode.set(agent, false)));
  },
  script: replies({
    'user: Plan it.': calls('plan'),
    'user: Do it.': calls('act'),
    'user: Go on.': delegates('Check it.'),
    [ENTERED]: delegates('Check it.'),
    [LEFT]: delegates('Check it.'),
  }),
});

const planning = ({ system }: GenerateOptions): boolean => system!.includes(PLANNING);

describe.for(['turn', 'step'] as const)('at `%s`', (seedBoundary) => {
  test('plan mode that was left between two turns is left for a fork of the later one', async () => {
    const { ctx, model, parent } = await switching(seedBoundary);
    const children = childSessions(ctx);
    ctx.planMode.set(parent, true);
    await ask(parent, 'Hello.');
    ctx.planMode.set(parent, false);
    await ask(parent, 'Go on.');
    expect(requestsOf(model, parent.session).map(planning)).toEqual([true, false, false]);
    expect(requestsOf(model, children[0]!).map(planning)).toEqual([false]);
    expect(foldPlanMode(children[0]!.events)).toBe(false);
  });
});

describe('at `step`', () => {
  test('plan mode that was entered inside the turn is inherited with the message that tells of it', async () => {
    const { ctx, model, parent } = await switching('step');
    const children = childSessions(ctx);
    await ask(parent, 'Plan it.');
    const [before, delegating] = requestsOf(model, parent.session);
    const [request] = requestsOf(model, children[0]!);
    expect([before!, delegating!, request!].map(planning)).toEqual([false, true, true]);
    expect(shown(delegating!)).toEqual(['user: Plan it.', 'assistant calls plan {}', 'result: queued', ENTERED]);
    expect(behind(request!, delegating!)).toEqual([NOTICE, 'user: Check it.']);
  });

  test('plan mode that was left inside the turn is left for the child', async () => {
    const { ctx, model, parent } = await switching('step');
    const children = childSessions(ctx);
    ctx.planMode.set(parent, true);
    await ask(parent, 'Hello.');
    await ask(parent, 'Do it.');
    const [hello, before, delegating] = requestsOf(model, parent.session);
    const [request] = requestsOf(model, children[0]!);
    expect([hello!, before!, delegating!, request!].map(planning)).toEqual([true, true, false, false]);
    expect(shown(delegating!).slice(2)).toEqual(['user: Do it.', 'assistant calls act {}', 'result: queued', LEFT]);
    expect(behind(request!, delegating!)).toEqual([NOTICE, 'user: Check it.']);
    expect(foldPlanMode(children[0]!.events)).toBe(false);
  });
});
