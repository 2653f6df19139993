/** What `dsh --profile headless` shows and sends. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { startEndpoint } from '../../test/support/endpoint.ts';
import type { Journey } from './claims.ts';
import { createHome, PLAN } from './home.ts';
import type { Home, Kit, Outcome } from './home.ts';
import { answer, answerTo, ask, NOTICE, REFUSAL, TOO_LONG } from './model.ts';
import { conversations, messagesOf, textsOf, wholeBlocks } from './requests.ts';
import type { Conversation } from './requests.ts';
import { CACHE_REPORT, inserted, INVARIANT, provider } from './rows.ts';
import { storedSeed } from './stored-seed.ts';

/** A headless run that came to its end. */
interface Run {
  readonly home: Home;
  readonly outcome: Outcome;
  readonly parent: Conversation;
  readonly children: readonly Conversation[];
}

/** What a headless run is given. */
interface Given {
  /** Rows of the profile's `cordis.patch.yml`. */
  readonly rows?: string;
  /** A package of the registry to add to the profile. */
  readonly beside?: string;
  /** What each fork is asked for. */
  readonly tasks?: readonly string[];
}

const LOGGER = '@deepseek-ai/cordis-plugin-logger-console';
/** What each add of this package says, in the order in which pnpm and `dsh` print it. */
const KNOWN_WARNINGS = ['Issues with peer dependencies found', 'missing peer @deepseek-ai/', 'declares no dsh.bundle'];
const TASK = 'Which crane is out of order?';
const DISTURBANCE = fileURLToPath(new URL('./disturbance.ts', import.meta.url));

/**
 * The journeys through the headless product. To add one, give it a name, what it is given and what it claims.
 * @param kit - what each home is made of.
 */
