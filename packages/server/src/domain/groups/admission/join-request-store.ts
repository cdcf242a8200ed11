import { admissionStatus, type Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkInsert, BulkSelect } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { GroupKey } from '../core/group-model.js'
import {
  type Admission,
  type AdmissionRow,
  AdmissionStore,
  type AdmissionTable,
  admissionColumns,
  admissionStatements,
} from './admission-store.js'
import type { StorePage } from './group-admission.js'

export interface JoinRequest extends Admission {
  readonly applicantId: Int64
}

type NewJoinRequest = Pick<JoinRequest, 'applicantId' | 'reason' | 'createdAt' | 'expiresAt'>

interface JoinRequestRow extends AdmissionRow {
  readonly applicant_id: Int64
}

const requestColumns = { ...admissionColumns, applicant_id: 'bigint' } as const
const putRequests: BulkInsert = {
  table: 'group_join_requests',
  columns: requestColumns,
  conflict: `on conflict (app_id, group_id, applicant_id) do update set reason = excluded.reason, status = excluded.status,
    created_at = excluded.created_at, expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
}
const eraseRequests: BulkDelete = {
  deleteFrom: 'group_join_requests',
  keys: { app_id: 'text', applicant_id: 'bigint' },
}
/**
 * Both operands are expressions, since SQLite does not use an index on an expression for the value
 * of a column. Exported for the test of its query plan.
 */
export const findLastRequestChange: BulkSelect = {
  table: 'groups',
  keys: { app_id: 'text', group_id: 'bigint' },
  columns: `(select max(r.updated_at) from group_join_requests r
    where r.app_id = t.app_id and r.group_id + 0 = t.group_id + 0) as changed_at`,
}

const joinRequests: AdmissionTable<JoinRequestRow, JoinRequest> = {
  name: 'group_join_requests',
  ...admissionStatements('group_join_requests', 'applicant_id'),
  put: putRequests,
  userOf: ({ applicantId }) => applicantId,
  erase: [eraseRequests],
  owner: 'group_id',
  lastChange: findLastRequestChange,
  ids: ['group_id', 'applicant_id'],
  toEntry: (row) => ({
    groupId: row.group_id,
    applicantId: row.applicant_id,
    reason: row.reason,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    updatedAt: row.updated_at,
  }),
}

const requestRow = rowOf(
  requestColumns,
  ({ appId, groupId }: GroupKey, request: NewJoinRequest) => ({
    app_id: appId,
    group_id: groupId,
    reason: request.reason,
    status: admissionStatus.pending,
    updated_at: request.createdAt,
    created_at: request.createdAt,
    expires_at: request.expiresAt,
    applicant_id: request.applicantId,
  }),
)

/** The latest join request of each user to each group. The row of the group counts them. */
export class JoinRequestStore extends AdmissionStore<JoinRequestRow, JoinRequest> {
  constructor(database: Database) {
    super(database, joinRequests)
  }

  /** Replaces an earlier join request of the same user. */
  async put(tx: Tx, group: GroupKey, request: NewJoinRequest): Promise<void> {
    await this.putRows(tx, [requestRow(group, request)])
  }

  /**
   * Lists the join requests to the groups, newest first.
   * @param page.before creation time, group ID, applicant ID
   */
  async list(
    db: Queryable,
    appId: string,
    groupIds: readonly Int64[],
    page: StorePage,
  ): Promise<JoinRequest[]> {
    return this.listOf(db, appId, groupIds, page)
  }
}
