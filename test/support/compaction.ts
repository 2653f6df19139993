/** The published compaction, with the checks of its invariants, and a model whose context it measures against. */
import type { Context } from '@deepseek-ai/cordis';
import * as compactionInvariant from '@deepseek-ai/dsh-compaction/invariant';
import { BasicCompactionEngine } from '@deepseek-ai/dsh-compaction-basic';
import type { BasicCompactionConfig } from '@deepseek-ai/dsh-compaction-basic';
import type { GenerateOptions } from '@deepseek-ai/dsh-llm';
import { TokenMeter } from '@deepseek-ai/dsh-token-meter';
import { shown } from './harness.ts';
import type { ScriptedModel, Script } from './model.ts';

/** A text of about a thousand tokens by the meter's estimate. */
export const LONG: string = 'history '.repeat(500).trim();

/** Mounts token meter and compaction; by default a compaction keeps the latest message alone. */
export function mountCompaction(config: BasicCompactionConfig = { retainTokens: 1 }): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    await ctx.plugin(TokenMeter);
    await ctx.plugin(BasicCompactionEngine, config);
    await ctx.plugin(compactionInvariant);
  };
}

/** Lets the model advertise a context window, which automatic compaction measures against. */
export function advertise(model: ScriptedModel, contextWindow: number): void {
  model.resolveModel = (provider, id) => Promise.resolve({ provider, id, name: id, context: { contextWindow } });
}

/** A model that summarizes with `SUMMARY` and otherwise follows the script. */
export function summarizes(script: Script): Script {
  return (request, index) => request.purpose === 'compaction' ? 'SUMMARY' : script(request, index);
}

/** The summary calls a model was asked for. */
export function summaryCalls(model: ScriptedModel): GenerateOptions[] {
  return model.requests.filter((request) => request.purpose === 'compaction');
}

/** What the model was shown, without the frame that compaction puts around a summary. */
export function shownCompacted(request: GenerateOptions): string[] {
  return shown(request).filter((line) => !line.includes('compacted-summary>'));
}
