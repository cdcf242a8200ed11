import { databaseNow } from '../db/database-now.js'
import type { Database } from '../db/database.js'
import { sql } from '../db/kysely.js'
import { systemClock } from '../lib/clock.js'

/** A node among those that share the database. */
export interface ListedNode {
  readonly id: string
}

/**
 * Lists the nodes with a lease and a heartbeat of the last minute, for starts and commands: they have
 * no heartbeats of their own by which they could tell silent nodes from an outage of the database.
 */
export async function listLiveNodes(database: Database): Promise<readonly ListedNode[]> {
  const now = databaseNow(database.dialect, systemClock)
  const { rows } = await database.read((db) =>
    sql<ListedNode>`select node_id as id from nodes
      where ended_at is null and heartbeat_at > ${now()} - 60000`.execute(db),
  )
  return rows
}
