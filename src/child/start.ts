/**
 * Which start a new child belongs to.
 *
 * @module
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Session } from '@deepseek-ai/dsh-session';
import type { ResolvedSubagentStartRequest } from '@deepseek-ai/dsh-subagent';
import type { SeedAnnouncement } from '../announcement.ts';

/** A one-shot start, from its request to its published child. */
export interface ForkStart {
  /** Name of the provider that starts the child. */
  readonly provider: string;
  readonly request: ResolvedSubagentStartRequest;
  /** The seed that every listener has heard of; undefined when nothing is inherited. */
  readonly announcement: SeedAnnouncement | undefined;
}

/** The start that is under way, and its child once that exists. */
interface Slot {
  start: ForkStart | undefined;
  child: Session | undefined;
}

const slots = new AsyncLocalStorage<Slot>();

/**
 * Run what creates the child of a start. The child's loop begins inside this call and outlives it,
 * so the start is let go when the promise settles. Nothing is awaited in between.
 * @param start - the start.
 * @param create - creates and publishes the child.
 * @returns the very promise that `create` returns.
 */
export function within<T>(start: ForkStart, create: () => Promise<T>): Promise<T> {
  const slot: Slot = { start, child: undefined };
  const letGo = (): void => void (slot.start = undefined);
  const created = slots.run(slot, create);
  created.then(letGo, letGo);
  return created;
}

/**
 * The start that a session is the child of. It answers from the child's `session/created` until its
 * start has settled. The first session that a start's parent gets inside the call is its child.
 * @param session - a session that is being created, or was just created.
 * @returns the start; undefined for any other session, a continuable child's among them.
 */
export function startOf(session: Session): ForkStart | undefined {
  const slot = slots.getStore();
  if (slot?.start === undefined || session.header.parentSession !== slot.start.request.parent.id) return undefined;
  slot.child ??= session;
  return slot.child === session ? slot.start : undefined;
}
