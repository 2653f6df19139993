import { expect, test } from 'vitest';
import { behind, calls, childSessions, delegates, NOTICE, peeking, replies } from '../support/delegation.ts';
import { ask, registerTool, requestsOf, shown } from '../support/harness.ts';

test('three levels deep each child inherits its parent\'s own work, and its request starts with the one that delegated to it', async () => {
  const { ctx, model, parent } = await peeking({
    mount: (mounted) => {
      for (const name of ['peek', 'measure', 'weigh']) registerTool(mounted, name, `from ${name}`);
    },
    script: replies({
      'user: Review it.': calls('peek'),
      'result: from peek': delegates('Level one.'),
      'user: Level one.': calls('measure'),
      'result: from measure': delegates('Level two.'),
      'user: Level two.': calls('weigh'),
      'result: from weigh': delegates('Level three.'),
      'user: Level three.': 'three done',
      'result: three done': 'two done',
      'result: two done': 'one done',
    }),
  });
  const children = childSessions(ctx);
  await ask(parent, 'Review it.');
  const [root, one, two, three] = [parent.session, ...children].map((session) => requestsOf(model, session));
  expect([behind(one![0]!, root![1]!), behind(two![0]!, one![1]!), behind(three![0]!, two![1]!)]).toEqual([
    [NOTICE, 'user: Level one.'], [NOTICE, 'user: Level two.'], [NOTICE, 'user: Level three.'],
  ]);
  expect(shown(three![0]!)).toEqual([
    'user: Review it.', 'assistant calls peek {}', 'result: from peek',
    NOTICE, 'user: Level one.', 'assistant calls measure {}', 'result: from measure',
    NOTICE, 'user: Level two.', 'assistant calls weigh {}', 'result: from weigh',
    NOTICE, 'user: Level three.',
  ]);
  expect([three, two, one, root].map((requests) => shown(requests!.at(-1)!).at(-1))).toEqual([
    'user: Level three.', 'result: three done', 'result: two done', 'result: one done',
  ]);
  expect(children.map(({ header }) => [header.parentSession, header.delegationDepth])).toEqual([
    [parent.id, 1], [children[0]!.id, 2], [children[1]!.id, 3],
  ]);
});
