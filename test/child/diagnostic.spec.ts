import { createToolResultMessage, CallId } from '@deepseek-ai/dsh-llm';
import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session';
import { describe, expect, test } from 'vitest';
import { diagnose as diagnoseAs, DIAGNOSTIC_BYTES, withDiagnostic } from '../../src/child/diagnostic.ts';

/** A child's session with one turn that called a tool and ended for this reason. */
function child(reason: TurnEndReason, tool?: { readonly input: string; readonly result: string }): Session {
  const session = Session.create(SessionId('child'));
  session.append('turn/start', { turn: 1 });
  session.append('step/start', { turn: 1, step: 1 });
  if (tool !== undefined) {
    const callId = CallId('call-1');
    const call = session.append('tool/call', { turn: 1, step: 1, callId, name: 'read', arguments: tool.input });
    const message = createToolResultMessage({ callId, content: [{ type: 'text', text: tool.result }], isError: false });
    session.append('tool/result', { turn: 1, step: 1, message }, { surfaceOp: 'append', sourceEventSeqs: [call.seq] });
  }
  session.append('step/end', { turn: 1, step: 1 });
  session.append('turn/end', { turn: 1, reason });
  return session;
}

const diagnose = (session: Session, environment: Record<string, string | undefined>): string => diagnoseAs(session, 'error', environment);

const failed = (message: string, code = 'BAD_REQUEST'): TurnEndReason => ({ kind: 'error', error: { message, code } });

describe('a result', () => {
  test('of a completed run stays as it is', () => {
    const result = { output: [], stopReason: 'completed' } as const;
    expect(withDiagnostic({ ...result, output: [] }, child({ kind: 'completed' }), {})).toEqual(result);
  });

  test('with a diagnostic of the driver\'s keeps it', () => {
    const result = { output: [], stopReason: 'error', diagnostic: 'the driver knows better' } as const;
    expect(withDiagnostic({ ...result, output: [] }, child(failed('other')), {})).toEqual(result);
  });

  test('of any other run gets the cause', () => {
    expect(withDiagnostic({ output: [], stopReason: 'error' }, child(failed('away')), {})).toEqual({ output: [], stopReason: 'error', diagnostic: 'BAD_REQUEST: away' });
  });
});

