/** The composition root: the only folder that constructs the parts of the service and knows all of them. */
import { serviceStates } from '@hermod/protocol'
import type { BlobStore } from '../blobs/blob-store.js'
import { DiskFloor } from '../blobs/disk-floor.js'
import type { Bus } from '../bus/bus.js'
import type { Carrier } from '../bus/carrier.js'
import type { ServerConfig } from '../config/config.js'
import { options as configOptions } from '../config/options.js'
import type { Database } from '../db/database.js'
import { findNewestIdTime, IdReservations } from '../db/id-reservations.js'
import { Epoch } from '../db/identity/epoch.js'
import { IdentityStore } from '../db/identity/identity-store.js'
import type { NodeDelivery } from '../delivery/node-delivery.js'
import { loginClasses } from '../domain/login/login-queue.js'
import type { LongJobHandler } from '../domain/long-jobs/long-job-model.js'
import { ServiceState } from '../domain/service-state/service-state.js'
import { JobQueue } from '../jobs/job-queue.js'
import { type Clock, systemClock } from '../lib/clock.js'
import { EventLoopBudget } from '../lib/concurrency/event-loop-budget.js'
import { IdGenerator } from '../lib/ids/ids.js'
import { Lifecycle } from '../lib/lifecycle.js'
import { DividedRateLimiter } from '../lib/limits/divided-rate-limiter.js'
import { RateLimiter } from '../lib/limits/rate-limiter.js'
import type { BucketRate } from '../lib/limits/token-bucket.js'
import { fillReserve } from '../lib/system/disk-reserve.js'
import { lockFolder, lockNewFolder } from '../lib/system/folder-lock.js'
import type { RunningNode } from '../nodes/node.js'
import type { RunningShares } from '../nodes/shares.js'
import type { Logger } from '../observability/log.js'
import { Metrics } from '../observability/metrics.js'
import { Outbox } from '../outbox/outbox.js'
import { SeenPositions } from '../outbox/seen-positions.js'
import { UserAllowances } from '../pipeline/allowance.js'
import { CallLimits, noCallLimits } from '../pipeline/call-limits.js'
import { type CallObserver, Executor } from '../pipeline/executor.js'
import type { CoreChannel } from '../push/core-channel.js'
import { SessionRegistry } from '../sessions/registry.js'
import { openBlobStore } from './adapters/blob-store.js'
import { createBus } from './adapters/bus.js'
import { createCoreChannel } from './adapters/core-channel.js'
import { createDelivery } from './adapters/delivery.js'
import { IdClock } from './adapters/id-clock.js'
import { createMedia, type Media } from './adapters/media.js'
import { createNode } from './adapters/node.js'
import { PushGateways } from './adapters/push-gateways.js'
import { createNodeSessions, type NodeSessions } from './adapters/sessions.js'
import { createCaches } from './caches.js'
import { isDatabaseFailure, lostHistoryLog } from './database/database-log.js'
import { LossGuard } from './database/loss-guard.js'
import { type DatabaseOptions, openCurrentDatabase } from './database/open-database.js'
import { requireFinishedImport } from './database/start-check.js'
import { createHandlers } from './handlers.js'
import { readableByOthers } from './secret-key.js'
import { createDomains, type Domains, type Services, servicesOf } from './services.js'
import { createStores, type Stores } from './stores.js'

export interface Context {
  readonly config: ServerConfig
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly idClock: IdClock
  readonly sessions: SessionRegistry
  readonly stores: Stores
  readonly epoch: Epoch
  readonly state: ServiceState
  /** null where history cannot be lost while the process runs */
  readonly seen: SeenPositions | null
  readonly node: RunningNode
  readonly nodeSessions: NodeSessions
  readonly shares: RunningShares
  readonly delivery: NodeDelivery
  readonly domains: Domains
  readonly services: Services
  readonly executor: Executor
  readonly limits: Pick<CallLimits, 'requestArrived' | 'bytesArrived'>
  readonly metrics: Metrics
  readonly providers: PushGateways
  readonly blobs: BlobStore
  /** Waits for pending writes, and closes everything. */
  stop(): Promise<void>
}

