import { admissionStatus, type Int64 } from '@hermod/protocol'
import { sql } from 'kysely'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type {
  BulkDelete,
  BulkInsert,
  BulkSelect,
  BulkUpdate,
  ColumnType,
} from '../../../db/dialect/dialect.js'
import { padded } from '../../../lib/chunks.js'
import { compare } from '../../../lib/compare.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn } from '../core/group-model.js'
import type { Settlement, StorePage } from './group-admission.js'

/** What a join request and an invitation have in common. */
export interface Admission {
  readonly groupId: Int64
  readonly reason: string
  readonly status: number
  readonly createdAt: number
  readonly expiresAt: number
}

/** The same of their rows. */
export interface AdmissionRow {
  readonly group_id: Int64
  readonly reason: string
  readonly status: number
  readonly created_at: number
  readonly expires_at: number
}

/** What is set of them besides. */
export const settledColumns = { status: 'smallint', updated_at: 'bigint' } as const
/** Those of a group that are open. */
export const openOfGroup = { app_id: 'text', group_id: 'bigint', status: 'smallint' } as const
export const admissionColumns = {
  app_id: 'text',
  group_id: 'bigint',
  reason: 'text',
  ...settledColumns,
  created_at: 'bigint',
  expires_at: 'bigint',
} as const satisfies Record<string, ColumnType>

/** A table of which each row is about a user and a group. Keys are app, group and user. */
export interface AdmissionTable<Row extends AdmissionRow, Entry extends Admission> {
  readonly name: 'group_invitations' | 'group_join_requests'
  readonly find: BulkSelect
  readonly put: BulkInsert
  /** Sets {@link settledColumns} of one row, which is open. */
  readonly settle: BulkUpdate
  /** The same, of all {@link openOfGroup}. */
  readonly settleAll: BulkUpdate
  /** What goes with a user; keys are app and user. */
  readonly erase: readonly BulkDelete[]
  /** By whom it is listed. */
  readonly owner: 'invitee_id' | 'group_id'
  /** The newest change of each owner, as `changed_at`; keys are app and owner. */
  readonly lastChange: BulkSelect
  /** What tells rows apart that were made at the same time, and so where they stand in the list. */
  readonly ids: readonly ('group_id' | 'applicant_id')[]
  toEntry(row: Row): Entry
}

/** The latest row of each user and group; a rule that join requests and invitations share stands here. */
export abstract class AdmissionStore<Row extends AdmissionRow, Entry extends Admission> {
  constructor(
    protected readonly database: Database,
    private readonly table: AdmissionTable<Row, Entry>,
  ) {}

  async find(db: Queryable, group: GroupKey, userId: Int64): Promise<Entry | null> {
    const [found] = await this.findRows(db, keysIn(group, [userId]))
    return found ?? null
  }

  /** Ends what is open between a group and users. */
  async settle(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    { status, now }: Settlement,
  ): Promise<void> {
    const changed = [admissionStatus[status], now]
    const rows = keysIn(group, userIds).map((key) => [...changed, ...key, admissionStatus.pending])
    await this.database.bulk(tx, this.table.settle, rows)
  }

  /** Ends what is open between groups and all users. */
  async settleAll(
    tx: Tx,
    appId: string,
    groupIds: readonly Int64[],
    { status, now }: Settlement,
  ): Promise<void> {
    const changed = [admissionStatus[status], now, appId]
    const rows = [...groupIds]
      .sort(compare)
      .map((groupId) => [...changed, groupId, admissionStatus.pending])
    await this.database.bulk(tx, this.table.settleAll, rows)
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    for (const statement of this.table.erase)
      await this.database.bulk(tx, statement, [[appId, userId]])
  }

  /** The newest change of what {@link list} lists, ms; 0 when there is nothing. */
  async lastChange(db: Queryable, appId: string, ownerIds: readonly Int64[]): Promise<number> {
    const rows = await this.database.bulk<{ changed_at: number | null }>(
      db,
      this.table.lastChange,
      ownerIds.map((ownerId) => [appId, ownerId]),
    )
    return rows.reduce((newest, row) => Math.max(newest, row.changed_at ?? 0), 0)
  }

  /** @param keys app, group and user */
  protected async findRows(db: Queryable, keys: readonly unknown[][]): Promise<Entry[]> {
    const rows = await this.database.bulk<Row>(db, this.table.find, keys)
    return rows.map(this.table.toEntry)
  }

  /** Takes the place of what there was. @param rows in the order of the columns of the table's `put` */
  protected async putRows(tx: Tx, rows: readonly unknown[][]): Promise<void> {
    await this.database.bulk(tx, this.table.put, rows)
  }

  /**
   * Newest first.
   * @param page.before when it was made, then the IDs of the table
   */
  protected async listOf(
    db: Queryable,
    appId: string,
    ownerIds: readonly Int64[],
    { before, limit }: StorePage,
  ): Promise<Entry[]> {
    const { name, owner, ids, toEntry } = this.table
    if (ownerIds.length === 0) return []
    const columns = ['created_at', ...ids].map((column) => sql.ref(column))
    const position = before && sql`and (${sql.join(columns)}) < (${sql.join(before)})`
    const newestFirst = columns.map((column) => sql`${column} desc`)
    const { rows } = await sql<Row>`select * from ${sql.table(name)}
      where app_id = ${appId} and ${sql.ref(owner)} in (${sql.join(padded(ownerIds))}) ${position ?? sql``}
      order by ${sql.join(newestFirst)} limit ${limit}`.execute(db)
    return rows.map(toEntry)
  }
}
