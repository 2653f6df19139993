/**
 * A host that delegates without end until it is killed: `node doomed-host.ts <directory> <boundary>`.
 * It keeps its sessions in the directory, the delegating one as `parent`, whose first turn is there before
 * anything is delegated. It prints `<session id> <event type>` for each event logged, and
 * `<session id> on disk` when a child is there in the middle of a tool call.
 */
import { SessionId } from '@deepseek-ai/dsh-session';
import { JsonlSessionPersistence } from '@deepseek-ai/dsh-session-persistence-jsonl';
import type { SeedBoundary } from '../../src/index.ts';
import { ask, registerTool, setup } from './harness.ts';

const PARENT = SessionId('parent');

const [root, seedBoundary] = process.argv.slice(2) as [string, SeedBoundary];
const tasks = ['one', 'two', 'three'].map((prompt) => ({ name: 'subagent_fork', arguments: { description: prompt, prompt } }));

const { ctx, agent } = await setup({
  config: { seedBoundary },
  tool: { enableRunInBackground: false },
  mount: async (ctx) => {
    ctx.on('session/event', ({ id }, { type }) => void process.stdout.write(`${id} ${type}\n`), { global: true });
    registerTool(ctx, 'peek', async ({ session }) => {
      await ctx.sessions.flush(session);
      process.stdout.write(`${session.id} on disk\n`);
      return 'peeked';
    });
    await ctx.plugin(JsonlSessionPersistence, { root, writeBatchMaxDelayMs: 1 });
  },
  script: ({ sessionId, messages }) => {
    if (messages.length < 2 || messages.at(-1)!.source.kind === 'tool') return 'It is done, and here is what was found.';
    return { text: 'I look into it.', calls: sessionId === PARENT ? tasks : [{ name: 'peek', arguments: {} }] };
  },
});
const { agent: parent } = await agent({ sessionId: PARENT });
await ask(parent, 'Hello.');
await ctx.sessions.flush(parent.session);
await ctx.subagents.startContinuable({
  provider: 'fork', label: 'kept', signal: new AbortController().signal, request: { parent, prompt: [{ type: 'text', text: 'stay' }] },
});
for (;;) await ask(parent, 'Delegate.');