export interface ContextOptions extends DatabaseOptions {
  /**
   * Creates the data folder when it does not exist, and may make its files those of the database;
   * default: its absence is an error.
   */
  readonly createsFolder?: boolean | undefined
  /** The store of files, in place of that of the settings. */
  readonly blobs?: BlobStore | undefined
  /** The channel to connected devices, in place of that to the sessions of the gateway. */
  readonly core?: CoreChannel | undefined
  /** The time that rules use; the machine's by default. */
  readonly clock?: Clock | undefined
  /** The process is that of a command: long jobs run in it at once. */
  readonly isCommand?: boolean | undefined
  /** Long jobs beside those of the service; for tests. */
  readonly longJobHandlers?: readonly LongJobHandler[] | undefined
}

/** Returns what brings messages between the nodes; null with the embedded database. */
async function createCarrier({ config, secrets }: ContextOptions): Promise<Carrier | null> {
  if (config.storage.kind === 'sqlite') return null
  const { notificationChannel } = await import('../db/dialect/postgres/channel.js')
  return notificationChannel(secrets.databaseUrl ?? '')
}

/**
 * Locks the data folder, opens the database, brings its schema up to date and builds the service.
 * @throws FolderLockedError when another process uses the folder; WrongSecretKeyError
 */
export function openContext(options: ContextOptions): Promise<Context> {
  const { config, log } = options
  return Lifecycle.start(async (parts) => {
    const lockData = options.createsFolder ? lockNewFolder : lockFolder
    const { isDiskFull } = parts.add(lockData(config.dataDir), (lock) => lock.release())
    if (isDiskFull) log.error({ path: config.dataDir }, 'the disk of the data folder is full')
    const { database } = await openCurrentDatabase(
      options,
      options.isCommand ? 'command' : 'service',
    )
    parts.add(database, (each) => each[Symbol.asyncDispose]())
    await requireFinishedImport(database)
    await requireDurableCommits(database, options)
    const notice = await database.dialect.findNotice?.(database.writer)
    if (notice) log.warn(`${notice}; raise the limit, or lower ${configOptions.databasePool.name}`)
    const providers = parts.add(new PushGateways(), (each) => each[Symbol.asyncDispose]())
    const { store, freeDiskBytes } = config.files
    const fileFolder = store.kind === 'folder' ? store.folder : store.spoolFolder
    // Pages of the log are going to be copied into the database file.
    const floor = new DiskFloor(
      fileFolder,
      freeDiskBytes,
      () => database.dialect.checkpoints?.().walBytes ?? 0,
    )
    const identity = new IdentityStore()
    const blobs =
      options.blobs ??
      (await openBlobStore(config, options.secrets, {
        ...{ database, identity, floor },
        mayClaim: options.createsFolder ?? false,
      }))
    watchStart(blobs, log)
    const media = parts.add(createMedia(config.files.ffmpeg), ({ images }) => images.stop())
    const state = new ServiceState()
    const epoch = await Epoch.open({
      ...{ database, store: identity },
      stateFound: (found) => state.found(found),
    })
    epoch.subscribe(() =>
      log.error(
        'the database has another history than this process, which closes its sessions and ends',
      ),
    )
    const carrier = await createCarrier(options)
    const context = buildContext(options, {
      ...{ database, epoch, state, providers, blobs, media, carrier, floor },
    })
    context.metrics.storage.watchDisk(() => floor.space)
    const { files, messaging, secrets } = context.services
    await secrets.secretService.requireKeys()
    for (const { path, mode, needed } of readableByOthers(config.dataDir))
      log.warn(
        { path, mode },
        `other users of this machine have access to the data of the service; give ${path} the mode ${needed}`,
      )
    context.idClock.reportLead(await database.read(findNewestIdTime))
    fillReserve(config.dataDir)
    parts.add(context.services.longJobs.commandJobs, (each) => each.stop())
    parts.add(messaging.writer, (writer) => writer.idle())
    parts.add(messaging.positions, (positions) => positions.idle())
    parts.add(files.fileWriter, (writer) => writer.idle())
    return { ...context, stop: () => parts.stop() }
  })
}

