/**
 * What a child is told at the end of each request.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type {} from '@deepseek-ai/dsh-system-prompt';
import type { Family } from './family.ts';
import { guardText } from './guard.ts';
import type { ToolGuard } from './guard.ts';
import { lostMessages } from './lost.ts';
import type { LostMessages } from './lost.ts';

/** How much of one message a reminder repeats, in UTF-16 code units. */
export const REPEATED_LENGTH = 8_000;

/** What a child may have to be reminded of. Every text is optional, and an empty one counts as absent. */
export interface ReminderParts {
  /** A persona that the child's system prompt does not hold. It may refer to `{{variables}}`. */
  readonly persona?: string;
  /** Which tools it may not call, in sentences. */
  readonly tools?: string;
  /** The messages a compaction took from its history; undefined while none is gone. */
  readonly lost?: LostMessages;
}

/** Behind the harness's own contexts, the last of which says what a delegated agent may do. */
const CONTEXT_ORDER = 130;

/**
 * Add to an agent's runtime context what it has to be reminded of. Nothing is added where nothing is
 * to be said, so no request changes then.
 * @param ctx - where the reminder is registered, and with which it ends: an agent's own context, or
 *   one that all agents share. It has the service `systemPrompt`.
 * @param provider - the provider's name.
 * @param parts - what an agent is to be reminded of now; asked at each of its requests.
 */
export function remind(ctx: Context, provider: string, parts: (agent: Agent) => ReminderParts): void {
  const variable = `fork_reminder_${Buffer.from(provider).toString('hex')}`;
  // A value is not searched for references, so a task may hold any text.
  ctx.systemPrompt.variable(variable, ({ agent }) => agent && spoken(parts(agent)));
  ctx.systemPrompt.context({
    name: `subagent-fork:${provider}`,
    order: CONTEXT_ORDER,
    text: ({ agent }) => {
      if (agent === undefined) return '';
      const given = parts(agent);
      return [given.persona ?? '', spoken(given) === '' ? '' : `{{${variable}}}`].filter((text) => text !== '').join('\n\n');
    },
  });
}

/**
 * What the members of a family are to be reminded of.
 * @param family - a provider's children and their descendants.
 * @param guard - the guard that holds them all, when there is one.
 * @returns gives the parts for any agent: none for one outside, and a child's lost messages for a child alone.
 */
export function reminderFor(family: Family, guard: ToolGuard = {}): (agent: Agent) => ReminderParts {
  const tools = guardText(guard);
  return (agent) => {
    if (!family.has(agent)) return {};
    const lost = family.isChild(agent) ? lostMessages(agent.session) : undefined;
    return { tools, ...(lost && { lost }) };
  };
}

/**
 * What is said word for word: everything but the persona.
 * @param parts - what there is to say.
 * @returns the text; empty when nothing is to be said.
 */
export function spoken({ tools = '', lost }: ReminderParts): string {
  return [tools, lost === undefined ? '' : lostText(lost)].filter((text) => text !== '').join('\n\n');
}

/**
 * The reminder that repeats lost messages.
 * @param lost - notice and tasks, as they were.
 * @returns a text that quotes them; one longer than {@link REPEATED_LENGTH} is cut and says so.
 */
export function lostText({ notice, tasks: [task = '', ...later] }: LostMessages): string {
  return [
    'Your history was summarized. This message stood between your parent agent\'s conversation and your task:',
    shortened(notice),
    'Your task, word for word:',
    shortened(task),
    ...later.flatMap((text) => ['The latest message to you behind it, word for word:', shortened(text)]),
  ].join('\n\n');
}

/**
 * A text that is cut where it is too long.
 * @param text - any text.
 * @param length - how much to leave, in UTF-16 code units.
 * @returns the text, or its beginning and a mark. No surrogate pair is split.
 */
export function shortened(text: string, length: number = REPEATED_LENGTH): string {
  if (text.length <= length) return text;
  const end = /[\uD800-\uDBFF]/.test(text[length - 1]!) ? length - 1 : length;
  return `${text.slice(0, end)}\n[cut here: ${end} of ${text.length} characters shown]`;
}
