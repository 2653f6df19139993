/**
 * Companion plugin that reports what a provider's prompt cache gave each child that inherits its
 * parent's context, and the first part of the child's prompt that kept it from giving more.
 *
 * @module @deepseek-ai/dsh-subagent-fork-in-process/cache-report
 */
import type { Context } from '@deepseek-ai/cordis';
import { agentCarrier } from '@deepseek-ai/dsh-agent';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { Message } from '@deepseek-ai/dsh-llm';
import type { Scoped } from '@deepseek-ai/dsh-scope';
import { deriveEventMessage } from '@deepseek-ai/dsh-session';
import type { Session, SessionEvent, SessionId } from '@deepseek-ai/dsh-session';
import type {} from '@deepseek-ai/dsh-subagent';
import type { PromptAssembly } from '@deepseek-ai/dsh-system-prompt';
import { readLog } from '../harness/log.ts';
import { prefixDifference } from './prefix-difference.ts';
import type { PrefixDifference } from './prefix-difference.ts';
import { latestRequest, promptTokens, requestBefore } from './prompt-request.ts';

export type { PrefixDifference, PrefixPart } from './prefix-difference.ts';

/** One child's first model response, seen from the cache. What is undefined is not known. */
export interface CacheReport {
  /** Whether the child was created or brought back from its stored session. */
  readonly kind: 'start' | 'resume';
  readonly parentId: SessionId;
  readonly childId: SessionId;
  /** The subagent provider. */
  readonly provider: string;
  /** Where the child's request went. */
  readonly route: { readonly provider: string; readonly model: string };
  /** How many messages of the request are the parent's. */
  readonly inheritedMessages: number;
  /** All tokens of the prompt, and those of them that were read from cache. */
  readonly promptTokens: number | undefined;
  readonly cachedTokens: number | undefined;
  /** The cached part of the prompt, from 0 to 1. */
  readonly cachedShare: number | undefined;
  /** The most of it, from 0 to 1, that the parent's latest request can give: its prompt tokens over the child's. */
  readonly expectedShare: number | undefined;
  /** The first part that differs from the parent's latest request, of which there may be none. */
  readonly difference: PrefixDifference | undefined;
}

declare module '@deepseek-ai/cordis' {
  interface Events {
    /**
     * A child that inherits its parent's context got its first model response. Emitted once per
     * start and once per cold resume, while that response is being logged: a listener must not
     * append to the child's session before it returns. Scope-filtered by the parent: a listener of
     * another agent does not hear it.
     * @param report - the whole record; the plugin keeps none.
     * @mode emit
     */
    'subagent-fork/cache-report'(this: Scoped<Agent>, report: CacheReport): void;
  }
}

/** What is known of a child until its first response. */
interface Start extends Pick<CacheReport, 'kind' | 'provider'> {
  readonly child: Agent;
  readonly parent: Agent;
  /** How much of the parent's log was written when the child started. */
  readonly parentLength: number;
  readonly parentAssembly: PromptAssembly | undefined;
}

export const name = 'subagent-fork-in-process-cache-report';
export const inject: string[] = ['agents', 'subagents'];
export function apply(ctx: Context): void {
  /** The prompt each live agent's latest step was assembled from; a log keeps only the text. */
  const assemblies = new WeakMap<object, PromptAssembly>();
  const resumed = new WeakSet<Agent>();
  const starts = new WeakMap<Session, Start>();

  ctx.on('system-prompt/assemble', async (_assembly, { scope }, next) => {
    const assembly = await next();
    if (scope !== undefined) assemblies.set(scope, assembly);
    return assembly;
  }, { global: true, prepend: true });

  ctx.on('agent/session-start', ({ agent, source }) => {
    if (source === 'resume') resumed.add(agent);
  }, { global: true });

  ctx.on('subagent/start', ({ provider, id }) => {
    if (ctx.subagents.getProvider(provider)?.inheritsParentContext !== true) return;
    const child = ctx.agents.get(id);
    const parentId = child?.session.header.parentSession;
    const parent = parentId && ctx.agents.get(parentId);
    if (!child || !parent) return;
    starts.set(child.session, {
      kind: resumed.has(child) ? 'resume' : 'start', provider, child,
      parent, parentLength: parent.session.seq, parentAssembly: assemblies.get(parent),
    });
  }, { global: true });

  ctx.on('session/event', (session, event) => {
    const start = event.type === 'assistant/message' ? starts.get(session) : undefined;
    if (start === undefined) return;
    starts.delete(session);
    const report = cacheReport(start, event, assemblies.get(start.child));
    ctx.logger.info(reportLine(report));
    ctx.emit(agentCarrier(start.parent), 'subagent-fork/cache-report', report);
  }, { global: true });
}

function cacheReport(start: Start, answer: SessionEvent, assembly: PromptAssembly | undefined): CacheReport {
  const { kind, provider, child, parentLength, parentAssembly } = start;
  const parent = start.parent.session;
  const parentLog = readLog(parent).slice(0, parentLength);
  const parentIds = new Set(parentLog.map((event) => deriveEventMessage(event)?.id));
  const isInherited = (message: Message): boolean => parentIds.has(message.id);
  const latest = latestRequest(parentLog, parent.header.seedLength ?? 0);
  const request = requestBefore(readLog(child.session), answer.seq)!;
  const prompt = promptTokens(request.usage);
  const cached = request.usage?.cacheReadTokens;
  return {
    kind,
    parentId: parent.id,
    childId: child.id,
    provider,
    route: { provider: request.header.config.provider, model: request.header.config.model },
    inheritedMessages: request.messages.filter(({ message }) => isInherited(message)).length,
    promptTokens: prompt,
    cachedTokens: cached,
    cachedShare: share(cached, prompt),
    expectedShare: share(promptTokens(latest?.usage), prompt),
    difference: latest && prefixDifference({ ...latest, assembly: parentAssembly }, { ...request, assembly, isInherited }),
  };
}

function share(part: number | undefined, whole: number | undefined): number | undefined {
  return part === undefined || !whole ? undefined : Math.min(part / whole, 1);
}

function reportLine({ kind, parentId, childId, provider, route, difference, ...counts }: CacheReport): string {
  const { inheritedMessages, promptTokens: prompt, cachedTokens, cachedShare, expectedShare } = counts;
  return [
    `"${provider}": child ${childId} of ${parentId} ${kind === 'start' ? 'started' : 'resumed'} on ${route.provider}/${route.model};`,
    `inherited messages: ${inheritedMessages};`,
    `${cachedTokens ?? '?'} of ${prompt ?? '?'} prompt tokens from cache (${percent(cachedShare)}, expected at most: ${percent(expectedShare)});`,
    difference === undefined
      ? 'the parent has made no request to compare with'
      : `first difference from the parent's latest request: ${difference.part} (${difference.reason})`,
  ].join(' ');
}

function percent(part: number | undefined): string {
  return part === undefined ? 'unknown' : `${Math.round(part * 100)} %`;
}
