import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../db/database.js'
import { IdentityStore } from '../../db/identity/identity-store.js'
import { lockFolder } from '../../lib/system/folder-lock.js'
import { type DatabaseOptions, openCurrentDatabase } from './open-database.js'

/** A connection that was closed a moment ago is still listed. */
const attempts = 10
const pauseMs = 200

/** Nodes of the service are connected to the database. */
export class NodesRunningError extends Error {
  override readonly name = 'NodesRunningError'

  constructor(connections: number) {
    super(
      `${connections} other connections of Hermod use the database; stop all nodes and commands, and close what a connection pool keeps open`,
    )
  }
}

/**
 * Gives the database a new epoch, with no node running: devices then drop what they have stored and
 * sync from the start.
 * @returns the new epoch
 * @throws FolderLockedError, NodesRunningError
 */
export async function newEpoch(options: DatabaseOptions): Promise<string> {
  const { storage } = options.config
  const lock = storage.kind === 'sqlite' ? lockFolder(storage.dataDir) : null
  try {
    const { database } = await openCurrentDatabase(onOneConnection(options), 'command')
    await using _ = database
    for (let attempt = 1; ; attempt++) {
      try {
        return await renew(database)
      } catch (error) {
        if (!(error instanceof NodesRunningError) || attempt === attempts) throw error
        await sleep(pauseMs)
      }
    }
  } finally {
    lock?.release()
  }
}

function renew(database: Database): Promise<string> {
  const store = new IdentityStore()
  return database.transaction(async (tx) => {
    const connections = await store.countOtherConnections(tx)
    if (connections > 0) throw new NodesRunningError(connections)
    return store.renew(tx)
  })
}

/** The command is the only user of its connection, so that it does not count its own. */
function onOneConnection(options: DatabaseOptions): DatabaseOptions {
  const { config } = options
  if (config.storage.kind === 'sqlite') return options
  return { ...options, config: { ...config, storage: { ...config.storage, maxConnections: 1 } } }
}
