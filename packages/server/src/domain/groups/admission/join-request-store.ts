import { admissionStatus, type Int64 } from '@hermod/protocol'
import type { Selectable } from 'kysely'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkUpdate } from '../../../db/dialect/dialect.js'
import type { GroupJoinRequestsTable } from '../../../db/schema.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn } from '../core/group-model.js'
import type { ListTotals } from '../core/group-page.js'
import { isGroup } from '../core/group-store.js'
import type { Settlement, StorePage } from './group-admission.js'

/** The latest request of a user to a group; times in ms. */
export interface JoinRequest {
  readonly groupId: Int64
  readonly applicantId: Int64
  readonly reason: string
  readonly status: number
  readonly createdAt: number
  readonly expiresAt: number
}

type NewJoinRequest = Pick<JoinRequest, 'applicantId' | 'reason' | 'createdAt' | 'expiresAt'>

const settleOpen: BulkUpdate = {
  module: import.meta.url,
  table: 'group_join_requests',
  set: { status: 'smallint', updated_at: 'bigint' },
  keys: { app_id: 'text', group_id: 'bigint', applicant_id: 'bigint', status: 'smallint' },
}

/** Applications for membership; of each user to each group the latest one. */
export class JoinRequestStore {
  constructor(private readonly database: Database) {}

  async find(tx: Tx, group: GroupKey, applicantId: Int64): Promise<JoinRequest | null> {
    const row = await tx
      .selectFrom('group_join_requests')
      .selectAll()
      .where(isGroup(group))
      .where('applicant_id', '=', applicantId)
      .executeTakeFirst()
    return row ? toJoinRequest(row) : null
  }

  /** Replaces an earlier join request of the same user. */
  async put(
    tx: Tx,
    { appId, groupId }: GroupKey,
    { applicantId, reason, createdAt, expiresAt }: NewJoinRequest,
  ): Promise<void> {
    const values = {
      reason,
      status: admissionStatus.pending,
      created_at: createdAt,
      expires_at: expiresAt,
      updated_at: createdAt,
    }
    await tx
      .insertInto('group_join_requests')
      .values({ app_id: appId, group_id: groupId, applicant_id: applicantId, ...values })
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'group_id', 'applicant_id']).doUpdateSet(values),
      )
      .execute()
  }

  async reject(tx: Tx, group: GroupKey, applicantId: Int64, at: number): Promise<void> {
    await tx
      .updateTable('group_join_requests')
      .set({ status: admissionStatus.rejected, updated_at: at })
      .where(isGroup(group))
      .where('applicant_id', '=', applicantId)
      .execute()
  }

  /** Ends what is open between a group and users. */
  async settle(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    { status, now }: Settlement,
  ): Promise<void> {
    const changed = [admissionStatus[status], now]
    await this.database.bulk(
      tx,
      settleOpen,
      keysIn(group, userIds).map((key) => [...changed, ...key, admissionStatus.pending]),
    )
  }

  /** Ends what is open between groups and all users. */
  async settleAll(
    tx: Tx,
    appId: string,
    groupIds: readonly Int64[],
    { status, now }: Settlement,
  ): Promise<void> {
    await tx
      .updateTable('group_join_requests')
      .set({ status: admissionStatus[status], updated_at: now })
      .where('app_id', '=', appId)
      .where('group_id', 'in', groupIds)
      .where('status', '=', admissionStatus.pending)
      .execute()
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('group_join_requests')
      .where('app_id', '=', appId)
      .where('applicant_id', '=', userId)
      .execute()
  }

  /** Newest first. @param page.before when it was made, group ID, applicant ID */
  async list(
    db: Queryable,
    appId: string,
    groupIds: readonly Int64[],
    { before, limit }: StorePage,
  ): Promise<JoinRequest[]> {
    const [createdAt = 0, groupId = 0, applicantId = 0] = before ?? []
    const rows = await ofGroups(db, appId, groupIds)
      .selectAll()
      .$if(before !== null, (query) =>
        query.where((eb) =>
          eb(
            eb.refTuple('created_at', 'group_id', 'applicant_id'),
            '<',
            eb.tuple(createdAt, groupId, applicantId),
          ),
        ),
      )
      .orderBy('created_at', 'desc')
      .orderBy('group_id', 'desc')
      .orderBy('applicant_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map(toJoinRequest)
  }

  async totals(db: Queryable, appId: string, groupIds: readonly Int64[]): Promise<ListTotals> {
    const { total, at } = await ofGroups(db, appId, groupIds)
      .select(({ fn }) => [fn.countAll().as('total'), fn.max('updated_at').as('at')])
      .executeTakeFirstOrThrow()
    return { total: Number(total), version: Number(at ?? 0) }
  }
}

function ofGroups(db: Queryable, appId: string, groupIds: readonly Int64[]) {
  return db
    .selectFrom('group_join_requests')
    .where('app_id', '=', appId)
    .where('group_id', 'in', groupIds)
}

function toJoinRequest(row: Selectable<GroupJoinRequestsTable>): JoinRequest {
  return {
    groupId: row.group_id,
    applicantId: row.applicant_id,
    reason: row.reason,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
