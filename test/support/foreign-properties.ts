/** What holds of the seed of every log, whoever wrote it. */
import { deriveEventMessage, foldSurface, isSurfaceEvent, Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { expect } from 'vitest';
import { seedEnd } from '../../src/seed/boundary.ts';
import { buildSeed } from '../../src/seed/build.ts';
import type { SeedOptions } from '../../src/seed/build.ts';
import { closersOf } from '../../src/seed/closers.ts';
import { read } from '../../src/seed/data.ts';
import { pairClosers } from '../../src/seed/pairs.ts';
import { handSession } from './hand-log.ts';
import type { Foreign, Word } from './hand-log.ts';

const OPTIONS: readonly SeedOptions[] = (['turn', 'step'] as const).flatMap((seedBoundary) => [false, true, 'MIND THE GAP'].map(
  (notice) => ({ seedBoundary, notice, compactSeed: false }),
));

/** Asserts that a log has a seed which a session takes, and that it shows what the log shows at the boundary. */
export function holdsOfSeeds(words: readonly (Word | Foreign)[]): void {
  const session = handSession(words);
  const { events: log } = session;
  const before = JSON.stringify(log);
  for (const options of OPTIONS) {
    const end = seedEnd(log, options.seedBoundary);
    const { events } = buildSeed(session, options);
    expect(Session.create(SessionId('child'), events).events.slice(0, events.length)).toEqual(events);
    const [wanted, given] = [log, events].map((whole) => foldSurface(whole.slice(0, end)).nodes.map((seq) => whole[seq]!));
    expect(given!.map(({ seq }) => seq)).toEqual(wanted!.map(({ seq }) => seq));
    for (const [index, event] of wanted!.entries()) {
      if (isInheritable(event)) expect(deriveEventMessage(given![index]!)).toEqual(deriveEventMessage(event));
      else expect(textsOf(given![index]!)).toEqual(textsOf(event));
    }
    const added = events.slice(end).filter(isSurfaceEvent).filter(({ type }) => type === 'user/message');
    expect(added).toHaveLength(options.notice === false || !given!.some(saysSomething) ? 0 : 1);
    expect([...pairClosers(events), ...closersOf(events)]).toEqual([]);
  }
  expect(session.events).toBe(log);
  expect(JSON.stringify(log)).toBe(before);
}

/** Whether the harness itself lets a new session begin with this message. */
function isInheritable(event: SessionEvent): boolean {
  const { type, time, data } = event;
  try {
    Session.create(SessionId('alone'), [{ type, seq: 0, time, data, surfaceOp: 'append' } as SessionEvent]);
    return true;
  } catch {
    return false;
  }
}

/** The texts that a message holds, whatever else of it can be read. */
function textsOf(event: SessionEvent): unknown[] {
  return blocksOf(event).flatMap((block) => read(block, 'type') === 'text' ? [read(block, 'text')] : []);
}

function saysSomething(event: SessionEvent): boolean {
  return event.type === 'tool/result' || blocksOf(event).some((block) => {
    const text = read(block, 'text');
    return typeof text !== 'string' || text.trim() !== '';
  });
}

function blocksOf({ type, data }: SessionEvent): unknown[] {
  const content = type === 'user/message' ? read(data, 'content') : read(data, 'message', 'content');
  const blocks = type === 'tool/result' ? read(content, '0', 'content') : content;
  return Array.isArray(blocks) ? blocks : [];
}
