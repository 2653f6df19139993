/**
 * Reads event data that may hold anything, whatever its type declares.
 *
 * @module
 */

/**
 * What stands at a path of keys.
 * @param data - any value, as an event of an unknown writer carries it.
 * @param path - the keys to follow, outermost first.
 * @returns the value there, or undefined when the path leaves the data.
 */
export function read(data: unknown, ...path: readonly string[]): unknown {
  let value = data;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}
