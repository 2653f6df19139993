/**
 * Says why a run did not complete, without saying what it worked on.
 *
 * @module
 */
import type { AgentCancelCause, Session, SessionEvent } from '@deepseek-ai/dsh-session';
import type { SubagentResult } from '@deepseek-ai/dsh-subagent';
import { readLog } from './log.ts';

/** The bound of `SubagentResult.diagnostic`, in UTF-8 bytes; the fact is dsh-subagent's. */
export const DIAGNOSTIC_BYTES = 4096;

/** Shorter texts are too common to tell that a message quotes them. */
const QUOTE_LENGTH = 8;

const CREDENTIALS = [
  /\bbearer\s+[^\s"',;]+/gi,
  /\b(?:sk|pk|ghp|gho|xox[abprs])[-_][\w-]{8,}/g,
  /\b(?:api[-_ ]?key|access[-_ ]?token|secret|password|authorization)\b["']?\s*[:=]\s*["']?[^\s"',;]+/gi,
  /(?<=:\/\/)[^\s/@]+@/g,
];

/** A JSON object or array, an SSE field or a page of HTML, from its start to the end of the text. */
const PAYLOAD = /(?:[{[]\s*["{[]|\bdata:\s|<(?:!doctype|html)\b)[^]*$/i;

const CANCELLED_BY: Readonly<Record<AgentCancelCause['kind'], string>> = {
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
  return { ...result, diagnostic: diagnose(session, environment) };
}

/**
 * The cause of a run that did not complete: a code and a message from the child's own last turn.
 * Tool inputs, tool results, environment values, credentials and raw payloads are taken out of the
 * message, and the whole is cut at {@link DIAGNOSTIC_BYTES} on a character boundary.
 * @param session - the child's session.
 * @param environment - variables whose values must not show.
 * @returns one line, `CODE: message`.
 */
export function diagnose(session: Session, environment: Environment): string {
  const events = readLog(session);
  const end = events.findLast((event) => event.type === 'turn/end');
  const own = end !== undefined && end.seq >= (session.header.seedLength ?? 0) ? end : undefined;
  return cut(redact(cause(own), withheld(events, environment)));
}

function cause(end: SessionEvent<'turn/end'> | undefined): string {
  const reason = end?.data.reason;
  switch (reason?.kind) {
    case undefined: return 'NOT_STARTED: the run ended before its first turn did';
    case 'error': return failure(reason.error);
    case 'aborted': return `ABORTED: the turn was cancelled by ${reason.reason.kind === 'legacy' ? 'its host' : CANCELLED_BY[reason.reason.kind]}`;
    case 'blocked': return 'BLOCKED: a plugin refused the step';
    case 'max-tokens': return 'MAX_TOKENS: the answer reached the output-token limit';
    case 'completed': return 'NO_STRUCTURED_OUTPUT: the turn completed without a valid structured output';
    case 'interrupted': return 'INTERRUPTED: the host stopped in the middle of the turn';
  }
}

function failure({ code, message }: { readonly code: string; readonly message: string }): string {
  return code === 'MALFORMED_RESPONSE'
    ? `${code}: the provider sent a response that cannot be read`
    : `${code}: ${message}`;
}

/** Texts that must not show, each with what stands in its place, longest first. */
function withheld(events: readonly SessionEvent[], environment: Environment): [string, string][] {
  const texts: [string, string][] = [];
  for (const [name, value] of Object.entries(environment)) texts.push([value ?? '', `$${name}`]);
  for (const event of events) {
    if (event.type === 'tool/call') for (const text of strings(event.data.arguments)) texts.push([text, '[tool input]']);
    if (event.type !== 'tool/result') continue;
    for (const block of event.data.message.content) {
      for (const text of strings(JSON.stringify(block))) {
        for (const line of text.split('\n')) texts.push([line.trim(), '[tool result]']);
      }
    }
  }
  return texts.filter(([text]) => text.length >= QUOTE_LENGTH).toSorted(([a], [b]) => b.length - a.length);
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

function redact(text: string, withheldTexts: readonly [string, string][]): string {
  let redacted = text;
  for (const [secret, label] of withheldTexts) redacted = redacted.replaceAll(secret, () => label);
  for (const pattern of CREDENTIALS) redacted = redacted.replace(pattern, '[credential]');
  return redacted.replace(PAYLOAD, '[payload]');
}

function cut(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(DIAGNOSTIC_BYTES));
  return text.slice(0, read);
}
