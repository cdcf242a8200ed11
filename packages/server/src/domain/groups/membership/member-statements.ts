/**
 * Bulk statements about members. Rows are sorted in one order for all callers, since concurrent
 * batches would otherwise deadlock.
 */
import { groupStatus } from '@hermod/protocol/enums'
import type { BulkDelete, BulkSelect, BulkUpdate, ColumnType } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { MemberKey } from '../core/group-model.js'

const memberKey = { app_id: 'text', group_id: 'bigint', user_id: 'bigint' } as const
/** Row of {@link lockMemberMarks}. */
export const memberKeyRow = rowOf(memberKey, ({ appId, groupId, userId }: MemberKey) => ({
  app_id: appId,
  group_id: groupId,
  user_id: userId,
}))

const sentMarks = { read_seq: 'bigint', seen_seq: 'bigint' } as const
/** Columns of {@link advanceMembers}. */
export const advancedMemberColumns = { ...sentMarks, ...memberKey } as const

/** Advances the read positions of senders; former members have none. */
export const advanceMembers: BulkUpdate = {
  module: import.meta.url,
  table: 'group_members',
  set: sentMarks,
  keys: memberKey,
}

const readerMarks = {
  read_seq: 'bigint',
  seen_seq: 'bigint',
  acked_seq: 'bigint',
  delivered_seq: 'bigint',
} as const
/** Columns of {@link setMemberMarks}. */
export const writtenMemberMarkColumns = { ...readerMarks, ...memberKey } as const

/** Locks the positions of members until the transaction ends. */
export const lockMemberMarks: BulkSelect = {
  table: 'group_members',
  keys: memberKey,
  columns: `app_id, group_id, user_id, ${Object.keys(readerMarks).join(', ')}`,
  lock: 'for no key update',
}

/** Sets the positions of locked members. */
export const setMemberMarks: BulkUpdate = {
  module: import.meta.url,
  table: 'group_members',
  set: readerMarks,
  keys: memberKey,
}

/** Selects those of the users who are members. */
export const findMembers: BulkSelect = {
  table: 'group_members',
  keys: memberKey,
  columns:
    'group_id, user_id, role, display_name, ban_expires_at, msg_mute_mode, msg_push_mode, joined_at',
}

/** Deletes those of the users who are members. */
export const deleteMembers: BulkDelete = {
  module: import.meta.url,
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
  const made: BulkUpdate = { module: import.meta.url, table: 'group_members', set, keys: memberKey }
  memberUpdates.set(name, made)
  return made
}

/**
 * Counts the groups of users, without dissolved ones. A join would let PostgreSQL choose the
 * starting table; without statistics it may read all groups of the app.
 */
export const countGroups: BulkSelect = {
  table: 'users',
  keys: { app_id: 'text', user_id: 'bigint' },
  columns: `t.user_id, (select count(*) from group_members m where m.app_id = t.app_id and m.user_id = t.user_id
    and (select g.status from groups g where g.app_id = m.app_id and g.group_id = m.group_id) = ${groupStatus.normal}) as groups`,
}

/**
 * Counts the groups of users, including dissolved ones, up to a limit. One statement is prepared
 * per limit, and limits are few.
 */
export function countFewGroups(limit: number): BulkSelect {
  return {
    table: 'users',
    keys: { app_id: 'text', user_id: 'bigint' },
    columns: `t.user_id, (select count(*) from (select 1 from group_members m
      where m.app_id = t.app_id and m.user_id = t.user_id limit ${Number(limit)}) few) as few`,
  }
}
