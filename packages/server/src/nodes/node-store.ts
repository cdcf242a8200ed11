import { databaseNow } from '../db/database-now.js'
import type { Database } from '../db/database.js'
import { sql } from '../db/kysely.js'
import { systemClock } from '../lib/clock.js'
import type { NodeRows, StoredNode } from './node-rows.js'

/** Facts that a node reports when it takes a lease. */
export interface NodeFacts {
  readonly version: string
  readonly schema: number
  readonly host: string
  readonly pool: number
  readonly settings: Readonly<Record<string, unknown>>
}

/** A node and the number of its lease. */
export interface NodeLease {
  readonly nodeId: string
  readonly lease: number
}

interface Heartbeat {
  /** The clock of the database. */
  readonly now: number
  readonly isDraining: boolean
}

/** A node without a heartbeat for so long is dead, also when none lives that would end its lease. */
const deadMs = 60_000
/** Rows of nodes whose lease has been over for so long are removed. */
const keptMs = 7 * 24 * 3_600_000

/** The nodes that share a database. Every time is that of the database. */
export class NodeStore implements NodeRows {
  readonly #now

  constructor(private readonly database: Database) {
    this.#now = databaseNow(database.dialect, systemClock)
  }

  /**
   * Gives the node a lease with a new number, in place of an earlier one of the same node.
   * @param isDraining it was told to leave under its last lease
   * @returns the number
   */
  async take(
    nodeId: string,
    { version, schema, host, pool, settings }: NodeFacts,
    isDraining = false,
  ): Promise<number> {
    const now = this.#now()
    for (;;) {
      let lease = 0
      const isTaken = await this.database.transactionUnlessTaken(async (tx) => {
        await sql`delete from nodes where ended_at < ${now} - ${keptMs}`.execute(tx)
        // A number beyond every earlier one, also beyond those of removed nodes.
        const { rows } = await sql<NodeLease>`
          insert into nodes (node_id, lease, started_at, heartbeat_at, drain, version, schema, host, pool, figures, settings)
          values (${nodeId}, (select greatest(coalesce(max(lease), 0) + 1, ${now}) from nodes), ${now}, ${now}, ${isDraining ? 1 : 0},
            ${version}, ${schema}, ${host}, ${pool}, '{}', ${JSON.stringify(settings)})
          on conflict (node_id) do update set lease = excluded.lease, started_at = excluded.started_at,
            heartbeat_at = excluded.heartbeat_at, ended_at = null, version = excluded.version,
            schema = excluded.schema, drain = excluded.drain, host = excluded.host, pool = excluded.pool,
            figures = excluded.figures, settings = excluded.settings
          returning lease`.execute(tx)
        lease = Number(rows[0]?.lease)
      })
      // Another node has taken the same number at the same time.
      if (isTaken) return lease
    }
  }

  /**
   * Prolongs a lease. @param figures what the node tells about the seconds before
   * @returns null when the lease is over
   */
  async renew(
    { nodeId, lease }: NodeLease,
    figures: Readonly<Record<string, unknown>>,
  ): Promise<Heartbeat | null> {
    const now = this.#now()
    const { rows } = await this.database.statement((tx) =>
      sql<{ now: number; drain: number }>`
        update nodes set heartbeat_at = ${now}, figures = ${JSON.stringify(figures)}
        where node_id = ${nodeId} and lease = ${lease} and ended_at is null
        returning heartbeat_at as now, drain`.execute(tx),
    )
    const [row] = rows
    return row === undefined ? null : { now: Number(row.now), isDraining: row.drain === 1 }
  }

