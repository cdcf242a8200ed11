import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { pendingChange } from '../../db/migrations/migrate.js'
import { minuteMs } from '../../lib/clock.js'
import { FolderLockedError, lockNewFolder } from '../../lib/system/folder-lock.js'
import {
  type DatabaseOptions,
  MigrationNeededError,
  openDatabase,
} from '../database/open-database.js'

const pollMs = 1_000
/** The time for a command that works on the new schema to leave the data folder. */
const folderMs = minuteMs
const maxConnections = 100
const retryAfterSeconds = 5
const alive: ReadonlySet<string> = new Set(['/healthz', '/livez'])

/**
 * Waits until `hermod migrate` has brought the schema of PostgreSQL up to date, where the settings
 * leave that to it. Meanwhile the process listens: it is alive and not ready, so that balancers and
 * orchestrators keep the other nodes, and start none again.
 *
 * The embedded database is locked by this process, so its start is refused instead.
 */
export async function waitForSchema(options: DatabaseOptions): Promise<void> {
  const { config, log, release } = options
  if (config.migrate === 'auto' || config.storage.kind === 'sqlite') return
  await using database = await openDatabase(options)
  const change = await pendingChange(database, release)
  if (change === null) return
  let { message: reason } = new MigrationNeededError(change, true)
  await using _ = await listen(() => reason, config.http)
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    if (waitedMs % minuteMs === 0) log.warn({ reason }, 'waiting for the schema of the database')
    await sleep(pollMs)
    if ((await pendingChange(database, release)) === null) break
  }
  for (let waitedMs = 0; waitedMs < folderMs; waitedMs += pollMs) {
    const held = folderHolder(config.dataDir)
    if (held === null) return
    reason = held
    await sleep(pollMs)
  }
}

/** Returns a sentence about the process that has a data folder; null: none. */
function folderHolder(dataDir: string): string | null {
  try {
    lockNewFolder(dataDir).release()
    return null
  } catch (error) {
    if (error instanceof FolderLockedError) return error.message
    throw error
  }
}

async function listen(
  reason: () => string,
  { host, port }: DatabaseOptions['config']['http'],
): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const isAlive = alive.has(path)
    const body = isAlive ? { status: 'ok' } : { status: 'not ready', reason: reason() }
    response
      .writeHead(isAlive ? 200 : 503, {
        'content-type': 'application/json; charset=utf-8',
        ...(isAlive ? {} : { 'retry-after': String(retryAfterSeconds) }),
      })
      .end(JSON.stringify(body))
  })
  server.maxConnections = maxConnections
  server.listen({ host, port })
  await once(server, 'listening')
  return { [Symbol.asyncDispose]: () => close(server) }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  server.closeAllConnections()
  await closed
}
