/**
 * Draws results.
 *
 * @module
 */
import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';
import { CONTENDERS } from './harness.ts';
import type { Results } from './results.ts';

const TITLES: Readonly<Record<string, string>> = {
  'first fork': 'first fork',
  'later fork': '2nd to 10th fork, a turn between',
  'ten at once': 'ten forks at once',
};

const LABEL = 'milliseconds until started, by events in the parent\'s log';

/**
 * How long forks take to start, invariants off: a dot for each length of the parent's log, and a
 * line from the 10th to the 90th percentile.
 * @param results - a run's results.
 * @returns a stand-alone SVG document.
 */
export function plot({ rows }: Results): string {
  const points = rows
    .filter(({ scenario, metric, invariants }) => scenario in TITLES && metric === 'time' && !invariants)
    .map(({ scenario, contender, events, figure: { median, p10, p90 } }) => (
      { title: TITLES[scenario], contender, log: `${events / 1000}k`, median, p10, p90 }
    ));
  const place = { fx: 'title', y: 'contender', stroke: 'log' } as const;
  const figure = Plot.plot({
    document: parseHTML('<html></html>').document,
    width: 960,
    height: 280,
    marginLeft: 100,
    marginBottom: 40,
    style: { background: 'white', fontSize: '12px' },
    fx: { domain: Object.values(TITLES), label: null },
    x: { type: 'log', grid: true, ticks: [1, 10, 100, 1000, 10_000], tickFormat: 'd', label: LABEL },
    y: { domain: CONTENDERS, label: null, inset: 8 },
    color: { type: 'categorical' },
    marks: [
      Plot.ruleY(points, { ...place, x1: 'p10', x2: 'p90', strokeWidth: 4, strokeOpacity: 0.35 }),
      Plot.dot(points, { ...place, x: 'median', fill: 'log', r: 4 }),
      Plot.text(points.filter(({ contender }) => contender === CONTENDERS[0]), {
        fx: 'title', x: 'median', y: 'contender', fill: 'log', text: 'log', dy: -13, fontSize: 10,
      }),
    ],
  });
  figure.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  return `${figure.outerHTML}\n`;
}
