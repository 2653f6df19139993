/**
 * Says why a run did not complete, without saying what it worked on.
 *
 * @module
 */
import { foldConsumedWork } from '@deepseek-ai/dsh-agent';
import type { LlmFailure } from '@deepseek-ai/dsh-llm';
import type { Session, SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session';
import type { SubagentResult, SubagentStopReason } from '@deepseek-ai/dsh-subagent';
import { readLog } from '../harness/log.ts';

/** The bound of `SubagentResult.diagnostic`, in UTF-8 bytes; the fact is dsh-subagent's. */
export const DIAGNOSTIC_BYTES = 4096;

/** Shorter texts are too common to tell that a message quotes them. */
const QUOTE_LENGTH = 8;

/** What a credential looks like in a text in which every run of white space is one space. */
const CREDENTIALS = [
  /\b(?:bearer|basic) [\w+/=.~-]{8,}/gi,
  /\b(?:sk|pk|gh[opsu]|github_pat|glpat|hf|xox[abprs])[-_][\w-]{8,}/g,
  /\b(?:AKIA[0-9A-Z]{16}|AIza[\w-]{30,})/g,
  // A word that names a secret, and its value behind `:`, `=`, "provided:" or a quotation mark.
  /[\w-]{0,40}(?:api[-_ ]?key|access[-_ ]?key|token|secret|passw(?:or)?d|pwd|authorization)(?:["']? ?[:=] ?| provided: ?| (?=["']))(?:(?:token|apikey|digest|negotiate) )?(?:"[^"]*|'[^']*|[^ "',;]+)["']?/gi,
  /(?<=[?&]key=)[^ &"']+/gi,
  /(?<=:\/\/)[^ /]+@/g,
];

/** A JSON object or array, an SSE field or a page of markup, from its start to the end of the text. */
const PAYLOAD = /(?:\{ ?(?:\\?["'][^"']*["']|[^ "'{}:]*) ?[:{]|\[ ?(?:\\?["']|[{[\d-]|(?:true|false|null)\b)|\bdata: |<(?:!doctype|html|\?xml)\b).*$/i;

/** What an error code looks like. Some adapters pass on what the provider said. */
const CODE = /^[\w.-]{1,64}$/;

const CANCELLED_BY: Readonly<Record<string, string>> = {
  user: 'the user',
  parent: 'its parent',
  hook: 'a hook',
  disposed: 'its disposal',
};

/** Variables whose values must not show, by name; `process.env` for a host. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A run's result with the cause of its failure, when it did not complete and has none yet.
 * @param result - the driver's result.
 * @param session - the child's session.
 * @param environment - variables whose values must not show.
 * @returns the same result, or a copy with `diagnostic`.
 */
export function withDiagnostic(result: SubagentResult, session: Session, environment: Environment): SubagentResult {
  if (result.stopReason === 'completed' || result.diagnostic !== undefined) return result;
  return { ...result, diagnostic: diagnose(session, result.stopReason, environment) };
}

/**
 * The cause of a run that did not complete: a code and a message from the child's own last turn,
 * the one the driver's result is read from. What the child gave its tools and got from them, values
 * of the environment, credentials and raw payloads are taken out of the message as far as comparison
 * and patterns tell them, and the whole is cut at {@link DIAGNOSTIC_BYTES} on a character boundary.
 * @param session - the child's session.
 * @param stopReason - how the driver says that the run ended.
 * @param environment - variables whose values must not show.
 * @returns one line, `CODE: message`.
 */
export function diagnose(session: Session, stopReason: SubagentStopReason, environment: Environment): string {
  const own = readLog(session).slice(session.header.seedLength ?? 0);
  const { code, message } = cause(foldConsumedWork(own).end?.data.reason, stopReason);
  return cut(`${code}: ${redact(message, withheld(own, environment))}`);
}

function cause(reason: TurnEndReason | undefined, stopReason: SubagentStopReason): LlmFailure {
  switch (reason?.kind) {
    case undefined: return stopReason === 'aborted'
      ? { code: 'ABORTED', message: 'the run was cancelled before its turn ended' }
      : { code: 'NOT_STARTED', message: 'the run ended before its first turn did' };
    case 'error': return failure(reason.error);
    case 'aborted': return { code: 'ABORTED', message: `the turn was cancelled by ${CANCELLED_BY[reason.reason.kind] ?? 'its host'}` };
    case 'blocked': return { code: 'BLOCKED', message: 'a plugin refused the step' };
    case 'max-tokens': return { code: 'MAX_TOKENS', message: 'the answer reached the output-token limit' };
    case 'completed': return stopReason === 'aborted'
      ? { code: 'ABORTED', message: 'the run was cancelled as its turn ended' }
      : { code: 'NO_STRUCTURED_OUTPUT', message: 'the turn completed without a valid structured output' };
    case 'interrupted': return { code: 'INTERRUPTED', message: 'the host stopped in the middle of the turn' };
    // A plugin may merge in reasons of its own.
    default: return { code: 'ENDED', message: `the turn ended as "${String((reason as { readonly kind: unknown }).kind)}"` };
  }
}

/** An adapter quotes what it could not parse: that excerpt is a raw payload as a whole. */
function failure({ code, message }: LlmFailure): LlmFailure {
  if (code === 'MALFORMED_RESPONSE') return { code, message: 'the provider sent a response that cannot be read' };
  return { code: CODE.test(code) ? code : 'UNKNOWN', message };
}

/** Texts that must not show, each with what stands in its place. */
function withheld(events: readonly SessionEvent[], environment: Environment): Map<string, string> {
  const labels = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'tool/call') for (const text of strings(event.data.arguments)) labels.set(text, '[tool input]');
    if (event.type !== 'tool/result') continue;
    for (const text of strings(JSON.stringify(event.data.message.content))) {
      for (const line of text.split('\n')) labels.set(line.trim(), '[tool result]');
    }
  }
  for (const [name, value] of Object.entries(environment)) labels.set(value ?? '', `$${name}`);
  for (const text of labels.keys()) if (text.length < QUOTE_LENGTH) labels.delete(text);
  return labels;
}

/** A JSON text itself and every string in it; a text that is not JSON alone. */
function strings(json: string): string[] {
  const found = [json];
  try {
    JSON.parse(json, (_key, value: unknown) => {
      if (typeof value === 'string') found.push(value);
      return value;
    });
  } catch {
    // A model may send arguments that are not JSON: the text as a whole is what can be quoted.
  }
  return found;
}

function redact(text: string, labels: ReadonlyMap<string, string>): string {
  // Long runs of spaces would take a pattern quadratic time.
  let redacted = replaced(text, labels).replace(/\s+/g, ' ').replace(PAYLOAD, '[payload]');
  for (const pattern of CREDENTIALS) redacted = redacted.replace(pattern, '[credential]');
  return redacted;
}

/** A text with a label in place of each text that has one, the longest where several begin. Read once, however many there are. */
function replaced(text: string, labels: ReadonlyMap<string, string>): string {
  const lengths = new Map<string, Set<number>>();
  for (const labelled of [...labels.keys()].toSorted((a, b) => b.length - a.length)) {
    const start = labelled.slice(0, QUOTE_LENGTH);
    lengths.set(start, (lengths.get(start) ?? new Set()).add(labelled.length));
  }
  let result = '';
  for (let at = 0; at < text.length;) {
    const here = [...lengths.get(text.slice(at, at + QUOTE_LENGTH)) ?? []].map((length) => text.slice(at, at + length));
    const found = here.find((candidate) => labels.has(candidate));
    result += found === undefined ? text[at] : labels.get(found);
    at += found === undefined ? 1 : found.length;
  }
  return result;
}

function cut(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(DIAGNOSTIC_BYTES));
  return text.slice(0, read);
}
