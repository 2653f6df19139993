/** Arbitrary logs into which events of other writers were mixed. */
import { KNOWN_SESSION_EVENT_TYPES } from '@deepseek-ai/dsh-session';
import fc from 'fast-check';
import { words } from './arbitrary-log.ts';
import type { Foreign, Word } from './hand-log.ts';

/** Keys under which declared data stands, and some that nothing declares. */
const KEYS = [
  'id', 'turn', 'step', 'reason', 'kind', 'error', 'message', 'role', 'source', 'content', 'type', 'text', 'name', 'arguments',
  'callId', 'toolCallId', 'isError', 'chunk', 'header', 'config', 'provider', 'model', 'system', 'tools', 'active', 'mode', 'policy',
  'commandId', 'compactionId', 'sourceCommandId', 'shadowedRange', 'shadowedSeqs', 'start', 'end', 'title', 'messageSeqs',
  'sourceEventSeq', 'runId', 'seq', 'subCallId', 'inserted', 'target', 'removedCount', 'usage', 'todos', 'retryId', 'unknown',
];

const text: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom('', ' ', 'text', 'command-1', 'compaction-1', 'user', 'aborted', 'error', 'cut \uD83D', '\uDE00 rest', '\uD83D\uDE00', '__proto__'),
  fc.string({ unit: 'binary', maxLength: 6 }),
);

/** Data as any writer may log it: whatever JSON holds, with texts cut inside a character. */
const { data } = fc.letrec<{ data: unknown }>((tie) => ({
  data: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), text),
    fc.array(tie('data'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('data'), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

const block: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ type: fc.constant('text'), text }),
  fc.record({ type: fc.constantFrom('hologram', 'tool-call', 'reasoning', 'image'), id: text, name: text, arguments: text, text }),
);
const place: fc.Arbitrary<NonNullable<Foreign['surface']>> = fc.oneof(fc.constant('append' as const), fc.tuple(fc.nat(), fc.nat()));

/** A message that every model can be shown: what differs is what a writer says. */
const message: fc.Arbitrary<Foreign> = fc.record({
  type: fc.constant('user/message'),
  data: fc.record({
    id: fc.uuid(),
    role: fc.constant('user'),
    content: fc.oneof(fc.constant([]), fc.array(block, { maxLength: 2 })),
    source: fc.oneof(fc.constant({ kind: 'user' }), fc.record({ kind: fc.constantFrom('plugin', 'plugin:other', 'cron'), plugin: text, form: text })),
  }),
  surface: place,
});

const QUIET = [...KNOWN_SESSION_EVENT_TYPES].filter((type) => !/^(?:turn|step|assistant|user)\/|^tool\/(?:call|result)$|^request\/header$/.test(type));
const ofKnownType: fc.Arbitrary<Foreign> = fc.record({ type: fc.constantFrom(...QUIET, 'other/event'), data });
const ofUnknownType: fc.Arbitrary<Foreign> = fc.record({ type: fc.oneof(fc.constantFrom('other/event', 'other', ''), text), data });
const unreadableEnd: fc.Arbitrary<Foreign> = fc.record({ type: fc.constant('turn/end'), data: fc.oneof(data, fc.record({ turn: fc.nat(3), reason: data })) });

/** A message, a mark or a header whose shape no session restores or inherits, though a live one logs it. */
const misshapen: fc.Arbitrary<Foreign> = fc.oneof(
  fc.record({
    type: fc.constantFrom('user/message', 'assistant/message', 'tool/result'),
    data: fc.oneof(
      data, fc.record({ id: data, role: data, source: data, content: data }, { requiredKeys: [] }), fc.record({ message: data }),
    ),
    surface: fc.constant('append' as const),
  }),
  fc.record({ type: fc.constantFrom('turn/start', 'step/start', 'step/end', 'assistant/chunk', 'request/header', 'tool/call'), data }),
);

/** Each type that shows no message and marks no turn or step, with this data. */
export function eachType(value: unknown): Foreign[] {
  return QUIET.map((type) => ({ type, data: value }));
}

/** What another writer may log of which a model sees at most messages of the right shape. */
export const foreign: fc.Arbitrary<Foreign> = fc.oneof(message, ofKnownType, ofUnknownType);

/** Everything that another writer can make a live session log. */
export const anything: fc.Arbitrary<Foreign> = fc.oneof(foreign, misshapen);

/** Words of a log that a loop could have written, with these events mixed in anywhere. Some turns end for no reason that can be read. */
export function mixed(events: fc.Arbitrary<Foreign>): fc.Arbitrary<(Word | Foreign)[]> {
  return fc.record({
    written: words(1),
    others: fc.array(fc.tuple(fc.nat(), events), { maxLength: 8 }),
    ends: fc.array(fc.option(unreadableEnd, { freq: 2 }), { maxLength: 3 }),
    cut: fc.nat(),
  }).map(({ written, others, ends, cut }) => {
    const left = [...ends];
    const log: (Word | Foreign)[] = written.map((word) => word === '/turn' ? left.pop() ?? word : word);
    for (const [at, event] of others) log.splice(at % (log.length + 1), 0, event);
    return log.slice(0, cut % (log.length + 2));
  });
}
