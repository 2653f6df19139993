import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { TurnEndReason } from '@deepseek-ai/dsh-session';
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
    ['a turn of each kind', ['failed', 'cancelled'], 'turn step ask fail /step /failed turn step ask /step /cancelled'],
    ['a cancelled turn before a completed one', ['cancelled'], 'turn step ask /step /cancelled turn step ask say /step /turn'],
    ['nothing in a turn that was cancelled before its request showed', [], 'turn queue /cancelled'],
    ['nothing in such a turn behind a message between turns', [], 'turn step ask say /step /turn tell turn /cancelled'],
    ['nothing in a turn that was compacted away', [], 'turn step ask /step /cancelled compact'],
    ['nothing in a turn that the next one compacted away', [], 'turn step ask /step /failed turn compact step ask say /step /turn'],
    ['nothing in a turn that was compacted away before a message between turns', [], 'turn step ask /step /cancelled compact tell'],
    ['nothing in a turn whose summary was compacted again', [], 'turn step ask /step /cancelled compact turn step ask compact say /step /turn'],
    ['a turn that was cancelled after the compaction', ['cancelled'], 'turn step ask /step /failed compact turn step ask /step /cancelled'],
    ['a turn that compacted itself before it was cancelled', ['cancelled'], 'turn step ask compact /step /cancelled'],
    ['nothing in such a turn that was compacted once more', [], 'turn step ask compact /step /cancelled compact'],
    ['a turn of which a compaction left a message', ['cancelled'], 'turn step ask compact ask /step /cancelled'],
  ])('%s', ([, kinds, words]) => {
    expect(abandonedKinds(handLog(words.split(' ') as Word[]))).toEqual(new Set(kinds));
  });
});

test('in any log, what was abandoned is a turn that did not complete and of which something still shows', () => {
  fc.assert(fc.property(grown(1), ({ log }) => {
    const showing = new Set(Session.create(SessionId('child'), log).surface.nodes);
    const kinds = log.filter((event) => event.type === 'turn/end').flatMap((end) => {
      const start = log.findLast((event) => event.type === 'turn/start' && event.seq < end.seq)!;
      const kind = named(end.data.reason);
      return kind !== undefined && log.slice(start.seq, end.seq).some(({ seq }) => showing.has(seq)) ? [kind] : [];
    });
    expect(abandonedKinds(log)).toEqual(new Set(kinds));
  }));
});
