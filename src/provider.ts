/**
 * Wires a seed, a route and a bound to the shared in-process driver.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import { agentCarrier } from '@deepseek-ai/dsh-agent';
import type { Agent } from '@deepseek-ai/dsh-agent';
import { isSurfaceEvent } from '@deepseek-ai/dsh-session';
import type { SessionId } from '@deepseek-ai/dsh-session';
import { foldSubagentDescriptor, SubagentError } from '@deepseek-ai/dsh-subagent';
import type {
  ContinuableCreateRequest, ContinuableCreateSpec, ResolvedSubagentStartRequest, SubagentCapabilities, SubagentProvider,
  SubagentRun,
} from '@deepseek-ai/dsh-subagent';
import { startInProcessRun } from '@deepseek-ai/dsh-subagent-in-process-driver';
import type { ResolvedConfig } from './config.ts';
import { withDiagnostic } from './child/diagnostic.ts';
import { LiveForks } from './child/live-forks.ts';
import { readLog } from './harness/log.ts';
import { childOptions, followEffort, followRoute, latestRoute } from './child/route.ts';
import { buildSeed } from './seed/build.ts';
import type { Seed, SeedOptions } from './seed/build.ts';
import type { Seeding } from './announcement.ts';

/** Starts children that know their parent's conversation. */
export class ForkInProcessProvider implements SubagentProvider {
  /** Name in `ctx.subagents`. */
  readonly name: string;
  /** Every start-time feature; `agentOptions` is what harness lines after 0.1.1 gate on. */
  readonly capabilities: SubagentCapabilities & { readonly agentOptions: true } = {
    outputSchema: true, depthLimit: true, toolFilter: true, persona: true, agentOptions: true,
  };
  readonly inheritsParentContext = true;
  private readonly ctx: Context;
  private readonly options: SeedOptions;
  private readonly live: LiveForks;

  /**
   * @param ctx - the owning plugin's context: its logger and its lifetime.
   * @param config - the plugin's options, resolved by its schema.
   */
  constructor(ctx: Context, config: ResolvedConfig) {
    const { providerName, seedBoundary, notice, compactSeed, maxLiveForks } = config;
    this.ctx = ctx;
    this.name = providerName;
    // A key that a cordis.yml leaves empty is null, which counts as left out.
    this.options = { seedBoundary, notice: notice ?? seedBoundary === 'step', compactSeed };
    this.live = new LiveForks(maxLiveForks ?? Infinity);
    ctx.subagents.registerContinuableSetup((childCtx) => this.adopt(childCtx));
  }

  /**
   * Start a one-shot child. The seed is taken before the first await.
   * @param request - the service's resolved request.
   * @returns the driver's published run; when it does not complete, its result carries a diagnostic.
   * @throws {SubagentError} `BLANK_PROMPT`, `PARENT_GONE` or `FORK_LIMIT` before a child exists;
   *   otherwise what the driver throws.
   */
  async start(request: ResolvedSubagentStartRequest): Promise<SubagentRun> {
    const { parent } = request;
    assertTask(request);
    if (hasEnded(parent)) throw parentGone(parent.id);
    this.live.assertPlace();
    const free = this.live.take();
    let seeding: Seeding | undefined;
    try {
      seeding = { provider: this.name, parent, seed: this.seedFrom(parent) };
      const { events } = this.announce(seeding);
      const route = latestRoute(parent);
      const agentOptions = childOptions(route, request.agentOptions);
      const run = await startInProcessRun({ ...request, agentOptions }, events.length > 0 ? { seed: events } : {});
      const child = run.localAgent!;
      if (hasEnded(parent)) {
        // Left alone, the child would first do its task, and its parent's end wait for it. Nobody gets the run.
        child.cancel({ kind: 'parent' });
        run.result.catch(() => {});
        throw parentGone(parent.id);
      }
      followEffort(child, route);
      child.ctx.effect(() => free);
      return { ...run, result: run.result.then((result) => withDiagnostic(result, child.session, process.env)) };
    } catch (error) {
      free();
      if (seeding !== undefined) this.ctx.emit(agentCarrier(parent), 'subagent-fork/withdrawn', seeding);
      throw error;
    }
  }

  /**
   * Contribute the seed of a continuable child.
   * @param request - the reserved child id, the parent and the caller's cancellation.
   * @returns the seed as data, captured now; without `seed` when nothing is inherited.
   * @throws {SubagentError} `PARENT_GONE` or `FORK_LIMIT`; the signal's reason when it has aborted.
   */
  async prepareContinuable(request: ContinuableCreateRequest): Promise<ContinuableCreateSpec> {
    const { parent, sessionId: childId, signal } = request;
    signal.throwIfAborted();
    if (hasEnded(parent)) throw parentGone(parent.id);
    this.live.assertPlace();
    const { events } = this.announce({ provider: this.name, parent, seed: this.seedFrom(parent), childId });
    return events.length > 0 ? { seed: events } : {};
  }

  /**
   * Looks after a continuable child of this provider, created now or resumed from disk. Starts that
   * overlap were all let through when they asked for their seed; here they take their places. One
   * that has been given a task before is never refused.
   * @throws {SubagentError} `PARENT_GONE` or `FORK_LIMIT`, which refuses the child's creation.
   */
  private adopt(childCtx: Context): () => void {
    const { session } = childCtx.agent!;
    const own = readLog(session).slice(session.header.seedLength ?? 0);
    if (foldSubagentDescriptor(own)?.provider !== this.name) return () => {};
    const parentId = session.header.parentSession!;
    const parent = childCtx.agents.get(parentId);
    if (parent === undefined) throw parentGone(parentId);
    const toldBefore = own.some((event) => event.type === 'agent/inbox/spliced');
    if (!toldBefore) this.live.assertPlace();
    // The route ends with the child's own scope: it stays when this plugin is unloaded.
    followRoute(childCtx, parent);
    return this.live.take();
  }

  private seedFrom(parent: Agent): Seed {
    const seed = buildSeed(parent.session, this.options);
    if (!seed.events.some(isSurfaceEvent)) {
      this.ctx.logger.info(`"${this.name}": session ${parent.id} has no message to inherit at seedBoundary "${this.options.seedBoundary}"; the child starts fresh`);
    }
    if (seed.opaqueType !== undefined) {
      this.ctx.logger.info(`"${this.name}": the seed of session ${parent.id} stays whole; events of type "${seed.opaqueType}" may cite sequence numbers that cannot be seen`);
    }
    return seed;
  }

  private announce(seeding: Seeding): Seed {
    if (seeding.seed.events.length > 0) this.ctx.emit(agentCarrier(seeding.parent), 'subagent-fork/seeded', seeding);
    return seeding.seed;
  }
}

/** Refuse a task that says nothing. Anything but text counts as a task. */
function assertTask({ prompt }: ResolvedSubagentStartRequest): void {
  if (prompt.every((block) => block.type === 'text' && block.text.trim() === '')) {
    throw new SubagentError('fork refused: the prompt is blank; expected text that is not blank, or an image', 'BLANK_PROMPT');
  }
}

/** Whether an agent's scope has ended: a child could neither be owned by it nor answer to it. */
function hasEnded({ ctx }: Agent): boolean {
  return ctx.fiber.uid === null;
}

function parentGone(id: SessionId): SubagentError {
  return new SubagentError(`fork refused: the parent agent ${id} is gone; expected a live agent`, 'PARENT_GONE');
}
