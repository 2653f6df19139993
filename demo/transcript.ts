/**
 * Follows a parent agent and its children, and prints what a person wants to see of them.
 *
 * @module
 */
import type { Context, Message as LogMessage } from '@deepseek-ai/cordis';
import type { ContentBlock, ToolResultBlock } from '@deepseek-ai/dsh-llm';
import type { Session, SessionEvent, TurnEndReason } from '@deepseek-ai/dsh-session';
import type { SubagentRunEndInfo } from '@deepseek-ai/dsh-subagent';
import { entry, heading } from './print.ts';
import { table } from './table.ts';
import type { RequestRow } from './table.ts';

const PLUGIN = 'subagent-fork-in-process';

/** What is known of a child while it runs. */
interface Child {
  readonly provider: string;
  readonly inherited: number;
  readonly hasNotice: boolean;
  task?: string;
  report?: string;
}

/** The printed record of one run. */
export class Transcript {
  /** Whether every turn of the parent and every child completed so far. */
  completed = true;
  private readonly rows: RequestRow[] = [];
  private readonly children = new Map<string, Child>();
  private readonly calls = new Map<string, string>();
  private completedChildren = 0;
  private latestTask: string | undefined;

  /**
   * Print from now on.
   * @param ctx - the composition.
   * @param parent - the session of the agent whose children are shown.
   */
  follow(ctx: Context, parent: Session): void {
    ctx.logger.exporter({ levels: { default: 3 }, export: (message) => this.log(message) });
    ctx.on('subagent/start', ({ id, provider }) => {
      const messages = ctx.agents.get(id)!.session.deriveMessages();
      const { source } = messages.at(-1) ?? {};
      const hasNotice = source?.kind === 'plugin' && source.plugin === PLUGIN;
      this.children.set(id, { provider, hasNotice, inherited: messages.length - (hasNotice ? 1 : 0) });
    });
    ctx.on('session/event', (session, event) => {
      if (event.type === 'assistant/message') this.count(session, event);
      const child = this.children.get(session.id);
      if (session === parent) this.parentEvent(event);
      else if (event.type === 'user/message' && child !== undefined) child.task ??= text(event.data.content);
    });
    ctx.on('subagent/end', (end) => this.childEnd(end));
  }

  /** Print the table of all requests. */
  summary(): void {
    heading('Requests');
    for (const line of table(this.rows)) console.log(`  ${line}`);
    console.log();
    entry('cache', 'It keeps whole 64-token blocks that an earlier request began with. A spawn and a fork without history share tools and system prompt with the parent, a fork with history shares the conversation, too.');
    entry('children', `${this.children.size} started, ${this.completedChildren} completed`);
  }

  private log({ name, type, args }: LogMessage): void {
    const line = args.map(String).join(' ');
    if (name === `${PLUGIN}-cache-report`) {
      for (const [id, child] of this.children) if (line.includes(id)) child.report = line;
    } else if (type === 'warn' || type === 'error' || name === PLUGIN) entry('log', line);
  }

  private count(session: Session, { data: { turn, step, usage } }: SessionEvent<'assistant/message'>): void {
    const child = this.children.get(session.id);
    const { inputTokens, cacheReadTokens = 0 } = usage ?? {};
    this.rows.push({
      request: `${child === undefined ? `turn ${turn}` : 'task'}, step ${step}`,
      agent: child?.provider ?? 'parent',
      messages: session.surface.nodes.length - 1,
      promptTokens: inputTokens === undefined ? undefined : inputTokens + cacheReadTokens,
      cachedTokens: usage?.cacheReadTokens,
    });
  }

  private parentEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'turn/start': return heading(`Parent, turn ${event.data.turn}`);
      case 'user/message': return event.data.source.kind === 'user' ? entry('user', text(event.data.content)) : undefined;
      case 'assistant/message': return this.parentAnswer(event.data.message.content);
      case 'tool/result': return this.parentResult(event.data.message.content[0]);
      case 'turn/end': return this.parentEnd(event.data.reason);
    }
  }

  private parentAnswer(content: readonly ContentBlock[]): void {
    const calls = content.filter((block) => block.type === 'tool-call');
    for (const { id, name } of calls) this.calls.set(id, name);
    const said = text(content);
    if (said !== '') entry('says', said);
    if (calls.length > 0) entry('calls', calls.map(({ name }) => name).join(', '));
  }

  /** A delegation's answer stands with its child; a refused or failed one is shown as the parent reads it. */
  private parentResult({ toolCallId, content, isError }: ToolResultBlock): void {
    const result = text(content);
    const isDelegation = this.calls.get(toolCallId)?.startsWith('subagent') === true;
    if (isError === true) entry('error', result);
    else if (!isDelegation) entry('result', `${result.split('\n').length} lines, ${result.length} characters`);
    if (isDelegation && isError === true) this.completed = false;
  }

  private parentEnd(reason: TurnEndReason): void {
    if (reason.kind === 'completed') return;
    this.completed = false;
    entry('ended', reason.kind === 'error' ? `${reason.error.code}: ${reason.error.message}` : reason.kind);
  }

  private childEnd({ id, stopReason, lastAssistantMessage = [] }: SubagentRunEndInfo): void {
    const { provider, inherited, hasNotice, task = '', report } = this.children.get(id)!;
    heading(`Child started by ${provider}`, 1);
    entry('inherits', `${inherited === 0 ? 'nothing' : `${inherited} messages`} of the parent's, ${hasNotice ? 'then the notice' : 'no notice'}`, 1);
    entry('task', task === this.latestTask ? 'the same' : task, 1);
    this.latestTask = task;
    entry('answer', text(lastAssistantMessage) || `none: ${stopReason}`, 1);
    if (report !== undefined) entry('report', report, 1);
    if (stopReason === 'completed') this.completedChildren++;
    else this.completed = false;
  }
}

function text(content: readonly ContentBlock[]): string {
  return content.filter((block) => block.type === 'text').map((block) => block.text).join('');
}