describe('the cause', () => {
  test.each<[TurnEndReason, string]>([
    [failed('maximum context length is 131072 tokens', 'CONTEXT_WINDOW_EXCEEDED'), 'CONTEXT_WINDOW_EXCEEDED: maximum context length is 131072 tokens'],
    [{ kind: 'aborted', reason: { kind: 'user' } }, 'ABORTED: the turn was cancelled by the user'],
    [{ kind: 'aborted', reason: { kind: 'parent' } }, 'ABORTED: the turn was cancelled by its parent'],
    [{ kind: 'aborted', reason: { kind: 'hook', reason: 'private' } }, 'ABORTED: the turn was cancelled by a hook'],
    [{ kind: 'aborted', reason: { kind: 'disposed' } }, 'ABORTED: the turn was cancelled by its disposal'],
    [{ kind: 'aborted', reason: { kind: 'legacy' } }, 'ABORTED: the turn was cancelled by its host'],
    [{ kind: 'blocked' }, 'BLOCKED: a plugin refused the step'],
    [{ kind: 'max-tokens' }, 'MAX_TOKENS: the answer reached the output-token limit'],
    [{ kind: 'completed' }, 'NO_STRUCTURED_OUTPUT: the turn completed without a valid structured output'],
    [{ kind: 'interrupted' }, 'INTERRUPTED: the host stopped in the middle of the turn'],
  ])('of a turn that ended as %j', (reason, expected) => {
    expect(diagnose(child(reason), {})).toBe(expected);
  });

  test('of a run that ended before its first turn did', () => {
    expect(diagnose(Session.create(SessionId('child')), {})).toBe('NOT_STARTED: the run ended before its first turn did');
  });

  test('is not taken from a turn that the child inherited', () => {
    const seed: readonly SessionEvent[] = child(failed('the parent\'s')).events;
    const session = Session.create(SessionId('fork'), seed, {
      version: 0, id: SessionId('fork'), createdAt: 0, seedLength: seed.length,
    });
    expect(diagnose(session, {})).toBe('NOT_STARTED: the run ended before its first turn did');
  });

  test('is the last turn\'s', () => {
    const session = child(failed('first'));
    session.append('turn/start', { turn: 2 });
    session.append('step/start', { turn: 2, step: 1 });
    session.append('step/end', { turn: 2, step: 1 });
    session.append('turn/end', { turn: 2, reason: failed('second') });
    expect(diagnose(session, {})).toBe('BAD_REQUEST: second');
  });

  test('is not that of a later turn that did nothing', () => {
    const session = child(failed('first'));
    session.append('turn/start', { turn: 2 });
    session.append('turn/end', { turn: 2, reason: { kind: 'completed' } });
    expect(diagnose(session, {})).toBe('BAD_REQUEST: first');
  });

  test('is the abort when the run was cancelled before any turn of its own ended', () => {
    expect(diagnoseAs(Session.create(SessionId('child')), 'aborted', {})).toBe('ABORTED: the run was cancelled before its turn ended');
  });

  test('is the abort when the run was cancelled as its turn completed', () => {
    expect(diagnoseAs(child({ kind: 'completed' }), 'aborted', {})).toBe('ABORTED: the run was cancelled as its turn ended');
  });

  test('names a reason or a canceller it does not know', () => {
    expect(diagnose(child({ kind: 'budget' } as never), {})).toBe('ENDED: the turn ended as "budget"');
    expect(diagnose(child({ kind: 'aborted', reason: { kind: 'cron' } as never }), {})).toBe('ABORTED: the turn was cancelled by its host');
  });

  test('keeps its code when a tool was given that very word', () => {
    expect(diagnose(child(failed('away', 'CONTEXT_WINDOW_EXCEEDED'), { input: '{"pattern":"CONTEXT_WINDOW_EXCEEDED"}', result: '' }), {}))
      .toBe('CONTEXT_WINDOW_EXCEEDED: away');
  });

  test('may repeat what the child inherited: its parent knows it', () => {
    const seed = child(failed('x'), { input: '{}', result: 'quota of the project exceeded' }).events;
    const session = Session.create(SessionId('fork'), seed, { version: 0, id: SessionId('fork'), createdAt: 0, seedLength: seed.length });
    session.append('turn/start', { turn: 2 });
    session.append('step/start', { turn: 2, step: 1 });
    session.append('step/end', { turn: 2, step: 1 });
    session.append('turn/end', { turn: 2, reason: failed('quota of the project exceeded') });
    expect(diagnose(session, {})).toBe('BAD_REQUEST: quota of the project exceeded');
  });

  test('is one line', () => {
    expect(diagnose(child(failed('first\n  second\tthird')), {})).toBe('BAD_REQUEST: first second third');
  });
});

