import { createAssistantMessage, createUserMessage } from '@deepseek-ai/dsh-llm';
import type { ContentBlock } from '@deepseek-ai/dsh-llm';
import { Session, SessionId } from '@deepseek-ai/dsh-session';
import type { SessionEvent } from '@deepseek-ai/dsh-session';
import { expect, test } from 'vitest';
import { showsMessage } from '../../src/seed/visible.ts';

const IMAGE = { type: 'image', attachmentId: 'a', mediaType: 'image/png' } as unknown as ContentBlock;

/** A log of these messages; `replace` puts one in the place of all before it. */
function log(...contents: readonly (ContentBlock[] | 'silent answer' | { readonly replace: ContentBlock[] })[]): readonly SessionEvent[] {
  const session = Session.create(SessionId('by-hand'));
  session.append('turn/start', { turn: 1 });
  session.append('step/start', { turn: 1, step: 1 });
  for (const content of contents) {
    const nodes = [...session.surface.nodes];
    if (content === 'silent answer') {
      const message = createAssistantMessage({ content: [], source: { provider: 'scripted', model: 'model-a' } });
      session.append('assistant/message', { turn: 1, step: 1, message }, { surfaceOp: 'append' });
    } else if (Array.isArray(content)) session.append('user/message', user(content), { surfaceOp: 'append' });
    else {
      session.append('user/message', user(content.replace), {
        surfaceOp: { op: 'replace', start: nodes[0]!, end: nodes.at(-1)! }, sourceEventSeqs: nodes,
      });
    }
  }
  session.append('step/end', { turn: 1, step: 1 });
  return session.events;
}

const user = (content: ContentBlock[]): ReturnType<typeof createUserMessage> => createUserMessage({ content, source: { kind: 'user' } });
const text = (said: string): ContentBlock[] => [{ type: 'text', text: said }];

test.for<[string, boolean, readonly SessionEvent[]]>([
  ['no event', false, []],
  ['no message', false, log()],
  ['a message', true, log(text('do'))],
  ['an image alone', true, log([IMAGE])],
  ['a message without content', false, log([])],
  ['a blank message', false, log(text(' \n'))],
  ['a blank message and an image', true, log([...text(''), IMAGE])],
  ['an answer without content', false, log('silent answer')],
  ['a message before an answer without content', true, log(text('do'), 'silent answer')],
  ['everything replaced by a summary', true, log(text('do'), { replace: text('summary') })],
  ['everything replaced by a message without content', false, log(text('do'), text('more'), { replace: [] })],
  ['everything replaced by a blank message', false, log(text('do'), { replace: text('') })],
  ['something behind such a replacement', true, log(text('do'), { replace: [] }, text('more'))],
  ['a blank message behind a summary', true, log(text('do'), { replace: text('summary') }, text(''))],
])('%s shows something: %s', ([, shows, events]) => {
  expect(showsMessage(events)).toBe(shows);
});

test('content that cannot be read shows nothing', () => {
  const event = log(text('do')).find(({ type }) => type === 'user/message');
  for (const content of [null, 'do', 7, {}]) {
    expect(showsMessage([{ ...event, seq: 0, data: { ...event?.data, content } } as unknown as SessionEvent])).toBe(false);
  }
});
