import { interruptedTurnClosers, isSurfaceEvent, Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seedEnd } from '../../src/seed/boundary.ts';
import type { SeedBoundary } from '../../src/seed/boundary.ts';
import { grown } from '../support/arbitrary-log.ts';
import { handLog } from '../support/hand-log.ts';
import type { Word } from '../support/hand-log.ts';

/** The words of `handLog`, and the two places where a seed ends. */
type Marked = Word | 'TURN' | 'STEP';

describe('a seed ends', () => {
  test.for<[string, string]>([
    ['at the start of an empty log', 'TURN STEP'],
    ['before any turn, at `step` after everything logged', 'TURN tell plan STEP queue'],
    ['at the start before a prompt that waits for the first turn', 'TURN STEP queue'],
    ['after the last completed turn', 'turn step ask chunk say /step /turn turn step ask say /step /turn TURN STEP'],
    ['after a cancelled turn', 'turn step ask chunk /step /cancelled TURN STEP'],
    ['after a failed turn', 'turn step ask fail /step /failed TURN STEP'],
    ['after a turn without a step', 'turn /turn TURN STEP'],
    ['after everything between turns', 'turn step ask say /step /turn plan tell compact TURN STEP'],
    ['before the prompts that wait for the next turn', 'turn step ask say /step /turn plan TURN STEP queue queue'],
    ['after a prompt that something follows', 'turn step ask say /step /turn queue plan TURN STEP queue'],
    ['in a turn that has just opened', 'turn step ask say /step /turn plan TURN queue turn STEP'],
    ['in a turn that has claimed its prompt', 'turn step ask say /step /turn TURN queue turn queue STEP'],
    ['in a first turn that has just opened', 'TURN queue turn queue STEP'],
    ['in a step whose answer has not begun', 'TURN turn step ask tell queue STEP'],
    ['in a step while its answer streams', 'TURN turn step ask STEP chunk chunk queue chunk'],
    ['in a step whose answer came at once', 'TURN turn step ask STEP say'],
    ['in a step that has answered', 'TURN turn step ask STEP chunk chunk say'],
    ['in a step while its calls run', 'TURN turn step ask STEP chunk call3 result queue'],
    ['in a step that something is told after its answer', 'TURN turn step ask STEP chunk call1 tell result tell'],
    ['in a step that something is told while its answer streams', 'TURN turn step ask STEP chunk tell chunk call1'],
    ['in a step that something is told when its answer has streamed', 'TURN turn step ask STEP chunk stop tell say'],
    ['in a later step', 'TURN turn step ask chunk call1 result /step step STEP chunk call2 result'],
    ['in a later step that was steered', 'TURN turn step ask chunk call1 result /step step ask STEP chunk call2'],
    ['in a step of a later turn', 'turn step ask chunk say /step /turn TURN queue turn queue step ask STEP chunk call1'],
    ['between two steps', 'TURN turn step ask chunk call2 result result /step queue STEP'],
    ['between two steps after a compaction', 'TURN turn step ask chunk call2 result result /step compact STEP'],
    ['in a step whose request failed', 'TURN turn step ask STEP chunk fail'],
    ['in a step whose request is asked again', 'TURN turn step ask STEP chunk fail chunk chunk call1 result'],
    ['in a step whose request is asked again after something that is no input', 'TURN turn step ask STEP chunk fail queue plan chunk say'],
    ['in a step that something is told while its request is asked again', 'TURN turn step ask STEP chunk fail chunk tell chunk'],
    ['in a step that was told something while its failed answer streamed', 'TURN turn step ask chunk tell fail STEP'],
    ['in such a step that is asked again', 'TURN turn step ask chunk tell fail queue STEP chunk tell chunk'],
    ['in such a step that fails once more', 'TURN turn step ask chunk tell fail STEP chunk fail chunk say'],
    ['in a step whose request was aborted and is asked again', 'TURN turn step ask STEP abort chunk say'],
    ['in a step whose request failed and was compacted', 'TURN turn step ask chunk fail compact STEP'],
    ['in a step whose request was compacted and is asked again', 'TURN turn step ask chunk fail compact plan STEP chunk call1 result'],
    ['in a step whose request was aborted, compacted and asked again', 'TURN turn step ask abort compact STEP say'],
    ['in a step whose request failed and is asked again on another route', 'TURN turn step ask route chunk fail route STEP chunk chunk call1'],
    ['in a step whose failed request goes to another route', 'TURN turn step ask route chunk fail route STEP'],
    ['before a command that runs between turns', 'turn step ask say /step /turn TURN STEP run'],
    ['after a command that is done', 'turn step ask say /step /turn run done TURN STEP'],
    ['after what a running command has changed', 'turn step ask say /step /turn run plan TURN STEP'],
    ['before a command that waits for the next turn with a prompt', 'turn step ask say /step /turn TURN STEP queue run queue'],
    ['before a command that runs before any turn', 'TURN plan STEP run'],
    ['before a command and the compaction it runs', 'turn step ask say /step /turn TURN STEP run compacting'],
    ['after a compaction between turns that came to nothing', 'turn step ask say /step /turn compacting compacted TURN STEP'],
    ['before a compaction of an open turn', 'turn step ask say /step /turn TURN queue turn queue STEP compacting'],
    ['in a step before a command that runs while its request is asked', 'TURN turn step ask STEP run'],
    ['in a step before a command that ran while its answer streamed', 'TURN turn step ask STEP run chunk done chunk call1'],
    ['before the price of a replacement that is not logged yet', 'TURN turn step ask say /step STEP price'],
    ['after one that is', 'TURN turn step ask say /step price compact STEP'],
    ['in a step whose request was compacted twice', 'TURN turn step ask fail compact chunk fail compact STEP chunk chunk say'],
  ])('%s: %s', ([, notation]) => {
    const words = notation.split(' ') as Marked[];
    const upTo = (end: number): Word[] => words.slice(0, end).filter((word): word is Word => word !== 'TURN' && word !== 'STEP');
    const log = handLog(upTo(words.length));
    expect({ turn: seedEnd(log, 'turn'), step: seedEnd(log, 'step') }).toEqual({
      turn: handLog(upTo(words.indexOf('TURN'))).length,
      step: handLog(upTo(words.indexOf('STEP'))).length,
    });
  });
});

