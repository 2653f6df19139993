/**
 * Writes quantities for people.
 *
 * @module
 */

/** Milliseconds, or seconds when there are many. */
export function milliseconds(value: number): string {
  if (value >= 999.5) return `${(value / 1000).toFixed(2)} s`;
  return `${value >= 99.5 ? Math.round(value) : value.toPrecision(2)} ms`;
}

/** Kilobytes or megabytes. */
export function bytes(value: number): string {
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(1)} MB`;
  return `${(value / 1e3).toFixed(Math.abs(value) < 1e4 ? 1 : 0)} kB`;
}

/** A count. */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** A share of one, in per cent. */
export function percent(value: number): string {
  return `${(value * 100).toFixed(1)} %`;
}

/** A ratio: as a fraction of one when it is small, otherwise as a factor. */
export function ratio(value: number): string {
  return value > 0.7 ? `×${value.toFixed(2)}` : `1/${(1 / value).toFixed(1 / value < 10 ? 1 : 0)}`;
}
