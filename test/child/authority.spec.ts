/** Nothing of a parent's crosses to its child but history. Where the harness itself decides, the title says so. */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { setSandboxMode } from '@deepseek-ai/dsh-sandbox-policy';
import type { Session } from '@deepseek-ai/dsh-session';
import * as schedule from '@deepseek-ai/dsh-schedule';
import * as scheduleInvariant from '@deepseek-ai/dsh-schedule/invariant';
import { describe, expect, test } from 'vitest';
import { calls, childSessions, delegates, replies, userMessage } from '../support/delegation.ts';
import { mountFull, PLAN_SECTION } from '../support/full.ts';
import { ask, registerTool, requestsOf, runFork, setup, shown } from '../support/harness.ts';
import type { Setup, SetupOptions } from '../support/harness.ts';
import type { Answer } from '../support/model.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

const TASK = 'Check it.';

const TOLD = `user: ${TASK}`;

interface Delegating extends Setup {
  readonly children: readonly Session[];
}

/** A parent with a completed turn. It delegates when it is told to "Go on."; otherwise it and its child answer like this. */
async function delegating(
  seedBoundary: 'turn' | 'step', answers: Readonly<Record<string, Answer | string>>, mount?: SetupOptions['mount'],
): Promise<Delegating> {
  const mounted = await setup({
    config: { seedBoundary },
    tool: {},
    mount: async (ctx) => {
      await mountFull(ctx);
      await mount?.(ctx);
    },
    script: replies({ 'user: Go on.': delegates(TASK), ...answers }),
  });
  const children = childSessions(mounted.ctx);
  await ask(mounted.parent, 'Hello.');
  return { ...mounted, children };
}

/** A tool by which its caller changes something of its parent's, in the middle of the child's turn. */
function registerHook(ctx: Context, name: string, run: (agent: Agent) => void): void {
  registerTool(ctx, name, (agent) => {
    run(agent);
    return Promise.resolve('so be it');
  });
}

