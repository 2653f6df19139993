/** A plugin that appends to the parent's log while a fork is made of it, which no plugin should. */
import type { Context } from '@deepseek-ai/cordis';
import type {} from '../../src/index.ts';

export const name = 'disturbance';

export function apply(ctx: Context): void {
  ctx.on('subagent-fork/seeded', ({ parent: { session } }) => {
    session.append('agent/inbox/spliced', {} as never);
  }, { global: true, prepend: true });
}
