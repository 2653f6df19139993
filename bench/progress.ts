/**
 * Tells how far the benchmark is.
 *
 * @module
 */

const start = performance.now();

/**
 * Say what is being measured: on a terminal in one line that is replaced, otherwise in a line of its own.
 * @param text - what is being measured.
 */
export function progress(text: string): void {
  const line = `[${((performance.now() - start) / 1000).toFixed(0).padStart(4)} s] ${text}`;
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[2K${line}`);
  else process.stderr.write(`${line}\n`);
}

/** Leave the terminal on a fresh line. */
export function progressDone(): void {
  if (process.stderr.isTTY) process.stderr.write('\n');
}