  /** Lists what the other nodes with a lease told with their last heartbeats. */
  async listFigures({ nodeId }: NodeLease): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const rows = await this.database.read((db) =>
      db
        .selectFrom('nodes')
        .select('figures')
        .where('node_id', '<>', nodeId)
        .where('ended_at', 'is', null)
        .execute(),
    )
    return rows.map(({ figures }) => JSON.parse(figures))
  }

  /** Returns the number of the lease that the node has now; null for none that is valid. */
  async leaseOf(nodeId: string): Promise<number | null> {
    const row = await this.database.read((db) =>
      db
        .selectFrom('nodes')
        .select('lease')
        .where('node_id', '=', nodeId)
        .where('ended_at', 'is', null)
        .executeTakeFirst(),
    )
    return row?.lease ?? null
  }

  /**
   * Ends the leases of nodes without a heartbeat for `silentMs`.
   * @param by a node whose own last heartbeat is not older than `freshMs`. Nothing ends otherwise:
   *   a statement may reach the database long after it was sent, when all nodes were cut off
   */
  async endSilent(
    { nodeId, lease }: NodeLease,
    { silentMs, freshMs }: { readonly silentMs: number; readonly freshMs: number },
  ): Promise<readonly NodeLease[]> {
    const now = this.#now()
    const { rows } = await this.database.statement((tx) =>
      sql<NodeLease>`
        update nodes set ended_at = ${now}
        where ended_at is null and heartbeat_at < ${now} - ${silentMs} and exists (
          select 1 from nodes as own where own.node_id = ${nodeId} and own.lease = ${lease}
            and own.ended_at is null and own.heartbeat_at > ${now} - ${freshMs})
        returning node_id as "nodeId", lease`.execute(tx),
    )
    return rows.map((row) => ({ nodeId: row.nodeId, lease: Number(row.lease) }))
  }

  async list(): Promise<readonly StoredNode[]> {
    const now = this.#now()
    const { rows } = await this.database.read((db) =>
      sql<
        Omit<StoredNode, 'state' | 'figures'> & { isDead: boolean; drain: number; figures: string }
      >`
        select node_id as "nodeId", lease, host, version, schema, drain, pool, figures, started_at as "startedAt",
          ${now} - heartbeat_at as "heartbeatAgeMs",
          ended_at is not null or heartbeat_at < ${now} - ${deadMs} as "isDead",
          (select count(*) from node_shares where node_shares.lease = nodes.lease) as shares
        from nodes order by started_at, node_id`.execute(db),
    )
    return rows.map(({ isDead, drain, figures, ...row }) => ({
      ...row,
      lease: Number(row.lease),
      startedAt: Number(row.startedAt),
      heartbeatAgeMs: Math.max(0, Number(row.heartbeatAgeMs)),
      shares: Number(row.shares),
      state: isDead ? 'dead' : drain === 1 ? 'draining' : 'live',
      figures: JSON.parse(figures),
    }))
  }

  async drain(nodeId: string): Promise<boolean> {
    const { numUpdatedRows } = await this.database.statement((tx) =>
      tx
        .updateTable('nodes')
        .set({ drain: 1 })
        .where('node_id', '=', nodeId)
        .where('ended_at', 'is', null)
        .executeTakeFirst(),
    )
    return numUpdatedRows > 0n
  }

  async remove(nodeId: string): Promise<'removed' | 'lives' | 'absent'> {
    const now = this.#now()
    const { numAffectedRows } = await this.database.statement((tx) =>
      sql`
        delete from nodes
        where node_id = ${nodeId} and (ended_at is not null or heartbeat_at < ${now} - ${deadMs})`.execute(
        tx,
      ),
    )
    if ((numAffectedRows ?? 0n) > 0n) return 'removed'
    const row = await this.database.read((db) =>
      db.selectFrom('nodes').select('lease').where('node_id', '=', nodeId).executeTakeFirst(),
    )
    return row ? 'lives' : 'absent'
  }

  /** Removes a node that leaves, if it still has the lease. */
  async leave({ nodeId, lease }: NodeLease): Promise<void> {
    await this.database.statement((tx) =>
      tx
        .deleteFrom('nodes')
        .where('node_id', '=', nodeId)
        .where('lease', '=', lease)
        .executeTakeFirst(),
    )
  }
}
