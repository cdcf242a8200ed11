import type { Database, Prepared, Queryable } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'

/** The history of an app's outbox, as far as it decides how a client at a position catches up. */
export interface OutboxHistory {
  readonly epoch: string
  /** The newest row. */
  readonly head: { readonly epoch: string; readonly position: number; readonly time: number }
  /** The time of the row at the client's position; null = the row is gone, or never was. */
  readonly timeAtPosition: number | null
  /** The row after the client's position is stored, and so are all later ones. */
  readonly hasNext: boolean
  /** Clients that synced before this position lack imported history. */
  readonly importedAt: number
}

interface HistoryRow {
  readonly epoch: string
  readonly position: number
  readonly time: number | null
  readonly timeAtPosition: number | null
  readonly nextPosition: number | null
  readonly importedAt: number
}

/** Reads the position of a client in the history of its app. */
export class SyncStore {
  readonly #history: Prepared<{ appId: string; after: number }, HistoryRow>
  readonly #time: Prepared<{ appId: string; position: number }, { createdAt: number }>

  constructor(database: Database) {
    this.#history = database.prepared((db, param) => {
      const timeAt = (position: unknown) =>
        sql<
          number | null
        >`(select o.created_at from outbox o where o.app_id = ${param('appId')} and o.position = ${position})`
      return db
        .selectFrom('database_identity as i')
        .leftJoin('outbox_heads as h', (join) => join.on('h.app_id', '=', param('appId')))
        .select([
          'i.epoch',
          sql<number>`coalesce(h.position, 0)`.as('position'),
          timeAt(sql.ref('h.position')).as('time'),
          timeAt(param('after')).as('timeAtPosition'),
          sql<
            number | null
          >`(select o.position from outbox o where o.app_id = ${param('appId')} and o.position > ${param('after')} order by o.position limit 1)`.as(
            'nextPosition',
          ),
          sql<number>`coalesce((select max(m.position) from imports m where m.app_id = ${param('appId')}), 0)`.as(
            'importedAt',
          ),
        ])
    })
    this.#time = database.prepared((db, param) =>
      db
        .selectFrom('outbox')
        .select('created_at as createdAt')
        .where('app_id', '=', param('appId'))
        .where('position', '=', param('position')),
    )
  }

  /** @param after the position of the client; 0 = it has none */
  async readHistory(db: Queryable, appId: string, after: number): Promise<OutboxHistory> {
    const row = await this.#history.first(db, { appId, after })
    if (!row) throw new Error('the database has no identity')
    const { epoch, position, time, timeAtPosition, nextPosition, importedAt } = row
    return {
      epoch,
      head: { epoch, position, time: time ?? 0 },
      timeAtPosition,
      hasNext: nextPosition === after + 1,
      importedAt,
    }
  }

  /** @returns the time of a row; 0 = it is gone */
  async timeOf(db: Queryable, appId: string, position: number): Promise<number> {
    return (await this.#time.first(db, { appId, position }))?.createdAt ?? 0
  }
}
