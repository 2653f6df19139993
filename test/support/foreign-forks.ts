/** Forks of parents whose log holds anything, on the real harness. */
import type { Message } from '@deepseek-ai/dsh-llm';
import { expect } from 'vitest';
import * as fork from '../../src/index.ts';
import type { Foreign, Word } from './hand-log.ts';
import { handSession } from './hand-log.ts';
import { requestsOf, runFork, setup } from './harness.ts';
import { SurfaceRecord } from './surfaces.ts';

/** A harness on which one parent after the other forks. */
export interface ForeignForks extends AsyncDisposable {
  /** Asserts that each provider's fork of a parent with such a log completes, and shows what its parent did if `isShown`. */
  readonly hold: (isShown: boolean, words: readonly (Word | Foreign)[]) => Promise<void>;
}

export async function foreignForks(): Promise<ForeignForks> {
  const providers = (['turn', 'step'] as const).flatMap((seedBoundary) => [false, true].map(
    (notice) => ({ providerName: `${seedBoundary} ${notice}`, seedBoundary, notice }),
  ));
  const { ctx, model, agent } = await setup({ config: false, invariants: false });
  for (const config of providers) await ctx.plugin(fork, config);
  const surfaces = new SurfaceRecord(ctx);
  return {
    [Symbol.asyncDispose]: () => ctx.fiber.dispose(),
    hold: async (isShown, words) => {
      const { agent: root, dispose } = await agent();
      const parent = words.length % 2 === 0 ? root : (await runFork(ctx, root, 'the first task', {}, 'step true')).child;
      handSession(words, parent.session);
      const { events: log } = parent.session;
      const before = JSON.stringify(log);
      const shown = surfaces.of(parent.session);
      for (const { providerName, seedBoundary, notice } of providers) {
        const { result, session, child } = await runFork(ctx, parent, 'the task', {}, providerName);
        expect(result).toEqual({ output: [{ type: 'text', text: 'done' }], stopReason: 'completed' });
        const [request] = requestsOf(model, session);
        const messages = request!.messages.filter(isNoSnapshot);
        const wanted = isShown ? shown[seedBoundary].filter(isNoSnapshot) : [];
        const own = isShown ? messages.splice(wanted.length) : messages.splice(-1);
        expect(own.filter(({ source }) => !isNotice(source)).map(({ content }) => content)).toEqual([[{ type: 'text', text: 'the task' }]]);
        expect(own.length).toBeLessThanOrEqual(notice ? 2 : 1);
        if (isShown) expect(messages).toEqual(wanted);
        await child.ctx.fiber.dispose();
      }
      expect(parent.session.events).toBe(log);
      expect(JSON.stringify(log)).toBe(before);
      model.requests.length = 0;
      await dispose();
    },
  };
}

function isNotice(source: Message['source']): boolean {
  return source.kind === 'plugin' && source.plugin === 'subagent-fork-in-process';
}

/** Whether a message is none of those in which the harness tells an agent its runtime context. */
function isNoSnapshot({ source }: Message): boolean {
  return source.kind !== 'plugin' || source.plugin !== '@deepseek-ai/dsh-system-prompt';
}
