/** What holds of every fork of every conversation. */
import { deriveEventMessage, foldSurface, interruptedTurnClosers, isReplacementSurfaceEvent, Session } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import type { GenerateOptions, Message } from '@deepseek-ai/dsh-llm';
import { expect } from 'vitest';
import { DEFAULT, DONE, PROVIDERS, PUBLISHED, TASK } from './conversation.ts';
import type { Fork, Outcome } from './conversation.ts';
import { inherited } from './harness.ts';

type Property = (outcome: Outcome) => Promise<void> | void;

/** Asserts every property; a failure says which one it is. */
export async function holds(outcome: Outcome): Promise<void> {
  for (const [sentence, property] of Object.entries(PROPERTIES)) {
    try {
      await property(outcome);
    } catch (cause) {
      throw new Error(`it does not hold that ${sentence}: ${String(cause)}`, { cause });
    }
  }
}

/** A property, by the sentence that says it. The last ones end the forks. */
const PROPERTIES: Readonly<Record<string, Property>> = {
  'the child is published, does its task and answers it': ({ moments }) => {
    for (const { result } of moments.flat()) {
      expect(result).toEqual({ output: [{ type: 'text', text: DONE }], stopReason: 'completed' });
    }
  },

  'it inherits what its parent would have sent at the boundary, and the notice': ({ moments }) => {
    for (const { session, options, surfaces } of moments.flat()) {
      if (options === undefined) continue;
      const messages = folded(inherited(session));
      const shown = surfaces[options.seedBoundary];
      const last = shown.at(-1);
      const text = options.notice === true ? /^You are a subagent\./ : options.notice;
      const noticed = last !== undefined && isNotice(last) && (typeof text === 'string' ? textOf(last) === text : text !== false && text.test(textOf(last)));
      const notice = text === false || last === undefined || noticed ? undefined : messages.pop();
      expect(messages).toEqual(shown);
      if (notice !== undefined) expect([isNotice(notice), textOf(notice)]).toEqual([true, typeof text === 'string' ? text : expect.stringMatching(text as RegExp)]);
    }
  },

  'its first request is that, its runtime context and its task': ({ moments }) => {
    for (const { session, requests: [request] } of moments.flat()) {
      const seed = folded(inherited(session));
      if (compactedItself(session)) continue;
      expect(request!.messages.slice(0, seed.length)).toEqual(seed);
      const own = request!.messages.slice(seed.length).filter(({ source }) => !isRuntimeContext(source));
      expect(own.map(textOf)).toEqual([TASK]);
    }
  },

  'its first request goes to the model of its parent\'s latest one since that was created or resumed': ({ moments }) => {
    for (const { log, parent, options, requests: [request] } of moments.flat()) {
      const own = log.filter((event) => event.type === 'request/header').findLast(({ seq }) => seq >= parent.firstLiveSeq);
      if (options !== undefined && own !== undefined) expect(request!.model).toBe(own.data.header.config.model);
    }
  },

  'each tool call in its request has exactly one result, and none is invented': ({ moments }) => {
    for (const { log, session, requests: [request] } of moments.flat()) {
      const open = new Set<string>();
      // What the child's own pruner has shortened counts as known.
      const results = [...log, ...session.events.filter(isReplacementSurfaceEvent)].filter(({ type }) => type === 'tool/result');
      const known = new Set(results.map((event) => JSON.stringify(deriveEventMessage(event)!.content)));
      for (const { role, content } of request!.messages) {
        if (role === 'assistant') expect([...open]).toEqual([]);
        for (const block of content) {
          if (block.type === 'tool-call') open.add(block.id);
          if (block.type === 'tool-result') {
            expect(open.delete(block.toolCallId)).toBe(true);
            expect(known).toContain(JSON.stringify(content));
          }
        }
      }
      expect([...open]).toEqual([]);
    }
  },

  'its parent\'s log stays': ({ moments }) => {
    for (const { parent, log } of moments.flat()) {
      expect(log.every((event, index) => event === parent.events[index])).toBe(true);
    }
  },

  'its seed is balanced and replays to the same history': ({ moments }) => {
    for (const { session } of moments.flat()) {
      const seed = inherited(session);
      expect(interruptedTurnClosers(seed)).toEqual([]);
      expect(Session.create(session.id, seed).deriveMessages()).toEqual(folded(seed));
    }
  },

  'its seed leaves no compaction and no approval open': ({ moments }) => {
    for (const { session, provider } of moments.flat()) {
      if (provider === PUBLISHED) continue;
      const seed = inherited(session);
      const live = seed.slice(seed.findLastIndex(({ type }) => type === 'session/end-seed') + 1);
      for (const [opens, closes] of [['compaction/start', 'compaction/end'], ['approval/asked', 'approval/decided']] as const) {
        expect(live.filter(({ type }) => type === opens)).toHaveLength(live.filter(({ type }) => type === closes).length);
      }
    }
  },

  '`compactSeed` changes no message to the model, byte for byte, and no request header': ({ moments }) => {
    for (const forks of moments) {
      for (const [index, { name, compactSeed }] of PROVIDERS.entries()) {
        if (!compactSeed) continue;
        const compact = of(forks, name);
        const whole = of(forks, PROVIDERS[index - 1]!.name);
        expect(compact.requests.map(sent)).toEqual(whole.requests.map(sent));
        expect(compact.session.requestHeader()).toEqual(whole.session.requestHeader());
        const seed = inherited(compact.session);
        const priced = seed.flatMap((event) =>
          event.type === 'assistant/message' && event.data.interrupted === true && event.data.usage !== undefined ? event.sourceEventSeqs ?? [] : []);
        expect(seed.filter(({ type }) => type === 'assistant/chunk').map(({ seq }) => seq)).toEqual(priced);
      }
    }
  },

  'by default its seed is the published provider\'s, followed by what was logged between turns': ({ moments }) => {
    for (const forks of moments) {
      const seed = inherited(of(forks, DEFAULT.name).session);
      const reference = inherited(of(forks, PUBLISHED).session);
      expect(seed.slice(0, reference.length)).toEqual(reference);
      expect(seed.slice(reference.length).map(({ type }) => type).filter((type) => BRACKETS.test(type))).toEqual([]);
    }
  },

  'a continuable child gets the same seed': ({ moments }) => {
    for (const { session, continuable } of moments.flat()) {
      expect((continuable.seed ?? []).map(unidentified)).toEqual(inherited(session).map(unidentified));
    }
  },

  'saved, loaded and resumed it is the same': async ({ ctx, moments, durable }) => {
    if (!durable) return;
    for (const { run, session } of moments.flat()) {
      await run.dispose();
      const loaded = await ctx.sessionPersistence.load(session.id);
      expect(loaded).toEqual({ meta: session.header, events: session.events });
      const { agent, dispose } = await ctx.agents.resume({ resumeSessionId: session.id });
      expect(agent.session.deriveMessages()).toEqual(session.deriveMessages());
      await dispose();
    }
  },
};

