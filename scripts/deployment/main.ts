/** Boots `cordis.yml` and a row with a misspelt key, lets a parent fork at each boundary, and prints what came of it. */
import { Context } from '@deepseek-ai/cordis';
import type { Message } from '@deepseek-ai/cordis';
import { Include } from '@deepseek-ai/cordis-plugin-include';
import { Loader } from '@deepseek-ai/cordis-plugin-loader';
import type {} from '@deepseek-ai/dsh-agent';
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import type { GenerateOptions } from '@deepseek-ai/dsh-llm';
import { SessionId } from '@deepseek-ai/dsh-session';
import { ScriptedModel } from '../../test/support/model.ts';
import type { Account } from '../deployment.ts';

const errors: string[] = [];
const ctx = new Context();
ctx.baseUrl = import.meta.url;
ctx.logger.exporter({ levels: { default: 0 }, export: ({ args }: Message) => void errors.push(args.join(' ')) });
await ctx.plugin(Loader);
ctx.loader.builtins.include = Include;
await ctx.loader.create({ name: 'cordis:include', config: { path: './cordis.yml' } });
await ctx.loader.create({ name: '@deepseek-ai/dsh-subagent-fork-in-process', config: { seedBoundery: 'step' } })
  .catch((error: unknown) => errors.push(String(error)));
await ctx.loader.await();

const tools = ['turn_fork', 'step_fork'];
const task = (tool: string): string => `The task of ${tool}.`;
const model = new ScriptedModel((_request, index) => index === 1
  ? { calls: tools.map((name) => ({ name, arguments: { description: 'a fork', prompt: task(name) } })) }
  : `Answer ${index}.`);
ctx.llm.registerAdapter(['scripted'], model);
const { agent } = await ctx.agents.create({ sessionId: SessionId('parent'), agentOptions: { provider: 'scripted', model: 'any' } });
for (const text of ['The first request.', 'The second request.']) {
  agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }));
  await agent.whenIdle();
}

/** What a request says, without the harness's own runtime context. */
function texts({ messages }: GenerateOptions): string[] {
  return messages
    .filter(({ source }) => !(source.kind === 'plugin' && source.plugin === '@deepseek-ai/dsh-system-prompt'))
    .flatMap(({ content }) => content.flatMap((block) => block.type === 'text' ? block.text : []));
}

/** `FiberState.ACTIVE`, a constant without a runtime value. */
const ACTIVE = 2;
const requests = model.requests.map(texts);
const account: Account = {
  mounted: [...ctx.loader.entries()].filter(({ fiber }) => fiber?.state === ACTIVE).map(({ options }) => options.name),
  children: Object.fromEntries(tools.map((tool) => [tool, requests.find((said) => said.at(-1) === task(tool)) ?? []])),
  errors,
};
console.log(JSON.stringify(account));
