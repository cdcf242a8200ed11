import { admissionStatus, type Int64 } from '@hermod/protocol'
import type { Selectable } from 'kysely'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import type { GroupInvitationsTable } from '../../../db/schema.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn } from '../core/group-model.js'
import type { ListTotals } from '../core/group-page.js'
import { isGroup } from '../core/group-store.js'
import type { Settlement, StorePage } from './group-admission.js'

/** The latest invitation of a user to a group; times in ms. */
export interface Invitation {
  readonly groupId: Int64
  readonly inviteeId: Int64
  /** 0: an Admin token alone. */
  readonly inviterId: Int64
  readonly reason: string
  readonly status: number
  readonly createdAt: number
  readonly expiresAt: number
  readonly updatedAt: number
}

/** What an invitation begins with; times in ms. */
export interface NewInvitation {
  readonly inviterId: Int64
  readonly reason: string
  readonly createdAt: number
  readonly expiresAt: number
}

const findInvitations: BulkSelect = {
  table: 'group_invitations',
  keys: { app_id: 'text', group_id: 'bigint', invitee_id: 'bigint' },
  columns: 'group_id, status, expires_at',
}
const findConfirms: BulkSelect = {
  table: 'user_settings',
  keys: { app_id: 'text', user_id: 'bigint' },
  columns: 'user_id, group_confirm',
}
const settleOpen: BulkUpdate = {
  module: import.meta.url,
  table: 'group_invitations',
  set: { status: 'smallint', updated_at: 'bigint' },
  keys: { app_id: 'text', group_id: 'bigint', invitee_id: 'bigint', status: 'smallint' },
}

/** Invitations; of each user to each group the latest one. */
export class InvitationStore {
  constructor(private readonly database: Database) {}

  async find(tx: Tx, group: GroupKey, inviteeId: Int64): Promise<Invitation | null> {
    const row = await tx
      .selectFrom('group_invitations')
      .selectAll()
      .where(isGroup(group))
      .where('invitee_id', '=', inviteeId)
      .executeTakeFirst()
    return row ? toInvitation(row) : null
  }

  /** Invites users, also those whose invitation has been answered or has run out. */
  async put(
    tx: Tx,
    { appId, groupId }: GroupKey,
    userIds: readonly Int64[],
    invitation: NewInvitation,
  ): Promise<void> {
    if (userIds.length === 0) return
    const { inviterId, reason, createdAt, expiresAt } = invitation
    const values = {
      inviter_id: inviterId,
      reason,
      status: admissionStatus.pending,
      created_at: createdAt,
      expires_at: expiresAt,
      updated_at: createdAt,
    }
    await tx
      .insertInto('group_invitations')
      .values(
        userIds.map((userId) => ({
          app_id: appId,
          group_id: groupId,
          invitee_id: userId,
          ...values,
        })),
      )
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'group_id', 'invitee_id']).doUpdateSet(values),
      )
      .execute()
  }

  async reject(tx: Tx, group: GroupKey, inviteeId: Int64, at: number): Promise<void> {
    await tx
      .updateTable('group_invitations')
      .set({ status: admissionStatus.rejected, updated_at: at })
      .where(isGroup(group))
      .where('invitee_id', '=', inviteeId)
      .execute()
  }

  /** Whether the user has an invitation that can still be answered. */
  async isInvited(
    db: Queryable,
    { appId, groupId }: GroupKey,
    userId: Int64,
    now: number,
  ): Promise<boolean> {
    return (await this.findInviting(db, appId, userId, [groupId], now)).has(groupId)
  }

  /** Those of the groups to which the user has an invitation that can still be answered. */
  async findInviting(
    db: Queryable,
    appId: string,
    userId: Int64,
    groupIds: readonly Int64[],
    now: number,
  ): Promise<Set<Int64>> {
    const rows = await this.database.bulk<
      Pick<Selectable<GroupInvitationsTable>, 'group_id' | 'status' | 'expires_at'>
    >(
      db,
      findInvitations,
      groupIds.map((groupId) => [appId, groupId, userId]),
    )
    const isAdmissionOpen = ({ status, expires_at }: (typeof rows)[number]) =>
      status === admissionStatus.pending && expires_at > now
    return new Set(rows.filter(isAdmissionOpen).map((row) => row.group_id))
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
      .updateTable('group_invitations')
      .set({ status: admissionStatus[status], updated_at: now })
      .where('app_id', '=', appId)
      .where('group_id', 'in', groupIds)
      .where('status', '=', admissionStatus.pending)
      .execute()
  }

  /** What the user received, and what the user sent. */
  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    // One statement for each column: each has an index of its own.
    for (const column of ['invitee_id', 'inviter_id'] as const)
      await tx
        .deleteFrom('group_invitations')
        .where('app_id', '=', appId)
        .where(column, '=', userId)
        .execute()
  }

  /** What a user received, newest first. @param page.before when it was made, group ID */
  async list(
    db: Queryable,
    appId: string,
    inviteeId: Int64,
    { before, limit }: StorePage,
  ): Promise<Invitation[]> {
    const [createdAt = 0, groupId = 0] = before ?? []
    const rows = await received(db, appId, inviteeId)
      .selectAll()
      .$if(before !== null, (query) =>
        query.where((eb) =>
          eb(eb.refTuple('created_at', 'group_id'), '<', eb.tuple(createdAt, groupId)),
        ),
      )
      .orderBy('created_at', 'desc')
      .orderBy('group_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map(toInvitation)
  }

  async totals(db: Queryable, appId: string, inviteeId: Int64): Promise<ListTotals> {
    const { total, at } = await received(db, appId, inviteeId)
      .select(({ fn }) => [fn.countAll().as('total'), fn.max('updated_at').as('at')])
      .executeTakeFirstOrThrow()
    return { total: Number(total), version: Number(at ?? 0) }
  }

  /** Those of the users who want to be asked before they are in a group (group_confirm). */
  async findCautious(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<Set<Int64>> {
    const rows = await this.database.bulk<{ user_id: Int64; group_confirm: number }>(
      tx,
      findConfirms,
      userIds.map((userId) => [appId, userId]),
    )
    return new Set(
      rows.filter(({ group_confirm }) => group_confirm === 1).map((row) => row.user_id),
    )
  }
}

function received(db: Queryable, appId: string, inviteeId: Int64) {
  return db
    .selectFrom('group_invitations')
    .where('app_id', '=', appId)
    .where('invitee_id', '=', inviteeId)
}

function toInvitation(row: Selectable<GroupInvitationsTable>): Invitation {
  return {
    groupId: row.group_id,
    inviteeId: row.invitee_id,
    inviterId: row.inviter_id,
    reason: row.reason,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    updatedAt: row.updated_at,
  }
}
