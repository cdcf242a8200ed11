import { databaseNow } from '../db/database-now.js'
import type { Database } from '../db/database.js'
import { sql } from '../db/kysely.js'
import { systemClock } from '../lib/clock.js'

/** A node among those that share the database. */
export interface ListedNode {
  readonly id: string
  /** The name of its machine. */
  readonly host: string
  /** The most connections to the database in its pool. */
  readonly pool: number
  /** The settings that all nodes must have alike, by name. */
  readonly settings: Readonly<Record<string, string>>
}

/**
 * Lists the nodes with a lease and a heartbeat of the last minute in the order of their leases, for
 * starts and commands: they have no heartbeats of their own by which they could tell silent nodes
 * from an outage of the database.
 */
export async function listLiveNodes(database: Database): Promise<readonly ListedNode[]> {
  const now = databaseNow(database.dialect, systemClock)
  const { rows } = await database.read((db) =>
    sql<Omit<ListedNode, 'settings'> & { readonly settings: string }>`
      select node_id as id, host, pool, settings from nodes
      where ended_at is null and heartbeat_at > ${now()} - 60000 order by lease`.execute(db),
  )
  return rows.map((row) => ({ ...row, pool: Number(row.pool), settings: JSON.parse(row.settings) }))
}
