/** The data of the model server: plain objects, so that a copy is a backup. */

export interface LogName {
  readonly low_id: number
  readonly high_id: number
  readonly is_group: boolean
}

export interface ModelMessage {
  readonly msg_id: number
  readonly seq: number
  readonly sender_id: number
  readonly sender_device_sn: number
  readonly content_type: number
  readonly content: string
  readonly attachment: string
  readonly config: string
  readonly ext: string
  readonly is_system: boolean
  readonly timestamp: number
  readonly edit_timestamp: number
  readonly reply_to?: { readonly msg_id: number; readonly seq: number }
  /** A field that the client does not know. */
  readonly mark?: string
  readonly reactions?: readonly { key: string; count: number; latest: readonly number[] }[]
  readonly pinned?: { readonly by: number; readonly at: number }
  readonly stream?: { readonly kind: string; readonly state: string; readonly reason?: string }
  /** The rows of its reactions, in no answer. */
  readonly reacted?: readonly ModelReaction[]
  /** Of a message that is being written: the text so far, and the next index. */
  readonly written?: { readonly text: string; readonly next: number }
}

export interface ModelReaction {
  readonly userId: number
  readonly key: string
  /** The number of the change that has added it. */
  readonly change: number
}

/** A number of a log: what happened to which position. */
export interface ModelChange {
  readonly kind: 'stored' | 'edited' | 'updated' | 'recalled'
  readonly seq: number
  /** Of a recall. */
  readonly actorId: number
  readonly timestamp: number
}

/** The positions of a user in a log. */
export interface Positions {
  read: number
  /** Nothing up to this position is unread. */
  seen: number
  delivered: number
  hiddenMsgId: number
}

export interface ModelLog {
  readonly name: LogName
  /** By number, from 1. */
  readonly changes: ModelChange[]
  /** By position, from 1; undefined: recalled. */
  readonly messages: (ModelMessage | undefined)[]
  /** By position, also of recalled messages. */
  readonly ids: number[]
  readonly senders: number[]
  /** Positions of notifications, also of recalled ones. */
  readonly notifications: Set<number>
  /** Texts by position, as they were sent. */
  readonly originals: string[]
  /** Transaction IDs by position; 0: none. */
  readonly transactions: number[]
  /** All edits, oldest first. */
  readonly edits: { readonly msgId: number; readonly content: string }[]
  /** Changes up to this number cannot be listed any more. */
  keptFrom: number
  readonly positions: Map<number, Positions>
}

export interface Membership {
  /** Last message before the user joined. */
  readonly joinedMsgId: number
  readonly joinedAt: number
  muteMode: number
  pushMode: number
  /** Spans of positions that came while `muteMode` was 2: from exclusive, to inclusive. */
  readonly muted: { readonly from: number; to: number }[]
}

export interface ModelGroup {
  readonly id: number
  name: string
  status: number
  version: number
  updatedAt: number
  readonly isHistoryVisible: boolean
  readonly members: Map<number, Membership>
}

export interface ModelUser {
  readonly id: number
  nickName: string
  /** Broadcasts up to this ID are not for the user. */
  readonly broadcastsAfter: number
  readonly pins: number[]
  /** Alias by user ID. */
  readonly contacts: Map<number, string>
  /** Users whose requests wait for an answer. */
  readonly requests: Set<number>
  devices: number
  readonly deviceSn: Map<string, number>
}

/** A row of the outbox: what it concerns, and whom it names. */
export interface OutboxRow {
  readonly time: number
  readonly logs: readonly { readonly key: string; readonly change: number | null }[]
  readonly groups: readonly number[]
  readonly users: readonly number[]
}

/** The newest change of a thing of a user. */
export interface UserChange {
  readonly kind: number
  readonly ref: number
  readonly pos: number
}

export interface Database {
  readonly epoch: string
  /** A new reaction takes the place of another one of the same user. */
  readonly hasOneReaction: boolean
  nextMsgId: number
  readonly users: Map<number, ModelUser>
  readonly groups: Map<number, ModelGroup>
  readonly logs: Map<string, ModelLog>
  /** By position, from 1. */
  readonly rows: OutboxRow[]
  /** Rows up to this position are purged. */
  purgedTo: number
  /** By user, then by kind and ref. */
  readonly userChanges: Map<number, Map<string, UserChange>>
  /** Results of sends by user and transaction ID. */
  readonly transactions: Map<string, { readonly time: number; readonly msgIds: number[] }>
}

