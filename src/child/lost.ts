/**
 * Which of the messages that tell a child what it is a compaction has taken from it.
 *
 * @module
 */
import type { UserMessage } from '@deepseek-ai/dsh-llm';
import { isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';
import { readLog } from '../harness/log.ts';
import { acceptable } from '../seed/acceptable.ts';
import { read } from '../seed/data.ts';
import { NOTICE_PLUGIN } from '../seed/notice.ts';

/** The messages a child has to be told again, whole. */
export interface LostMessages {
  /** The message that stood between inherited history and task. */
  readonly notice: string;
  /** The task, and the latest message behind it if that is gone, too. */
  readonly tasks: readonly string[];
}

/** Who sends an agent its work: whoever starts it, a person, or its parent later on. */
const SENDERS: ReadonlySet<string> = new Set(['user', 'coordinator']);

/**
 * What a child has to be told again, as its log is now.
 * @param session - the child's session.
 * @returns notice and task, when one of them no longer shows, with the latest message to the child
 *   when that no longer shows either; undefined when both show and when no notice stands before the task.
 */
export function lostMessages(session: Session): LostMessages | undefined {
  const log = readLog(session);
  const start = session.header.seedLength ?? 0;
  const notice = lastInherited(log, start);
  if (notice?.type !== 'user/message' || !isNotice(notice.data)) return undefined;
  const task = firstWork(log, start);
  if (task === undefined) return undefined;
  const { nodes } = session.surface;
  if (nodes.includes(notice.seq) && nodes.includes(task.seq)) return undefined;
  const latest = log.findLast(isWork)!;
  const later = latest === task || nodes.includes(latest.seq) ? [] : [textOf(latest)];
  return { notice: textOf(notice), tasks: [textOf(task), ...later] };
}

/** The last message of the inherited events. */
function lastInherited(log: readonly SessionEvent[], start: number): SessionEvent | undefined {
  let seq = start - 1;
  while (seq >= 0 && !isSurfaceEvent(log[seq]!)) seq--;
  return log[seq];
}

/** The first work behind the inherited events, whose number may be large. */
function firstWork(log: readonly SessionEvent[], start: number): SessionEvent<'user/message'> | undefined {
  for (let seq = start; seq < log.length; seq++) {
    const event = log[seq]!;
    if (isWork(event)) return event;
  }
  return undefined;
}

function isNotice({ source }: UserMessage): boolean {
  return source.kind === 'plugin' && source.plugin === NOTICE_PLUGIN;
}

function isWork(event: SessionEvent): event is SessionEvent<'user/message'> {
  return event.type === 'user/message' && SENDERS.has(String(read(event.data, 'source', 'kind')));
}

/** A message's text; what is not text is named. */
function textOf(event: SessionEvent<'user/message'>): string {
  const { data: { content } } = acceptable(event) as typeof event;
  return content.map((block) => block.type === 'text' ? block.text : `[${block.type}]`).join('\n');
}
