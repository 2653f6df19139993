/** A process that is killed in the middle of forks, and another that opens what it left on disk. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { interruptedTurnClosers, SessionId } from '@deepseek-ai/dsh-session';
import { foldSubagentDescriptor } from '@deepseek-ai/dsh-subagent';
import { expect, test } from 'vitest';
import { ask, requestsOf, ROUTE, runFork, setup, shown } from '../support/harness.ts';
import { mountPersistence, temporaryDirectory } from '../support/persistence.ts';

const PARENT = SessionId('parent');
const HOST = join(import.meta.dirname, '../support/doomed-host.ts');

/** Runs the host and kills it once that many children are on disk. Returns the types it logged, by session. */
async function kill(root: string, boundary: string, after: number): Promise<Map<string, string[]>> {
  const host = spawn(process.execPath, [HOST, root, boundary], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(host, 'exit');
  const logs = new Map<string, string[]>();
  let stored = 0;
  for await (const line of createInterface(host.stdout)) {
    const [, id, what] = /^(\S+) (.+)$/.exec(line) as unknown as [string, string, string];
    if (what !== 'on disk') logs.set(id, [...logs.get(id) ?? [], what]);
    else if (++stored === after) host.kill('SIGKILL');
  }
  expect((await exited)[1]).toBe('SIGKILL');
  return logs;
}

test.for([
  ['turn', 1], ['turn', 5], ['step', 2], ['step', 7],
] as const)('at `%s`, killed with %i children on disk: its parent is whole, and each child resumable or absent', { timeout: 60_000 }, async ([boundary, after]) => {
  const root = await temporaryDirectory();
  const logs = await kill(root, boundary, after);

  const { ctx, model } = await setup({ config: { seedBoundary: boundary }, mount: mountPersistence(root) });
  const stored = await ctx.sessionPersistence.list();
  expect([...logs.keys()]).toEqual(expect.arrayContaining(stored.map(({ id }) => id)));
  const { events: kept } = await ctx.sessionPersistence.readFrom(PARENT, 0);
  expect(kept.map(({ type }) => type)).toEqual(logs.get(PARENT)!.slice(0, kept.length));
  expect(kept.some(({ type }) => type === 'turn/end')).toBe(true);
  const { agent: parent } = await ctx.agents.resume({ resumeSessionId: PARENT, agentOptions: ROUTE });
  expect(parent.session.events.slice(0, kept.length)).toEqual(kept);

  expect(stored.length).toBeGreaterThan(after);
  for (const { id, seedLength = 0 } of stored.filter(({ id }) => id !== PARENT)) {
    const { events } = await ctx.sessionPersistence.load(id);
    expect(interruptedTurnClosers(events)).toEqual([]);
    const descriptor = foldSubagentDescriptor(events.slice(seedLength));
    if (descriptor?.mode === 'continuable') {
      await ctx.subagents.followup(parent, id, [{ type: 'text', text: 'go on' }], { source: { kind: 'user' }, signal: new AbortController().signal });
    } else {
      const { agent } = await ctx.agents.resume({ resumeSessionId: id, agentOptions: ROUTE });
      await ask(agent, 'go on');
    }
    await ctx.agents.get(id)?.whenIdle();
    expect(shown(requestsOf(model, { id })[0]!).at(-1)).toBe('user: go on');
  }
  const { result } = await runFork(ctx, parent, 'another task');
  expect(result.stopReason).toBe('completed');
});
