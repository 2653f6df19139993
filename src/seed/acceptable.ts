/**
 * Events as a new session accepts them. A live session logs more than a new one takes over.
 *
 * @module
 */
import { deepFreeze } from '@deepseek-ai/dsh-llm';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { read } from './data.ts';

type Values = Readonly<Record<string, unknown>>;

/** What stands where a name is missing. The same everywhere, so a replacement still fits what it replaces. */
const UNKNOWN = 'unknown';

/**
 * The event that a child inherits for one of its parent.
 * @param event - any event that a live session has logged.
 * @returns the event itself when a new session accepts it. A message of another shape keeps what it
 *   says. A header or a mark that cannot be read becomes an event of an unknown type, which readers may skip.
 *   What is made anew is frozen.
 */
export function acceptable(event: SessionEvent): SessionEvent {
  const { data }: { readonly data: unknown } = event;
  switch (event.type) {
    case 'user/message': return withData(event, userMessage(data));
    case 'assistant/message': return withData(event, { ...position(data), message: answer(read(data, 'message')) });
    case 'tool/result': return withData(event, { ...position(data), message: result(read(data, 'message')) });
    case 'request/header': return isHeader(read(data, 'header')) ? event : unreadable(event);
    case 'turn/start': return isNumber(read(data, 'turn')) ? event : unreadable(event);
    case 'step/start': return isNumber(read(data, 'turn')) && isNumber(read(data, 'step')) ? event : unreadable(event);
    case 'step/end':
    case 'turn/end':
    case 'tool/call': return isValues(data) ? event : unreadable(event);
    default: return event;
  }
}

function unreadable({ type, seq, time, data }: SessionEvent): SessionEvent {
  return deepFreeze({ type: 'subagent-fork/unreadable', seq, time, data: { type, data }, ignorable: true }) as unknown as SessionEvent;
}

function withData(event: SessionEvent, fields: Values): SessionEvent {
  const data = withFields(event.data, fields);
  return data === event.data ? event : deepFreeze({ ...event, data }) as unknown as SessionEvent;
}

/** The values with these fields; the very same when they have them. */
function withFields(values: unknown, fields: Values): unknown {
  const fits = Object.entries(fields).every(([name, field]) => read(values, name) === field);
  return fits ? values : { ...isValues(values) && values, ...fields };
}

function position(data: unknown): Values {
  const [turn, step] = [read(data, 'turn'), read(data, 'step')];
  return { turn: isNumber(turn) ? turn : 0, step: isNumber(step) ? step : 0 };
}

function userMessage(message: unknown): Values {
  const source = read(message, 'source');
  return { ...identity(message), role: 'user', source: isText(read(source, 'kind')) ? source : { kind: 'plugin', plugin: UNKNOWN }, content: blocks(message) };
}

function answer(message: unknown): unknown {
  const source = read(message, 'source');
  const isModel = read(source, 'kind') === 'model' && isRoute(source);
  return withFields(message, {
    ...identity(message),
    role: 'assistant',
    source: isModel ? source : { kind: 'model', provider: UNKNOWN, model: UNKNOWN },
    content: blocks(message, (block) => read(block, 'type') !== 'tool-call' || isText(read(block, 'id'))),
  });
}

function result(message: unknown): unknown {
  const source = read(message, 'source');
  const content = blocks(message);
  const [block] = content;
  const callId = [read(source, 'callId'), read(block, 'toolCallId')].find(isText) ?? UNKNOWN;
  const said = withFields(block, { type: 'tool-result', toolCallId: callId, content: blocks(block) });
  return withFields(message, {
    ...identity(message),
    role: 'user',
    source: withFields(source, { kind: 'tool', callId }),
    content: content.length === 1 && said === block ? content : [said],
  });
}

function identity(message: unknown): Values {
  const id = read(message, 'id');
  return { id: isText(id) ? id : UNKNOWN };
}

/** What a message says, without what is no block of it; the very same array when all of it is. */
function blocks(message: unknown, fits: (block: Values) => boolean = () => true): readonly Values[] {
  const content = read(message, 'content');
  if (!Array.isArray(content)) return [];
  const isBlock = (block: unknown): block is Values => isValues(block) && fits(block);
  return content.every(isBlock) ? content : content.filter(isBlock);
}

function isHeader(header: unknown): boolean {
  const config = read(header, 'config');
  const effort = read(config, 'reasoningEffort');
  const defaults = read(header, 'adapterDefaults') ?? {};
  return isRoute(config) && (effort === undefined || isText(effort)) && isValues(defaults) && Object.entries(defaults).every(
    ([key, value]) => (key === 'reasoningEffort' || key === 'maxTokens') && value === true && read(config, key) !== undefined,
  );
}

function isRoute(value: unknown): boolean {
  return isText(read(value, 'provider')) && isText(read(value, 'model'));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
