/**
 * Resolves this package's own name to its sources, as an installed copy would resolve to its build.
 *
 * @module
 */
import { registerHooks } from 'node:module';

const NAME = '@deepseek-ai/dsh-subagent-fork-in-process';

registerHooks({
  resolve: (specifier, context, next) => specifier === NAME || specifier.startsWith(`${NAME}/`)
    ? next(new URL(`../src/${specifier.slice(NAME.length + 1) || 'index'}.ts`, import.meta.url).href, context)
    : next(specifier, context),
});
