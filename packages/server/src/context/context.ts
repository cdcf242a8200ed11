/** The composition root: the only folder that constructs the parts of the service and knows all of them. */
import { join } from 'node:path'
import type { ServerConfig } from '../config/config.js'
import type { ServerSecrets } from '../config/secrets.js'
import { Database } from '../db/database.js'
import { sqliteDialect } from '../db/dialect/sqlite.js'
import { migrate } from '../db/migrations/migrate.js'
import { MaintenanceScheduler } from '../jobs/maintenance-scheduler.js'
import { type FolderLock, lockFolder } from '../lib/folder-lock.js'
import { RateLimiter } from '../lib/rate-limiter.js'
import type { Logger } from '../observability/log.js'
import { Metrics } from '../observability/metrics.js'
import { CallLimits, noCallLimits } from '../pipeline/call-limits.js'
import { type CallObserver, Executor } from '../pipeline/executor.js'
import { createHandlers } from './handlers.js'
import { createServices, type Services } from './services.js'

export interface Context extends AsyncDisposable {
  readonly config: ServerConfig
  readonly database: Database
  readonly services: Services
  readonly executor: Executor
  readonly metrics: Metrics
  readonly maintenance: MaintenanceScheduler
}

export interface ContextOptions {
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly log: Logger
}

const databaseFile = 'hermod.db'
const maintenanceIntervalMs = 60_000

/** Opens the database of a configuration. With the embedded one the caller holds the folder's lock. */
export async function openDatabase({ config, secrets, log }: ContextOptions): Promise<Database> {
  const { storage } = config
  if (storage.kind === 'sqlite')
    return new Database(
      sqliteDialect(join(storage.dataDir, databaseFile), {
        onCheckpointError: (error) => log.warn({ err: error }, 'checkpoint failed'),
      }),
    )
  // Imported here so that the embedded engine does not pay for it.
  const { postgresDialect } = await import('../db/dialect/postgres.js')
  const onError = (error: Error) => log.warn({ err: error }, 'idle database connection lost')
  return new Database(
    postgresDialect({ url: secrets.databaseUrl ?? '', poolSize: storage.maxConnections, onError }),
  )
}

/**
 * Locks the data folder, opens the database, brings its schema up to date and builds the service. Disposing undoes it in reverse.
 * @throws FolderLockedError when another process uses the folder; WrongSecretKeyError
 */
export async function openContext(options: ContextOptions): Promise<Context> {
  const { config, log } = options
  const lock = lockFolder(config.dataDir)
  try {
    const database = await openDatabase(options)
    try {
      await requireDurableCommits(database, log)
      const applied = await migrate(database)
      if (applied.length > 0) log.info({ migrations: applied }, 'schema brought up to date')
      const context = buildContext(options, database, lock)
      await context.services.secretService.requireKeys()
      return context
    } catch (error) {
      await database[Symbol.asyncDispose]()
      throw error
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** An answer of code 200 means that the message is on disk (decision E2), so a database that says so too early is refused. */
async function requireDurableCommits(database: Database, log: Logger): Promise<void> {
  const settings = await database.durabilitySettings()
  if (settings.synchronousCommit === 'off') {
    throw new Error(
      'PostgreSQL runs with synchronous_commit = off and would lose answered messages; set it to on for this database',
    )
  }
  if (!settings.fsync)
    log.warn('PostgreSQL runs with fsync = off: answered messages are lost when its machine stops')
}

function buildContext(
  { config, secrets, log }: ContextOptions,
  database: Database,
  lock: FolderLock,
): Context {
  const metrics: Metrics = new Metrics(() => services.writer.queuedMessages)
  const { checkpoints } = database.dialect
  if (checkpoints) metrics.watchCheckpoints(checkpoints)
  const batchObserver = { committed: metrics.batchCommitted.bind(metrics) }
  const services = createServices({
    config,
    secrets,
    database,
    batchObserver,
    wakeTextErasures: () => maintenance.wake(textErasureTask),
  })
  const { apps, events, textErasures, tokens, sweeper, writer } = services
  const textErasureTask = {
    name: 'texts of deleted users',
    run: (signal: AbortSignal) => textErasures.run(signal),
  }
  const executor = new Executor({
    handlers: createHandlers(services),
    authenticator: {
      requireApp: (appId) => apps.requireActive(appId),
      findAdminToken: (appId, token) => apps.findAdminToken(appId, token),
      findUserToken: (appId, token) => tokens.find(appId, token),
      isOperatorToken: (token) => apps.isOperatorToken(token),
    },
    limits: config.rateLimit.enabled ? callLimits(config.rateLimit) : noCallLimits,
    observer: callObserver(log, metrics),
    httpStatus: config.http.statusMode,
    checkAnswers: config.checkAnswers,
  })
  const maintenance: MaintenanceScheduler = new MaintenanceScheduler({
    intervalMs: maintenanceIntervalMs,
    tasks: [
      { name: 'expired tokens', run: () => tokens.purge() },
      { name: 'old transaction IDs', run: () => sweeper.run() },
      { name: 'old events', run: () => events.purge() },
      textErasureTask,
    ],
    onError: (task, error) => log.warn({ task, err: error }, 'maintenance failed'),
  })
  return {
    config,
    database,
    services,
    executor,
    metrics,
    maintenance,
    async [Symbol.asyncDispose]() {
      await maintenance.stop()
      await writer.idle()
      await database[Symbol.asyncDispose]()
      lock.release()
    },
  }
}

function callLimits({ address, user, app }: ServerConfig['rateLimit']): CallLimits {
  return new CallLimits({
    addresses: new RateLimiter(address),
    newAdminTokens: new RateLimiter(address),
    users: new RateLimiter(user),
    apps: new RateLimiter(app),
  })
}

function callObserver(log: Logger, metrics: Metrics): CallObserver {
  return {
    finished(call, operation, code, startedAt) {
      const milliseconds = performance.now() - startedAt
      metrics.requestFinished(operation.id, code, milliseconds / 1000)
      if (log.isLevelEnabled('debug')) {
        const { requestId, address, credentials } = call
        log.debug(
          {
            requestId,
            address,
            operation: operation.id,
            app: credentials.appId,
            code,
            milliseconds,
          },
          'call',
        )
      }
    },
    failed({ requestId }, operation, error) {
      log.error({ requestId, operation: operation.id, err: error }, 'call failed')
    },
  }
}