export function headlessJourneys(kit: Kit): Journey<Run>[] {
  const journey = (name: string, given: Given, claims: Journey<Run>['claims']): Journey<Run> =>
    ({ name: `headless, ${name}`, start: () => run(kit, given), claims });
  return [
    journey('at the defaults', {}, {
      'the package is added from a path that begins with ./': ({ home: { added } }) => {
        assert.equal(added.code, 0, added.stderr);
      },
      'the add warns of missing peers and of no bundle, and of nothing else': ({ home: { added } }) => {
        const warnings = `${added.stdout}${added.stderr}`.split('\n').filter((line) => /warn|missing|error/i.test(line));
        const kinds = warnings.map((line) => KNOWN_WARNINGS.find((known) => line.includes(known)) ?? line);
        assert.deepEqual([...new Set(kinds)], KNOWN_WARNINGS);
      },
      'the run prints the parent\'s answer and nothing else': ({ outcome }) => {
        assert.deepEqual(outcome, { code: 0, stdout: `The fork said: ${answerTo(TASK)}\n`, stderr: '' });
      },
      'the fork inherits nothing of the only turn, and no notice is sent': ({ children: [child] }) => {
        assert.deepEqual(textsOf(child![0]!), [TASK]);
      },
    }),
    journey('at seedBoundary: step', { rows: provider('{ seedBoundary: step }') }, {
      'the fork\'s request begins with every message of the delegating request': beginsWithParent,
      'a notice stands before the task': noticed,
      'every whole block of the delegating request is read from the cache': cached,
      'the run prints the parent\'s answer': answered,
    }),
    journey('with the recommended row', {
      rows: provider('{ seedBoundary: step, compactSeed: true, maxLiveForks: 6 }'),
    }, {
      'the fork\'s request begins with every message of the delegating request': beginsWithParent,
      'a notice stands before the task': noticed,
      'every whole block of the delegating request is read from the cache': cached,
      'no streamed chunk is stored with the fork': async ({ home: { sessions }, children: [child] }) => {
        const types = (await storedSeed(sessions, child![0]!.sessionId!)).map(({ type }) => type);
        assert.ok(types.includes('assistant/message'));
        assert.ok(!types.includes('assistant/chunk'));
      },
    }),
    journey('with more forks than maxLiveForks', { rows: provider('{ maxLiveForks: 1 }'), tasks: [TASK, 'And why?'] }, {
      'the second fork is refused, and the model is told what to do': ({ parent }) => {
        assert.match(results(parent).at(-1)!, /^Error: fork refused: .*Wait for another one to finish/);
      },
      'only one fork asks the model': ({ children }) => assert.equal(children.length, 1),
    }),
    journey('with the companions', {
      beside: LOGGER,
      rows: provider('{ seedBoundary: step }') + inserted({ 'logger-console': LOGGER, ...INVARIANT, ...CACHE_REPORT }),
    }, {
      'the cache report is printed before the answer': ({ outcome: { stdout }, children: [child] }) => {
        assert.match(stdout, new RegExp(`${child![0]!.usage!.prompt_cache_hit_tokens}[^]*The fork said: `));
      },
      'a sound fork passes the invariant': answered,
    }),
    journey('with a plugin that appends to the parent\'s log while a seed is built', {
      rows: provider('{ seedBoundary: step }') + inserted({ ...INVARIANT, disturbance: DISTURBANCE }),
    }, {
      'the invariant refuses the fork and says why': ({ parent }) => {
        assert.match(results(parent).at(-1)!, /the parent's log changed while the seed was built/);
      },
      'no child asks the model': ({ children }) => assert.equal(children.length, 0),
    }),
    journey('with a failing child', { tasks: [TOO_LONG] }, {
      'the parent\'s model is told the code and the endpoint\'s message': ({ parent }) => {
        assert.match(results(parent).at(-1)!, new RegExp(`CONTEXT_WINDOW_EXCEEDED.*${REFUSAL}`));
      },
      'the run goes on and prints the parent\'s answer': ({ outcome: { code, stdout } }) => {
        assert.equal(code, 0);
        assert.match(stdout, /^The fork said: /);
      },
    }),
    journey('with a wrong option', { rows: provider('{ seedBoundery: step }') }, {
      'the run does not start': ({ outcome: { code }, parent }) => {
        assert.notEqual(code, 0);
        assert.equal(parent.length, 0);
      },
      'the wrong option is named, and the one that was meant': ({ outcome: { stderr } }) => {
        assert.match(stderr, /seedBoundery is not an option; did you mean seedBoundary\?/);
      },
    }),
    journey('with a wrong value', { rows: provider('{ seedBoundary: steps }') }, {
      'the run does not start': ({ outcome: { code }, parent }) => {
        assert.notEqual(code, 0);
        assert.equal(parent.length, 0);
      },
      'the wrong value is named, and the accepted ones': ({ outcome: { stderr } }) => {
        assert.match(stderr, /seedBoundary.*turn.*step.*steps/);
      },
    }),
  ];
}

async function run(kit: Kit, { rows, beside, tasks = [TASK] }: Given): Promise<Run> {
  const endpoint = await startEndpoint({ script: answer });
  const home = await createHome(kit, 'headless', endpoint.url);
  if (beside !== undefined) await home.run('plugin', '--profile', 'headless', 'add', beside);
  if (rows !== undefined) await home.patch(rows);
  const outcome = await home.run('--profile', 'headless', ask.readThenFork(...tasks));
  await endpoint.close();
  const [parent = [], ...children] = conversations(endpoint.requests);
  return { home, outcome, parent, children };
}

/** What the parent's tools answered, as its last request shows it. */
function results(parent: Conversation): string[] {
  return messagesOf(parent.at(-1)!).filter(({ role }) => role === 'tool').map(({ content }) => content);
}

/** The request that calls for the forks, which is the parent's second. */
const delegating = (parent: Conversation): Conversation[number] => parent[1]!;

function beginsWithParent({ parent, children: [child] }: Run): void {
  const { messages } = delegating(parent).body;
  assert.match(messages.at(-1)!.content, new RegExp(PLAN.text.slice(0, 20)));
  assert.deepEqual(child![0]!.body.messages.slice(0, messages.length), messages);
}

function noticed({ children: [child] }: Run): void {
  const [notice, task] = textsOf(child![0]!).slice(-2);
  assert.match(notice!, NOTICE);
  assert.equal(task, TASK);
}

function cached({ parent, children: [child] }: Run): void {
  assert.equal(child![0]!.usage!.prompt_cache_hit_tokens, wholeBlocks(delegating(parent)));
}

function answered({ outcome: { code, stdout } }: Run): void {
  const last = stdout.trimEnd().split('\n').at(-1);
  assert.deepEqual({ code, last }, { code: 0, last: `The fork said: ${answerTo(TASK)}` });
}
