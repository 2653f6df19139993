/** What the loopback model answers in every journey, decided by the request alone. */
import type { Answer, ChatMessage, ChatRequest, EndpointRequest, Failure } from '../../test/support/endpoint.ts';
import { PLAN } from './home.ts';

/** A fork as the model calls for it. */
interface ForkCall {
  readonly prompt: string;
  readonly run_in_background?: boolean;
}

/** The task of a fork whose every request the endpoint refuses. */
export const TOO_LONG = 'Recite the whole log.';
/** The endpoint's words about {@link TOO_LONG}. */
export const REFUSAL = 'maximum context length is 131072 tokens';

/** How the harness's runtime context begins. */
export const RUNTIME_CONTEXT = 'Current runtime context.';
/** How the standard notice begins. */
export const NOTICE: RegExp = /^You are a subagent\. The conversation above is your parent agent's/;

/** What a person asks of the parent. */
export const ask = {
  /** Read the plan, then fork within the same turn. */
  readThenFork: (...tasks: readonly string[]): string => `Read the plan. Then fork: ${tasks.join(' | ')}`,
  foreground: (task: string): string => `Fork in the foreground: ${task}`,
  blank: (): string => 'Fork with a blank task.',
  background: (task: string): string => `Fork in the background: ${task}`,
};

/** The answer to anything that asks for no fork. */
export function answerTo(said: string): string {
  return `This answers "${said}"`;
}

/** Answers one request as a model would that does what it is asked. */
export function answer({ body }: EndpointRequest): string | Answer | Failure {
  if (body.tools === undefined) return 'The harbour';
  const said = lastSaid(body);
  const last = body.messages.at(-1)!;
  if (said.endsWith(TOO_LONG) && !said.startsWith('Fork') && !said.startsWith('Read')) {
    return { status: 400, message: REFUSAL, code: 'context_length_exceeded' };
  }
  if (last.role === 'tool') return afterTool(body, said, last);
  if (said.startsWith('Read the plan. Then fork: ')) {
    return { calls: [{ name: 'read', arguments: { file_path: PLAN.file } }] };
  }
  if (said === ask.blank()) return forks([{ prompt: ' ', run_in_background: false }]);
  const [, where, task] = /^Fork in the (foreground|background): (.*)$/s.exec(said) ?? [];
  if (task !== undefined) return forks([{ prompt: task, run_in_background: where === 'background' }]);
  return answerTo(said);
}

function afterTool({ messages }: ChatRequest, said: string, { content }: ChatMessage): string | Answer {
  const [, tasks] = /^Read the plan\. Then fork: (.*)$/s.exec(said) ?? [];
  const calls = messages.filter(({ role }) => role === 'tool').length;
  if (tasks !== undefined && calls === 1) return forks(tasks.split(' | ').map((prompt) => ({ prompt })));
  return `The fork said: ${content}`;
}

function forks(calls: readonly ForkCall[]): Answer {
  const description = 'a look at the harbour';
  return { calls: calls.map((call) => ({ name: 'subagent_fork', arguments: { description, ...call } })) };
}

/** The latest words of a person, a parent or a plugin, without the runtime context that stands behind them. */
function lastSaid({ messages }: ChatRequest): string {
  const words = messages.filter(({ role, content }) => role === 'user' && !content.startsWith(RUNTIME_CONTEXT));
  return words.at(-1)!.content;
}
