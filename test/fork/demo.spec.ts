/** `npm start`, run as a user runs it. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startEndpoint } from '../support/endpoint.ts';
import type { Script } from '../support/endpoint.ts';
import { BLOCK_TOKENS } from '../support/prefix-cache.ts';
import { script } from '../../demo/scenario.ts';

vi.setConfig({ testTimeout: 60_000 });

/** Runs the demo to its end, without a key or against an API that answers with this script. */
async function start(task: readonly string[], api?: Script): Promise<{ readonly code: number; readonly lines: string[] }> {
  const { DEEPSEEK_API_KEY: _key, DEEPSEEK_BASE_URL: _url, ...env } = process.env;
  const endpoint = api && await startEndpoint({ script: api });
  onTestFinished(() => endpoint?.close());
  const demo = spawn(process.execPath, ['demo/main.ts', ...task], {
    cwd: new URL('../..', import.meta.url),
    env: { ...env, ...(endpoint && { DEEPSEEK_API_KEY: 'a-key', DEEPSEEK_BASE_URL: endpoint.url }) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(demo.stdout);
  const code = await new Promise<number>((resolve) => demo.on('exit', resolve));
  return { code, lines: (await output).split('\n') };
}

/** The texts under a label, in order. */
function under(label: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.trim().startsWith(`${label} `) ? [line.trim().slice(label.length).trim()] : []);
}

/** The cells of a table's line. */
function cells(line: string): string[] {
  return line.trim().split(/ {2,}/);
}

test('without a key, only a child that inherits what the parent read knows the answer', async () => {
  const { code, lines } = await start([]);
  const known = 'Commit 4be19c2, because each server signed baskets with a key of its own.';
  const unknown = 'I do not know: nothing I was told says anything about it.';
  expect({
    code,
    inherits: under('inherits', lines),
    answer: under('answer', lines),
    children: under('children', lines),
  }).toEqual({
    code: 0,
    inherits: ['nothing of the parent\'s, no notice', 'nothing of the parent\'s, no notice', '3 messages of the parent\'s, then the notice', '8 messages of the parent\'s, no notice'],
    answer: [unknown, unknown, known, known],
    children: ['4 started, 4 completed'],
  });
  expect(under('report', lines)).toHaveLength(3);
  const requests = lines.slice(lines.findIndex((line) => line.includes('prompt tokens ')) + 2).map(cells).filter((row) => row.length === 6);
  expect(requests.map((row) => row.slice(0, 3).join(' | '))).toMatchInlineSnapshot(`
    [
      "turn 1, step 1 | parent | 1",
      "turn 1, step 2 | parent | 3",
      "task, step 1 | spawn | 2",
      "task, step 1 | fork-turn | 2",
      "task, step 1 | fork-step | 6",
      "turn 1, step 3 | parent | 7",
      "turn 2, step 1 | parent | 9",
      "task, step 1 | fork-turn | 10",
      "turn 2, step 2 | parent | 11",
    ]
  `);
  const [delegating, fork] = [requests[1]!, requests[4]!].map((row) => row.map((cell) => Number(cell.replace(',', ''))));
  expect(fork![4]).toBe(Math.floor(delegating![3]! / BLOCK_TOKENS) * BLOCK_TOKENS);
});

test('a task of the user\'s own reaches every child, and scripted answers say that they are', async () => {
  const { code, lines } = await start(['Count', 'to three']);
  expect({ code, user: under('user', lines), task: under('task', lines) }).toEqual({
    code: 0, user: ['Count to three'], task: ['Count to three', 'the same', 'the same'],
  });
  expect(under('answer', lines).every((answer) => answer.startsWith('(Scripted'))).toBe(true);
});

test('a child that fails shows its cause, and the demo fails', async () => {
  const { code, lines } = await start([], (request, index) => request.body.messages.some(({ content }) => content.startsWith('You are a subagent.'))
    ? { status: 400, message: 'maximum context length is 131072 tokens' }
    : script(request, index));
  expect({ code, error: under('error', lines), answer: under('answer', lines).at(2), children: under('children', lines) }).toMatchInlineSnapshot(`
    {
      "answer": "none: error",
      "children": [
        "4 started, 3 completed",
      ],
      "code": 1,
      "error": [
        "Error: subagent run failed Diagnostic: CONTEXT_WINDOW_EXCEEDED: maximum context length",
      ],
    }
  `);
});

test('a parent that fails shows its cause, and the demo fails', async () => {
  const { code, lines } = await start(['Count to three'], () => ({ status: 401, message: 'Authentication Fails' }));
  expect({ code, ended: under('ended', lines), children: under('children', lines) }).toMatchInlineSnapshot(`
    {
      "children": [
        "0 started, 0 completed",
      ],
      "code": 1,
      "ended": [
        "AUTH: Authentication Fails",
      ],
    }
  `);
});