describe.for(['turn', 'step'] as const)('at `%s`', (seedBoundary) => {
  test('a tool of the parent\'s own scope is not its child\'s', async () => {
    const { ctx, model, parent, children } = await delegating(seedBoundary, {}, (ctx) => registerTool(ctx, 'peek', 'peeked'));
    registerTool(parent.ctx, 'private', 'secret');
    await ask(parent, 'Go on.');
    const names = (session: Session): string[] => requestsOf(model, session).at(-1)!.tools!.map(({ name }) => name);
    expect(names(parent.session)).toContain('private');
    expect(names(children[0]!)).toEqual(names(parent.session).filter((name) => name !== 'private'));
    expect(ctx.tools.get('private')).toBeUndefined();
  });

  test('a restriction of the parent\'s own scope does not bind its child: the harness has `toolFilter` for that', async () => {
    const { ctx, model, parent, children } = await delegating(seedBoundary, { [TOLD]: calls('poke') }, (ctx) => registerTool(ctx, 'poke', 'poked'));
    parent.ctx.tools.restrict({ deny: ['poke'] });
    await ask(parent, 'Go on.');
    expect(requestsOf(model, parent.session).at(-1)!.tools!.map(({ name }) => name)).not.toContain('poke');
    expect(shown(requestsOf(model, children[0]!)[1]!).at(-1)).toBe('result: poked');

    const { session } = await runFork(ctx, parent, TASK, { toolFilter: { deny: ['poke'] } });
    expect(shown(requestsOf(model, session)[1]!).at(-1)).toContain('unknown tool');
  });

  test('the user\'s "always allow" is the parent\'s alone: approvals are pinned to `never` for a child', async () => {
    const asked: Agent[] = [];
    const { ctx, model, parent, children } = await delegating(seedBoundary, { [TOLD]: calls('risky') }, (ctx) => {
      registerTool(ctx, 'risky', (agent, signal) => ctx.approval.request({ agent, toolName: 'risky', signal }));
      ctx.on('approval/request', ({ agent }) => {
        asked.push(agent);
        return Promise.resolve('allowed-once');
      });
    });
    ctx.approval.setPolicy(parent, 'never');
    ctx.approval.setPolicy(parent, 'ask');
    await ask(parent, 'Go on.');
    expect(shown(requestsOf(model, children[0]!)[1]!).at(-1)).toBe('result: rejected');
    expect(asked).toEqual([]);
    expect(ctx.approval.overrideOf(children[0]!)).toBe('never');
    expect(ctx.approval.overrideOf(parent.session)).toBe('ask');
  });

  test('a sandbox that is widened for the parent after the fork stays as it was for the child', async () => {
    const { ctx, parent, children } = await delegating(seedBoundary, { [TOLD]: calls('widen') }, (ctx) => {
      registerHook(ctx, 'widen', () => setSandboxMode(parent.session, 'danger-full-access'));
    });
    setSandboxMode(parent.session, 'workspace-write');
    await ask(parent, 'Go on.');
    const mode = (session: Session): string => ctx.sandboxPolicy.resolve({ session }).mode;
    expect([mode(parent.session), mode(children[0]!)]).toEqual(['danger-full-access', 'workspace-write']);
  });

  test('a sandbox that was narrowed before the fork is narrow for the child, whatever its history says', async () => {
    const answers = { 'user: Go on.': calls('narrow'), 'result: so be it': delegates(TASK) };
    const { ctx, parent, children } = await delegating(seedBoundary, answers, (ctx) => {
      registerHook(ctx, 'narrow', ({ session }) => setSandboxMode(session, 'read-only'));
    });
    setSandboxMode(parent.session, 'danger-full-access');
    await ask(parent, 'Go on.');
    expect(ctx.sandboxPolicy.resolve({ session: children[0]! }).mode).toBe('read-only');
  });

  test('what is queued for the parent, before the fork or after it, is not its child\'s, and the parent still gets it', async () => {
    const inboxes: unknown[] = [];
    const { model, parent, children } = await delegating(seedBoundary, { [TOLD]: calls('look') }, (ctx) => {
      registerHook(ctx, 'look', ({ inbox }) => {
        parent.steer(userMessage('queued for the next step'));
        inboxes.push([...inbox.nextStep, ...inbox.nextTurn]);
      });
    });
    parent.followup(userMessage('Go on.'));
    parent.followup(userMessage('queued for the next turn'));
    await parent.whenIdle();
    expect(inboxes).toEqual([[]]);
    expect(requestsOf(model, children[0]!).flatMap(shown).filter((line) => line.includes('queued'))).toEqual([]);
    expect(shown(requestsOf(model, parent.session).at(-1)!).filter((line) => line.includes('queued'))).toEqual([
      'user: queued for the next step', 'user: queued for the next turn',
    ]);
  });

  test('an armed goal is replayed disarmed: a child does not pursue it', async () => {
    const activations: unknown[] = [];
    const { ctx, parent } = await delegating(seedBoundary, { [TOLD]: calls('goal') }, (ctx) => {
      registerHook(ctx, 'goal', (child) => void activations.push(ctx.goals.get(child)));
    });
    ctx.goals.create(parent, { objective: 'Rule the world.' });
    await ask(parent, 'Go on.');
    expect(ctx.goals.get(parent)).toMatchObject({ phase: 'active', activation: 'armed' });
    expect(activations).toMatchObject([{ objective: 'Rule the world.', phase: 'active', activation: 'disarmed' }]);
  });

  test('plan mode that the user has chosen for the parent\'s next step is not its child\'s', async () => {
    const { ctx, model, parent, children } = await delegating(seedBoundary, { [TOLD]: calls('plan') }, (ctx) => {
      registerHook(ctx, 'plan', () => expect(ctx.planMode.set(parent, true)).toBe('queued'));
    });
    await ask(parent, 'Go on.');
    const planning = (session: Session): boolean[] => requestsOf(model, session).map(({ system }) => system!.includes(PLAN_SECTION));
    expect(planning(children[0]!)).toEqual([false, false]);
    expect(planning(parent.session)).toEqual([false, false, true]);
    expect(ctx.planMode.get(parent)).toEqual({ active: true });
  });

  test('a schedule reminds its own session alone, and a child cannot make one: the harness gives schedules to roots', async () => {
    const root = await temporaryDirectory();
    const answers = {
      'user: Remind me.': { calls: [{ name: 'schedule_create', arguments: { prompt: 'Feed the cat.', after_seconds: 1 } }] },
      [TOLD]: calls('wait'),
    };
    const reminded = Promise.withResolvers<void>();
    const { ctx, model, agent } = await delegating(seedBoundary, answers, async (ctx) => {
      registerTool(ctx, 'wait', () => reminded.promise.then(() => 'waited'));
      await mountPersistence(root)(ctx);
      await ctx.plugin(scheduleInvariant);
      await ctx.plugin(schedule);
    });
    const { agent: parent } = await agent();
    const texts = ({ session }: Agent): string => requestsOf(model, session).flatMap(shown).join('\n');
    parent.ctx.on('agent/status', ({ status }) => {
      if (status === 'idle' && texts(parent).includes('SCHEDULE REMINDER')) reminded.resolve();
    });
    await ask(parent, 'Remind me.');
    const { result, child } = await runFork(ctx, parent, TASK);
    expect(result.stopReason).toBe('completed');
    expect(texts(parent)).toContain('Feed the cat.');
    expect(texts(child)).not.toContain('SCHEDULE REMINDER');
    expect(child.inbox.hasPending).toBe(false);
    const tools = requestsOf(model, child.session)[0]!.tools!.map(({ name }) => name);
    expect(tools.filter((name) => name.startsWith('schedule'))).toEqual([]);
  });
});
