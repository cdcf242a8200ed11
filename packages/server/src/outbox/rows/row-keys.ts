import { broadcastUserId, type Int64 } from '@hermod/protocol'
import { type EventAudience, eventDefinitions } from '@hermod/protocol/events'
import type { MessageReader } from '../consumer.js'
import type { ChangedLog, RowLog } from './log-key.js'
import type { OutboxRow } from '../outbox-store.js'

/** The keys by which a row of the outbox concerns users; it holds no content. */
export interface RowKeys {
  readonly position: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The logs whose head may have changed. */
  readonly logs: readonly ChangedLog[]
  /** The groups that may have changed. */
  readonly groupIds: readonly Int64[]
  readonly userIds: readonly Int64[]
  /** True: the row concerns only the users in `userIds`, also in its logs and groups. */
  readonly isPrivate: boolean
}

/** The parts of a payload that name its logs, groups and users. */
interface NamedKeys {
  readonly actor_id?: Int64
  readonly user_ids?: readonly Int64[]
  readonly group_id?: Int64
  readonly change?: number
  readonly conversation?: {
    readonly low_id: Int64
    readonly high_id: Int64
    readonly is_group: boolean
  }
}

const privateAudiences: readonly EventAudience[] = ['actor', 'users', 'both', 'none']
const none: readonly never[] = []

/** Returns the keys of a row. */
export function keysOfRow(
  { position, kind, payload, createdAt }: OutboxRow,
  messages: Pick<MessageReader, 'logs'>,
): RowKeys {
  if (kind === 'message.stored')
    return rowKeys(position, createdAt, { logs: messages.logs(payload), isPrivate: false })
  // Clients of all users read their lists anew.
  if (kind === 'import.finished')
    return rowKeys(position, createdAt, { logs: none, groupIds: [everyone], isPrivate: false })
  const {
    actor_id,
    user_ids = none,
    group_id,
    conversation,
    change,
  } = JSON.parse(payload) as NamedKeys
  const { audience } = eventDefinitions[kind]
  const isOfDirectLog =
    conversation !== undefined && !conversation.is_group && conversation.low_id !== broadcastUserId
  const actor = actor_id === undefined || audience === 'users' ? none : [actor_id]
  const { low_id: lowId = 0, high_id: highId = 0, is_group: isGroup = false } = conversation ?? {}
  return rowKeys(position, createdAt, {
    logs: conversation ? [{ lowId, highId, isGroup, change: change ?? null }] : none,
    groupIds: group_id === undefined ? none : [group_id],
    userIds: audience === 'actor' ? actor : [...actor, ...user_ids],
    // A position that one party moves is part of the heads of both.
    isPrivate: privateAudiences.includes(audience) && !(isOfDirectLog && audience === 'users'),
  })
}

function rowKeys(
  position: number,
  createdAt: number,
  {
    logs,
    groupIds = none,
    userIds = none,
    isPrivate,
  }: Partial<RowKeys> & Pick<RowKeys, 'logs' | 'isPrivate'>,
): RowKeys {
  return { position, createdAt, logs, groupIds, userIds, isPrivate }
}

/** A user, and the groups that the user is a member of, each once. */
export interface RowReader {
  readonly userId: Int64
  readonly groupIds: Iterable<Int64>
}

/** A reader whose groups are looked up. */
export interface UserWithGroups extends RowReader {
  readonly groupIds: ReadonlySet<Int64>
}

/** Stands for a group with all users, who read the broadcast streams. */
export const everyone = broadcastUserId

/** Returns the users that a row concerns, whatever their groups are. A user may be named twice. */
export function usersOfRow({ userIds, isPrivate, logs }: RowKeys): Int64[] {
  const all = [...userIds]
  if (!isPrivate)
    for (const { lowId, highId, isGroup } of logs)
      if (!isGroup && lowId !== broadcastUserId) all.push(lowId, highId)
  return all
}

/** Returns the groups with members that a row concerns. A group may be named twice. */
export function groupsOfRow({ groupIds, isPrivate, logs }: RowKeys): Int64[] {
  if (isPrivate) return []
  const all = [...groupIds]
  for (const { lowId, isGroup } of logs)
    if (isGroup) all.push(lowId)
    else if (lowId === broadcastUserId) all.push(everyone)
  return all
}

/** Tests whether the reader has the log. */
export function hasLog({ lowId, highId, isGroup }: RowLog, reader: UserWithGroups): boolean {
  if (isGroup) return reader.groupIds.has(lowId)
  return lowId === broadcastUserId || lowId === reader.userId || highId === reader.userId
}
