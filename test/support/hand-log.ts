/** Session logs written by hand, one word an event. */
import { CommandId } from '@deepseek-ai/dsh-commands';
import { CompactionId, compactCheckpointSource } from '@deepseek-ai/dsh-compaction';
import { CallId, createAssistantMessage, createToolResultMessage, createUserMessage } from '@deepseek-ai/dsh-llm';
import type { StreamChunk, UserMessage } from '@deepseek-ai/dsh-llm';
import type {} from '@deepseek-ai/dsh-plan-mode';
import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent, SurfaceIntent, TurnEndReason } from '@deepseek-ai/dsh-session';

/**
 * What a word of {@link handLog} logs:
 *
 * - `queue` a waiting prompt, `plan` a switch of plan mode;
 * - `turn`, `step`, `/step` and `/turn` their marks; `/cancelled`, `/closed` (with its host) and `/failed` end a turn too;
 * - `ask` a user's message, `more` one in other words, `tell` a plugin's;
 * - `compact` a summary in the place of every message, if there is one;
 * - `route` the header of a request on another model, as the first request of a log and any that changes has one;
 * - `chunk` a piece of an answer, `stop` the one that ends it, `fail` in an error, `abort` in an abort;
 * - `say` an answer without calls, `call1` one that calls a tool, `call2` two tools, `call3` three;
 * - `result` the result of the first call that has none;
 * - `run` and `done` the marks of a slash command, `compacting` and `compacted` those of a compaction, `price` that of a pruned result.
 */
export type Word = 'queue' | 'plan' | 'turn' | 'step' | '/step' | '/turn' | '/cancelled' | '/closed' | '/failed'
  | 'run' | 'done' | 'compacting' | 'compacted' | 'price'
  | 'ask' | 'more' | 'tell' | 'compact' | 'route' | 'chunk' | 'stop' | 'fail' | 'abort' | 'say' | 'call1' | 'call2' | 'call3' | 'result';

const FAILURE = { code: 'UNKNOWN', message: 'it failed' };

/** An event of another writer, with any data. A session that refuses it does not log it. */
export interface Foreign {
  readonly type: string;
  readonly data: unknown;
  /** Where its message stands, for a type that has one: behind the others, or in the place of those between two. */
  readonly surface?: 'append' | readonly [from: number, to: number];
}

/** A real session's log of these words. */
export function handLog(words: readonly (Word | Foreign)[]): readonly SessionEvent[] {
  return handSession(words).events;
}

/** A real session that has logged these words. */
export function handSession(words: readonly (Word | Foreign)[], session: Session = Session.create(SessionId('by-hand'))): Session {
  const writer = new Writer(session);
  for (const word of words) writer.write(word);
  return session;
}

class Writer {
  private readonly session: Session;
  private turn = 0;
  private step = 0;
  private routes = 0;
  private commands = 0;
  private compactions = 0;
  private readonly pending: { readonly callId: CallId; readonly seq: number }[] = [];

  constructor(session: Session) {
    this.session = session;
  }

