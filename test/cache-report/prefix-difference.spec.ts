import { createUserMessage, ReasoningEffortId } from '@deepseek-ai/dsh-llm';
import type { LlmCallConfig, Message, ToolSchema } from '@deepseek-ai/dsh-llm';
import type { PromptAssembly } from '@deepseek-ai/dsh-system-prompt';
import { describe, expect, test } from 'vitest';
import { prefixDifference } from '../../src/cache-report/prefix-difference.ts';
import type { AssembledRequest, PrefixDifference } from '../../src/cache-report/prefix-difference.ts';
import type { PromptMessage } from '../../src/cache-report/prompt-request.ts';

interface Given {
  readonly config?: Partial<LlmCallConfig>;
  readonly tools?: readonly ToolSchema[];
  readonly system?: string;
  /** What the sections were assembled to, by name; the system prompt when that is not given. */
  readonly sections?: Readonly<Record<string, string>>;
  readonly messages?: readonly PromptMessage[];
}

function request({ config = {}, tools = [], sections, system, messages = [] }: Given): AssembledRequest {
  const assembly = sections && assembled(sections);
  const text = system ?? (sections && Object.values(sections).filter((section) => section !== '').join('\n\n'));
  return {
    header: { config: { provider: 'p', model: 'm', ...config }, ...(tools.length > 0 && { tools: [...tools] }), ...(text && { system: text }) },
    messages, usage: undefined, assembly,
  };
}

function assembled(sections: Readonly<Record<string, string>>): PromptAssembly {
  return { sections: Object.entries(sections).map(([name, text]) => ({ name, text })), contexts: [], tools: [], variables: {} };
}

/** Compares; every message whose text is in lower case is the parent's. */
function compare(parent: Given, child: Given): PrefixDifference {
  return prefixDifference(request(parent), { ...request(child), isInherited: (message) => /^[a-z]/.test(text(message)) });
}

const tool = (name: string, description: string = name): ToolSchema => ({ name, description, parameters: {} });

function say(...texts: string[]): PromptMessage[] {
  return texts.map((said) => ({
    message: createUserMessage({ content: [{ type: 'text', text: said }], source: { kind: 'user' } }), isReplacement: false,
  }));
}

function summary(said: string): PromptMessage {
  return { ...say(said)[0]!, isReplacement: true };
}

function text({ content: [block] }: Message): string {
  return block?.type === 'text' ? block.text : '';
}

const none: PrefixDifference = { part: 'none', reason: 'the prompt begins with the parent\'s' };

test('nothing differs when the child adds to the end', () => {
  const shared: Given = { tools: [tool('a')], sections: { x: 'X' } };
  expect(compare({ ...shared, messages: say('question') }, { ...shared, messages: say('question', 'TASK') })).toEqual(none);
});

test('the first part in the order of prefilling is named', () => {
  const parts: [Given, Given][] = [
    [{ messages: say('question') }, { messages: say('TASK') }],
    [{ system: 'A' }, { system: 'B' }],
    [{ tools: [tool('a')] }, { tools: [tool('b')] }],
    [{ config: { model: 'A' } }, { config: { model: 'B' } }],
  ];
  const found = parts.map((_part, index) => {
    const [parent, child] = [0, 1].map((side) => Object.assign({}, ...parts.slice(0, index + 1).map((pair) => pair[side])) as Given);
    return compare(parent!, child!).part;
  });
  expect(found).toEqual(['history', 'system', 'tools', 'route']);
});

describe('route', () => {
  test.for<[string, Partial<LlmCallConfig>, Partial<LlmCallConfig>]>([
    ['provider B instead of A', { provider: 'A' }, { provider: 'B' }],
    ['model B instead of A', { model: 'A' }, { model: 'B' }],
    ['reasoning effort low instead of high', { reasoningEffort: ReasoningEffortId('high') }, { reasoningEffort: ReasoningEffortId('low') }],
    ['reasoning effort low instead of unset', {}, { reasoningEffort: ReasoningEffortId('low') }],
    ['reasoning effort unset instead of high', { reasoningEffort: ReasoningEffortId('high') }, {}],
  ])('%s', ([reason, parent, child]) => {
    expect(compare({ config: parent }, { config: child })).toEqual({ part: 'route', reason });
  });

  test('sampling and the output limit are no part of a prompt', () => {
    expect(compare({ config: { maxTokens: 1 } }, { config: { maxTokens: 2, temperature: 1 } })).toEqual(none);
  });
});

