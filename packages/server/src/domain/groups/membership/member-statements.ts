/** Bulk statements of members. All callers sort their rows alike, or concurrent batches deadlock. */
import type { Int64 } from '@hermod/protocol'
import { groupStatus } from '@hermod/protocol/enums'
import type { BulkDelete, BulkSelect, BulkUpdate, ColumnType } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { MemberKey } from '../core/group-model.js'

const memberKey = { app_id: 'text', group_id: 'bigint', user_id: 'bigint' } as const
/** A row of {@link lockMemberPositions}, {@link findMembers} and {@link deleteMembers}. */
export const memberKeyRow = rowOf(memberKey, ({ appId, groupId, userId }: MemberKey) => ({
  app_id: appId,
  group_id: groupId,
  user_id: userId,
}))

const sentPositions = { read_seq: 'bigint', seen_seq: 'bigint' } as const

/** Moves the read positions of members who have sent. Skips users who are no members any more. */
export const advanceMembers: BulkUpdate = {
  table: 'group_members',
  set: sentPositions,
  keys: memberKey,
}

export const advancedMemberRow = rowOf(
  { ...sentPositions, ...memberKey },
  ({ appId, groupId, userId }: MemberKey, seq: number) => ({
    read_seq: seq,
    seen_seq: seq,
    app_id: appId,
    group_id: groupId,
    user_id: userId,
  }),
)

const readerPositions = {
  read_seq: 'bigint',
  seen_seq: 'bigint',
  acked_seq: 'bigint',
  delivered_seq: 'bigint',
} as const

/** The positions of a member in the conversation of the group. */
export interface MemberPositionsRow {
  readonly app_id: string
  readonly group_id: Int64
  readonly user_id: Int64
  read_seq: number
  seen_seq: number
  acked_seq: number
  delivered_seq: number
}

/** Locks the positions of members. */
export const lockMemberPositions: BulkSelect = {
  table: 'group_members',
  keys: memberKey,
  columns: `app_id, group_id, user_id, ${Object.keys(readerPositions).join(', ')}`,
  lock: 'for no key update',
}

/** Sets the positions of locked members. */
export const setMemberPositions: BulkUpdate = {
  table: 'group_members',
  set: readerPositions,
  keys: memberKey,
}

export const memberPositionsRow = rowOf(
  { ...readerPositions, ...memberKey },
  (row: MemberPositionsRow) => ({
    read_seq: row.read_seq,
    seen_seq: row.seen_seq,
    acked_seq: row.acked_seq,
    delivered_seq: row.delivered_seq,
    app_id: row.app_id,
    group_id: row.group_id,
    user_id: row.user_id,
  }),
)

/** Selects those of the users who are members. */
export const findMembers: BulkSelect = {
  table: 'group_members',
  keys: memberKey,
  columns:
    'group_id, user_id, role, display_name, ban_expires_at, msg_mute_mode, msg_push_mode, joined_at',
}

/** Deletes those of the users who are members. */
export const deleteMembers: BulkDelete = {
  deleteFrom: 'group_members',
  keys: memberKey,
}

/** Columns of members that change. */
export const changedColumns = {
  role: 'smallint',
  display_name: 'text',
  ban_expires_at: 'bigint',
  msg_mute_mode: 'smallint',
  msg_push_mode: 'smallint',
  seen_seq: 'bigint',
  muted_seq: 'bigint',
  gaps_end_seq: 'bigint',
} as const satisfies Record<string, ColumnType>

const memberUpdates = new Map<string, BulkUpdate>()

/** Returns the statement that sets these columns. */
export function updateMembers(columns: readonly (keyof typeof changedColumns)[]): BulkUpdate {
  const name = columns.join()
  const known = memberUpdates.get(name)
  if (known) return known
  const set = Object.fromEntries(columns.map((column) => [column, changedColumns[column]]))
  const made: BulkUpdate = { table: 'group_members', set, keys: memberKey }
  memberUpdates.set(name, made)
  return made
}

/** The memberships of a user that count: all, or those that others made (rule F4b). */
export type CountedMemberships = 'all' | 'added'

/**
 * Counts the groups of users, without dissolved ones. A join would let PostgreSQL choose the
 * starting table; without statistics it may read all groups of the app.
 */
export function countGroups(counted: CountedMemberships): BulkSelect {
  return {
    table: 'users',
    keys: { app_id: 'text', user_id: 'bigint' },
    columns: `t.user_id, (select count(*) from group_members m where ${isCounted(counted)}
      and (select g.status from groups g where g.app_id = m.app_id and g.group_id = m.group_id) = ${groupStatus.normal}) as groups`,
  }
}

/**
 * Counts the groups of users, including dissolved ones, up to a limit. One statement is prepared
 * per limit, and limits are few.
 */
export function countFewGroups(counted: CountedMemberships, limit: number): BulkSelect {
  return {
    table: 'users',
    keys: { app_id: 'text', user_id: 'bigint' },
    columns: `t.user_id, (select count(*) from (select 1 from group_members m
      where ${isCounted(counted)} limit ${Number(limit)}) few) as few`,
  }
}

function isCounted(counted: CountedMemberships): string {
  return `m.app_id = t.app_id and m.user_id = t.user_id${counted === 'added' ? ' and m.is_added = 1' : ''}`
}
