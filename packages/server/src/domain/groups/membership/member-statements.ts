import { groupStatus } from '@hermod/protocol/enums'
import type { BulkDelete, BulkSelect, BulkUpdate, ColumnType } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { MemberKey } from '../core/group-model.js'

const memberKey = { app_id: 'text', group_id: 'bigint', user_id: 'bigint' } as const
/** A row of {@link findGroupMembers} and {@link deleteMembers}. */
export const memberKeyRow = rowOf(memberKey, ({ appId, groupId, userId }: MemberKey) => ({
  app_id: appId,
  group_id: groupId,
  user_id: userId,
}))

/** Selects those of the users who are members. */
export const findGroupMembers: BulkSelect = {
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
    columns: `t.user_id, (select count(*) from group_members m where ${countedCondition(counted)}
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
      where ${countedCondition(counted)} limit ${Number(limit)}) few) as few`,
  }
}

function countedCondition(counted: CountedMemberships): string {
  return `m.app_id = t.app_id and m.user_id = t.user_id${counted === 'added' ? ' and m.is_added = 1' : ''}`
}