describe('tools', () => {
  test.for<[string, readonly ToolSchema[], readonly ToolSchema[]]>([
    ['tool `report` added', [tool('a')], [tool('a'), tool('report')]],
    ['tool `a` and 1 more added', [], [tool('a'), tool('b')]],
    ['tool `x` removed', [tool('a'), tool('x')], [tool('a')]],
    ['tool `a` and 2 more removed', [tool('a'), tool('b'), tool('c')], []],
    ['tool `x` differs', [tool('x', 'one')], [tool('x', 'two')]],
    ['tool `x` and 1 more differ', [tool('x', 'one'), tool('y', 'one')], [tool('x', 'two'), tool('y', 'two')]],
    ['tools reordered', [tool('a'), tool('b')], [tool('b'), tool('a')]],
    ['tool `a` removed, tool `b` added, tool `x` differs', [tool('a'), tool('x', 'one')], [tool('b'), tool('x', 'two')]],
  ])('%s', ([reason, parent, child]) => {
    expect(compare({ tools: parent }, { tools: child })).toEqual({ part: 'tools', reason });
  });
});

describe('system', () => {
  test.for<[string, Given, Given]>([
    ['persona section differs', { sections: { 'deployment:persona': 'A', x: 'X' } }, { sections: { 'deployment:persona': 'B', x: 'X' } }],
    ['persona section added', { sections: { 'deployment:persona': '', x: 'X' } }, { sections: { 'deployment:persona': 'B', x: 'X' } }],
    ['system prompt differs', {}, { sections: { 'tool:report': 'R' } }],
    ['section `tool:report` removed', { sections: { x: 'X', 'tool:report': 'R' } }, { sections: { x: 'X' } }],
    ['sections reordered', { sections: { x: 'X', y: 'Y' } }, { sections: { y: 'Y', x: 'X' } }],
  ])('%s', ([reason, parent, child]) => {
    expect(compare(parent, child)).toEqual({ part: 'system', reason });
  });

  test.for<[string, Given, Given]>([
    ['the parent\'s', { sections: { x: 'X' }, system: 'other' }, { sections: { x: 'Y' } }],
    ['the child\'s', { sections: { x: 'X' } }, { sections: { x: 'Y' }, system: 'other' }],
  ])('no section is named when %s are not the ones that were sent', ([, parent, child]) => {
    expect(compare(parent, child)).toEqual({ part: 'system', reason: 'system prompt differs' });
  });

  test('a section\'s variables count as its text', () => {
    const of = (cwd: string): AssembledRequest => ({
      ...request({ system: `in ${cwd}\n\nlast` }),
      assembly: { ...assembled({ place: 'in {{cwd}}', end: 'last' }), variables: { cwd } },
    });
    expect(prefixDifference(of('/a'), { ...of('/b'), isInherited: () => false })).toEqual({ part: 'system', reason: 'section `place` differs' });
  });

  test('an absent system prompt is one without sections', () => {
    expect(compare({ sections: { x: '' } }, { sections: { x: 'X' } })).toEqual({ part: 'system', reason: 'section `x` added' });
  });
});

describe('history', () => {
  const turn = say('question', 'answer', 'question 2', 'answer 2');

  test.for<[string, readonly PromptMessage[], readonly PromptMessage[], string]>([
    ['ends before the latest turn', turn, [...turn.slice(0, 2), ...say('TASK')], 'history ends 2 messages early'],
    ['ends one message early', turn, [...turn.slice(0, 3), ...say('TASK')], 'history ends 1 message early'],
    ['is not inherited at all', turn, say('TASK'), 'history ends 4 messages early'],
    ['ends early and without a task', turn, turn.slice(0, 1), 'history ends 3 messages early'],
    ['was compacted after the parent\'s request', turn, [summary('all of it'), ...say('TASK')], 'compaction in between, from message 1 on'],
    ['was compacted in part', turn, [turn[0]!, summary('the rest'), ...say('TASK')], 'compaction in between, from message 2 on'],
    ['was compacted by the child itself', turn, [summary('CHILD SUMMARY'), ...say('TASK')], 'compaction in between, from message 1 on'],
    ['was compacted for the parent\'s request only', [summary('all of it'), ...say('question 2')], [...turn.slice(0, 2), ...say('TASK')], 'compaction in between, from message 1 on'],
    ['is absent behind a parent\'s compaction', [summary('all of it'), ...say('question 2')], say('TASK'), 'history ends 2 messages early'],
    ['differs in a message', turn, [turn[0]!, ...say('another'), ...turn.slice(2)], 'message 2 differs'],
  ])('%s', ([, parent, child, reason]) => {
    expect(compare({ messages: parent }, { messages: child })).toEqual({ part: 'history', reason });
  });

  test('a message of another role differs', () => {
    const [asked] = say('question');
    const answered: PromptMessage = { message: { ...asked!.message, role: 'assistant' }, isReplacement: false };
    expect(compare({ messages: [asked!] }, { messages: [answered] })).toEqual({ part: 'history', reason: 'message 1 differs' });
  });

  test('the same text is the same message under any id', () => {
    expect(compare({ messages: say('question') }, { messages: say('question') })).toEqual(none);
  });
});
