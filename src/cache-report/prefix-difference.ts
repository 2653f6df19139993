/**
 * Finds what keeps one request from reading another's prompt out of a provider's cache.
 *
 * @module
 */
import type { Message } from '@deepseek-ai/dsh-llm';
import { renderPrompt } from '@deepseek-ai/dsh-system-prompt';
import type { PromptAssembly } from '@deepseek-ai/dsh-system-prompt';
import type { PromptMessage, PromptRequest } from './prompt-request.ts';

/** The parts of a prompt in the order in which a provider prefills them; `none` when all are equal. */
export type PrefixPart = 'route' | 'tools' | 'system' | 'history' | 'none';

/** The first part in which a request departs from another. */
export interface PrefixDifference {
  readonly part: PrefixPart;
  /** One line in English that names what differs. */
  readonly reason: string;
}

/** A request with the named sections that its system prompt was rendered from, where they are known. */
export type AssembledRequest = PromptRequest & { readonly assembly?: PromptAssembly | undefined };

/** A child's request, whose messages are partly its parent's. */
export interface ChildRequest extends AssembledRequest {
  /** Whether a message stems from the parent's log. */
  readonly isInherited: (message: Message) => boolean;
}

/** What makes a route for the cache. Sampling and the output limit are no part of a prompt. */
const ROUTE = [['provider', 'provider'], ['model', 'model'], ['reasoningEffort', 'reasoning effort']] as const;

/** The order decides which difference is the first. */
const COMPARISONS: readonly (readonly [PrefixPart, (parent: AssembledRequest, child: ChildRequest) => string | undefined])[] = [
  ['route', routeReason],
  ['tools', toolsReason],
  ['system', systemReason],
  ['history', historyReason],
];

/**
 * The first part of a child's request that differs from its parent's.
 * @param parent - the request whose prompt may be cached.
 * @param child - the request that could read it.
 * @returns the part and the reason; `none` when the child's prompt begins with the parent's.
 */
export function prefixDifference(parent: AssembledRequest, child: ChildRequest): PrefixDifference {
  for (const [part, compare] of COMPARISONS) {
    const reason = compare(parent, child);
    if (reason !== undefined) return { part, reason };
  }
  return { part: 'none', reason: 'the prompt begins with the parent\'s' };
}

function routeReason({ header: { config: parent } }: AssembledRequest, { header: { config: child } }: ChildRequest): string | undefined {
  for (const [key, label] of ROUTE) {
    if (parent[key] !== child[key]) return `${label} ${child[key] ?? 'unset'} instead of ${parent[key] ?? 'unset'}`;
  }
  return undefined;
}

function toolsReason(parent: AssembledRequest, child: ChildRequest): string | undefined {
  const labelled = ({ header: { tools = [] } }: PromptRequest): Map<string, string> =>
    new Map(tools.map((tool) => [`tool \`${tool.name}\``, JSON.stringify(tool)]));
  return listReason('tools', labelled(parent), labelled(child));
}

function systemReason(parent: AssembledRequest, child: ChildRequest): string | undefined {
  if (parent.header.system === child.header.system) return undefined;
  const [before, after] = [sections(parent), sections(child)];
  return (before && after && listReason('sections', before, after)) ?? 'system prompt differs';
}

/** The labelled texts that make up the system prompt, if it is these that were sent. */
function sections({ assembly, header: { system = '' } }: AssembledRequest): Map<string, string> | undefined {
  if (assembly === undefined || renderPrompt(assembly) !== system) return undefined;
  return new Map(assembly.sections
    .map((section) => [sectionLabel(section.name), renderPrompt({ ...assembly, sections: [section] })] as const)
    .filter(([, text]) => text !== ''));
}

function sectionLabel(name: string): string {
  return name === 'deployment:persona' ? 'persona section' : `section \`${name}\``;
}

/** How an ordered list of labelled texts changed. */
function listReason(kind: string, before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string | undefined {
  const removed = [...before.keys()].filter((label) => !after.has(label));
  const added = [...after.keys()].filter((label) => !before.has(label));
  const changed = [...after.keys()].filter((label) => before.has(label) && before.get(label) !== after.get(label));
  const reasons = [
    ...count(removed, 'removed', 'removed'),
    ...count(added, 'added', 'added'),
    ...count(changed, 'differs', 'differ'),
  ];
  if (reasons.length > 0) return reasons.join(', ');
  return isEqual([...before.keys()], [...after.keys()]) ? undefined : `${kind} reordered`;
}

function count(labels: readonly string[], one: string, many: string): string[] {
  if (labels.length === 0) return [];
  return [labels.length === 1 ? `${labels[0]} ${one}` : `${labels[0]} and ${labels.length - 1} more ${many}`];
}

function historyReason({ messages: parent }: AssembledRequest, { messages: child, isInherited }: ChildRequest): string | undefined {
  const at = parent.findIndex((expected, index) => !isSame(expected, child[index]));
  if (at === -1) return undefined;
  const found = child[at];
  const isParents = found !== undefined && isInherited(found.message);
  if (found?.isReplacement === true || (isParents && parent[at]!.isReplacement)) return `compaction in between, from message ${at + 1} on`;
  if (isParents) return `message ${at + 1} differs`;
  const missing = parent.length - at;
  return `history ends ${missing} ${missing === 1 ? 'message' : 'messages'} early`;
}

function isSame({ message }: PromptMessage, other: PromptMessage | undefined): boolean {
  return message.role === other?.message.role && isEqual(message.content, other.message.content);
}

/** Whether two values are the same text on the wire. */
function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
