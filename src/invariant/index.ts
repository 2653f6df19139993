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
import type { SeedAnnouncement } from '../announcement.ts';
import { wasTold } from '../child/continuable.ts';
import { startOf } from '../child/start.ts';
import { readLog } from '../harness/log.ts';
import { inheritanceAt, inheritanceFault } from './inheritance.ts';
import type { Inheritance } from './inheritance.ts';

export const name = 'subagent-fork-in-process-invariant';
export const inject: string[] = ['invariants'];
export const apply = (ctx: Context): Promise<() => void> => Promise.resolve(
  ctx.invariants.register('@deepseek-ai/dsh-subagent-fork-in-process', install),
);

/** What the next continuable child of each id has to inherit, and the provider that promised it. */
type Promised = Map<SessionId, { readonly provider: string; readonly inheritance: Inheritance }>;

/**
 * Takes down what a child has to inherit when its seed is announced, and judges the child's own
 * log when it is published. A violation refuses the fork, or rolls the publication back.
 */
const install: InvariantInstaller = Object.assign((ctx: Context, fail: InvariantFailure): void => {
  const oneShot = new WeakMap<SeedAnnouncement, Inheritance>();
  // A continuable start that comes to nothing is not withdrawn. What it promised stays until its
  // parent's end, without the log.
  const continuable = new WeakMap<Session, Promised>();

  ctx.on('subagent-fork/seeded', (announcement) => {
    const { provider, parent: { session: parent }, seed, childId } = announcement;
    const log = readLog(parent);
    if (log.at(-1) !== seed.log.at(-1)) {
      fail(`${pair(childId, parent)}: the parent's log changed while the seed was built, from ${seed.log.length} to ${log.length} events`);
    }
    const inheritance = inheritanceAt(parent, seed.end);
    if (childId === undefined) oneShot.set(announcement, inheritance);
    else continuable.set(parent, (continuable.get(parent) ?? new Map()).set(childId, { provider, inheritance }));
  }, { global: true });

  /** What a one-shot child has to inherit: the start that creates it says so. */
  const ofStart = (child: Session): Inheritance | undefined => {
    const announcement = startOf(child)?.announcement;
    return announcement && oneShot.get(announcement);
  };

  /** What a new continuable child has to inherit. An id may be taken by another provider's child, or resumed. */
  const ofId = (child: Session, parent: Session): Inheritance | undefined => {
    const promised = continuable.get(parent);
    const expected = promised?.get(child.id);
    const own = readLog(child).slice(child.header.seedLength);
    if (expected === undefined || wasTold(own) || foldSubagentDescriptor(own)?.provider !== expected.provider) return undefined;
    promised!.delete(child.id);
    return expected.inheritance;
  };

  ctx.on('session/created', (child) => {
    const { origin, parentSession } = child.header;
    const parent = origin === 'subagent' ? ctx.sessions.get(parentSession!) : undefined;
    if (parent === undefined) return;
    const inheritance = ofStart(child) ?? ofId(child, parent);
    const fault = inheritance && inheritanceFault(inheritance, child, parent);
    if (fault !== undefined) fail(`${pair(child.id, parent)}: ${fault}`);
  }, { global: true });
}, { inject: ['sessions'] });

function pair(child: SessionId | undefined, parent: Session): string {
  return `${child === undefined ? 'a child session' : `child session "${child}"`} of parent session "${parent.id}"`;
}
