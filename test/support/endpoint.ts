/**
 * A loopback HTTP server that speaks DeepSeek's chat-completions format with scripted answers.
 *
 * @module
 */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { PrefixCache, promptTokens, tokens } from './prefix-cache.ts';

/** One message of a request, as the adapter sends it. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }[];
  readonly tool_call_id?: string;
}

/** The part of a request body that a script or a test reads. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** Token counts of one answer, in DeepSeek's words. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_cache_hit_tokens: number;
  readonly prompt_cache_miss_tokens: number;
}

/** One request as it arrived. */
export interface EndpointRequest {
  /** Value of `x-deepseek-harness-session-id`. */
  readonly sessionId: string | undefined;
  /** The body byte for byte. */
  readonly raw: string;
  readonly body: ChatRequest;
  /** What it was answered with; absent until its answer begins and when it failed. */
  usage?: Usage;
}

/** A streamed answer. */
export interface Answer {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: unknown }[];
  /** Default: `tool_calls` when it calls, otherwise `stop`. */
  readonly finish?: 'stop' | 'tool_calls' | 'length';
  /** How the stream ends after its content: in order (the default), cut off, or never. */
  readonly ending?: 'done' | 'cut' | 'stall';
}

/** An answer that is an HTTP error. */
export interface Failure {
  readonly status: number;
  readonly message: string;
  readonly code?: string;
}

/**
 * Decides each answer; a string is an answer of that text.
 * @param request - the request, which is already the last of `requests`.
 * @param index - how many requests arrived before it.
 */
export type Script = (request: EndpointRequest, index: number) => Reply | Promise<Reply>;
type Reply = string | Answer | Failure;

/** A running endpoint. */
export interface Endpoint {
  /** The `baseURL` for the adapter. */
  readonly url: string;
  /** All requests in order of arrival. */
  readonly requests: EndpointRequest[];
  /** Stops listening and drops every connection. */
  close(): Promise<void>;
}

/**
 * Listen on a free loopback port.
 * @param options - the script that answers.
 * @returns the endpoint, ready for requests.
 */
export async function startEndpoint({ script }: { readonly script: Script }): Promise<Endpoint> {
  const requests: EndpointRequest[] = [];
  const cache = new PrefixCache();
  const answer = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (message.method !== 'POST' || message.url !== '/chat/completions') {
      return fail(response, { status: 404, message: `no such route: ${message.method} ${message.url}; expected POST /chat/completions` });
    }
    const request = await receive(message);
    const index = requests.push(request) - 1;
    const given = await script(request, index);
    const reply = typeof given === 'string' ? { text: given } : given;
    if ('status' in reply) return fail(response, reply);
    request.usage = usage(cache, request.body, reply);
    stream(response, index, request.body.model, reply, request.usage);
  };
  const server = createServer((message, response) => {
    answer(message, response).catch((error: unknown) => fail(response, { status: 500, message: String(error) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests, close: () => close(server) };
}

async function receive(message: IncomingMessage): Promise<EndpointRequest> {
  const raw = await text(message);
  const sessionId = message.headers['x-deepseek-harness-session-id'];
  return { sessionId: sessionId?.toString(), raw, body: JSON.parse(raw) as ChatRequest };
}

/** DeepSeek reads the tools before the messages, of which the system prompt is the first. */
function usage(cache: PrefixCache, { model, tools = [], messages }: ChatRequest, reply: Answer): Usage {
  const { total, cached } = cache.account(model, promptTokens([...tools, ...messages]));
  const completion = [reply.reasoning ?? '', reply.text ?? '', ...(reply.calls ?? []).map((call) => JSON.stringify(call))];
  return {
    prompt_tokens: total,
    completion_tokens: tokens(completion.join('')).length,
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: total - cached,
  };
}

function fail(response: ServerResponse, { status, message, code }: Failure): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', code } }));
}

function stream(response: ServerResponse, index: number, model: string, reply: Answer, counted: Usage): void {
  const send = (choices: readonly unknown[], rest: object = {}): void => {
    response.write(`data: ${JSON.stringify({ id: `chat-${index}`, object: 'chat.completion.chunk', model, choices, ...rest })}\n\n`);
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const delta of deltas(index, reply)) send([{ index: 0, delta, finish_reason: null }]);
  if (reply.ending === 'stall') return;
  if (reply.ending === 'cut') return void response.write('\n', () => response.destroy());
  const finish = reply.finish ?? (reply.calls === undefined ? 'stop' : 'tool_calls');
  send([{ index: 0, delta: { content: '' }, finish_reason: finish }]);
  send([], { usage: counted });
  response.end('data: [DONE]\n\n');
}

/** An answer in the pieces in which a model streams it. */
function* deltas(index: number, { reasoning = '', text: content = '', calls = [] }: Answer): Iterable<object> {
  yield { role: 'assistant', content: '' };
  for (const word of words(reasoning)) yield { reasoning_content: word };
  for (const word of words(content)) yield { content: word };
  for (const [position, call] of calls.entries()) {
    yield { tool_calls: [{ index: position, id: `call_${index}_${position}`, type: 'function', function: { name: call.name, arguments: '' } }] };
    for (const word of words(JSON.stringify(call.arguments))) yield { tool_calls: [{ index: position, function: { arguments: word } }] };
  }
}

function words(given: string): string[] {
  return given === '' ? [] : given.split(/(?<= )/);
}

async function close(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
