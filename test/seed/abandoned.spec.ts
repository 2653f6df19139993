import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { abandonedKinds } from '../../src/seed/abandoned.ts';
import { grown } from '../support/arbitrary-log.ts';
import { handLog } from '../support/hand-log.ts';
import type { Word } from '../support/hand-log.ts';

/** How a turn that ended for this reason is named. */
function named(reason: TurnEndReason): 'cancelled' | 'failed' | undefined {
  if (reason.kind === 'error') return 'failed';
  return reason.kind === 'aborted' && reason.reason.kind === 'user' ? 'cancelled' : undefined;
}

describe('what was abandoned', () => {
  test.for<[string, ('cancelled' | 'failed')[], string]>([
    ['nothing in completed turns', [], 'turn step ask say /step /turn turn step ask say /step /turn'],
    ['nothing in an open turn', [], 'turn step ask'],
    ['a cancelled turn', ['cancelled'], 'turn step ask chunk /step /cancelled'],
    ['nothing in a turn that ended with its host', [], 'turn step ask chunk /step /closed'],
    ['a failed turn', ['failed'], 'turn step ask fail /step /failed'],
    ['a turn of each kind', ['failed', 'cancelled'], 'turn step ask fail /step /failed turn step more /step /cancelled'],
    ['a cancelled turn before a completed one', ['cancelled'], 'turn step ask /step /cancelled turn step more say /step /turn'],
    ['nothing in a cancelled turn that was asked again and done', [], 'turn step ask /step /cancelled turn step ask say /step /turn'],
    ['a cancelled turn of which a part was asked again', ['cancelled'], 'turn step ask more /step /cancelled turn step ask say /step /turn'],
    ['a turn that failed when it was asked again', ['failed'], 'turn step ask /step /cancelled turn step ask fail /step /failed'],
    ['nothing in a failed turn that was asked again and done', [], 'turn step ask fail /step /failed turn step ask say /step /turn'],
    ['nothing in a failed turn before one that was answered', [], 'turn step ask fail /step /failed turn step more say /step /turn'],
    ['nothing in a failed turn that the open one asks again', [], 'turn step ask fail /step /failed turn step ask'],
    ['a failed turn before an open one that asks something else', ['failed'], 'turn step ask fail /step /failed turn step more'],
    ['a failed turn behind one that was answered', ['failed'], 'turn step ask say /step /turn turn step ask fail /step /failed'],
    ['a failed turn that only a plugin\'s message repeats', ['failed'], 'turn step ask fail /step /failed turn step tell'],
    ['a failed turn that nobody asked for', ['failed'], 'turn step tell fail /step /failed turn step ask'],
    ['nothing at the end of a turn that never began', [], 'ask /cancelled'],
    ['nothing in a turn that was cancelled before its request showed', [], 'turn queue /cancelled'],
    ['nothing in such a turn behind a message between turns', [], 'turn step ask say /step /turn tell turn /cancelled'],
    ['nothing in a turn that was compacted away', [], 'turn step ask /step /cancelled compact'],
    ['nothing in a turn that the next one compacted away', [], 'turn step ask /step /failed turn compact step ask say /step /turn'],
    ['nothing in a turn that was compacted away before a message between turns', [], 'turn step ask /step /cancelled compact tell'],
    ['nothing in a turn whose summary was compacted again', [], 'turn step ask /step /cancelled compact turn step ask compact say /step /turn'],
    ['a turn that was cancelled after the compaction', ['cancelled'], 'turn step ask /step /failed compact turn step more /step /cancelled'],
    ['a turn that compacted itself before it was cancelled', ['cancelled'], 'turn step ask compact /step /cancelled'],
    ['nothing in such a turn that was compacted once more', [], 'turn step ask compact /step /cancelled compact'],
    ['a turn of which a compaction left a message', ['cancelled'], 'turn step ask compact ask /step /cancelled'],
  ])('%s', ([, kinds, words]) => {
    expect(abandonedKinds(handLog(words.split(' ') as Word[]))).toEqual(new Set(kinds));
  });
});

test.for<[string, unknown]>([
  ['absent', {}],
  ['null', { reason: null }],
  ['a text', { reason: 'error' }],
  ['without a kind', { reason: { error: { message: 'it failed' } } }],
  ['of an unknown kind', { reason: { kind: 'exploded' } }],
  ['an abort without a cause', { reason: { kind: 'aborted' } }],
  ['an abort whose cause is null', { reason: { kind: 'aborted', reason: null } }],
  ['an abort whose cause is a text', { reason: { kind: 'aborted', reason: 'user' } }],
])('a reason that cannot be read counts as none: %s', ([, data]) => {
  const log = handLog(['turn', 'step', 'ask', '/step', '/cancelled']);
  const end = { ...log.at(-1)!, data } as SessionEvent;
  expect(abandonedKinds(log.with(-1, end))).toEqual(new Set());
  expect(abandonedKinds(log.with(-1, { ...end, data: null } as unknown as SessionEvent))).toEqual(new Set());
});

test('in any log, what was abandoned is a turn that did not complete, still shows and was not asked again', () => {
  fc.assert(fc.property(grown(1), ({ log }) => {
    const showing = new Set(Session.create(SessionId('child'), log).surface.nodes);
    const turns = log.filter((event) => event.type === 'turn/start').map((start) => {
      const end = log.find((event) => event.type === 'turn/end' && event.seq > start.seq);
      const events = log.slice(start.seq, end?.seq);
      const requests = events.filter((event) => event.type === 'user/message' && event.data.source.kind === 'user');
      return {
        kind: end?.type === 'turn/end' ? named(end.data.reason) : undefined,
        answered: end?.type === 'turn/end' && end.data.reason.kind === 'completed',
        shows: events.some(({ seq }) => showing.has(seq)),
        asked: requests.map((event) => JSON.stringify((event as SessionEvent<'user/message'>).data.content)),
      };
    });
    const kinds = turns.filter(({ kind, shows, asked }, index) => {
      const later = turns.slice(index + 1);
      const again = later.flatMap((turn) => turn.asked);
      if (kind === 'failed' && later.some(({ answered }) => answered)) return false;
      return kind !== undefined && shows && !(asked.length > 0 && asked.every((request) => again.includes(request)));
    }).map(({ kind }) => kind);
    expect(abandonedKinds(log)).toEqual(new Set(kinds));
  }));
});
