/**
 * What the demo asks its parent agent, and the scripted model that answers when there is no key.
 *
 * @module
 */
import type { Answer, ChatMessage, Script } from '../test/support/endpoint.ts';

const REPORT = 'demo/incident.md';
const TOOLS = ['subagent_spawn', 'subagent_fork_turn', 'subagent_fork_step'];
const QUESTION = 'Which commit broke the checkout, and why? Open no file. Answer in one sentence from what you already know, or say that you do not know.';

/** The parent's turns. The second one shows what `turn` inherits once a turn is completed. */
export const TURNS: readonly string[] = [
  `Read ${REPORT}. Then call ${TOOLS.join(', ')}, all in one step, each with exactly this prompt: "${QUESTION}" Then say in one sentence who knew the answer.`,
  'Call subagent_fork_turn once more, with the same prompt, and say in one sentence what changed.',
];

/**
 * The scripted model. It knows nothing beyond the request: a parent does what its user's text names,
 * a subagent answers from the messages it was sent.
 */
export const script: Script = ({ body: { messages } }) => isSubagent(messages) ? answerTask(messages) : work(messages);

/** The harness tells a subagent that it is one. */
function isSubagent(messages: readonly ChatMessage[]): boolean {
  return messages.some(({ role, content }) => role === 'user' && content.includes('You are a delegated subagent'));
}

function answerTask(messages: readonly ChatMessage[]): string {
  const finding = messages.map(({ content }) => /First bad commit: (\w+), (.+)/.exec(content)).find((match) => match !== null);
  if (messages.some(({ content }) => content === QUESTION)) {
    return finding === undefined
      ? 'I do not know: nothing I was told says anything about it.'
      : `Commit ${finding[1]}, ${finding[2]}.`;
  }
  const known = finding === undefined ? 'none of them about the incident' : `among them the report that blames commit ${finding[1]}`;
  return `(Scripted, not an answer to the task.) I was sent ${messages.length} messages, ${known}.`;
}

/** One step of a parent: read, delegate, conclude. */
function work(messages: readonly ChatMessage[]): Answer {
  const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user'));
  if (calls(messages).length === 0) {
    return { reasoning: 'The report comes first.', text: 'I read the report.', calls: [{ name: 'read', arguments: { file_path: REPORT } }] };
  }
  const delegations = calls(turn).filter(({ name }) => TOOLS.includes(name));
  if (delegations.length > 0) return { text: conclude(delegations) };
  const named = TOOLS.filter((tool) => turn[0]!.content.includes(tool));
  const prompt = messages.map(({ content }) => /this prompt: "(.+?)"/.exec(content)?.[1]).find(Boolean) ?? turn[0]!.content;
  return {
    text: 'I delegate.',
    calls: (named.length > 0 ? named : TOOLS).map((name) => ({ name, arguments: { description: 'the same question', prompt } })),
  };
}

interface Call {
  readonly name: string;
  readonly result: string;
}

/** The calls that have a result, in order. */
function calls(messages: readonly ChatMessage[]): Call[] {
  return messages.flatMap(({ tool_calls = [] }) => tool_calls).flatMap((call) => messages
    .filter(({ tool_call_id }) => tool_call_id === call.id)
    .map(({ content }) => ({ name: call.function.name, result: content })));
}

function conclude(delegations: readonly Call[]): string {
  return `${delegations.map(({ name, result }) => `${name} ${verdict(result)}`).join(', ')}.`;
}

function verdict(result: string): string {
  if (result.startsWith('Error:')) return 'failed';
  if (result.startsWith('I do not know')) return 'did not know';
  return result.startsWith('Commit') ? 'knew' : 'answered';
}
