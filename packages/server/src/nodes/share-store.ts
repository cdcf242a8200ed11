import type { Database } from '../db/database.js'
import { sql } from '../db/kysely.js'
import { paddedForPlanCache } from '../lib/chunks.js'
import type { ShareKind } from './shares.js'

interface ShareName {
  readonly kind: ShareKind
  readonly name: string
}

interface SharesView {
  /** The nodes whose lease is not over. */
  readonly nodes: readonly { readonly lease: number; readonly isDraining: boolean }[]
  readonly shares: readonly {
    readonly kind: string
    readonly name: string
    readonly lease: number
  }[]
}

/**
 * Holders of shares, by the number of their lease. A work whose number is of no node that lives
 * is free: such a number never lives again.
 */
export class ShareStore {
  constructor(private readonly database: Database) {}

  async view(): Promise<SharesView> {
    const [nodes, shares] = await this.database.read((db) =>
      Promise.all([
        db.selectFrom('nodes').select(['lease', 'drain']).where('ended_at', 'is', null).execute(),
        db.selectFrom('node_shares').select(['kind', 'name', 'lease']).execute(),
      ]),
    )
    return {
      nodes: nodes.map(({ lease, drain }) => ({ lease, isDraining: drain === 1 })),
      shares,
    }
  }

  /**
   * Takes shares that nobody has, or that one of the `dead` leases has.
   * @returns those that no other node took before; none when the lease of this node is over
   */
  async take(
    lease: number,
    wanted: readonly ShareName[],
    dead: readonly number[],
  ): Promise<readonly ShareName[]> {
    if (wanted.length === 0) return []
    const names = sql.join(wanted.map(({ kind, name }) => sql`(${kind}, ${name})`))
    const leases = sql.join(paddedForPlanCache(dead.length > 0 ? dead : [0]))
    const { rows } = await this.database.statement((tx) =>
      sql<ShareName>`
        insert into node_shares (kind, name, lease)
        select v.kind, v.name, own.lease from (values ${names}) as v (kind, name)
        join nodes as own on own.lease = ${lease} and own.ended_at is null
        on conflict (kind, name) do update set lease = excluded.lease
          where node_shares.lease in (${leases})
        returning kind, name`.execute(tx),
    )
    return rows
  }

  /** Gives shares of a lease back. @param share all of them by default */
  async release(lease: number, share?: ShareName): Promise<void> {
    await this.database.statement(async (tx) => {
      const held = tx.deleteFrom('node_shares').where('lease', '=', lease)
      const named = share && held.where('kind', '=', share.kind).where('name', '=', share.name)
      await (named ?? held).executeTakeFirst()
    })
  }

  /** Writes and commits, and leaves no row behind. @throws AppError storage_failed */
  async probe(name: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await tx.insertInto('node_shares').values({ kind: 'probe', name, lease: 0 }).execute()
      await tx
        .deleteFrom('node_shares')
        .where('kind', '=', 'probe')
        .where('name', '=', name)
        .execute()
    })
  }
}
