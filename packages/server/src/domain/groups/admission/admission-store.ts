import { admissionStatus, type Int64 } from '@hermod/protocol'
import { type Columns, camelCaseText, columnsOf, int64 } from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { sql } from '../../../db/kysely.js'
import { groupJoinRequestsTable } from '../../../db/schema.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import { compare } from '../../../lib/compare.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn } from '../core/group-model.js'
import { type AdmissionAnswer, isAdmissionOpen, type StorePage } from './group-admission.js'

/** Fields that a join request and an invitation share. */
export interface Admission {
  readonly groupId: Int64
  readonly reason: string
  readonly status: number
  readonly createdAt: number
  readonly expiresAt: number
  readonly updatedAt: number
}

/** The columns that both tables have. */
const { applicant_id: _, ...sharedColumns } = groupJoinRequestsTable
/** Columns that an answer sets. */
const answerColumns = columnsOf(sharedColumns, 'status', 'updated_at')
/** Columns that an end without an answer sets. */
const closedColumns = columnsOf(sharedColumns, 'expires_at', 'updated_at')
/** Selects the unanswered entries of a group, open or expired. */
const pendingOfGroup = columnsOf(sharedColumns, 'app_id', 'group_id', 'status')

/** A table with one row per user and group. Keys are app, group and user. */
export interface AdmissionTable<Entry extends Admission> {
  readonly name: 'group_invitations' | 'group_join_requests'
  readonly columns: Columns
  readonly find: BulkSelect
  readonly put: BulkInsert
  /** Sets {@link answerColumns} of one row. */
  readonly answer: BulkUpdate
  /** Sets {@link closedColumns} of one row. */
  readonly close: BulkUpdate
  /** Selects by {@link pendingOfGroup}. */
  readonly findPending: BulkSelect
  /** Deletes the rows of a user; keys are app and user. */
  readonly erase: readonly BulkDelete[]
  /** Column of the owner of a list. */
  readonly owner: 'invitee_id' | 'group_id'
  /** The user who applied or was invited. */
  readonly userOf: (entry: Entry) => Int64
  /** Selects the newest change of each owner as `changed_at`; keys are app and owner. */
  readonly lastChange: BulkSelect
  /** Columns that order rows of the same creation time within a list. */
  readonly ids: readonly ('group_id' | 'applicant_id')[]
}

/** Builds the statements that differ only in the table and the user's column. */
export function admissionStatements(
  table: AdmissionTable<never>['name'],
  columns: Columns,
  user: 'invitee_id' | 'applicant_id',
): Pick<AdmissionTable<never>, 'columns' | 'find' | 'answer' | 'close' | 'findPending'> {
  const keys = { ...columnsOf(sharedColumns, 'app_id', 'group_id'), [user]: int64 }
  const selected = camelCaseText(columns, 't')
  return {
    columns,
    find: { table, keys, columns: selected },
    answer: { table, set: answerColumns, keys },
    close: { table, set: closedColumns, keys },
    findPending: { table, keys: pendingOfGroup, columns: selected },
  }
}

/**
 * The latest row of each user and group, with the rules that join requests and invitations share.
 */
export abstract class AdmissionStore<Entry extends Admission> {
  constructor(
    protected readonly database: Database,
    private readonly table: AdmissionTable<Entry>,
  ) {}

  async find(db: Queryable, group: GroupKey, userId: Int64): Promise<Entry | null> {
    const [found] = await this.findRows(db, keysIn(group, [userId]))
    return found ?? null
  }

  /**
   * Answers all unanswered entries between a group and users, except closed ones.
   * @returns the users of these entries
   */
  async answer(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    { status, now }: AdmissionAnswer,
  ): Promise<Int64[]> {
    const found = (await this.findRows(tx, keysIn(group, userIds))).filter(isUnanswered)
    const keys = this.#keysOf(group.appId, found)
    await this.database.bulk(
      tx,
      this.table.answer,
      keys.map((key) => [admissionStatus[status], now, ...key]),
    )
    return found.map(this.table.userOf)
  }

  /**
   * Ends open entries between a group and users without an answer: they expire now (rule F4a).
   * @returns the users of these entries
   */
  async close(tx: Tx, group: GroupKey, userIds: readonly Int64[], now: number): Promise<Int64[]> {
    return this.#close(tx, group.appId, await this.findRows(tx, keysIn(group, userIds)), now)
  }

  /** Same as {@link close}, between groups and all users. */
  async closeAll(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const keys = [...groupIds]
      .sort(compare)
      .map((groupId) => [appId, groupId, admissionStatus.pending])
    const entries = await this.database.bulk<Entry>(tx, this.table.findPending, keys)
    await this.#close(tx, appId, entries, now)
  }

  async #close(tx: Tx, appId: string, entries: readonly Entry[], now: number): Promise<Int64[]> {
    const open = entries.filter((entry) => isAdmissionOpen(entry, now))
    const keys = this.#keysOf(appId, open)
    await this.database.bulk(
      tx,
      this.table.close,
      keys.map((key) => [now, now, ...key]),
    )
    return open.map(this.table.userOf)
  }

  /** Returns app, group and user of each entry, sorted, so that all callers lock in one order. */
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

  /** Time of the newest change of the rows of {@link list}, ms; 0 without rows. */
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
    return this.database.bulk<Entry>(db, this.table.find, keys)
  }

  /**
   * Inserts or replaces rows.
   * @param rows in the order of the columns of the table's `put`
   */
  protected async putRows(tx: Tx, rows: readonly unknown[][]): Promise<void> {
    await this.database.bulk(tx, this.table.put, rows)
  }

  /**
   * Lists newest first. The sum stands for the owner in the index that has this order, so only that
   * index serves the query; a table without statistics would otherwise be read and sorted.
   */
  protected async listOf(
    db: Queryable,
    appId: string,
    ownerIds: readonly Int64[],
    { before, limit }: StorePage,
  ): Promise<Entry[]> {
    const { name, owner, ids } = this.table
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
    const { rows } =
      await sql<Entry>`select ${sql.raw(camelCaseText(this.table.columns))} from ${sql.table(name)}
      where app_id = ${appId} and ${isListed} ${position ?? sql``}
      order by ${sql.join(newestFirst)} limit ${limit}`.execute(db)
    return rows
  }
}

/** Pending and not closed: a closed entry expires at its last change. */
function isUnanswered({ status, expiresAt, updatedAt }: Admission): boolean {
  return status === admissionStatus.pending && expiresAt > updatedAt
}
