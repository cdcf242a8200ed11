import { randomUUID } from 'node:crypto'
import type { Queryable, StatementTx, Tx } from '../database.js'
import { sql } from '../kysely.js'
import { snakeCase } from '../columns.js'
import { lockForUpdate, lockShare } from '../locking.js'
import { lostHistoriesTable } from '../schema.js'
import { Histories } from './histories.js'
import type { StoredServiceState } from './service-state.js'

/** The applications of a lost history that are recorded. */
const maxRecorded = 100

/** The folder that has the files of the database. */
export interface FilesFolder {
  /** The content of a file in it. */
  readonly mark: string
  /** The node whose own it is; null: nodes share it. */
  readonly nodeId: string | null
}

/** A row of the outbox of an app that this node has seen. */
export interface SeenRow {
  readonly appId: string
  readonly position: number
  /** Milliseconds since 1970; 0 = not known. */
  readonly time: number
}

/** A row that the database had, and has no longer. */
export interface LostRow extends SeenRow {
  /** The end of the outbox of the app now. */
  readonly head: number
  /** The time of the row that is at the position now; null = none is. */
  readonly timeNow: number | null
}

/** The epoch of the database, which names its history, and the folder that has its files. */
export class IdentityStore {
  /** The epoch, and the histories of all apps. */
  async histories(db: Queryable): Promise<Histories> {
    const rows = await db
      .selectFrom('database_identity as i')
      .leftJoin('histories as h', (join) => join.onTrue())
      .select(['i.epoch as current', 'i.first_epoch as first'])
      .select(['h.app_id as appId', 'h.from_position as from', 'h.epoch'])
      .orderBy('h.app_id')
      .orderBy('h.number')
      .execute()
    const [{ first, current } = { first: '', current: '' }] = rows
    const known = rows.flatMap(({ appId, from, epoch }) =>
      appId === null || from === null || epoch === null ? [] : [{ appId, from, epoch }],
    )
    return new Histories({ first, current, rows: known })
  }

  /** Begins the first history of a new app, in the present epoch. */
  async addHistory(tx: Tx, appId: string): Promise<void> {
    // The epoch stays as it is until the app exists, so that a renewal finds the app.
    const identity = lockShare(tx, tx.selectFrom('database_identity').select('epoch'))
    const { epoch } = await identity.executeTakeFirstOrThrow()
    await tx
      .insertInto('histories')
      .values({ app_id: appId, number: 1, from_position: 1, epoch })
      .execute()
  }

  /**
   * Begins the histories of imported applications: positions up to the end of the outbox are of the
   * epoch of the export, and later ones of an epoch that no other installation has. So cursors of the
   * export continue, and no event has an ID that the exported installation gives to another one.
   */
  async addImportedHistories(tx: Tx, apps: readonly string[], epoch: string): Promise<void> {
    for (const appId of apps) {
      const head = await tx
        .selectFrom('outbox_heads')
        .select('position')
        .where('app_id', '=', appId)
        .executeTakeFirst()
      const histories = [
        { app_id: appId, number: 1, from_position: 1, epoch },
        { app_id: appId, number: 2, from_position: (head?.position ?? 0) + 1, epoch: randomUUID() },
      ]
      await tx.insertInto('histories').values(histories).execute()
    }
  }

  /** Returns the epoch and the state of the service. */
  async current(
    db: Queryable,
  ): Promise<{ readonly epoch: string; readonly service: StoredServiceState }> {
    const { epoch, state, text, since } = await db
      .selectFrom('database_identity')
      .select(['epoch', 'state', 'state_text as text', 'state_since as since'])
      .executeTakeFirstOrThrow()
    return { epoch, service: { state: state as StoredServiceState['state'], text, since } }
  }

