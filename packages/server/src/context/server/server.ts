import { setTimeout as sleep } from 'node:timers/promises'
import { scopesOf } from '@hermod/protocol'
import type { LoadedConfig } from '../../config/config.js'
import type { ServiceState } from '../../domain/service-state/service-state.js'
import type { NewApp } from '../../domain/apps/app-service.js'
import { Lifecycle } from '../../lib/lifecycle.js'
import type { Logger } from '../../observability/log.js'
import type { Executor } from '../../pipeline/executor.js'
import { nodeNotices, requireFewNodes } from '../../nodes/node-notices.js'
import { type Context, type ContextOptions, openContext } from '../context.js'
import { requireFinishedImport } from '../database/start-check.js'
import { Readiness } from './readiness.js'
import { waitForSchema } from './schema-wait.js'
import { type MakeRoutes, startTransports } from './transports.js'
import { createWorkers, type Workers } from './workers.js'

/** The credentials that a first start prints once. */
type FirstApp = NewApp & { readonly adminToken: string }

export interface RunningServer {
  /** The URL of the operations. */
  readonly url: string
  /** The ID of this node, as `hermod nodes` lists it. */
  readonly nodeId: string
  /** Runs calls of this process. */
  readonly executor: Executor
  /** The app that was created because the store was empty; shown once. */
  readonly first: FirstApp | null
  /**
   * Resolves when the database has another history than this process, which has closed its sessions:
   * it is to be stopped and started again.
   */
  readonly historyEnded: Promise<void>
  /** Resolves when the node was drained: its callers are elsewhere, and it is to be stopped. */
  readonly drained: Promise<void>
  /** Refuses new work, finishes accepted work, and stops. */
  stop(): Promise<void>
}

/**
 * Opens the context, starts the workers and listens.
 * @param own parts that replace those of the service, and `routes` next to its own
 */
export function startService(
  { config, secrets }: LoadedConfig,
  log: Logger,
  {
    routes,
    ...own
  }: Pick<ContextOptions, 'core' | 'clock' | 'goesByClock' | 'withoutCopy' | 'release'> & {
    readonly routes?: MakeRoutes
  } = {},
): Promise<RunningServer> {
  return Lifecycle.start(async (parts) => {
    await waitForSchema({ config, secrets, log, ...own })
    const context = parts.add(
      await openContext({ config, secrets, log, createsFolder: true, ...own }),
      (each) => each.stop(),
    )
    const { bus, clock, database, domains, executor, idClock, node, nodeSessions } = context
    parts.add(bus, (each) => each.stop())
    await bus.start()
    // Added before it starts, so that a start that fails gives its lease back; stops after the work.
    parts.add(node, (each) => each.stop())
    await node.start()
    // An import that has begun in the meantime sees this node, or is seen here.
    await requireFinishedImport(database)
    await requireFewNodes(database)
    for (const { detail } of await nodeNotices(database)) log.warn(detail)
    parts.add(nodeSessions, (each) => each.stop())
    await nodeSessions.start()
    const { metrics, providers, services, shares, state, stores } = context
    // Without a certificate the providers are not needed; setting the first one loads them.
    if (await services.push.pushCertificates.exist()) providers.load()
    const workers = createWorkers({
      database,
      bus,
      stores,
      shares,
      maxLagMs: config.outbox.maxLagMs,
      domains: Object.values(domains),
      metrics,
      seen: context.seen,
      log,
      clock,
    })
    context.epoch.start()
    parts.add(context.epoch, (each) => each.stop())
    context.delivery.start()
    parts.add(context.delivery, (each) => each.stop())
    // Added before they start, so that they stop after the last call, which may leave work to them.
    parts.add(workers, (each) => each.stop())
    const readiness = new Readiness({
      database,
      clockRefusal: () => idClock.refusal(),
      probe: () => stores.shares.probe(node.id),
    })
    let isStarted = false
    const notReadyReason = async () => {
      if (!isStarted) return 'the service is starting'
      if (state.isRestored) return 'the data is restored; hermod restore finish begins the service'
      return node.isDraining ? 'draining' : readiness.notReadyReason()
    }
    const transports = parts.add(
      await startTransports(context, {
        ...{ config, log, notReadyReason, routes },
        degraded: () => [
          ...node.degraded,
          ...(bus.isConnected ? [] : ['bus']),
          ...(state.current.state === 'maintenance' ? ['maintenance'] : []),
          ...(context.blobs.kind === 'none' ? ['files'] : []),
        ],
      }),
      (each) => each.stop(),
    )
    await startWorkers(workers, { state, log, parts })
    // On a full disk the start itself writes into the reserve of the folder, which is filled again.
    const reason = await readiness.notReadyReason({ probes: true })
    if (reason !== null) log.error({ reason }, 'the service is not ready; reads are served')
    // The last step: a start that fails creates no tokens that are never shown.
    const first = await prepareApps(context, { config, secrets, log })
    isStarted = true
    const historyEnded = context.epoch.ended
    const drained = node.draining.then(async () => {
      log.info('this node is drained: it finishes its work and ends')
      const grace = sleep(config.http.drainMs, undefined, { ref: false })
      await Promise.all([grace, workers.finishJobs()])
      await transports.leave()
    })
    const { url } = transports
    return {
      url,
      nodeId: node.id,
      executor,
      first,
      historyEnded,
      drained,
      stop: () => parts.stop(),
    }
  })
}

/** Starts the background work; that of restored data begins when the restore is finished. */
async function startWorkers(
  workers: Workers,
  {
    state,
    log,
    parts,
  }: { readonly state: ServiceState; readonly log: Logger; readonly parts: Lifecycle },
): Promise<void> {
  const { state: first, text } = state.current
  if (first !== 'serving') log.warn({ state: first, text }, 'the service refuses calls')
  let isStarted = !state.isRestored
  const unsubscribe = state.subscribe(({ state: now, text }) => {
    log.warn({ state: now, text }, 'the state of the service has changed')
    if (isStarted || now === 'restored') return
    isStarted = true
    workers
      .start()
      .catch((error: unknown) => log.error({ err: error }, 'background work does not start'))
  })
  parts.add(unsubscribe, (end) => end())
  if (isStarted) await workers.start()
}

async function prepareApps(
  {
    services: {
      apps: { apps },
    },
  }: Context,
  {
    config: { bootstrap },
    secrets,
    log,
  }: Pick<LoadedConfig, 'config' | 'secrets'> & { readonly log: Logger },
): Promise<FirstApp | null> {
  const { appId, adminTokenScopes: scopes, tokens } = bootstrap
  const created = await apps.prepareStart({
    appId,
    adminToken: secrets.bootstrapAdminToken,
    scopes: scopes === null ? undefined : scopesOf(scopes),
    makesTokens: tokens === 'print',
  })
  if (created === null || secrets.bootstrapAdminToken !== null) return null
  const { adminToken } = created
  if (adminToken !== null) return { ...created, adminToken }
  log.info(
    { appId: created.appId },
    `the application is new and has no tokens; hermod token create --app ${created.appId} --name backend makes an Admin token`,
  )
  return null
}
