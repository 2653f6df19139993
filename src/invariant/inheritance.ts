/**
 * Compares what a child inherited with what its parent showed, and says where it differs first.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import type { Message } from '@deepseek-ai/dsh-llm';
import { deriveEventMessage, foldSurface, isReplacementSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';
import { readLog } from '../harness/log.ts';
import { closersOf } from '../seed/closers.ts';
import { NOTICE_PLUGIN } from '../seed/notice.ts';

/** What makes two messages of one id the same. */
const FIELDS = ['role', 'content', 'source'] as const;

/** What one child has to inherit: facts of its parent's session at the moment of the fork. */
export interface Inheritance {
  /** What the parent showed its model at the boundary, in order. */
  readonly messages: readonly Message[];
  /** What would close a tool call that the boundary cuts off from its result; such a fork is refused. */
  readonly cut: SessionEvent | undefined;
  /** How many events the parent had logged. */
  readonly logged: number;
  /** The last of them. */
  readonly last: SessionEvent | undefined;
}

/**
 * Take down what a child has to inherit.
 * @param parent - the parent's session; it is only read.
 * @param end - the boundary: how many leading events of its log are inherited.
 * @returns the facts that the child is compared with when it is published.
 */
export function inheritanceAt(parent: Session, end: number): Inheritance {
  const log = readLog(parent);
  const cut = closersOf(log, end).find(({ type }) => type === 'tool/result');
  return { messages: messagesBefore(parent, end), cut, logged: log.length, last: log.at(-1) };
}

/**
 * What is wrong with a child's inherited history, judged by its own log and its parent's.
 * @param inheritance - what it has to inherit.
 * @param child - the child's session.
 * @param parent - the parent's session, which may have grown since the fork.
 * @returns the first fault, or undefined when there is none.
 */
export function inheritanceFault(inheritance: Inheritance, child: Session, parent: Session): string | undefined {
  const { messages, cut, logged, last } = inheritance;
  const seedLength = child.header.seedLength ?? 0;
  const fault = surfaceFault(messages, messagesBefore(child, seedLength));
  if (fault !== undefined) return fault;
  const closer = cut ?? closersOf(readLog(child), seedLength)[0];
  if (closer !== undefined) return `the inherited log leaves ${opened(closer)} open`;
  if (readLog(parent)[logged - 1] !== last) return `the parent's log no longer begins with the ${logged} events that were read`;
  return undefined;
}

/**
 * The messages a session showed its model at a boundary. The cost is that of the surface, unless
 * a surface replacement landed behind the boundary: then the log is folded.
 * @param session - the session to read.
 * @param end - how many leading events of its log lie before the boundary.
 * @returns the messages in the order of the surface.
 */
export function messagesBefore(session: Session, end: number): Message[] {
  const events = readLog(session);
  const { nodes } = session.surface;
  // Of replacements behind the boundary the last one still stands on the surface.
  const replaced = nodes.some((seq) => seq >= end && isReplacementSurfaceEvent(events[seq]!));
  const before = replaced ? foldSurface(events.slice(0, end)).nodes : nodes.filter((seq) => seq < end);
  return before.map((seq) => deriveEventMessage(events[seq]!)).filter((message) => message !== null);
}

/**
 * The first difference between two surfaces. A notice of this package may follow what is expected.
 * @param expected - what the parent showed.
 * @param inherited - what the child inherited.
 * @returns the position and the message that differs, or undefined when nothing does.
 */
export function surfaceFault(expected: readonly Message[], inherited: readonly Message[]): string | undefined {
  const found = withoutNotice(inherited, expected);
  const length = Math.max(expected.length, found.length);
  for (let index = 0; index < length; index++) {
    const fault = messageFault(expected, found, index);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What an event closes. */
function opened({ type, data }: SessionEvent): string {
  switch (type) {
    case 'tool/result': return `tool call "${data.message.source.callId}"`;
    case 'step/end': return `step ${data.step} of turn ${data.turn}`;
    default: return `turn ${(data as SessionEvent<'turn/end'>['data']).turn}`;
  }
}

function messageFault(expected: readonly Message[], found: readonly Message[], index: number): string | undefined {
  const [wanted, given] = [expected[index], found[index]];
  const position = `inherited message ${index + 1} of ${expected.length}`;
  if (given === undefined) return `${position}, ${titled(wanted!)}, is missing`;
  if (wanted === undefined) return `${titled(given)} follows what the parent showed`;
  if (wanted.id === given.id) {
    const field = FIELDS.find((name) => !isDeepStrictEqual(wanted[name], given[name]));
    return field && `${position}, ${titled(given)}, differs in ${field}`;
  }
  if (index === 0 && !includes(expected, given)) return `${titled(given)} precedes what the parent showed`;
  return `${position} is ${titled(given)}, expected ${titled(wanted)}`;
}

function withoutNotice(inherited: readonly Message[], expected: readonly Message[]): readonly Message[] {
  const last = inherited.at(-1);
  return last !== undefined && isNotice(last) && !includes(expected, last) ? inherited.slice(0, -1) : inherited;
}

function isNotice({ source }: Message): boolean {
  return source.kind === 'plugin' && source.plugin === NOTICE_PLUGIN && source.form === 'notice';
}

function includes(messages: readonly Message[], { id }: Message): boolean {
  return messages.some((message) => message.id === id);
}

function titled(message: Message): string {
  return `${message.role} message "${message.id}"`;
}
