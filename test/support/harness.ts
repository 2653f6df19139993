/** A mounted harness with a parent agent on a scripted model. */
import type { Context, Message as LogMessage } from '@deepseek-ai/cordis';
import type { Agent, AgentHandle, AgentOptions, CreateAgentOptions } from '@deepseek-ai/dsh-agent';
import { WorkerThreadCodeRuntime } from '@deepseek-ai/dsh-code-runtime-worker-thread';
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import type { ContentBlock, GenerateOptions } from '@deepseek-ai/dsh-llm';
import { SessionId } from '@deepseek-ai/dsh-session';
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';
import type { SubagentResult, SubagentRun, SubagentStartRequest } from '@deepseek-ai/dsh-subagent';
import * as toolSubagent from '@deepseek-ai/dsh-tool-subagent';
import { defineTool } from '@deepseek-ai/dsh-tools';
import * as fork from '../../src/index.ts';
import * as forkInvariant from '../../src/invariant/index.ts';
import { ScriptedModel } from './model.ts';
import type { Script } from './model.ts';
import { mountHarness } from './mount.ts';
import type { MountOptions } from './mount.ts';

/** What a test wants mounted beside the bare harness. */
export interface SetupOptions {
  readonly script?: Script;
  /** Options of the fork plugin; `false` mounts none. */
  readonly config?: fork.Config | false;
  /** Mounts what a test needs before the fork plugin. */
  readonly mount?: (ctx: Context) => unknown;
  /** Mounts a `subagent_fork` delegation tool on the provider `fork`, with these options. */
  readonly tool?: Partial<toolSubagent.Config> | false;
  readonly invariants?: boolean;
  /** Whether this package's own companion is among the invariants. */
  readonly companion?: boolean;
  /** How tools are presented to the model. Code Mode runs programs in the published worker thread. */
  readonly toolMode?: MountOptions['toolMode'];
}

/** A mounted harness with one parent agent on it. */
export interface Setup {
  readonly ctx: Context;
  readonly model: ScriptedModel;
  readonly logs: string[];
  readonly parent: Agent;
  readonly agent: (options?: Partial<CreateAgentOptions>) => Promise<AgentHandle>;
}

let agents = 0;

export const ROUTE: AgentOptions = { provider: 'scripted', model: 'model-a' };

export async function setup(options: SetupOptions = {}): Promise<Setup> {
  const invariants = options.invariants !== false;
  const { toolMode = 'native' } = options;
  const ctx = await mountHarness({ invariants, toolMode });
  if (toolMode !== 'native') await ctx.plugin(WorkerThreadCodeRuntime, WorkerThreadCodeRuntime.Config({}));
  const logs: string[] = [];
  ctx.logger.exporter({ levels: { default: 3 }, export: (message: LogMessage) => void logs.push(message.args.join(' ')) });
  const model = new ScriptedModel(options.script ?? (() => 'done'));
  if (invariants && options.companion !== false) await ctx.plugin(forkInvariant);
  ctx.llm.registerAdapter(['scripted', 'other'], model);
  await options.mount?.(ctx);
  if (options.config !== false) await ctx.plugin(fork, options.config ?? {});
  if (options.tool !== undefined && options.tool !== false) {
    await ctx.plugin(toolSubagent, toolSubagent.Config({ provider: 'fork', toolName: 'subagent_fork', ...options.tool }));
  }
  const agent = (given: Partial<CreateAgentOptions> = {}): Promise<AgentHandle> => ctx.agents.create({
    sessionId: SessionId(`agent-${++agents}`), agentOptions: ROUTE, ...given,
  });
  return { ctx, model, logs, agent, parent: (await agent()).agent };
}

/** Registers a tool without arguments that answers with this text, or with what the callback gives. */
export function registerTool(ctx: Context, name: string, answer: string | ((agent: Agent, signal: AbortSignal) => Promise<string>)): void {
  ctx.tools.register(defineTool({
    name,
    description: `Test tool ${name}.`,
    parameters: {},
    output: {
      schema: { type: 'object', additionalProperties: false, properties: { text: { type: 'string', required: true } } },
      render: (_args, value) => [{ type: 'text', text: value.text }],
    },
    isConcurrencySafe: () => true,
    execute: async (_args, exec) => ({ text: typeof answer === 'string' ? answer : await answer(exec.agent!, exec.signal) }),
  }));
}

/** Queues a user message. */
export function say(agent: Agent, text: string): void {
  agent.followup(createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }));
}

/** One whole turn. */
export async function ask(agent: Agent, text: string): Promise<void> {
  say(agent, text);
  await agent.whenIdle();
}

/** Starts a fork as a host would. */
export function forkOf(ctx: Context, parent: Agent, prompt: string, request: Partial<SubagentStartRequest> = {}, provider = 'fork'): Promise<SubagentRun> {
  return ctx.subagents.start(provider, {
    parent, prompt: [{ type: 'text', text: prompt }], signal: new AbortController().signal, ...request,
  });
}

/** Starts a fork, waits for its result and keeps its session readable. */
export async function runFork(ctx: Context, parent: Agent, prompt: string, request: Partial<SubagentStartRequest> = {}, provider = 'fork'): Promise<{ result: SubagentResult; child: Agent; session: Session }> {
  const run = await forkOf(ctx, parent, prompt, request, provider);
  const result = await run.result;
  return { result, child: run.localAgent!, session: run.localAgent!.session };
}

/** The events of a session that it inherited. */
export function inherited(session: Session): SessionEvent[] {
  return session.events.slice(0, session.header.seedLength ?? 0);
}

/** What the model was shown, one line a block, without the harness's own runtime context. */
export function shown(request: GenerateOptions): string[] {
  return request.messages
    .filter((message) => !(message.source.kind === 'plugin' && message.source.plugin === '@deepseek-ai/dsh-system-prompt'))
    .flatMap((message) => message.content.map((block) => line(message.role, block)));
}

function line(role: string, block: ContentBlock): string {
  switch (block.type) {
    case 'text': return `${role}: ${block.text}`;
    case 'reasoning': return `${role} thinks: ${block.text}`;
    case 'tool-call': return `${role} calls ${block.name} ${block.arguments}`;
    case 'tool-result': return `result: ${block.content.map((part) => part.type === 'text' ? part.text : part.type).join('')}`;
    default: return `${role}: [${block.type}]`;
  }
}

/** The requests one session made, in order. */
export function requestsOf(model: ScriptedModel, session: Pick<Session, 'id'>): GenerateOptions[] {
  return model.requests.filter((request) => request.sessionId === session.id);
}
