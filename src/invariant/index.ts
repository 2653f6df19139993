/**
 * Companion plugin that checks, through the harness's invariant service, that every child of this
 * package's providers inherits exactly what its parent showed.
 *
 * @module @deepseek-ai/dsh-subagent-fork-in-process/invariant
 */
import type { Context } from '@deepseek-ai/cordis';
import type { InvariantFailure, InvariantInstaller } from '@deepseek-ai/dsh-invariants';
import type { Session, SessionId } from '@deepseek-ai/dsh-session';
import { foldSubagentDescriptor } from '@deepseek-ai/dsh-subagent';
import { inheritanceAt, inheritanceFault } from './inheritance.ts';
import type { Inheritance } from './inheritance.ts';
import { readLog } from '../harness/log.ts';
import type { Seeding } from '../announcement.ts';

export const name = 'subagent-fork-in-process-invariant';
export const inject: string[] = ['invariants'];
export const apply = (ctx: Context): Promise<() => void> => Promise.resolve(
  ctx.invariants.register('@deepseek-ai/dsh-subagent-fork-in-process', install),
);

/** A seed whose child is not published yet, or never will be. */
interface Announced {
  readonly inheritance: Inheritance;
  /** Name of the provider that built it. */
  readonly provider: string;
  /** How long it was when it was built. */
  readonly length: number;
  /** When it was announced; a session created earlier is not its child. */
  readonly time: number;
}

/**
 * The announced seeds of one parent. A continuable start that comes to nothing is not withdrawn: its
 * seed is kept by the child's id, without the log, until the next one for that child or the parent's end.
 */
type Pending = Map<Seeding | SessionId, Announced>;

/**
 * Takes down what a child has to inherit when its seed is announced, and judges the child's own
 * log when it is published. A violation refuses the fork, or rolls the publication back.
 */
const install: InvariantInstaller = Object.assign((ctx: Context, fail: InvariantFailure): void => {
  const pendingByParent = new WeakMap<Session, Pending>();
  ctx.on('subagent-fork/seeded', (seeding) => {
    const { provider, parent: { session: parent }, seed, childId } = seeding;
    const log = readLog(parent);
    if (log.at(-1) !== seed.log.at(-1)) {
      fail(`${pair(childId, parent)}: the parent's log changed while the seed was built, from ${seed.log.length} to ${log.length} events`);
    }
    const pending: Pending = pendingByParent.get(parent) ?? new Map();
    const announced = { inheritance: inheritanceAt(parent, seed.end), provider, length: seed.events.length, time: Date.now() };
    pendingByParent.set(parent, pending.set(childId ?? seeding, announced));
  }, { global: true });
  ctx.on('subagent-fork/withdrawn', (seeding) => {
    pendingByParent.get(seeding.parent.session)?.delete(seeding);
  }, { global: true });
  ctx.on('session/created', (child) => {
    const { origin, parentSession } = child.header;
    const parent = origin === 'subagent' ? ctx.sessions.get(parentSession!) : undefined;
    const pending = parent && pendingByParent.get(parent);
    if (parent === undefined || pending === undefined) return;
    let fault: string | undefined;
    for (const [key, { inheritance }] of candidates(pending, child)) {
      fault = inheritanceFault(inheritance, child, parent);
      if (fault !== undefined) continue;
      pending.delete(key);
      return;
    }
    if (fault !== undefined) fail(`${pair(child.id, parent)}: ${fault}`);
  }, { global: true });
}, { inject: ['sessions'] });

/** The seeds a session can stem from: the one its provider announced for its id, else those of its length. */
function candidates(pending: Pending, child: Session): (readonly [Seeding | SessionId, Announced])[] {
  const { id, seedLength, createdAt } = child.header;
  const early = [...pending].filter(([, { time }]) => time <= createdAt);
  const provider = foldSubagentDescriptor(readLog(child).slice(seedLength))?.provider;
  const named = early.filter(([key, announced]) => key === id && announced.provider === provider);
  return named.length > 0 ? named : early.filter(([key, { length }]) => typeof key === 'object' && length === seedLength);
}

function pair(child: SessionId | undefined, parent: Session): string {
  return `${child === undefined ? 'a child session' : `child session "${child}"`} of parent session "${parent.id}"`;
}
