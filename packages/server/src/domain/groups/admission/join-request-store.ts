import { admissionStatus, type Int64 } from '@hermod/protocol'
import { columnsOf } from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkInsert, BulkSelect } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import { groupJoinRequestsTable, groupsTable } from '../../../db/schema.js'
import type { GroupKey } from '../core/group-model.js'
import {
  type Admission,
  AdmissionStore,
  type AdmissionTable,
  admissionStatements,
} from './admission-store.js'
import type { StorePage } from './group-admission.js'

/** A request of a user to join a group. */
export interface JoinRequest extends Admission {
  readonly applicantId: Int64
}

type NewJoinRequest = Pick<JoinRequest, 'applicantId' | 'reason' | 'createdAt' | 'expiresAt'>

const putRequests: BulkInsert = {
  table: 'group_join_requests',
  columns: groupJoinRequestsTable,
  conflict: `on conflict (app_id, group_id, applicant_id) do update set reason = excluded.reason, status = excluded.status,
    created_at = excluded.created_at, expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
}
const eraseRequests: BulkDelete = {
  deleteFrom: 'group_join_requests',
  keys: columnsOf(groupJoinRequestsTable, 'app_id', 'applicant_id'),
}
/**
 * Both operands are expressions, since SQLite does not use an index on an expression for the value
 * of a column. Exported for the test of its query plan.
 */
export const findLastRequestChange: BulkSelect = {
  table: 'groups',
  keys: columnsOf(groupsTable, 'app_id', 'group_id'),
  columns: `(select max(r.updated_at) from group_join_requests r
    where r.app_id = t.app_id and r.group_id + 0 = t.group_id + 0) as changed_at`,
}

const joinRequests: AdmissionTable<JoinRequest> = {
  name: 'group_join_requests',
  ...admissionStatements('group_join_requests', groupJoinRequestsTable, 'applicant_id'),
  put: putRequests,
  userOf: ({ applicantId }) => applicantId,
  erase: [eraseRequests],
  owner: 'group_id',
  lastChange: findLastRequestChange,
  ids: ['group_id', 'applicant_id'],
}

const requestRow = rowOf(groupJoinRequestsTable)

/** The latest join request of each user to each group. The row of the group counts them. */
export class JoinRequestStore extends AdmissionStore<JoinRequest> {
  constructor(database: Database) {
    super(database, joinRequests)
  }

  /** Replaces an earlier join request of the same user. */
  async put(tx: Tx, { appId, groupId }: GroupKey, request: NewJoinRequest): Promise<void> {
    await this.putRows(tx, [
      requestRow({
        ...request,
        appId,
        groupId,
        status: admissionStatus.pending,
        updatedAt: request.createdAt,
      }),
    ])
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
