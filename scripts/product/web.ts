/** What `dsh web` shows and sends. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { startEndpoint } from '../../test/support/endpoint.ts';
import type { Endpoint, EndpointRequest } from '../../test/support/endpoint.ts';
import type { Check, Journey } from './claims.ts';
import { createHome } from './home.ts';
import type { Home, Kit, Server } from './home.ts';
import { answer, answerTo, ask, NOTICE } from './model.ts';
import { Conversation } from './page.ts';
import { cachedShare, conversations, textsOf, wholeBlocks } from './requests.ts';
import { provider } from './rows.ts';

/** A web product that a person is using. */
interface Visit {
  readonly browser: Browser;
  readonly endpoint: Endpoint;
  readonly home: Home;
  server: Server;
  page: Conversation;
}

/** Where screenshots go. */
export interface WebKit extends Kit {
  readonly browser: Browser;
  readonly screenshots: string;
}

const FIRST = 'The harbour has four cranes.';
const NEAR = 'Which crane is free?';
const FAR = 'Which crane is the tallest?';
const LATER = 'And the second tallest?';
const NEXT_DAY = 'And the shortest?';
/** The title that the model gives the session. */
const TITLE = 'The harbour';

/**
 * The journeys through the web product. Claims of one are judged in order, on one visit.
 * @param kit - what each home is made of, and the browser.
 */
export function webJourneys(kit: WebKit): Journey<Visit>[] {
  const journey = (name: string, rows: string | undefined, claims: Journey<Visit>['claims']): Journey<Visit> => ({
    name: `web, ${name}`,
    start: () => visit(kit, rows),
    claims,
    after: ({ page }, place) => {
      return page.screenshot(join(kit.screenshots, `${name.replaceAll(/\W+/g, '-')}-${place + 1}.png`));
    },
    end: leave,
  });
  return [
    journey('at the defaults', undefined, {
      'a first turn is answered': ({ page }) => page.say(FIRST, answerTo(FIRST)),
      'a foreground fork\'s answer is shown': foreground,
      'it is sent the completed turn, and not the turn it is called in': ({ endpoint }) => {
        assert.deepEqual(textsOf(child(endpoint, 0)[0]!), [FIRST, answerTo(FIRST), NEAR]);
      },
      'it reads at least 95 % of its prompt from the cache': cachesAtLeast(0, 0, 0.95),
      'a background fork is announced when it is done': background,
      'it has a tool of its own and reads less than half of its prompt from the cache': ({ endpoint }) => {
        const [first] = child(endpoint, 1);
        assert.ok(cachedShare(first!) < 0.5, `${cachedShare(first!)}`);
      },
      'the list shows the kinds of both': async ({ page }) => {
        const [near, far] = await page.subagents();
        assert.match(near!, /one-shot/);
        assert.match(far!, /continuable/);
      },
      'the list counts the inherited tokens with the fork\'s own': countsInherited,
      'its page shows its parent\'s conversation, its task and its answer': async ({ page }) => {
        await page.openSubagent(1);
        await page.sees(answerTo(FAR));
        const text = await page.text();
        for (const said of [FIRST, answerTo(FIRST), FAR]) assert.ok(text.includes(said), said);
      },
      'a follow-up on its page is answered': ({ page }) => page.say(LATER, answerTo(LATER)),
      'the follow-up reads at least 95 % of its prompt from the cache': cachesAtLeast(1, 1, 0.95),
      'after a restart a follow-up on its page is answered': nextDay,
      'that follow-up, too, reads at least 95 %': cachesAtLeast(1, 2, 0.95),
      'a refused fork says why': refused,
    }),
    journey('at seedBoundary: step', provider('{ seedBoundary: step }'), {
      'a foreground fork is sent the turn it is called in': async (visit) => {
        const { page, endpoint } = visit;
        await page.say(FIRST, answerTo(FIRST));
        await foreground(visit);
        const [first, notice, ...rest] = textsOf(child(endpoint, 0)[0]!).slice(2);
        assert.deepEqual([first, ...rest], [ask.foreground(NEAR), NEAR]);
        assert.match(notice!, NOTICE);
      },
      'every whole block of the delegating request is read from the cache': ({ endpoint }) => {
        const [parent, near] = conversations(endpoint.requests);
        assert.equal(near![0]!.usage!.prompt_cache_hit_tokens, wholeBlocks(parent![1]!));
      },
      'the fork\'s page shows the notice between the conversation and its task': async ({ page }) => {
        await page.openSubagent(0);
        await page.sees(answerTo(NEAR));
        const text = await page.text();
        const expected = [ask.foreground(NEAR), 'History above is the parent agent\'s; the task follows.', `\n${NEAR}`];
        const [turn, notice, task] = expected.map((said) => text.indexOf(said));
        assert.ok(turn! > 0 && notice! > turn! && task! > notice!, text);
      },
    }),
  ];
}

async function refused({ page }: Visit): Promise<void> {
  await page.openParent();
  await page.say(ask.blank(), 'The fork said: Error');
  await page.sees(/^Error: fork refused: the prompt is blank/);
}

/** Claims that the list counts what a fork inherited with what it asked itself. */
async function countsInherited({ page, endpoint }: Visit): Promise<void> {
  const [parent, near] = conversations(endpoint.requests);
  const [entry] = await page.subagents();
  assert.match(entry!, new RegExp(`\\b${inThousands(tokens([parent![0]!, ...near!]))} tok`));
}

/** All tokens of requests and their answers. */
function tokens(requests: readonly EndpointRequest[]): number {
  return requests.reduce((total, { usage }) => total + usage!.prompt_tokens + usage!.completion_tokens, 0);
}

/** A count as the product writes it. */
function inThousands(count: number): string {
  return `${(count / 1000).toFixed(1)}K`;
}

async function visit(kit: WebKit, rows: string | undefined): Promise<Visit> {
  const endpoint = await startEndpoint({ script: answer });
  const home = await createHome(kit, 'web', endpoint.url);
  if (rows !== undefined) await home.patch(rows);
  const server = await home.serve();
  const page = await Conversation.open(kit.browser, server.url);
  await page.chooseWorkspace(home.workspace);
  return { browser: kit.browser, endpoint, home, server, page };
}

async function leave({ page, server, endpoint }: Visit): Promise<void> {
  await page.close();
  await server.stop();
  await endpoint.close();
}

/** A child's requests, by its place among the children. */
function child(endpoint: Endpoint, place: number): readonly EndpointRequest[] {
  return conversations(endpoint.requests)[place + 1] ?? [];
}

/** Claims how much of a child's request was read from the cache, by the places of both. */
function cachesAtLeast(place: number, request: number, share: number): Check<Visit> {
  return ({ endpoint }) => {
    const found = cachedShare(child(endpoint, place)[request]!);
    assert.ok(found >= share, `read ${(100 * found).toFixed(1)} %`);
  };
}

async function foreground({ page }: Visit): Promise<void> {
  await page.say(ask.foreground(NEAR), `The fork said: ${answerTo(NEAR)}`);
}

async function background({ page }: Visit): Promise<void> {
  await page.say(ask.background(FAR), 'The fork said: started subagent');
  await page.sees(/^This answers "Background subagent .* finished/);
}

async function nextDay(visit: Visit): Promise<void> {
  await visit.page.close();
  await visit.server.stop();
  visit.server = await visit.home.serve(new URL(visit.server.url).port);
  visit.page = await Conversation.open(visit.browser, visit.server.url);
  await visit.page.openSession(TITLE);
  await visit.page.openSubagent(1);
  await visit.page.say(NEXT_DAY, answerTo(NEXT_DAY));
}
