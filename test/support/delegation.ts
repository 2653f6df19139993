/** A parent that delegates, and what has to hold between its request and its child's. */
import { isDeepStrictEqual } from 'node:util';
import type { Context } from '@deepseek-ai/cordis';
import { createUserMessage } from '@deepseek-ai/dsh-llm';
import type { GenerateOptions, UserMessage } from '@deepseek-ai/dsh-llm';
import type { Session, SessionEvent, SessionEventType } from '@deepseek-ai/dsh-session';
import { expect } from 'vitest';
import { noticeText } from '../../src/seed/notice.ts';
import { inherited, registerTool, setup, shown } from './harness.ts';
import type { Setup, SetupOptions } from './harness.ts';
import type { Answer, Script } from './model.ts';

/** How `shown` renders the notice when no inherited request was cancelled or failed. */
export const NOTICE: string = `user: ${noticeText(new Set())}`;

/** What a seed adds to a log that ends in an open step, and to one that ends in an open turn between steps. */
export const CLOSED_STEP: readonly string[] = ['step/end', 'turn/end interrupted', 'user/message notice'];
export const CLOSED_TURN: readonly string[] = ['turn/end interrupted', 'user/message notice'];

/** A parent with the tools `peek` and `subagent_fork`, whose forks carry its open turn. */
export function peeking(options: SetupOptions = {}): Promise<Setup> {
  return setup({
    config: { seedBoundary: 'step' },
    tool: {},
    mount: (ctx) => registerTool(ctx, 'peek', 'PEEKED FILE CONTENT'),
    ...options,
  });
}

/** A model that answers by the last line it was shown, and `done` to anything else. */
export function replies(answers: Readonly<Record<string, Answer | string>>): Script {
  return (request) => answers[shown(request).at(-1) ?? ''] ?? 'done';
}

/** An answer that calls these tools, all in one step. */
export function calls(...names: readonly string[]): Answer {
  return { calls: names.map((name) => ({ name, arguments: {} })) };
}

/** An answer that gives each of these tasks to `subagent_fork`, all in one step. */
export function delegates(...prompts: readonly string[]): Answer {
  return {
    text: 'I delegate.',
    calls: prompts.map((prompt) => ({ name: 'subagent_fork', arguments: { description: 'a task', prompt } })),
  };
}

/** How `shown` renders what {@link delegates} calls. */
export function delegated(prompt: string): string {
  return `assistant calls subagent_fork {"description":"a task","prompt":"${prompt}"}`;
}

/** A message as a user sends it. */
export function userMessage(text: string): UserMessage {
  return createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } });
}

/** The sessions of the children started from now on, in order; they stay readable after disposal. */
export function childSessions(ctx: Context): Session[] {
  const children: Session[] = [];
  ctx.on('session/created', (session) => {
    if (session.header.parentSession !== undefined) children.push(session);
  });
  return children;
}

/** Resolves when the next event of this type is logged in this session. */
export function logged(ctx: Context, session: Session, type: SessionEventType): Promise<void> {
  return matched(ctx, (subject, event) => subject === session && event.type === type, 1);
}

/** Resolves when that many whole blocks of answers have been streamed into the sessions that fit. */
export function streamed(ctx: Context, fits: (session: Session) => boolean, blocks = 1): Promise<void> {
  return matched(ctx, (session, event) => fits(session) && event.type === 'assistant/chunk' && event.data.chunk.type === 'block-end', blocks);
}

function matched(ctx: Context, fits: (session: Session, event: SessionEvent) => boolean, times: number): Promise<void> {
  let left = times;
  return new Promise((resolve) => {
    const stop = ctx.on('session/event', (session, event) => {
      if (!fits(session, event) || --left > 0) return;
      stop();
      resolve();
    });
  });
}

/** The types of the inherited events that its parent's log does not have, with a turn's reason and a message's source. */
export function added(child: Session, parent: Session): string[] {
  const own = inherited(child).filter((event, seq) => !isDeepStrictEqual(event, parent.events[seq]));
  return own.map((event) => {
    switch (event.type) {
      case 'turn/end': return `turn/end ${event.data.reason.kind}`;
      case 'user/message': return event.data.source.kind === 'plugin' ? `user/message ${event.data.source.form}` : 'user/message';
      default: return event.type;
    }
  });
}

/** Expects that a child's request starts with everything its parent's did, and returns what it shows behind that. */
export function behind(child: GenerateOptions, delegating: GenerateOptions): string[] {
  const { messages, system, tools } = child;
  const shared = delegating.messages.length;
  expect({ messages: messages.slice(0, shared), system, tools })
    .toEqual({ messages: delegating.messages, system: delegating.system, tools: delegating.tools });
  return shown({ ...child, messages: messages.slice(shared) });
}
