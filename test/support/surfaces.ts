/** What a fork has to inherit, told by the parent's own derivation at the moment it was valid. */
import type { Context } from '@deepseek-ai/cordis';
import type { Message } from '@deepseek-ai/dsh-llm';
import type { Session, SessionEvent } from '@deepseek-ai/dsh-session';

/** The messages at either boundary; none when nothing is inherited. */
export interface Surfaces {
  readonly turn: readonly Message[];
  readonly step: readonly Message[];
}

interface State {
  open: boolean;
  answered: boolean;
  completed: boolean;
  turn: readonly Message[];
  step: readonly Message[];
}

/**
 * Follows every session of a context. It looks at no log: it keeps what the session derived when it
 * was last between turns, and when it last took input for a request.
 */
export class SurfaceRecord {
  private readonly states = new WeakMap<Session, State>();

  constructor(ctx: Context) {
    ctx.on('session/created', (session) => void this.state(session), { global: true });
    ctx.on('session/event', (session, event) => this.follow(session, event), { global: true });
  }

  /** What a fork of this session would have to inherit now. */
  of(session: Session): Surfaces {
    const { turn, step } = this.state(session);
    return { turn, step };
  }

  private state(session: Session): State {
    let state = this.states.get(session);
    if (state === undefined) {
      state = { open: false, answered: false, completed: session.events.some(({ type }) => type === 'turn/end'), turn: [], step: [] };
      this.states.set(session, state);
      this.keep(session, state);
    }
    return state;
  }

  private follow(session: Session, event: SessionEvent): void {
    const { type } = event;
    const state = this.state(session);
    if (type === 'turn/start') state.open = true;
    // Each attempt at a request takes what is there when the one before has failed.
    if (type === 'assistant/chunk') state.answered = !isFailure(event);
    if (type === 'assistant/message') state.answered = true;
    if (type === 'step/start' || type === 'step/end') state.answered = false;
    if (type === 'turn/end') {
      state.open = false;
      state.completed = true;
    }
    this.keep(session, state);
  }

  private keep(session: Session, state: State): void {
    if (!state.open && state.completed) state.turn = session.deriveMessages();
    if (!state.open || !state.answered) state.step = session.deriveMessages();
  }
}

function isFailure({ data: { chunk } }: SessionEvent<'assistant/chunk'>): boolean {
  return chunk.type === 'finish' && (chunk.reason.kind === 'error' || chunk.reason.kind === 'aborted');
}