  /** @returns false when the service has none of the states `from` */
  async setState(
    tx: StatementTx,
    { state, text, since }: StoredServiceState,
    from: readonly StoredServiceState['state'][],
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('database_identity')
      .set({ state, state_text: text, state_since: since })
      .where('state', 'in', from)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** The channel of messages between nodes, which a copy of the database shares. */
  async busChannel(db: Queryable): Promise<string> {
    const { name } = await db
      .selectFrom('database_identity')
      .select('bus_channel as name')
      .executeTakeFirstOrThrow()
    return name
  }

  /** Locks the row. @returns null for a folder that is not noted yet */
  async lockFilesFolder(tx: Tx): Promise<{ epoch: string; folder: FilesFolder | null }> {
    const row = tx
      .selectFrom('database_identity')
      .select(['epoch', 'files_folder as mark', 'files_node as nodeId'])
    const { epoch, mark, nodeId } = await lockForUpdate(tx, row).executeTakeFirstOrThrow()
    return { epoch, folder: mark === null ? null : { mark, nodeId } }
  }

  async setFilesFolder(tx: Tx, { mark, nodeId }: FilesFolder): Promise<void> {
    await tx
      .updateTable('database_identity')
      .set({ files_folder: mark, files_node: nodeId })
      .execute()
  }

  /** Lets the next start take its folder as the one with the files. */
  async forgetFilesFolder(tx: Tx): Promise<void> {
    await tx
      .updateTable('database_identity')
      .set({ files_folder: null, files_node: null })
      .execute()
  }

  /**
   * Counts the connections of nodes and commands to PostgreSQL without this one; 0 for the embedded
   * database, which has a lock.
   */
  async countOtherConnections(tx: Tx): Promise<number> {
    if (!tx.hasRowLocks) return 0
    const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and application_name = 'hermod' and pid <> pg_backend_pid()`.execute(
      tx,
    )
    return rows[0]?.count ?? 0
  }

  /**
   * Begins a new history: clients drop what they have stored and sync from the start.
   * @returns the new epoch
   */
  async renew(tx: Tx): Promise<string> {
    const epoch = randomUUID()
    await tx.updateTable('database_identity').set({ epoch }).execute()
    await this.#addHistories(tx, epoch)
    return epoch
  }

  /**
   * Compares rows that were seen with those of the database. A row that was purged is no loss.
   * Works on PostgreSQL.
   */
  async compare(
    db: Queryable,
    seen: readonly SeenRow[],
  ): Promise<{ readonly epoch: string; readonly lost: readonly LostRow[] }> {
    const apps = seen.map(({ appId }) => appId)
    const positions = seen.map(({ position }) => position)
    const { rows } = await sql<{
      readonly epoch: string
      readonly appId: string | null
      readonly head: number
      readonly timeNow: number | null
    }>`
      select i.epoch, s.app_id as "appId", coalesce(h.position, 0) as head, o.created_at as "timeNow"
      from database_identity i
      left join unnest(${apps}::text[], ${positions}::bigint[]) as s (app_id, position) on true
      left join outbox_heads h on h.app_id = s.app_id
      left join outbox o on o.app_id = s.app_id and o.position = s.position`.execute(db)
    const found = new Map(rows.map((row) => [row.appId, row]))
    const lost = seen.flatMap((row): LostRow[] => {
      const { head = 0, timeNow = null } = found.get(row.appId) ?? {}
      const isOther = timeNow !== null && row.time !== 0 && timeNow !== row.time
      return head < row.position || isOther ? [{ ...row, head, timeNow }] : []
    })
    return { epoch: rows[0]?.epoch ?? '', lost }
  }

  /**
   * Begins a new history in place of one that has lost rows, and records the loss.
   * @returns the new epoch; null when another node has begun one already
   */
  async renewLost(db: Queryable, from: string, lost: readonly LostRow[]): Promise<string | null> {
    const epoch = randomUUID()
    return db.transaction().execute(async (tx) => {
      const renewed = await tx
        .updateTable('database_identity')
        .set({ epoch })
        .where('epoch', '=', from)
        .executeTakeFirst()
      if (renewed.numUpdatedRows === 0n) return null
      await this.#addHistories(Object.assign(tx, { hasRowLocks: true }), epoch)
      await tx
        .insertInto('lost_histories')
        .values(
          lost.slice(0, maxRecorded).map((row) =>
            snakeCase(lostHistoriesTable, {
              epoch: from,
              appId: row.appId,
              position: row.position,
              time: row.time,
              head: row.head,
              timeNow: row.timeNow,
            }),
          ),
        )
        .execute()
      return epoch
    })
  }

  /** Begins a history of each app after the end of its outbox. */
  async #addHistories(tx: Queryable & Pick<Tx, 'hasRowLocks'>, epoch: string): Promise<void> {
    // Appends wait for the new history, so that no position before it is committed after it.
    await lockForUpdate(
      tx,
      tx.selectFrom('outbox_heads').select('app_id').orderBy('app_id'),
    ).execute()
    await sql`
      insert into histories (app_id, number, from_position, epoch)
      select a.app_id,
        (select count(*) from histories h where h.app_id = a.app_id) + 1,
        coalesce(o.position, 0) + 1,
        cast(${epoch} as text)
      from apps a left join outbox_heads o on o.app_id = a.app_id`.execute(tx)
  }

  /** Counts the applications whose losses were recorded. */
  async countLosses(db: Queryable): Promise<number> {
    const { count } = await db
      .selectFrom('lost_histories')
      .select((eb) => eb.fn.count<number>('app_id').distinct().as('count'))
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  /** Forgets the losses that were recorded. */
  async acknowledgeLosses(tx: StatementTx): Promise<void> {
    await tx.deleteFrom('lost_histories').execute()
  }
}
