/**
 * Companion plugin that checks, through the harness's invariant service, that every child of this
 * package's providers inherits exactly what its parent showed.
 *
 * @module @deepseek-ai/dsh-subagent-fork-in-process/invariant
 */
import type { Context } from '@deepseek-ai/cordis';
import type { InvariantFailure, InvariantInstaller } from '@deepseek-ai/dsh-invariants';
import type { Session, SessionHeader, SessionId } from '@deepseek-ai/dsh-session';
import { inheritanceAt, inheritanceFault } from './inheritance.ts';
import type { Inheritance } from './inheritance.ts';
import { readLog } from './log.ts';
import type { Seeding } from './seeding.ts';

export const name = 'subagent-fork-in-process-invariant';
export const inject: string[] = ['invariants'];
export const apply = (ctx: Context): Promise<() => void> => Promise.resolve(
  ctx.invariants.register('@deepseek-ai/dsh-subagent-fork-in-process', install),
);

/** A seed whose child is not published yet, or never will be. */
interface Announced {
  readonly inheritance: Inheritance;
  /** When it was announced; a session created earlier is not its child. */
  readonly time: number;
}

/** The announced seeds of one parent. */
type Pending = Map<Seeding, Announced>;

/**
 * Takes down what a child has to inherit when its seed is announced, and judges the child's own
 * log when it is published. A violation refuses the fork, or rolls the publication back.
 */
const install: InvariantInstaller = Object.assign((ctx: Context, fail: InvariantFailure): void => {
  const pendingByParent = new WeakMap<Session, Pending>();
  ctx.on('subagent-fork/seeded', (seeding) => {
    const { parent: { session: parent }, seed, childId } = seeding;
    const log = readLog(parent);
    if (log.at(-1) !== seed.log.at(-1)) {
      fail(`${pair(childId, parent)}: the parent's log changed while the seed was built, from ${seed.log.length} to ${log.length} events`);
    }
    const pending: Pending = pendingByParent.get(parent) ?? new Map();
    pendingByParent.set(parent, pending.set(seeding, { inheritance: inheritanceAt(parent, seed.end), time: Date.now() }));
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
    for (const [seeding, { inheritance }] of candidates(pending, child.header)) {
      fault = inheritanceFault(inheritance, child, parent);
      if (fault !== undefined) continue;
      pending.delete(seeding);
      return;
    }
    if (fault !== undefined) fail(`${pair(child.id, parent)}: ${fault}`);
  }, { global: true });
}, { inject: ['sessions'] });

/** The seeds a session can stem from, by its id if one was announced for it, else by its length. */
function candidates(pending: Pending, { id, seedLength, createdAt }: SessionHeader): (readonly [Seeding, Announced])[] {
  const early = [...pending].filter(([, { time }]) => time <= createdAt);
  const named = early.filter(([{ childId }]) => childId === id);
  return named.length > 0 ? named : early.filter(([{ childId, seed }]) => childId === undefined && seed.events.length === seedLength);
}

function pair(child: SessionId | undefined, parent: Session): string {
  return `${child === undefined ? 'a child session' : `child session "${child}"`} of parent session "${parent.id}"`;
}