export const broadcastLowId = -1
/** The mute mode of members who get no events of messages. */
export const notReceived = 2

export const direct = (a: number, b: number): LogName => ({
  low_id: Math.min(a, b),
  high_id: Math.max(a, b),
  is_group: false,
})
export const group = (id: number): LogName => ({ low_id: id, high_id: id, is_group: true })
export const broadcasts = (senderId: number): LogName => ({
  low_id: broadcastLowId,
  high_id: senderId,
  is_group: false,
})

export const keyOf = ({ low_id, high_id, is_group }: LogName): string =>
  is_group
    ? `group ${low_id}`
    : low_id === broadcastLowId
      ? `from ${high_id}`
      : `${low_id} ${high_id}`

export const kindOf = ({ low_id, is_group }: LogName): 'direct' | 'group' | 'broadcast' =>
  is_group ? 'group' : low_id === broadcastLowId ? 'broadcast' : 'direct'

/** The other user of a log, or its group. */
export function peerOf({ low_id, high_id, is_group }: LogName, userId: number): number {
  if (is_group || low_id === broadcastLowId || high_id !== userId) return high_id
  return low_id
}

export function logOf(database: Database, name: LogName): ModelLog {
  const key = keyOf(name)
  let log = database.logs.get(key)
  if (!log) {
    log = {
      name,
      changes: [],
      messages: [],
      ids: [],
      senders: [],
      notifications: new Set(),
      originals: [],
      transactions: [],
      edits: [],
      keptFrom: 0,
      positions: new Map(),
    }
    database.logs.set(key, log)
  }
  return log
}

export function positionsOf({ positions }: ModelLog, userId: number): Positions {
  let found = positions.get(userId)
  if (!found) {
    found = { read: 0, seen: 0, delivered: 0, hiddenMsgId: 0 }
    positions.set(userId, found)
  }
  return found
}

export const userOf = (database: Database, id: number): ModelUser => {
  const user = database.users.get(id)
  if (!user) throw new Error(`the model has no user ${id}`)
  return user
}

/** Tests whether a user reads a log now. */
export function isReader(
  database: Database,
  { low_id, high_id, is_group }: LogName,
  userId: number,
) {
  if (is_group) return database.groups.get(low_id)?.members.has(userId) ?? false
  if (low_id === broadcastLowId) return true
  return low_id === userId || high_id === userId
}

/** The message up to which everything is hidden from a reader. */
export function hiddenFrom(database: Database, log: ModelLog, userId: number): number {
  const hidden = log.positions.get(userId)?.hiddenMsgId ?? 0
  const { low_id, is_group } = log.name
  if (low_id === broadcastLowId) return Math.max(hidden, userOf(database, userId).broadcastsAfter)
  const of = is_group ? database.groups.get(low_id) : undefined
  if (!of || of.isHistoryVisible) return hidden
  return Math.max(hidden, of.members.get(userId)?.joinedMsgId ?? Number.MAX_SAFE_INTEGER)
}

/** Messages of others that a user has not read. */
export function unreadOf(database: Database, log: ModelLog, userId: number): number {
  const { low_id, high_id, is_group } = log.name
  const of = is_group ? database.groups.get(low_id) : undefined
  if (of?.status === 1) return 0
  if (low_id === broadcastLowId && high_id === userId) return 0
  const membership = of?.members.get(userId)
  const hidden = low_id === broadcastLowId ? hiddenFrom(database, log, userId) : 0
  let count = 0
  for (let seq = (log.positions.get(userId)?.seen ?? 0) + 1; seq <= log.messages.length; seq++) {
    const message = log.messages[seq - 1]
    if (!message || message.sender_id === userId || message.msg_id <= hidden) continue
    if (membership?.muted.some(({ from, to }) => seq > from && seq <= to)) continue
    count++
  }
  return count
}

/** Tests whether a log is one of the user's. */
export function hasLog(database: Database, log: ModelLog, userId: number): boolean {
  const { name, ids } = log
  if (!isReader(database, name, userId)) return false
  if (name.low_id !== broadcastLowId) return name.is_group || ids.length > 0
  return (ids.at(-1) ?? 0) > userOf(database, userId).broadcastsAfter
}
