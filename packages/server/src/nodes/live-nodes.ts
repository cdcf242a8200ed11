import { setTimeout as pause } from 'node:timers/promises'
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
  /** By the clock of the database. */
  readonly heartbeatAt: number
}

/** Longer than two heartbeats take. */
const silentMs = 12_000
const lookEachMs = 500

/**
 * Lists the nodes with a lease and a heartbeat of the last minute in the order of their leases, for
 * starts and commands: they have no heartbeats of their own by which they could tell silent nodes
 * from an outage of the database.
 */
export async function listLiveNodes(database: Database): Promise<readonly ListedNode[]> {
  const now = databaseNow(database.dialect, systemClock)
  const { rows } = await database.read((db) =>
    sql<Omit<ListedNode, 'settings'> & { readonly settings: string }>`
      select node_id as id, host, pool, settings, heartbeat_at as "heartbeatAt" from nodes
      where ended_at is null and heartbeat_at > ${now()} - 60000 order by lease`.execute(db),
  )
  return rows.map((row) => ({
    ...row,
    pool: Number(row.pool),
    settings: JSON.parse(row.settings),
    heartbeatAt: Number(row.heartbeatAt),
  }))
}

/** The beginning of a sentence about nodes that use a database. */
export function nodesUse(nodes: readonly Pick<ListedNode, 'id'>[]): string {
  const ids = nodes.map(({ id }) => id).join(', ')
  return nodes.length === 1 ? `the node ${ids} uses` : `the nodes ${ids} use`
}

/**
 * Waits for a heartbeat of one of some nodes. @returns false when all have left, or give none for
 * longer than two heartbeats take, as killed ones
 */
export async function giveHeartbeats(database: Database, ids: readonly string[]): Promise<boolean> {
  const heartbeats = async () =>
    new Map((await listLiveNodes(database)).map(({ id, heartbeatAt }) => [id, heartbeatAt]))
  const before = await heartbeats()
  for (const endsAt = performance.now() + silentMs; performance.now() < endsAt; ) {
    await pause(lookEachMs)
    const now = await heartbeats()
    const left = ids.filter((id) => now.has(id))
    if (left.length === 0) return false
    if (left.some((id) => now.get(id) !== before.get(id))) return true
  }
  return false
}
