/**
 * The only scripted part of the benchmark: a model that works like a coding agent's.
 *
 * @module
 */
import { CallId, LlmAdapter } from '@deepseek-ai/dsh-llm';
import type { ContentBlock, FinishReason, GenerateOptions, StreamChunk } from '@deepseek-ai/dsh-llm';
import { between, prose, randomFrom, tokens } from './prose.ts';
import type { Random } from './prose.ts';

/** Which tool an agent calls next; undefined ends its turn. */
export type NextCall = () => string | undefined;

/**
 * Streams one delta a token. An agent it was told to work for gets long reasoning, text and tool
 * calls; any other agent gets a short answer at once.
 */
export class WorkingModel extends LlmAdapter {
  private readonly random: Random = randomFrom(1);
  private readonly workers = new Map<string, NextCall>();
  private calls = 0;

  /**
   * Work for an agent.
   * @param agentId - the agent, by its session's id.
   * @param nextCall - asked once for each of its requests.
   */
  workFor(agentId: string, nextCall: NextCall): void {
    this.workers.set(agentId, nextCall);
  }

  override async *stream({ sessionId }: GenerateOptions): AsyncIterable<StreamChunk> {
    const nextCall = this.workers.get(sessionId ?? '');
    if (nextCall === undefined) {
      yield* block(0, 'text', 'done');
      yield finish('stop');
      return;
    }
    const tool = nextCall();
    yield* block(0, 'reasoning', this.write(50, 200));
    yield* block(1, 'text', tool === undefined ? this.write(100, 300) : this.write(10, 40));
    if (tool !== undefined) yield* this.call(tool);
    yield { type: 'usage', usage: { inputTokens: 20_000, outputTokens: 300 } };
    yield finish(tool === undefined ? 'stop' : 'tool-calls');
  }

  private write(least: number, most: number): string {
    return prose(this.random, between(this.random, least, most));
  }

  private *call(name: string): Iterable<StreamChunk> {
    const id = CallId(`call-${++this.calls}`);
    const given = JSON.stringify({ text: this.write(10, 100) });
    yield { type: 'block-start', index: 2, blockType: 'tool-call' };
    for (const argumentsDelta of tokens(given)) yield { type: 'tool-call-delta', index: 2, id, name, argumentsDelta };
    yield { type: 'block-end', index: 2, block: { type: 'tool-call', id, name, arguments: given } };
  }
}

function* block(index: number, kind: 'text' | 'reasoning', text: string): Iterable<StreamChunk> {
  yield { type: 'block-start', index, blockType: kind };
  for (const token of tokens(text)) yield { type: `${kind}-delta`, index, text: token };
  yield { type: 'block-end', index, block: { type: kind, text } as ContentBlock };
}

function finish(kind: FinishReason['kind']): StreamChunk {
  return { type: 'finish', reason: { kind } as FinishReason };
}
