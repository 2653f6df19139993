/** The only scripted part of a test: a model whose answers the test gives. */
import { CallId, LlmAdapter } from '@deepseek-ai/dsh-llm';
import type { ContentBlock, FinishReason, GenerateOptions, StreamChunk, TokenUsage } from '@deepseek-ai/dsh-llm';

/** One answer: what is said, what is called, and how it ends. */
export interface Answer {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown; readonly id?: string }[];
  readonly usage?: TokenUsage;
  readonly finish?: FinishReason;
  /** Awaited after the content has streamed and before the answer ends. */
  readonly until?: Promise<unknown>;
}

export type Script = (request: GenerateOptions, index: number) => Answer | string | Promise<Answer | string>;

/** A model adapter that records each request and streams what its script answers. */
export class ScriptedModel extends LlmAdapter {
  readonly requests: GenerateOptions[] = [];
  script: Script;
  private calls = 0;

  constructor(script: Script) {
    super();
    this.script = script;
  }

  override async *stream(request: GenerateOptions): AsyncIterable<StreamChunk> {
    this.requests.push(request);
    const given = await unlessAborted(this.script(request, this.requests.length - 1), request.signal);
    const answer = typeof given === 'string' ? { text: given } : given;
    let index = 0;
    if (answer.reasoning !== undefined) yield* words(index++, 'reasoning', answer.reasoning);
    if (answer.text !== undefined) yield* words(index++, 'text', answer.text);
    for (const call of answer.calls ?? []) {
      const id = CallId(call.id ?? `call-${++this.calls}`);
      const json = JSON.stringify(call.arguments);
      yield { type: 'block-start', index, blockType: 'tool-call' };
      yield { type: 'tool-call-delta', index, id, name: call.name, argumentsDelta: json };
      yield { type: 'block-end', index, block: { type: 'tool-call', id, name: call.name, arguments: json } };
      index++;
    }
    await unlessAborted(answer.until, request.signal);
    if (answer.usage !== undefined) yield { type: 'usage', usage: answer.usage };
    yield { type: 'finish', reason: answer.finish ?? { kind: answer.calls === undefined ? 'stop' : 'tool-calls' } };
  }
}

function* words(index: number, kind: 'text' | 'reasoning', text: string): Iterable<StreamChunk> {
  yield { type: 'block-start', index, blockType: kind };
  for (const word of text.split(/(?<= )/)) yield { type: `${kind}-delta`, index, text: word };
  yield { type: 'block-end', index, block: { type: kind, text } as ContentBlock };
}

async function unlessAborted<T>(value: T | Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  try {
    return await Promise.race([value, promise]);
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}