/** Messages work without files, so an unusable network store is logged and stops nothing. */
function watchStart(blobs: BlobStore, log: Logger): void {
  if (blobs.kind === 'folder') return
  blobs.check().catch((error: unknown) => {
    // A node without the folder of the files says so in a sentence; other failures have a cause.
    const reason = blobs.kind === 'none' ? { reason: (error as Error).message } : { err: error }
    log.error({ store: blobs.location, ...reason }, 'the file store is unavailable')
  })
}

/**
 * Refuses a database that confirms commits before they are on disk, since code 200 means that the
 * message is on disk (rule E2).
 */
async function requireDurableCommits(
  database: Database,
  { config, log }: Pick<ContextOptions, 'config' | 'log'>,
): Promise<void> {
  const settings = await database.durabilitySettings()
  if (settings.synchronousCommit === 'off') {
    throw new Error(
      'PostgreSQL runs with synchronous_commit = off and would lose answered messages; set it to on for this database',
    )
  }
  if (!settings.fsync)
    log.warn('PostgreSQL runs with fsync = off: answered messages are lost when its machine stops')
  if (config.storage.kind === 'postgres') log.info(failoverSentence(settings))
}

/** Returns a sentence about the loss that a failover to a standby may cause. */
function failoverSentence({
  synchronousCommit,
  synchronousStandbys: names,
}: Awaited<ReturnType<Database['durabilitySettings']>>): string {
  const cause =
    names === ''
      ? 'synchronous_standby_names is empty'
      : synchronousCommit === 'local' && 'synchronous_commit is local'
  return cause === false
    ? `a failover to a standby of synchronous_standby_names (${names}) loses nothing that was answered`
    : `a failover to a standby may lose the last answered messages, since ${cause}; all devices load everything again then`
}

function buildContext(
  {
    config,
    secrets,
    log,
    core,
    clock = systemClock,
    isCommand = false,
    longJobHandlers = [],
  }: ContextOptions,
  {
    database,
    epoch,
    state,
    providers,
    blobs,
    media,
    carrier,
    floor,
  }: Pick<Context, 'database' | 'epoch' | 'state' | 'providers' | 'blobs'> & {
    readonly carrier: Carrier | null
    readonly floor: DiskFloor
    readonly media: Media
  },
): Omit<Context, 'stop'> {
  const metrics: Metrics = new Metrics({
    messages: () => services.messaging.writer.queuedMessages,
    chunks: () => services.messaging.chunks.queuedChunks,
    messageBytes: () => services.messaging.writer.queuedBytes,
    positions: () => services.messaging.positions.queuedMoves,
    files: () => services.files.fileWriter.queuedFiles,
    devices: () => services.sessions.deviceConnections.queued,
    sessions: () => nodeSessions.queued,
  })
  const bus = createBus(carrier, metrics, log)
  const idClock = new IdClock(clock, log)
  const reservations = new IdReservations(database)
  const ids = new IdGenerator(reservations.reserve, () => idClock.now())
  // The end of a restore, on any node, ends the reservations from before it.
  state.subscribe(() => ids.giveUp())
  const seen = database.dialect.guard ? new SeenPositions() : null
  if (seen)
    database.guardConnections(
      new LossGuard({
        ...{ ids, reservations, epoch, seen },
        store: new IdentityStore(),
        lostHistory: lostHistoryLog(log),
      }),
    )
  const caches = createCaches({ database, bus })
  const budget = new EventLoopBudget({ perTurn: 1 })
  const stores = createStores({ database, clock, caches })
  const sessions = new SessionRegistry()
  const { node, shares } = createNode({
    config,
    database,
    stores,
    load: {
      connections: () => sessions.count,
      messages: () => metrics.storage.storedMessages,
      isBusConnected: () => bus.isConnected,
    },
    disk: floor,
    clock,
    metrics,
    log,
  })
  const appended = (appId: string, position?: number) =>
    bus.publish('outbox.appended', { appId, position })
  const outbox = new Outbox({ database, store: stores.outbox, clock, appended })
  const jobs = new JobQueue({
    store: stores.jobs,
    ids,
    clock,
    announce: (kind) => bus.publish('jobs.enqueued', { kind }),
  })
  const { checkpoints } = database.dialect
  if (checkpoints) metrics.storage.watchCheckpoints(checkpoints)
  const { userSessions: sessionsPerUser } = config.gateway
  const nodeSessions = createNodeSessions({
    ...{ database, bus, node, sessions, ids, sessionsPerUser, metrics, log },
    store: stores.sessions,
  })
  const { directory, admission } = nodeSessions
  const delivery = createDelivery({
    ...{ database, bus, epoch, sessions, stores, clock, metrics, seen, log },
  })
  const domains = createDomains(
    {
      database,
      caches,
      stores,
      outbox,
      epoch,
      state,
      node,
      shares,
      jobs,
      sessions,
      seen,
      directory,
      admission,
      delivery,
      ids,
      clock,
      budget,
      metrics,
      log,
    },
    {
      config,
      secrets,
      providers,
      blobs,
      media,
      core: core ?? createCoreChannel({ bus, node, directory, sessions, delivery, metrics }),
      appended,
      disk: () => floor.space,
      isCommand,
      longJobHandlers,
    },
  )
  const services = servicesOf(domains)
  const { apps } = services.apps
  const { fileCredentials, fileTicketReader } = services.files
  const { loginQueues, operatorGuard, tokens } = services.login
  const limits = config.rateLimit.enabled ? callLimits(config, node) : noCallLimits
  const executor = new Executor({
    handlers: createHandlers(services),
    authenticator: {
      requireApp: (appId) => apps.requireActive(appId),
      findAdminToken: (appId, token, scopes) => apps.findAdminToken(appId, token, scopes),
      findUserToken: (appId, token) => tokens.find(appId, token),
      findSigner: (appId, signed) => fileCredentials.signerOf(appId, signed, signed),
      findTicket: (ticket) => fileTicketReader.find(ticket),
      isOperatorToken: (token, address) => operatorGuard.isOperatorToken(token, address),
    },
    users: services.users.accounts,
    limits,
    state,
    observer: callObserver(log, metrics),
    budget,
    checkAnswers: config.checkAnswers,
  })
  metrics.logins.watch(() =>
    loginClasses.flatMap((loginClass) =>
      loginQueues.map((queue) => ({ purpose: loginClass, ...queue.figures(loginClass) })),
    ),
  )
  metrics.storage.watchIds(() => Math.max(0, ids.clockMs - clock.now()) / 1_000)
  metrics.storage.watchState(() => ({ states: serviceStates, current: state.current.state }))
  metrics.storage.watchDatabase(() => database.health.figures)
  metrics.push.watchCircuits(() => providers.openCircuits())
  metrics.push.watchCertificates(() => services.push.certificateExpiry.list())
  return {
    epoch,
    state,
    seen,
    node,
    nodeSessions,
    shares,
    ...{ config, database, bus, clock, idClock, sessions, stores, delivery, domains, services },
    ...{ executor, limits, metrics, providers, blobs },
  }
}