const BOUNDARIES: readonly SeedBoundary[] = ['turn', 'step'];

/** How often a type occurs. */
const count = (events: readonly SessionEvent[], type: SessionEvent['type']): number => events.filter((event) => event.type === type).length;
const openTurn = (events: readonly SessionEvent[]): boolean => count(events, 'turn/start') > count(events, 'turn/end');
const openStep = (events: readonly SessionEvent[]): boolean => count(events, 'step/start') > count(events, 'step/end');
const isAnswer = ({ type }: SessionEvent): boolean => type === 'assistant/chunk' || type === 'assistant/message';

/** What is logged of the open step. */
const ofOpenStep = (events: readonly SessionEvent[]): readonly SessionEvent[] =>
  events.slice(events.findLastIndex(({ type }) => type === 'step/start') + 1);

/** Types that open a pair of marks, or wait for what is logged right behind them. */
const HALVES = ['command/run', 'compaction/start', 'compaction/prune'];

/** The end without these types right before it. */
const before = (events: readonly SessionEvent[], types: readonly string[]): number =>
  events.findLastIndex(({ type }) => !types.includes(type)) + 1;

/** Where a seed ends, in the words of the option's definition. */
function defined(events: readonly SessionEvent[], boundary: SeedBoundary): number {
  if (boundary === 'step' && openStep(events)) {
    const begun = ofOpenStep(events).find(isAnswer);
    return before(events.slice(0, begun?.seq), HALVES);
  }
  if (boundary === 'step' && openTurn(events)) return before(events, HALVES);
  if (boundary === 'turn' && count(events, 'turn/end') === 0) return 0;
  const closed = openTurn(events) ? events.slice(0, events.findLast(({ type }) => type === 'turn/start')!.seq) : [...events];
  return before(closed, ['agent/inbox/spliced', ...HALVES]);
}

const holds = <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => void): void => fc.assert(fc.property(arbitrary, property));

describe('in any log', () => {
  test('a seed ends where the definition says', () => {
    holds(grown(0), ({ log }) => {
      for (const boundary of BOUNDARIES) expect(seedEnd(log, boundary)).toBe(defined(log, boundary));
    });
  });

  test('a seed is a part of the log, at `turn` no longer than at `step`, and the same between turns', () => {
    holds(grown(2), ({ log }) => {
      const [turnEnd, stepEnd] = [seedEnd(log, 'turn'), seedEnd(log, 'step')];
      expect(0 <= turnEnd && turnEnd <= stepEnd && stepEnd <= log.length).toBe(true);
      expect(openTurn(log) || count(log, 'turn/end') === 0 || stepEnd === turnEnd).toBe(true);
    });
  });

  test('a seed is balanced by a step\'s and a turn\'s end alone, and a session takes it', () => {
    holds(grown(2), ({ log }) => {
      for (const boundary of BOUNDARIES) {
        const prefix = log.slice(0, seedEnd(log, boundary));
        const closers = interruptedTurnClosers(prefix);
        const seed = [...prefix, ...closers];
        expect(closers.map(({ type }) => type)).toEqual([...openStep(prefix) ? ['step/end'] : [], ...openTurn(prefix) ? ['turn/end'] : []]);
        expect([openStep(seed), openTurn(seed), interruptedTurnClosers(seed)]).toEqual([false, false, []]);
        const blocks = Session.create(SessionId('child'), seed).deriveMessages().flatMap(({ content }) => content);
        const called = blocks.flatMap((block) => block.type === 'tool-call' ? [block.id] : []);
        expect(blocks.flatMap((block) => block.type === 'tool-result' ? [block.toolCallId] : [])).toEqual(called);
      }
    });
  });

  test('nothing of the answer to an open step\'s request is inherited, and everything the request showed is', () => {
    holds(grown(2).filter(({ log }) => openStep(log)), ({ log }) => {
      const messages = log.filter(isSurfaceEvent);
      const answered = ofOpenStep(log).find(({ type }) => type === 'assistant/message');
      const shown = answered === undefined ? messages : messages.filter(({ seq }) => seq < answered.seq);
      expect(log.slice(0, seedEnd(log, 'step')).filter(isSurfaceEvent)).toEqual(shown);
    });
    holds(grown(0).filter(({ log }) => openStep(log)), ({ log }) => {
      expect(ofOpenStep(log.slice(0, seedEnd(log, 'step'))).filter(isAnswer)).toEqual([]);
    });
  });

  test('more of an answer, of its calls and their results does not move the end', () => {
    holds(grown(0).filter(({ log }) => openStep(log) && ofOpenStep(log).some(isAnswer)), ({ log, whole }) => {
      const rest = whole.slice(log.length);
      const more = rest.slice(0, rest.findIndex(({ type }) => type === 'step/end'));
      expect(seedEnd([...log, ...more], 'step')).toBe(seedEnd(log, 'step'));
    });
  });

  test('the end never moves back as the log grows', () => {
    holds(grown(2), ({ whole }) => {
      for (const boundary of BOUNDARIES) {
        const ends = Array.from({ length: whole.length + 1 }, (_, length) => seedEnd(whole.slice(0, length), boundary));
        expect(ends).toEqual(ends.toSorted((left, right) => left - right));
      }
    });
  });
});
