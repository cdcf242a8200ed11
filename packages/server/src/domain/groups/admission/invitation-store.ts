import { admissionStatus, type Int64 } from '@hermod/protocol'
import { camelCaseText, columnsOf } from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkInsert, BulkSelect } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import {
  groupInvitationCountsTable,
  groupInvitationsTable,
  userSettingsTable,
  usersTable,
} from '../../../db/schema.js'
import { compare } from '../../../lib/compare.js'
import type { StoredSettings, UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn } from '../core/group-model.js'
import {
  type Admission,
  AdmissionStore,
  type AdmissionTable,
  admissionStatements,
} from './admission-store.js'
import { isAdmissionOpen, type StorePage } from './group-admission.js'

/** An invitation of a user to a group. */
export interface Invitation extends Admission {
  readonly inviteeId: Int64
  /** 0: an Admin token alone. */
  readonly inviterId: Int64
}

interface NewInvitation {
  readonly inviterId: Int64
  readonly reason: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** The columns of user_settings by which a user decides on additions. */
export type AdditionSettings = Pick<StoredSettings, 'group_confirm' | 'stranger_chat'>

const putInvitations: BulkInsert = {
  table: 'group_invitations',
  columns: groupInvitationsTable,
  conflict: `on conflict (app_id, group_id, invitee_id) do update set inviter_id = excluded.inviter_id, reason = excluded.reason,
    status = excluded.status, created_at = excluded.created_at, expires_at = excluded.expires_at, updated_at = excluded.updated_at`,
}
const eraseReceived: BulkDelete = {
  deleteFrom: 'group_invitations',
  keys: columnsOf(groupInvitationsTable, 'app_id', 'invitee_id'),
}
/** Locks invitations; a transaction that deletes them waits. */
const lockInvitations: BulkSelect = {
  table: 'group_invitations',
  keys: columnsOf(groupInvitationsTable, 'app_id', 'group_id', 'invitee_id'),
  columns: camelCaseText(['invitee_id'], 't'),
  lock: 'for update',
}
const addToCounts: BulkInsert = {
  table: 'group_invitation_counts',
  columns: groupInvitationCountsTable,
  conflict:
    'on conflict (app_id, user_id) do update set invitations = t.invitations + excluded.invitations',
}
const eraseCount: BulkDelete = {
  deleteFrom: 'group_invitation_counts',
  keys: columnsOf(groupInvitationCountsTable, 'app_id', 'user_id'),
}
/** Exported for the test of its query plan. */
export const findLastInvitationChange: BulkSelect = {
  table: 'users',
  keys: columnsOf(usersTable, 'app_id', 'user_id'),
  columns: `(select max(i.updated_at) from group_invitations i
    where i.app_id = t.app_id and i.invitee_id = t.user_id) as changed_at`,
}
const findAdditionSettings: BulkSelect = {
  table: 'user_settings',
  keys: columnsOf(userSettingsTable, 'app_id', 'user_id'),
  columns: 'user_id, group_confirm, stranger_chat',
}

const invitations: AdmissionTable<Invitation> = {
  name: 'group_invitations',
  ...admissionStatements('group_invitations', groupInvitationsTable, 'invitee_id'),
  put: putInvitations,
  userOf: ({ inviteeId }) => inviteeId,
  erase: [eraseReceived, eraseCount],
  owner: 'invitee_id',
  lastChange: findLastInvitationChange,
  ids: ['group_id'],
}

const invitationRow = rowOf(groupInvitationsTable)
const countRow = rowOf(groupInvitationCountsTable)

/** The latest invitation of each user to each group, and the number that each user has received. */
export class InvitationStore extends AdmissionStore<Invitation> {
  constructor(database: Database) {
    super(database, invitations)
  }

  /**
   * Invites users, including those with an answered or expired invitation. The transaction has
   * locked the group.
   */
  async put(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    invitation: NewInvitation,
  ): Promise<void> {
    const sorted = [...userIds].sort(compare)
    const entry = {
      ...{ appId: group.appId, groupId: group.groupId, ...invitation },
      status: admissionStatus.pending,
      updatedAt: invitation.createdAt,
    }
    const known = await this.database.bulk<{ inviteeId: Int64 }>(
      tx,
      lockInvitations,
      keysIn(group, sorted),
    )
    const knownIds = new Set(known.map((row) => row.inviteeId))
    await this.putRows(
      tx,
      sorted.map((inviteeId) => invitationRow({ ...entry, inviteeId })),
    )
    const added = sorted.filter((userId) => !knownIds.has(userId))
    await this.#count(tx, group.appId, new Map(added.map((userId) => [userId, 1])))
  }

  /** Deletes the invitations that the user received or sent. */
  override async eraseUser(tx: Tx, user: UserKey): Promise<void> {
    const sent = await tx
      .deleteFrom('group_invitations')
      .where('app_id', '=', user.appId)
      .where('inviter_id', '=', user.userId)
      .returning('invitee_id')
      .execute()
    const gone = new Map<Int64, number>()
    for (const { invitee_id: userId } of sent) gone.set(userId, (gone.get(userId) ?? 0) - 1)
    await this.#count(tx, user.appId, gone)
    await super.eraseUser(tx, user)
  }

  /** Tests whether the user has an invitation that can still be answered. */
  async isInvited(
    db: Queryable,
    { appId, groupId }: GroupKey,
    userId: Int64,
    now: number,
  ): Promise<boolean> {
    return (await this.findInviting(db, appId, userId, [groupId], now)).has(groupId)
  }

  /** Returns the groups to which the user has an invitation that can still be answered. */
  async findInviting(
    db: Queryable,
    appId: string,
    userId: Int64,
    groupIds: readonly Int64[],
    now: number,
  ): Promise<Set<Int64>> {
    const found = await this.findRows(
      db,
      groupIds.map((groupId) => [appId, groupId, userId]),
    )
    const open = found.filter((invitation) => isAdmissionOpen(invitation, now))
    return new Set(open.map(({ groupId }) => groupId))
  }

  /**
   * Lists the invitations that a user received, newest first.
   * @param page.before creation time, group ID
   */
  async list(
    db: Queryable,
    appId: string,
    inviteeId: Int64,
    page: StorePage,
  ): Promise<Invitation[]> {
    return this.listOf(db, appId, [inviteeId], page)
  }

  /** Number of entries in {@link list}. */
  async count(db: Queryable, appId: string, inviteeId: Int64): Promise<number> {
    const row = await db
      .selectFrom('group_invitation_counts')
      .select('invitations')
      .where('app_id', '=', appId)
      .where('user_id', '=', inviteeId)
      .executeTakeFirst()
    return row?.invitations ?? 0
  }

  /** Returns the settings by which users decide on additions to groups, by user. */
  async findAdditionSettings(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
  ): Promise<Map<Int64, AdditionSettings>> {
    const rows = await this.database.bulk<AdditionSettings & { user_id: Int64 }>(
      tx,
      findAdditionSettings,
      userIds.map((userId) => [appId, userId]),
    )
    return new Map(rows.map((row) => [row.user_id, row]))
  }

  /** @param added change of each user's number of invitations */
  async #count(tx: Tx, appId: string, added: ReadonlyMap<Int64, number>): Promise<void> {
    const rows = [...added]
      .sort(([a], [b]) => compare(a, b))
      .map(([userId, invitations]) => countRow({ appId, userId, invitations }))
    await this.database.bulk(tx, addToCounts, rows)
  }
}
