import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { pendingChange } from '../../db/migrations/migrate.js'
import { minuteMs } from '../../lib/clock.js'
import {
  type DatabaseOptions,
  MigrationNeededError,
  openDatabase,
} from '../database/open-database.js'

const pollMs = 1_000
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
  const { message: reason } = new MigrationNeededError(change)
  await using _ = await listen(reason, config.http)
  for (let waitedMs = 0; ; waitedMs += pollMs) {
    if (waitedMs % minuteMs === 0) log.warn({ reason }, 'waiting for the schema of the database')
    await sleep(pollMs)
    if ((await pendingChange(database, release)) === null) return
  }
}

async function listen(
  reason: string,
  { host, port }: DatabaseOptions['config']['http'],
): Promise<AsyncDisposable> {
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const isAlive = alive.has(path)
    const body = isAlive ? { status: 'ok' } : { status: 'not ready', reason }
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
