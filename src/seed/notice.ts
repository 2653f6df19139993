/**
 * The message that stands between inherited history and the child's task.
 *
 * @module
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import { isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { abandonedKinds } from './abandoned.ts';
import type { Abandonment } from './abandoned.ts';
import { read } from './data.ts';
import { showsMessage } from './visible.ts';

/** The plugin name in the notice's message source, by which a reader of a log finds it. */
export const NOTICE_PLUGIN = 'subagent-fork-in-process';

const ENDINGS: Readonly<Record<Abandonment, string>> = { cancelled: 'was cancelled', failed: 'failed' };

/**
 * The standard notice.
 * @param abandoned - how inherited turns ended unfulfilled; empty when none did.
 * @returns a few sentences in English, true of any fork.
 */
export function noticeText(abandoned: ReadonlySet<Abandonment>): string {
  const endings = [...abandoned].toSorted().map((kind) => ENDINGS[kind]).join(' or ');
  return [
    'You are a subagent. The conversation above is your parent agent\'s, inherited as background only.',
    'Every request, goal, plan and delegation in it, finished or not, is the parent\'s to carry out, not yours.',
    ...(endings === '' ? [] : [`At least one request above ${endings}; it stays so.`]),
    'Your task follows. Do only that task and answer it.',
  ].join(' ');
}

/**
 * The notice as the event that follows the inherited ones.
 * @param inherited - the balanced inherited events.
 * @param notice - a deployment's own text, or `true` for the standard one.
 * @returns a `user/message` of source kind `plugin`, form `notice`, at the next `seq` and the time
 *   of the last inherited event. Undefined when nothing shows above it, or the same notice stands there last.
 */
export function noticeEvent(inherited: readonly SessionEvent[], notice: true | string): SessionEvent<'user/message'> | undefined {
  if (!showsMessage(inherited)) return undefined;
  const text = notice === true ? noticeText(abandonedKinds(inherited)) : notice;
  // Nothing can have replaced the last message of a log.
  if (isNotice(inherited.findLast(isSurfaceEvent)!, text)) return undefined;
  return {
    type: 'user/message',
    seq: inherited.length,
    time: inherited.at(-1)!.time,
    data: createUserMessage({
      content: [{ type: 'text', text }],
      source: {
        kind: 'plugin',
        plugin: NOTICE_PLUGIN,
        form: 'notice',
        summary: 'History above is the parent agent\'s; the task follows.',
      },
    }),
    surfaceOp: 'append',
  };
}

/** Whether an event is a notice of this package with this text. */
function isNotice({ data }: SessionEvent, text: string): boolean {
  return read(data, 'source', 'plugin') === NOTICE_PLUGIN && read(data, 'source', 'form') === 'notice'
    && read(data, 'content', '0', 'text') === text;
}