  write(word: Word | Foreign): void {
    const { session } = this;
    if (typeof word === 'object') return this.foreign(word);
    switch (word) {
      case 'queue': session.append('agent/inbox/spliced', { target: 'next-turn', start: 0, inserted: [] }); break;
      case 'plan': session.append('plan/mode', { active: true }); break;
      case 'turn': session.append('turn/start', { turn: ++this.turn }); this.step = 0; break;
      case 'step': session.append('step/start', { ...this.open, step: ++this.step }); break;
      case '/step': session.append('step/end', this.open); break;
      case '/turn': this.end({ kind: 'completed' }); break;
      case '/cancelled': this.end({ kind: 'aborted', reason: { kind: 'user' } }); break;
      case '/closed': this.end({ kind: 'aborted', reason: { kind: 'disposed' } }); break;
      case '/failed': this.end({ kind: 'error', error: FAILURE }); break;
      case 'ask': session.append('user/message', message({ kind: 'user' }), { surfaceOp: 'append' }); break;
      case 'more': session.append('user/message', message({ kind: 'user' }, 'do more'), { surfaceOp: 'append' }); break;
      case 'tell': session.append('user/message', message({ kind: 'plugin', plugin: 'other' }), { surfaceOp: 'append' }); break;
      case 'compact': this.compact(); break;
      case 'run': session.append('command/run', { commandId: CommandId(`command-${++this.commands}`), name: 'btw', source: { kind: 'user' } }); break;
      case 'done': session.append('command/done', { commandId: CommandId(`command-${this.commands}`), kind: 'success' }); break;
      case 'compacting': session.append('compaction/start', { compactionId: CompactionId(`compaction-${++this.compactions}`), turn: null }); break;
      case 'compacted': session.append('compaction/end', { compactionId: CompactionId(`compaction-${this.compactions}`), turn: null, error: 'no' }); break;
      case 'price':
        session.append('compaction/prune', { shadowedRange: { start: 0, end: 0 }, shadowedSeqs: [0], shadowedTokenCount: 1 });
        break;
      case 'route': this.route(); break;
      case 'chunk': this.stream({ type: 'text-delta', index: 0, text: 'so' }); break;
      case 'stop': this.stream({ type: 'finish', reason: { kind: 'stop' } }); break;
      case 'fail': this.stream({ type: 'finish', reason: { kind: 'error', failure: FAILURE } }); break;
      case 'abort': this.stream({ type: 'finish', reason: { kind: 'aborted', failure: FAILURE } }); break;
      case 'say': this.answer(0); break;
      case 'call1': this.answer(1); break;
      case 'call2': this.answer(2); break;
      case 'call3': this.answer(3); break;
      case 'result': this.result(); break;
    }
  }

  private foreign({ type, data, surface }: Foreign): void {
    try {
      this.session.append(type as never, data as never, ...[surface && this.placed(surface)] as never);
    } catch {
      // What a session refuses, no log holds.
    }
  }

  private placed(surface: NonNullable<Foreign['surface']>): SurfaceIntent {
    const { nodes } = this.session.surface;
    if (surface === 'append' || nodes.length === 0) return { surfaceOp: 'append' };
    const [from, to] = surface.map((at) => at % nodes.length).toSorted((left, right) => left - right) as [number, number];
    return { surfaceOp: { op: 'replace', start: nodes[from]!, end: nodes[to]! }, sourceEventSeqs: nodes.slice(from, to + 1) };
  }

  private get open(): { readonly turn: number; readonly step: number } {
    return { turn: this.turn, step: this.step };
  }

  private stream(chunk: StreamChunk): void {
    this.session.append('assistant/chunk', { ...this.open, chunk });
  }

  private end(reason: TurnEndReason): void {
    this.session.append('turn/end', { turn: this.turn, reason });
  }

  private route(): void {
    const config = { provider: 'scripted', model: `model-${this.session.seq}` };
    this.session.append('request/header', { header: { config }, reason: this.routes++ === 0 ? 'initial' : 'change' });
  }

  private compact(): void {
    const nodes = [...this.session.surface.nodes];
    if (nodes.length === 0) return;
    this.session.append('user/message', message(compactCheckpointSource(CompactionId('by-hand'))), {
      surfaceOp: { op: 'replace', start: nodes[0]!, end: nodes.at(-1)! }, sourceEventSeqs: nodes,
    });
  }

  private answer(calls: number): void {
    const ids = Array.from({ length: calls }, (_, index) => CallId(`${this.turn}.${this.step}.${index}`));
    this.session.append('assistant/message', {
      ...this.open,
      message: createAssistantMessage({
        content: [{ type: 'text', text: 'so' }, ...ids.map((id) => ({ type: 'tool-call' as const, id, name: 'peek', arguments: '{}' }))],
        source: { provider: 'scripted', model: 'model-a' },
      }),
    }, { surfaceOp: 'append' });
    for (const callId of ids) {
      const { seq } = this.session.append('tool/call', { ...this.open, callId, name: 'peek', arguments: '{}' });
      this.pending.push({ callId, seq });
    }
  }

  private result(): void {
    const { callId, seq } = this.pending.shift()!;
    this.session.append('tool/result', {
      ...this.open, message: createToolResultMessage({ callId, content: [{ type: 'text', text: 'it' }], isError: false }),
    }, { surfaceOp: 'append', sourceEventSeqs: [seq] });
  }
}

function message(source: UserMessage['source'], text = 'do'): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source });
}
