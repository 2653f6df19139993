/**
 * Turns results into Markdown.
 *
 * @module
 */
import { bytes, count, milliseconds, percent, ratio } from './format.ts';
import { CONTENDERS } from './harness.ts';
import type { Figure } from './measure.ts';
import { find } from './results.ts';
import type { Conditions, Quantity, Results } from './results.ts';

/** The languages of the README pair. */
export type Language = 'en' | 'zh';

/** A quantity, what it is called and how it is written. */
interface Measure extends Quantity, Readonly<Record<Language, string>> {
  readonly write: (value: number) => string;
}

const MEASURES: readonly Measure[] = [
  { scenario: 'first fork', metric: 'time', write: milliseconds, en: 'first fork, until started', zh: '首次 fork，直至启动' },
  { scenario: 'later fork', metric: 'time', write: milliseconds, en: '2nd to 10th fork, a turn between', zh: '第 2 至 10 次 fork，其间各有一轮' },
  { scenario: 'later fork at rest', metric: 'time', write: milliseconds, en: 'later fork, no turn between', zh: '后续 fork，其间无新轮次' },
  { scenario: 'ten at once', metric: 'time', write: milliseconds, en: 'ten forks at once, until all started', zh: '十个并行 fork，直至全部启动' },
  { scenario: 'ten at once', metric: 'heapPerChild', write: bytes, en: 'heap per live child', zh: '每个存活子代理的堆内存' },
  { scenario: 'on disk, zstd', metric: 'bytes', write: bytes, en: 'child on disk, zstd', zh: '子代理磁盘占用，zstd' },
  { scenario: 'on disk, plain text', metric: 'bytes', write: bytes, en: 'child on disk, plain text', zh: '子代理磁盘占用，纯文本' },
  { scenario: 'first fork', metric: 'seedEvents', write: count, en: 'seed events', zh: 'seed 事件数' },
];

/** What only the full report shows. */
const DETAILS: readonly Measure[] = [
  { scenario: 'first fork', metric: 'block', write: milliseconds, en: 'first fork, event loop blocked', zh: '首次 fork，事件循环阻塞' },
  { scenario: 'first fork', metric: 'cpu', write: milliseconds, en: 'first fork, main thread', zh: '首次 fork，主线程' },
  { scenario: 'later fork', metric: 'block', write: milliseconds, en: '2nd to 10th fork, event loop blocked', zh: '第 2 至 10 次 fork，事件循环阻塞' },
  { scenario: 'later fork', metric: 'cpu', write: milliseconds, en: '2nd to 10th fork, main thread', zh: '第 2 至 10 次 fork，主线程' },
  { scenario: 'ten at once', metric: 'block', write: milliseconds, en: 'ten forks at once, event loop blocked', zh: '十个并行 fork，事件循环阻塞' },
  { scenario: 'ten at once', metric: 'cpu', write: milliseconds, en: 'ten forks at once, main thread', zh: '十个并行 fork，主线程' },
  { scenario: 'first seed', metric: 'snapshot', write: milliseconds, en: 'first seed, the session\'s snapshot', zh: '首个 seed，会话快照' },
  { scenario: 'first seed', metric: 'build', write: milliseconds, en: 'first seed, building it', zh: '首个 seed，构建' },
  { scenario: 'later seed', metric: 'snapshot', write: milliseconds, en: 'later seed, the session\'s snapshot', zh: '后续 seed，会话快照' },
  { scenario: 'later seed', metric: 'build', write: milliseconds, en: 'later seed, building it', zh: '后续 seed，构建' },
];

const CACHE: Measure = { scenario: 'cache', metric: 'share', write: percent, en: 'first request found in the cache', zh: '首个请求命中缓存' };

const HEADERS: Readonly<Record<Language, readonly string[]>> = {
  en: ['', 'log', 'published', 'default', '`compactSeed`', '`compactSeed`, `step`', 'spawn'],
  zh: ['', '日志', '已发布版', '默认配置', '`compactSeed`', '`compactSeed`、`step`', 'spawn'],
};

/** Writes a figure, given the published provider's. */
type Cell = (measure: Measure, figure: Figure, published: Figure | undefined) => string;

const median: Cell = ({ write }, figure, published) => `${write(figure.median)}${compared(figure, published)}`;

const spread: Cell = ({ write }, figure, published) => {
  const range = figure.p10 === figure.p90 ? '' : ` (${write(figure.p10)}–${write(figure.p90)})`;
  return `${write(figure.median)}${range}${compared(figure, published)}`;
};

/**
 * The README's part: the plot, medians with invariants off, and their ratios to the published provider.
 * @param results - a run's results.
 * @param language - the README's language.
 */
export function readmeBlock(results: Results, language: Language): string {
  return [
    `![${{ en: 'How long forks take to start', zh: 'fork 启动所需时间' }[language]}](bench/results.svg)`, '',
    ...table(results, MEASURES, language, [false], median), '',
    caption(results, language),
  ].join('\n');
}

/**
 * The full report: medians with their spread, and their ratios to the published provider.
 * @param results - a run's results.
 */
export function report(results: Results): string {
  return [
    '# Benchmark', '',
    ...table(results, [...MEASURES, ...DETAILS], 'en', [false, true], spread), '',
    `In parentheses the 10th and the 90th percentile. ${caption(results, 'en')}`, '',
  ].join('\n');
}

function table(results: Results, measures: readonly Measure[], language: Language, modes: readonly boolean[], cell: Cell): string[] {
  const lengths = [...new Set(results.rows.map(({ events }) => events))].filter((events) => events > 0);
  const line = (measure: Measure, conditions: Conditions): string[] => {
    const figures = CONTENDERS.map((contender) => find(results, measure, conditions, contender));
    const cells = figures.map((figure, index) => figure === undefined ? '' : cell(measure, figure, index === 0 ? undefined : figures[0]));
    return cells.every((text) => text === '') ? [] : [row(measure[language], log(conditions, language), ...cells)];
  };
  return [
    row(...HEADERS[language]),
    row('---', ...HEADERS[language].slice(1).map(() => '--:')),
    ...measures.flatMap((measure) => modes.flatMap((invariants) => lengths.flatMap((events) => line(measure, { events, invariants })))),
    ...line(CACHE, { events: 0, invariants: false }),
  ];
}

function row(...columns: readonly string[]): string {
  return `| ${columns.join(' | ')} |`;
}

function log({ events, invariants }: Conditions, language: Language): string {
  if (events === 0) return '';
  return `${count(events)}${invariants ? { en: ', invariants on', zh: '，启用不变量检查' }[language] : ''}`;
}

function compared(figure: Figure, published: Figure | undefined): string {
  return published === undefined || figure.median === 0 ? '' : ` · ${ratio(figure.median / published.median)}`;
}

function caption({ date, machine: { cores, memoryGiB, node }, chunkShare }: Results, language: Language): string {
  const chunks = percent(Math.max(...Object.values(chunkShare)));
  return {
    en: `Medians of interleaved repetitions in one process, and ratios to the published provider. Logs are given in events, up to ${chunks} of them streamed chunks. `
      + 'The one event more of the default marks, between two turns, where the parent was restored. '
      + `${cores} cores, ${memoryGiB} GiB, Node ${node}, ${date}.`,
    zh: `同一进程内交替重复测量的中位数，以及相对于已发布 provider 的比值。日志以事件数计，其中流式片段最多占 ${chunks}。`
      + '默认配置多出的一个事件位于两个 turn 之间，标记父代理被恢复之处。'
      + `${cores} 核，${memoryGiB} GiB，Node ${node}，${date}。`,
  }[language];
}
