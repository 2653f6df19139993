/**
 * `npm start`: a parent agent that can delegate to a spawn and to forks at both boundaries.
 *
 * @module
 */
import { devNull } from 'node:os';
import { join } from 'node:path';
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import { SessionId } from '@deepseek-ai/dsh-session';
import { boot } from '../test/support/composition.ts';
import { startEndpoint } from '../test/support/endpoint.ts';
import './own-name.ts';
import { script, TURNS } from './scenario.ts';
import { Transcript } from './transcript.ts';

const task = process.argv.slice(2).join(' ').trim();
const endpoint = process.env.DEEPSEEK_API_KEY ? undefined : await startEndpoint({ script });
if (endpoint !== undefined) {
  Object.assign(process.env, { DEEPSEEK_API_KEY: 'loopback', DEEPSEEK_BASE_URL: endpoint.url, DSH_HOME: devNull });
}
console.log('A parent agent with three ways to delegate: spawn, fork at `turn` and fork at `step`.');
console.log(endpoint === undefined
  ? 'DeepSeek answers.'
  : 'The model is scripted and answers on loopback; everything else is real. With DEEPSEEK_API_KEY set, DeepSeek answers.');
console.log('npm start -- "a task" gives the parent a task of your own.');

process.chdir(join(import.meta.dirname, '..'));
const ctx = await boot(join(import.meta.dirname, 'cordis.yml'));
ctx.tools.guard(({ name }) => name === 'write' || name === 'edit' ? 'the demo changes no file' : undefined);
const parent = ctx.agents.get(SessionId('parent'))!;
const transcript = new Transcript();
transcript.follow(ctx, parent.session);
for (const turn of task === '' ? TURNS : [task]) {
  parent.followup(createUserMessage({ content: [{ type: 'text', text: turn }], source: { kind: 'user' } }));
  await parent.whenIdle();
}
transcript.summary();
await ctx.fiber.dispose();
await endpoint?.close();
process.exitCode = transcript.completed ? 0 : 1;
