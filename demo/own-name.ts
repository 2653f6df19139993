/**
 * Resolves this package's own name to its sources, as an installed copy would resolve to its build.
 *
 * @module
 */
import { registerHooks } from 'node:module';
import { posix } from 'node:path';

const NAME = '@deepseek-ai/dsh-subagent-fork-in-process';

registerHooks({
  resolve: (specifier, context, next) => specifier === NAME || specifier.startsWith(`${NAME}/`)
    ? next(new URL(posix.join('../src', specifier.slice(NAME.length), 'index.ts'), import.meta.url).href, context)
    : next(specifier, context),
});