describe('what it never says', () => {
  test('the value of an environment variable', () => {
    expect(diagnose(child(failed('cannot reach http://10.1.2.3:99/v1 with hunter22')), { LLM_URL: 'http://10.1.2.3:99/v1', PASS: 'hunter22', EMPTY: undefined }))
      .toBe('BAD_REQUEST: cannot reach $LLM_URL with $PASS');
  });

  test('a value that contains another is taken out as a whole', () => {
    expect(diagnose(child(failed('at /home/somebody/work')), { HOME: '/home/somebody', PWD: '/home/somebody/work' })).toBe('BAD_REQUEST: at $PWD');
  });

  test('a value too short to tell from a word stays', () => {
    expect(diagnose(child(failed('the model is away')), { A: 'model' })).toBe('BAD_REQUEST: the model is away');
  });

  test.each([
    ['Authorization: Bearer abc.def-123', '[credential]'],
    ['sent Bearer abcdef123456 twice', 'sent [credential] twice'],
    ['Authorization: Basic dXNlcjpwYXNz', '[credential]'],
    ['DEEPSEEK_API_KEY=abc123 is wrong', '[credential] is wrong'],
    ['client_secret: "s3cr3t", db_password=x1', '[credential], [credential]'],
    ['refresh_token=abc, passwd=def, pwd: ghi', '[credential], [credential], [credential]'],
    ['Incorrect API key provided: abc123.', 'Incorrect [credential]'],
    ['bad api key "abc123"', 'bad [credential]'],
    ['github_pat_0123456789 and glpat-0123456789 and hf_0123456789', '[credential] and [credential] and [credential]'],
    ['AKIAIOSFODNN7EXAMPLE and AIzaSyA-0123456789_0123456789_012345', '[credential] and [credential]'],
    ['sent bearer   abcdef123456', 'sent [credential]'],
    ['gho_0123456789 and xoxb-0123456789', '[credential] and [credential]'],
    ['apikey=a1, accesskey=b2, access-key: c3, access_key = d4', '[credential], [credential], [credential], [credential]'],
    ['api-key provided:  a1 and token "b2', '[credential] and [credential]'],
    ['GET /v1?a=1&key=abc123&b=2', 'GET /v1?a=1&key=[credential]&b=2'],
    ['postgres://u:p@ss@host/db', 'postgres://[credential]host/db'],
    ['Authorization: Token abcdef0123456789', '[credential]'],
    ['Authorization: ApiKey abcdef0123 expired', '[credential] expired'],
    ['password: "correct horse battery" is wrong', '[credential] is wrong'],
    ['password: \'correct horse battery\' is wrong', '[credential] is wrong'],
    ['at most 4096 tokens: 5000 given', 'at most 4096 tokens: 5000 given'],
    ['key sk-0123456789abcdef is invalid', 'key [credential] is invalid'],
    ['Authentication Fails, Your api key: ****1234 is invalid', 'Authentication Fails, Your [credential] is invalid'],
    ['password=opensesame rejected', '[credential] rejected'],
    ['connect to https://me:secret@host/v1 failed', 'connect to https://[credential]host/v1 failed'],
  ])('a credential: %s', (message, expected) => {
    expect(diagnose(child(failed(message)), {})).toBe(`BAD_REQUEST: ${expected}`);
  });

  test.each([
    ['upstream said {"error":{"message":"x"}}', 'upstream said [payload]'],
    ['upstream said [{"a":1}]', 'upstream said [payload]'],
    ['stream broke at data: {"id":1}', 'stream broke at [payload]'],
    ['gateway: <!DOCTYPE html><html></html>', 'gateway: [payload]'],
    ['gateway: <html><body>502', 'gateway: [payload]'],
    ['gateway: <?xml version="1.0"?><a/>', 'gateway: [payload]'],
    ['upstream said {  "a" : 1}', 'upstream said [payload]'],
    ['upstream said {  a  : 1}', 'upstream said [payload]'],
    ['upstream said [  "a"]', 'upstream said [payload]'],
    ['upstream said {a: 1, b: "private"}', 'upstream said [payload]'],
    ['upstream said [1, 2, 3]', 'upstream said [payload]'],
    ['upstream said {"token":"abc","patient":"4711"}', 'upstream said [payload]'],
    ['upstream said {"authorization":["x"],"body":"private"}', 'upstream said [payload]'],
    ['upstream said {"content-type":"x","body":"private"}', 'upstream said [payload]'],
    ['upstream said {"error.message":"private"}', 'upstream said [payload]'],
    ['upstream said {"ключ":"private"}', 'upstream said [payload]'],
    ['upstream said {\'a b\': 1}', 'upstream said [payload]'],
    ['upstream said {\\"a\\":\\"private\\"}', 'upstream said [payload]'],
    ['upstream said [\\"a\\"]', 'upstream said [payload]'],
    ['upstream said [true,"private"]', 'upstream said [payload]'],
    ['upstream said [null]', 'upstream said [payload]'],
    ['model [deepseek] {unknown} is away', 'model [deepseek] {unknown} is away'],
  ])('a raw payload: %s', (message, expected) => {
    expect(diagnose(child(failed(message)), {})).toBe(`BAD_REQUEST: ${expected}`);
  });

  test('a payload or a credential in a text of very many spaces', () => {
    const spaces = ' '.repeat(100_000);
    for (const start of ['said {', 'said [', 'the token', 'the api key provided:', 'bearer']) {
      expect(diagnose(child(failed(`${start}${spaces};${spaces}"a": 1`)), {})).toBe(`BAD_REQUEST: ${start} ; "a": 1`);
    }
    expect(diagnose(child(failed(`said {${spaces}"a"${spaces}: 1} token${spaces}=${spaces}opensesame`)), {})).toBe('BAD_REQUEST: said [payload]');
    expect(diagnose(child(failed(`token${spaces}=${spaces}opensesame`)), {})).toBe('BAD_REQUEST: [credential]');
  });

  test.each(['upstream said {"a":1}', 'two\nlines', 'X'.repeat(65), ''])('a code that is no code: %j', (code) => {
    expect(diagnose(child(failed('away', code)), {})).toBe('UNKNOWN: away');
  });

  test.each(['HTTP-502', 'content_filter', 'sdk.Timeout', 'X'.repeat(64)])('but a code as it is: %s', (code) => {
    expect(diagnose(child(failed('away', code)), {})).toBe(`${code}: away`);
  });

  test('one of very many lines that a tool answered, in a very long message', () => {
    const lines = Array.from({ length: 50_000 }, (_, index) => `line number ${index} of the file`);
    const message = `${'line number '.repeat(33_000)}${lines[44_444]} is wrong`;
    expect(diagnose(child(failed(message), { input: '{}', result: lines.join('\n') }), {})).toHaveLength(DIAGNOSTIC_BYTES);
    expect(diagnose(child(failed(`${lines.slice(0, 10_000).join(' ')} is wrong`), { input: '{}', result: lines.join('\n') }), {}))
      .toMatch(/^BAD_REQUEST: (?:\[tool result\] )+/);
  });

  test('but a text that is too short to tell', () => {
    expect(diagnose(child(failed('this is fine'), { input: '{"a":"fine"}', result: 'is fine' }), { GREETING: 'fine' })).toBe('BAD_REQUEST: this is fine');
  });

  test('the longest of the texts that begin at one place', () => {
    const tool = { input: '{}', result: 'the launch code\nthe launch code is 0000\nlaunch code is 0000, Sir' };
    expect(diagnose(child(failed('said the launch code is 0000, and the launch code'), tool), {})).toBe('BAD_REQUEST: said [tool result], and [tool result]');
  });

  test('what a variable says, by its name, though a tool said it too', () => {
    expect(diagnose(child(failed('no such host db.internal'), { input: '{}', result: 'db.internal' }), { DB_HOST: 'db.internal' })).toBe('BAD_REQUEST: no such host $DB_HOST');
  });

  test('the excerpt of a response that could not be parsed', () => {
    expect(diagnose(child(failed('malformed SSE payload: patient 4711', 'MALFORMED_RESPONSE')), {}))
      .toBe('MALFORMED_RESPONSE: the provider sent a response that cannot be read');
  });

  test('what a tool was given', () => {
    const tool = { input: '{"path":"/srv/secret-plan.txt","limit":3}', result: '' };
    expect(diagnose(child(failed('invalid argument /srv/secret-plan.txt'), tool), {})).toBe('BAD_REQUEST: invalid argument [tool input]');
    expect(diagnose(child(failed(`invalid arguments ${tool.input}`), tool), {})).toBe('BAD_REQUEST: invalid arguments [tool input]');
  });

  test('what a tool was given that is not JSON', () => {
    expect(diagnose(child(failed('cannot parse rm -rf everything'), { input: 'rm -rf everything', result: '' }), {}))
      .toBe('BAD_REQUEST: cannot parse [tool input]');
  });

  test('what a tool answered, by the line', () => {
    const tool = { input: '{}', result: 'first line of the file\n  the launch code is 0000  \nlast line' };
    expect(diagnose(child(failed('content "the launch code is 0000" violates policy'), tool), {}))
      .toBe('BAD_REQUEST: content "[tool result]" violates policy');
  });
});

describe('its length', () => {
  test('is at most 4,096 UTF-8 bytes, cut between characters', () => {
    const text = diagnose(child(failed('€'.repeat(3000))), {});
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(DIAGNOSTIC_BYTES);
    expect(text).toBe(`BAD_REQUEST: ${'€'.repeat(1361)}`);
    expect(diagnose(child(failed('😀'.repeat(3000))), {})).toBe(`BAD_REQUEST: ${'😀'.repeat(1020)}`);
  });

  test('is cut after secrets are taken out, so no part of one remains', () => {
    const text = diagnose(child(failed(`${'x'.repeat(4080)} correct-horse-battery`)), { SECRET: 'correct-horse-battery' });
    expect(text).not.toContain('correct');
  });
});
