/**
 * Admits a request, builds its seed, announces it and hands both to the shared in-process driver.
 *
 * @module
 */
import type { Context } from '@deepseek-ai/cordis';
import type { Agent } from '@deepseek-ai/dsh-agent';
import type { SessionEvent, SessionId } from '@deepseek-ai/dsh-session';
import type {
  ContinuableCreateRequest, ContinuableCreateSpec, ResolvedSubagentStartRequest, SubagentCapabilities,
  SubagentProvider, SubagentRun,
} from '@deepseek-ai/dsh-subagent';
import { startInProcessRun } from '@deepseek-ai/dsh-subagent-in-process-driver';
import { announce, withdraw } from './announcement.ts';
import type { SeedAnnouncement } from './announcement.ts';
import { assertLive, assertTask, hasEnded } from './child/admission.ts';
import { takeIn } from './child/continuable.ts';
import { withDiagnostic } from './child/diagnostic.ts';
import { LiveForks } from './child/live-forks.ts';
import { oneShotRoute } from './child/route.ts';
import { assertSize, leavesRoute } from './child/seed-limit.ts';
import type { SeedLimits } from './child/seed-limit.ts';
import { seedSize } from './child/seed-size.ts';
import type { Meter, SeedSize } from './child/seed-size.ts';
import { within } from './child/start.ts';
import { liveLimit, seedLimits, seedOptions } from './config.ts';
import type { ResolvedConfig } from './config.ts';
import { buildSeed } from './seed/build.ts';
import type { Seed, SeedOptions } from './seed/build.ts';
import { shortfall } from './seed/shortfall.ts';

/** Starts children that know their parent's conversation. Creating one registers nothing. */
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
  private readonly limits: SeedLimits | undefined;
  /** What continuable children inherit, until they are composed and their route is known. */
  private readonly sizes = new Map<SessionId, SeedSize>();

  /**
   * @param ctx - the owning plugin's context: its logger and its lifetime.
   * @param config - the plugin's options, resolved by its schema.
   */
  constructor(ctx: Context, config: ResolvedConfig) {
    this.ctx = ctx;
    this.name = config.providerName;
    this.options = seedOptions(config);
    this.live = new LiveForks(liveLimit(config));
    this.limits = seedLimits(config);
  }

  /**
   * Start a one-shot child. The seed is taken before the first await.
   * @param request - the service's resolved request.
   * @returns the driver's published run; when it does not complete, its result carries a diagnostic.
   * @throws {SubagentError} `BLANK_PROMPT`, `PARENT_GONE`, `FORK_LIMIT` or `SEED_TOO_LARGE` before a child exists;
   *   otherwise what the driver throws.
   */
  async start(request: ResolvedSubagentStartRequest): Promise<SubagentRun> {
    const { parent } = request;
    assertTask(request);
    assertLive(parent, parent.id);
    this.live.assertPlace(parent);
    const free = this.live.take(parent);
    let announcement: SeedAnnouncement | undefined;
    try {
      const { agentOptions, follow } = oneShotRoute(parent, request.agentOptions);
      const seed = this.seedOf(parent);
      if (this.limits) assertSize(this.sizeOf(seed, parent), this.limits, leavesRoute(parent, agentOptions));
      announcement = announce(this.ctx, { provider: this.name, parent, seed });
      const run = await within({ provider: this.name, request, announcement }, () => (
        startInProcessRun({ ...request, agentOptions }, seedOf(announcement))
      ));
      const child = run.localAgent!;
      if (hasEnded(parent)) {
        // Left alone, the child would first do its task, and its parent's end wait for it. Nobody gets the run.
        child.cancel({ kind: 'parent' });
        run.result.catch(() => {});
      }
      assertLive(parent, parent.id);
      follow(child);
      child.ctx.effect(() => free);
      return { ...run, result: run.result.then((result) => withDiagnostic(result, child.session, process.env)) };
    } catch (error) {
      free();
      if (announcement !== undefined) withdraw(this.ctx, announcement);
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
    assertLive(parent, parent.id);
    this.live.assertPlace(parent);
    const seed = this.seedOf(parent);
    if (this.limits) this.sizes.set(childId, this.sizeOf(seed, parent));
    return seedOf(announce(this.ctx, { provider: this.name, parent, seed, childId }));
  }

  /**
   * Look after a continuable child, if it is one of this provider.
   * @param childCtx - the unpublished child's context, on its creation and on each resumption.
   * @returns ends what was begun for the child.
   * @throws {SubagentError} `PARENT_GONE`, `FORK_LIMIT` or `SEED_TOO_LARGE`, which refuses the child's creation.
   */
  composeContinuable(childCtx: Context): () => void {
    const { id, options, session } = childCtx.agent!;
    const size = this.sizes.get(id);
    this.sizes.delete(id);
    const parent = size && childCtx.agents.get(session.header.parentSession!);
    if (size && parent) {
      // The harness creates such a child on the parent's creation options; what differs was asked for.
      const isNamed = options.provider !== parent.options.provider || options.model !== parent.options.model;
      assertSize(size, this.limits!, isNamed && leavesRoute(parent, options));
    }
    return takeIn(childCtx, this.name, this.live);
  }

  private sizeOf(seed: Seed, { session }: Agent): SeedSize {
    if (seed.events.length === 0) return { tokens: 0, source: 'estimate' };
    return seedSize(seed, session, this.ctx.get('tokenMeter') as Meter | undefined);
  }

  private seedOf(parent: Agent): Seed {
    const seed = buildSeed(parent.session, this.options);
    const missing = shortfall(seed, parent.session.header.seedLength ?? 0, this.options.seedBoundary);
    if (missing !== undefined) this.ctx.logger.info(`"${this.name}": session ${parent.id} ${missing}`);
    if (seed.opaqueType !== undefined) {
      this.ctx.logger.info(`"${this.name}": the seed of session ${parent.id} stays whole; events of type "${seed.opaqueType}" may cite sequence numbers that cannot be seen`);
    }
    return seed;
  }
}

/** A seed as the harness takes it: an array of its own. */
function seedOf(announcement: SeedAnnouncement | undefined): { seed?: SessionEvent[] } {
  return announcement === undefined ? {} : { seed: [...announcement.seed.events] };
}