function callLimits({ rateLimit, storage }: ServerConfig, node: RunningNode): CallLimits {
  const { address, user, userCalls, userFiles, bot, botCalls, app } = rateLimit
  return new CallLimits({
    addresses: new RateLimiter(address),
    newAdminTokens: new RateLimiter(address),
    users: new UserAllowances({ rate: user, calls: userCalls, fileRate: userFiles }),
    bots: new UserAllowances({ rate: bot, calls: botCalls, fileRate: userFiles }),
    apps: storage.kind === 'sqlite' ? new RateLimiter(app) : dividedLimiter(app, node),
  })
}

function dividedLimiter(rate: BucketRate, { figures }: RunningNode): DividedRateLimiter {
  const limiter = new DividedRateLimiter(rate)
  figures.add('apps', limiter)
  return limiter
}

function callObserver(log: Logger, metrics: Metrics): CallObserver {
  return {
    finished(call, operation, code, startedAt) {
      const milliseconds = performance.now() - startedAt
      metrics.requests.finished(operation.id, code, milliseconds / 1000)
      if (log.isLevelEnabled('debug')) {
        const { requestId, address } = call
        log.debug(
          {
            requestId,
            address,
            operation: operation.id,
            app: call.credentials?.appId,
            code,
            milliseconds,
          },
          'call',
        )
      }
    },
    failed({ requestId }, operation, error) {
      if (isDatabaseFailure(error))
        log.debug({ requestId, operation: operation.id }, 'call failed because the database failed')
      else log.error({ requestId, operation: operation.id, err: error }, 'call failed')
    },
  }
}
