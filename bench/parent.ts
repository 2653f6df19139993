/**
 * An agent with a long log that forks from inside a tool call.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent';
import { SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import type { SubagentRun } from '@deepseek-ai/dsh-subagent';
import { say } from '../test/support/harness.ts';
import { mountHarness } from '../test/support/mount.ts';
import { mountContenders, registerTool } from './harness.ts';
import type { Contender } from './harness.ts';
import { collectGarbage } from './measure.ts';
import { WorkingModel } from './model.ts';

/** A harness that opens parents. */
export interface Stage {
  readonly ctx: Context;
  /** Create an agent that has lived through a log and waits inside a tool call of its next turn. */
  open(log: readonly SessionEvent[]): Promise<Parent>;
  dispose(): Promise<void>;
}

/**
 * Mount a harness with all contenders.
 * @param invariants - whether the harness checks itself.
 * @param mount - mounts what a measurement needs besides.
 */
export async function openStage(invariants: boolean, mount?: (ctx: Context) => unknown): Promise<Stage> {
  const ctx = await mountHarness({ invariants });
  const model = new WorkingModel();
  const parents = new WeakMap<Agent, Parent>();
  ctx.llm.registerAdapter(['scripted'], model);
  registerTool(ctx, 'work', () => 'worked');
  registerTool(ctx, 'wait', (agent) => parents.get(agent)!.wait());
  await mount?.(ctx);
  await mountContenders(ctx);
  let opened = 0;
  return {
    ctx,
    async open(log) {
      const sessionId = SessionId(`parent-${++opened}`);
      const handle = await ctx.agents.create({ sessionId, seed: log, agentOptions: { provider: 'scripted', model: 'writer' } });
      collectGarbage();
      const parent = new Parent(ctx, handle);
      parents.set(parent.agent, parent);
      let requests = 0;
      model.workFor(sessionId, () => ++requests % 2 === 1 ? 'wait' : undefined);
      await parent.workOn();
      return parent;
    },
    dispose: () => ctx.fiber.dispose(),
  };
}

/** A live agent that waits inside a tool call whenever it does not work. */
export class Parent {
  readonly agent: Agent;
  private readonly ctx: Context;
  private readonly handle: AgentHandle;
  private arrival: PromiseWithResolvers<void> = Promise.withResolvers();
  private departure: PromiseWithResolvers<string> | undefined;

  constructor(ctx: Context, handle: AgentHandle) {
    this.ctx = ctx;
    this.handle = handle;
    this.agent = handle.agent;
  }

  /** The tool call in which the agent waits. */
  wait(): Promise<string> {
    this.arrival.resolve();
    this.departure = Promise.withResolvers();
    return this.departure.promise;
  }

  /** End the open turn, if there is one, and begin another: about 600 events. */
  async workOn(): Promise<void> {
    await this.finish();
    this.arrival = Promise.withResolvers();
    say(this.agent, 'Go on.');
    await this.arrival.promise;
  }

  /** Start a child as a delegation tool does. */
  start(provider: Contender): Promise<SubagentRun> {
    return this.ctx.subagents.start(provider, {
      parent: this.agent,
      prompt: [{ type: 'text', text: 'Say done.' }],
      signal: new AbortController().signal,
    });
  }

  async dispose(): Promise<void> {
    await this.finish();
    await this.handle.dispose();
  }

  private async finish(): Promise<void> {
    this.departure?.resolve('waited');
    await this.agent.whenIdle();
  }
}

/**
 * Let children finish, end them and free what they held.
 * @param runs - what `start` returned.
 */
export async function end(...runs: readonly SubagentRun[]): Promise<void> {
  for (const run of runs) {
    const { stopReason } = await run.result;
    if (stopReason !== 'completed') throw new Error(`a child ended with "${stopReason}"; expected "completed"`);
    await run.dispose();
  }
  collectGarbage();
}
