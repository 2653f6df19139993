/**
 * The message that stands between inherited history and the child's task.
 *
 * @module
 */
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import { isReplacementSurfaceEvent, isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';

/** The plugin name in the notice's message source, by which a reader of a log finds it. */
export const NOTICE_PLUGIN = 'subagent-fork-in-process';

/** How a turn ended that its request stays unfulfilled. */
type Abandonment = 'cancelled' | 'failed';

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
 * How turns of which the child still sees anything ended without fulfilling their request. A turn
 * that a later compaction replaced in full no longer shows and does not count; one that compacted
 * itself shows its own summary. A turn that its host's end cut short was cancelled by nobody.
 * @param events - the inherited events, balanced.
 * @returns the kinds that occur.
 */
export function abandonedKinds(events: readonly SessionEvent[]): Set<Abandonment> {
  const replaced = new Set<number>();
  const abandoned: { readonly kind: Abandonment; readonly shown: readonly number[] }[] = [];
  let shown: number[] = [];
  for (const event of events) {
    if (isReplacementSurfaceEvent(event)) for (const seq of event.sourceEventSeqs!) replaced.add(seq);
    if (event.type === 'turn/start') shown = [];
    else if (isSurfaceEvent(event)) shown.push(event.seq);
    else if (event.type === 'turn/end') {
      const { reason } = event.data;
      if (reason.kind === 'aborted' && reason.reason.kind !== 'disposed') abandoned.push({ kind: 'cancelled', shown });
      else if (reason.kind === 'error') abandoned.push({ kind: 'failed', shown });
      shown = [];
    }
  }
  return new Set(abandoned.filter((turn) => turn.shown.some((seq) => !replaced.has(seq))).map((turn) => turn.kind));
}

/**
 * The notice as the event that follows the inherited ones.
 * @param inherited - the balanced inherited events; at least one.
 * @param notice - a deployment's own text, or `true` for the standard one.
 * @returns a `user/message` of source kind `plugin`, form `notice`, at the next `seq` and the time
 *   of the last inherited event.
 */
export function noticeEvent(inherited: readonly SessionEvent[], notice: true | string): SessionEvent<'user/message'> {
  const text = notice === true ? noticeText(abandonedKinds(inherited)) : notice;
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