const BRACKETS = /^(?:turn|step)\//;

function of(forks: readonly Fork[], provider: string): Fork {
  return forks.find((fork) => fork.provider === provider)!;
}

/** The history of a log by the harness's own pure fold. */
function folded(events: readonly SessionEvent[]): Message[] {
  return foldSurface(events).nodes.map((seq) => deriveEventMessage(events[seq]!)).filter((message) => message !== null);
}

/** Whether a session replaced something on its surface after its seed. */
function compactedItself({ events, header }: Session): boolean {
  return foldSurface(events).replacements.some(({ seq }) => seq >= (header.seedLength ?? 0));
}

function isRuntimeContext(source: Message['source']): boolean {
  return source.kind === 'plugin' && source.plugin === '@deepseek-ai/dsh-system-prompt';
}

/** An event without the identity of the message it carries: each notice has its own. */
function unidentified(event: SessionEvent): unknown {
  return event.type === 'user/message' ? { ...event, data: { ...event.data, id: undefined } } : event;
}

function isNotice({ source }: Message): boolean {
  return source.kind === 'plugin' && source.plugin === 'subagent-fork-in-process' && source.form === 'notice';
}

function textOf({ content }: Message): string {
  return content.map((block) => block.type === 'text' ? block.text : block.type).join('');
}

/** What the provider gets of a request: no message carries its identity over the wire. */
function sent({ messages, system, tools }: GenerateOptions): unknown {
  return JSON.stringify({ messages: messages.map(({ role, content }) => ({ role, content })), system, tools });
}
