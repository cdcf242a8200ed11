import { admissionStatus, type Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type {
  BulkDelete,
  BulkInsert,
  BulkSelect,
  BulkUpdate,
  ColumnType,
} from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import { compare } from '../../../lib/compare.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn } from '../core/group-model.js'
import { isAdmissionOpen, type Settlement, type StorePage } from './group-admission.js'

/** What a join request and an invitation have in common. */
export interface Admission {
  readonly groupId: Int64
  readonly reason: string
  readonly status: number
  readonly createdAt: number
  readonly expiresAt: number
  readonly updatedAt: number
}

/** The same of their rows. */
export interface AdmissionRow {
  readonly group_id: Int64
  readonly reason: string
  readonly status: number
  readonly created_at: number
  readonly expires_at: number
  readonly updated_at: number
}

/** What is set of them besides. */
const settledColumns = { status: 'smallint', updated_at: 'bigint' } as const
/** What is set of them when they end without an answer. */
const closedColumns = { expires_at: 'bigint', updated_at: 'bigint' } as const
/** Those of a group that nobody has answered, open or expired. */
const pendingOfGroup = { app_id: 'text', group_id: 'bigint', status: 'smallint' } as const
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
  /** Sets {@link settledColumns} of one row. */
  readonly settle: BulkUpdate
  /** Sets {@link closedColumns} of one row. */
  readonly close: BulkUpdate
  /** All {@link pendingOfGroup}. */
  readonly findPending: BulkSelect
  /** What goes with a user; keys are app and user. */
  readonly erase: readonly BulkDelete[]
  /** By whom it is listed. */
  readonly owner: 'invitee_id' | 'group_id'
  /** Who asked or was asked. */
  readonly userOf: (entry: Entry) => Int64
  /** The newest change of each owner, as `changed_at`; keys are app and owner. */
  readonly lastChange: BulkSelect
  /** What tells rows apart that were made at the same time, and so where they stand in the list. */
  readonly ids: readonly ('group_id' | 'applicant_id')[]
  toEntry(row: Row): Entry
}

/**
 * The statements that differ in nothing but the table and the column of the user.
 * @param module of the store that writes the table
 */
export function admissionStatements(
  module: string,
  table: AdmissionTable<never, never>['name'],
  user: 'invitee_id' | 'applicant_id',
): Pick<AdmissionTable<never, never>, 'find' | 'settle' | 'close' | 'findPending'> {
  const keys = { app_id: 'text', group_id: 'bigint', [user]: 'bigint' } as const
  return {
    find: { table, keys, columns: 't.*' },
    settle: { module, table, set: settledColumns, keys },
    close: { module, table, set: closedColumns, keys },
    findPending: { table, keys: pendingOfGroup, columns: 't.*' },
  }
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

  /** Answers what nobody has answered between a group and users, except what was closed. */
  async settle(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    { status, now }: Settlement,
  ): Promise<void> {
    const found = await this.findRows(tx, keysIn(group, userIds))
    const keys = this.#keysOf(group.appId, found.filter(isUnanswered))
    await this.database.bulk(
      tx,
      this.table.settle,
      keys.map((key) => [admissionStatus[status], now, ...key]),
    )
  }

  /** Ends what is open between a group and users, without an answer: it expires now (rule F4a). */
  async close(tx: Tx, group: GroupKey, userIds: readonly Int64[], now: number): Promise<void> {
    await this.#close(tx, group.appId, await this.findRows(tx, keysIn(group, userIds)), now)
  }

  /** As {@link close}, between groups and all users. */
  async closeAll(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const keys = [...groupIds]
      .sort(compare)
      .map((groupId) => [appId, groupId, admissionStatus.pending])
    const rows = await this.database.bulk<Row>(tx, this.table.findPending, keys)
    await this.#close(tx, appId, rows.map(this.table.toEntry), now)
  }

  async #close(tx: Tx, appId: string, entries: readonly Entry[], now: number): Promise<void> {
    const open = entries.filter((entry) => isAdmissionOpen(entry, now))
    const keys = this.#keysOf(appId, open)
    await this.database.bulk(
      tx,
      this.table.close,
      keys.map((key) => [now, now, ...key]),
    )
  }

  /** App, group and user, in one order for all callers. */
  #keysOf(appId: string, entries: readonly Entry[]): unknown[][] {
    return entries
      .map((entry) => ({ groupId: entry.groupId, userId: this.table.userOf(entry) }))
      .sort((a, b) => compare(a.groupId, b.groupId) || compare(a.userId, b.userId))
      .map(({ groupId, userId }) => [appId, groupId, userId])
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
   * Newest first. Of one owner by an index that is in this order: the sum is what that index has in place of the owner, so no other one
   * finds the rows, and a table without statistics is not read and sorted.
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
    const isOne = ownerIds.length === 1
    const columns = ['created_at', ...ids]
    const position =
      before &&
      sql`and (${sql.join(columns.map((column) => sql.ref(column)))}) < (${sql.join(before)})`
    const newestFirst = columns
      .filter((column) => !isOne || column !== owner)
      .map((column) => sql`${sql.ref(column)} desc`)
    const isListed = isOne
      ? sql`${sql.ref(owner)} + 0 = ${ownerIds[0]}`
      : sql`${sql.ref(owner)} in (${sql.join(paddedForPlanCache(ownerIds))})`
    const { rows } = await sql<Row>`select * from ${sql.table(name)}
      where app_id = ${appId} and ${isListed} ${position ?? sql``}
      order by ${sql.join(newestFirst)} limit ${limit}`.execute(db)
    return rows.map(toEntry)
  }
}

/** Pending, and not closed: what is closed expires at its last change. */
function isUnanswered({ status, expiresAt, updatedAt }: Admission): boolean {
  return status === admissionStatus.pending && expiresAt > updatedAt
}
