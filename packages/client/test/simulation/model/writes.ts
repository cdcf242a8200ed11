/**
 * Everything that users do: each function changes the data, and returns the row of the outbox and
 * the events of it.
 */
import type { Json } from '@hermod/testkit'
import { eventMessageFor, recallOf } from './answers.js'
import {
  broadcastLowId,
  broadcasts,
  type Database,
  direct,
  group,
  hiddenFrom,
  keyOf,
  type LogName,
  logOf,
  type ModelGroup,
  type ModelLog,
  type ModelMessage,
  type ModelReaction,
  notReceived,
  type OutboxRow,
  peerOf,
  positionsOf,
  userOf,
} from './state.js'

/** An event for connected devices, before it is written for each of them. */
export interface ModelEvent {
  readonly event: string
  /** Events of a lane keep their order. */
  readonly lane: string
  readonly change?: number
  readonly users: readonly number[]
  /** Of a change: the position, which may be recalled before the event is written. */
  readonly seq?: number
  readonly dataFor: (userId: number) => Json
  /** Users who get `change.skipped` in its place. */
  readonly skippedFor?: ReadonlySet<number>
}

export interface Write {
  readonly row: Omit<OutboxRow, 'time'>
  readonly events: readonly ModelEvent[]
  /** User changes: kind and ref by user. */
  readonly userChanges?: readonly {
    readonly user: number
    readonly kind: number
    readonly ref: number
  }[]
}

/** Kinds of user changes, as the contract numbers them. */
export const kinds = { contact: 0, contactRequest: 1, group: 2, profile: 5, pins: 8 } as const

export interface Draft {
  readonly content: string
  readonly content_type?: number
  readonly attachment?: string
  readonly config?: string
  readonly ext?: string
  readonly deviceSn?: number
  readonly transactionId?: number
  readonly isSystem?: boolean
  readonly replyTo?: ModelMessage['reply_to']
  /** The message is being written. */
  readonly isStream?: boolean
}

const nobody: readonly number[] = []

const readersOf = (database: Database, { low_id, high_id, is_group }: LogName): number[] => {
  if (low_id === broadcastLowId) return [...database.users.keys()]
  if (is_group) return [...(database.groups.get(low_id)?.members.keys() ?? [])]
  return low_id === high_id ? [low_id] : [low_id, high_id]
}

/** Readers who get numbered events live. */
function liveReaders(database: Database, name: LogName): number[] {
  const members = name.is_group ? database.groups.get(name.low_id)?.members : undefined
  return readersOf(database, name).filter((id) => members?.get(id)?.muteMode !== notReceived)
}

function changeEvent(
  database: Database,
  log: ModelLog,
  event: string,
  { seq, dataFor }: { readonly seq: number; readonly dataFor: (userId: number) => Json },
): ModelEvent {
  const id = log.ids[seq - 1] ?? 0
  const users = liveReaders(database, log.name)
  return {
    event,
    lane: keyOf(log.name),
    change: log.changes.length,
    seq,
    users,
    skippedFor: new Set(users.filter((userId) => id <= hiddenFrom(database, log, userId))),
    dataFor,
  }
}

const rowOf = (log: ModelLog, users = nobody): Omit<OutboxRow, 'time'> => ({
  logs: [{ key: keyOf(log.name), change: log.changes.length }],
  groups: [],
  users,
})

/** Stores a message, which reads both logs of the peer for its sender. */
export function store(
  database: Database,
  name: LogName,
  {
    senderId,
    now,
    draft,
  }: { readonly senderId: number; readonly now: number; readonly draft: Draft },
): { write: Write; msgId: number } {
  const log = logOf(database, name)
  const seq = log.messages.length + 1
  const {
    content,
    content_type = 0,
    attachment = '',
    config = '',
    ext = '',
    isSystem = false,
  } = draft
  const message: ModelMessage = {
    msg_id: database.nextMsgId++,
    seq,
    sender_id: senderId,
    sender_device_sn: draft.deviceSn ?? 0,
    content_type,
    content,
    attachment,
    config,
    ext,
    is_system: isSystem,
    timestamp: now,
    edit_timestamp: 0,
    ...(draft.replyTo && { reply_to: draft.replyTo }),
    ...(draft.isStream && {
      stream: { kind: 'text', state: 'open' },
      written: { text: '', next: 1 },
    }),
  }
  log.messages.push(message)
  log.ids.push(message.msg_id)
  log.senders.push(senderId)
  if (isSystem) log.notifications.add(seq)
  log.originals.push(content)
  log.transactions.push(draft.transactionId ?? 0)
  log.changes.push({ kind: 'stored', seq, actorId: senderId, timestamp: now })
  const members = name.is_group ? database.groups.get(name.low_id)?.members : undefined
  for (const { muteMode, muted } of members?.values() ?? [])
    if (muteMode === notReceived) (muted.at(-1) as { to: number }).to = seq
  if (!isSystem && name.low_id !== broadcastLowId) {
    readUpTo(log, senderId, seq)
    const pair = name.is_group ? undefined : broadcasts(peerOf(name, senderId))
    const stream = pair && database.logs.get(keyOf(pair))
    if (stream) readUpTo(stream, senderId, stream.messages.length)
  }
  const dataFor = (userId: number) => eventMessageFor(log, nowOf(log, message), userId)
  const event = changeEvent(database, log, 'message.stored', { seq, dataFor })
  return { write: { row: rowOf(log), events: [event] }, msgId: message.msg_id }
}

function readUpTo(log: ModelLog, userId: number, seq: number): boolean {
  const positions = positionsOf(log, userId)
  positions.seen = Math.max(positions.seen, seq)
  if (seq <= positions.read) return false
  positions.read = seq
  return true
}

/** A message as it is when an event of it is written. */
const nowOf = (log: ModelLog, before: ModelMessage) => log.messages[before.seq - 1] ?? before

/** Replaces the text of a message; one that is being written is edited by its end alone. */
export function edit(
  database: Database,
  name: LogName,
  {
    seq,
    content,
    now,
    actorId,
    end,
  }: {
    readonly seq: number
    readonly content: string
    readonly now: number
    readonly actorId: number
    /** The end of a stream. */
    readonly end?: { readonly state: string; readonly reason?: string }
  },
): Write | undefined {
  const log = logOf(database, name)
  const before = log.messages[seq - 1]
  if (!before || (before.written && !end)) return undefined
  const edit_timestamp = Math.max(now, before.timestamp + 1, before.edit_timestamp + 1)
  const { written: _, ...others } = before
  const stream = before.stream && { ...before.stream, ...end }
  const message = { ...others, content, edit_timestamp, ...(stream && { stream }) }
  log.messages[seq - 1] = message
  log.edits.push({ msgId: before.msg_id, content })
  log.changes.push({ kind: 'edited', seq, actorId, timestamp: now })
  const dataFor = (userId: number) => ({
    ...eventMessageFor(log, nowOf(log, message), userId),
    actor_id: actorId,
    user_ids: [],
  })
  return {
    row: rowOf(log),
    events: [changeEvent(database, log, 'message.replaced', { seq, dataFor })],
  }
}

type Field = 'mark' | 'reactions' | 'pinned'

/** Changes a field of a message that is no text; the event has the value of then. */
function setField(
  database: Database,
  name: LogName,
  {
    before,
    field,
    value,
    reacted,
    more,
    now,
    actorId,
  }: {
    readonly before: ModelMessage
    readonly field: Field
    readonly value: unknown
    readonly reacted?: readonly ModelReaction[]
    /** Members of the event. */
    readonly more?: object
    readonly now: number
    readonly actorId: number
  },
): Write {
  const log = logOf(database, name)
  const { seq, msg_id } = before
  const { [field]: _, ...others } = before
  log.messages[seq - 1] = {
    ...others,
    ...(reacted && { reacted }),
    ...(value !== null && { [field]: value }),
  }
  log.changes.push({ kind: 'updated', seq, actorId, timestamp: now })
  const dataFor = () => ({
    ...{ actor_id: actorId, user_ids: [], conversation: log.name, msg_id, seq, ...more },
    set: { [field]: log.messages[seq - 1]?.[field] ?? null },
  })
  return {
    row: rowOf(log),
    events: [changeEvent(database, log, 'message.updated', { seq, dataFor })],
  }
}

/** Sets a field that clients do not know; null removes it. */
export function setMark(
  database: Database,
  name: LogName,
  { seq, mark, now, actorId }: { seq: number; mark: string | null; now: number; actorId: number },
): Write | undefined {
  const before = logOf(database, name).messages[seq - 1]
  return before && setField(database, name, { before, field: 'mark', value: mark, now, actorId })
}

/** Pins a message, or unpins it. */
export function pinMessage(
  database: Database,
  name: LogName,
  { seq, isOn, now, actorId }: { seq: number; isOn: boolean; now: number; actorId: number },
): Write | undefined {
  const before = logOf(database, name).messages[seq - 1]
  if (!before || (before.pinned !== undefined) === isOn) return undefined
  const value = isOn ? { by: actorId, at: now } : null
  return setField(database, name, { before, field: 'pinned', value, now, actorId })
}

/** Adds and removes reactions of users to a message, with one number; those that change nothing are left out. */
export function react(
  database: Database,
  name: LogName,
  {
    seq,
    wanted,
    now,
  }: {
    readonly seq: number
    readonly wanted: readonly { userId: number; key: string; isOn: boolean }[]
    readonly now: number
  },
): Write | undefined {
  const log = logOf(database, name)
  const before = log.messages[seq - 1]
  if (!before) return undefined
  const change = log.changes.length + 1
  let rows = before.reacted ?? []
  const changed: { user_id: number; key: string; on: boolean }[] = []
  for (const { userId, key, isOn } of wanted) {
    if (rows.some((row) => row.userId === userId && row.key === key) === isOn) continue
    const isGone = (row: ModelReaction) =>
      row.userId === userId && (row.key === key || (isOn && database.hasOneReaction))
    for (const row of rows.filter(isGone))
      changed.push({ user_id: userId, key: row.key, on: false })
    rows = rows.filter((row) => !isGone(row))
    if (!isOn) continue
    rows = [...rows, { userId, key, change }]
    changed.push({ user_id: userId, key, on: true })
  }
  const actorId = changed[0]?.user_id
  if (actorId === undefined) return undefined
  const keys = new Set([...(before.reactions ?? []), ...rows].map(({ key }) => key))
  const sums = [...keys].flatMap((key) => {
    const of = rows.filter((row) => row.key === key)
    const latest = of.toSorted((a, b) => b.change - a.change || a.userId - b.userId)
    return of.length === 0
      ? []
      : [{ key, count: of.length, latest: latest.slice(0, 5).map(({ userId }) => userId) }]
  })
  const value = sums.length > 0 ? sums : null
  const more = { reacted: changed }
  const reacted = rows
  return setField(database, name, {
    ...{ before, field: 'reactions', value, reacted, more, now, actorId },
  })
}

/**
 * Appends to a message that is being written.
 * @returns the event for those who may see it
 */
export function append(
  database: Database,
  name: LogName,
  { seq, added }: { readonly seq: number; readonly added: string },
): ModelEvent | undefined {
  const log = logOf(database, name)
  const before = log.messages[seq - 1]
  if (!before?.written) return undefined
  const { text, next: index } = before.written
  log.messages[seq - 1] = { ...before, written: { text: text + added, next: index + 1 } }
  const { msg_id } = before
  const data = { conversation: name, msg_id, index, offset: text.length, text: added }
  const users = liveReaders(database, name).filter((id) => msg_id > hiddenFrom(database, log, id))
  return { event: 'message.delta', lane: keyOf(name), users, dataFor: () => data }
}

/** Removes a message. */
export function recall(
  database: Database,
  name: LogName,
  { seq, now, actorId }: { seq: number; now: number; actorId: number },
): Write | undefined {
  const log = logOf(database, name)
  if (!log.messages[seq - 1]) return undefined
  log.messages[seq - 1] = undefined
  log.changes.push({ kind: 'recalled', seq, actorId, timestamp: now })
  const dataFor = () => recallOf(log, seq, { actorId, timestamp: now })
  return {
    row: rowOf(log),
    events: [changeEvent(database, log, 'message.recalled', { seq, dataFor })],
  }
}

/** Reads both logs of a peer, or a group, up to a message; absent: everything. */
export function read(
  database: Database,
  userId: number,
  {
    peer,
    isGroup,
    msgId = Number.MAX_SAFE_INTEGER,
  }: { peer: number; isGroup: boolean; msgId?: number },
): Write[] {
  const names = isGroup ? [group(peer)] : [direct(userId, peer), broadcasts(peer)]
  return names.flatMap((name) => {
    const log = database.logs.get(keyOf(name))
    const seq = log?.ids.findLastIndex((id) => id <= msgId) ?? -1
    if (!log || seq < 0 || (name.low_id === broadcastLowId && peer === userId)) return []
    if (!readUpTo(log, userId, seq + 1)) return []
    const told = name.is_group || name.low_id === broadcastLowId ? [userId] : [userId, peer]
    return [markWrite(log, 'message.read', { actorId: userId, seq: seq + 1, told })]
  })
}

/** Records that a device has the messages of a direct conversation up to a position. */
export function deliver(
  database: Database,
  userId: number,
  { peer, seq }: { readonly peer: number; readonly seq: number },
): Write[] {
  const log = database.logs.get(keyOf(direct(userId, peer)))
  const end = Math.min(seq, log?.messages.length ?? 0)
  if (!log || peer === userId || end <= positionsOf(log, userId).delivered) return []
  positionsOf(log, userId).delivered = end
  return [markWrite(log, 'message.delivered', { actorId: userId, seq: end, told: [peer] })]
}

function markWrite(
  log: ModelLog,
  event: string,
  { actorId, seq, told }: { actorId: number; seq: number; told: readonly number[] },
): Write {
  const data = {
    actor_id: actorId,
    user_ids: told,
    conversation: log.name,
    msg_id: log.ids[seq - 1],
    seq,
  }
  const users = [...new Set([...told, actorId])]
  return {
    row: { logs: [{ key: keyOf(log.name), change: null }], groups: [], users },
    events: [{ event, lane: keyOf(log.name), users: told, dataFor: () => data }],
  }
}

/** Hides everything so far of a conversation from one user. */
export function hide(
  database: Database,
  userId: number,
  { peer, isGroup }: { readonly peer: number; readonly isGroup: boolean },
): Write[] {
  const names = isGroup ? [group(peer)] : [direct(userId, peer), broadcasts(peer)]
  return names.flatMap((name) => {
    const log = database.logs.get(keyOf(name))
    const msgId = log?.ids.at(-1)
    if (!log || msgId === undefined || msgId <= positionsOf(log, userId).hiddenMsgId) return []
    const seq = log.messages.length
    Object.assign(positionsOf(log, userId), { hiddenMsgId: msgId, seen: seq })
    const data = {
      actor_id: userId,
      user_ids: [userId],
      conversation: name,
      hidden_msg_id: msgId,
      seq,
    }
    return [
      {
        row: { logs: [{ key: keyOf(name), change: null }], groups: [], users: [userId] },
        events: [
          {
            event: 'conversation.deleted',
            lane: keyOf(name),
            users: [userId],
            dataFor: () => data,
          },
        ],
      },
    ]
  })
}

/** Lets a user into a group. */
export function join(database: Database, of: ModelGroup, userId: number): Write {
  const log = logOf(database, group(of.id))
  const seq = log.messages.length
  const joinedMsgId = log.ids.at(-1) ?? 0
  const joinedAt = ++database.nextMsgId
  of.members.set(userId, { joinedMsgId, joinedAt, muteMode: 0, pushMode: 0, muted: [] })
  log.positions.set(userId, { read: seq, seen: seq, delivered: seq, hiddenMsgId: 0 })
  const end = { change: log.changes.length, seq, msg_id: joinedMsgId }
  return groupWrite(of, 'group.joined', {
    actorId: userId,
    userIds: [userId],
    more: {
      log: end,
      member_count: of.members.size,
      join_time: joinedAt,
      history_visible: of.isHistoryVisible,
    },
  })
}

/** Ends a membership. */
export function leave(of: ModelGroup, userId: number, actorId: number): Write {
  of.members.delete(userId)
  const event = actorId === userId ? 'group.left' : 'group.kicked'
  const more = { member_count: of.members.size }
  return groupWrite(of, event, { actorId, userIds: [userId], more })
}

/** Names a group anew. */
export function rename(of: ModelGroup, actorId: number, name: string): Write {
  of.name = name
  const more = { property: 'name', value: name, updated_at: ++of.updatedAt }
  return groupWrite(of, 'group.info_updated', { actorId, userIds: [], more })
}

/** Closes a group for ever. */
export function dissolve(of: ModelGroup, actorId: number): Write {
  of.status = 1
  return groupWrite(of, 'group.destroyed', {
    actorId,
    userIds: [...of.members.keys()],
    more: { updated_at: ++of.updatedAt },
  })
}

/** Sets the mute mode of a member. */
export function setMuteMode(
  database: Database,
  of: ModelGroup,
  userId: number,
  mode: number,
): Write {
  const membership = of.members.get(userId)
  if (membership && membership.muteMode !== mode) {
    membership.muteMode = mode
    const seq = logOf(database, group(of.id)).messages.length
    if (mode === notReceived) membership.muted.push({ from: seq, to: seq })
  }
  const setting = { msg_mute_mode: mode }
  return groupWrite(of, 'group.message_setting', {
    actorId: userId,
    userIds: [userId],
    told: [userId],
    more: { setting },
    isCounted: false,
  })
}

function groupWrite(
  of: ModelGroup,
  event: string,
  {
    actorId,
    userIds,
    told = [...new Set([...of.members.keys(), ...userIds])],
    more = {},
    isCounted = true,
  }: {
    actorId: number
    userIds: readonly number[]
    told?: readonly number[]
    more?: object
    isCounted?: boolean
  },
): Write {
  if (isCounted) of.version++
  const data = {
    actor_id: actorId,
    user_ids: userIds,
    group_id: of.id,
    version: of.version,
    ...more,
  }
  return {
    row: { logs: [], groups: [of.id], users: userIds },
    events: [{ event, lane: keyOf(group(of.id)), users: told, dataFor: () => data }],
    userChanges: userIds.map((user) => ({ user, kind: kinds.group, ref: of.id })),
  }
}

/** Pins a conversation, or takes it off. */
export function pin(database: Database, userId: number, peer: number): Write {
  const { pins } = userOf(database, userId)
  const at = pins.indexOf(peer)
  if (at < 0) pins.push(peer)
  else pins.splice(at, 1)
  const event = at < 0 ? 'conversation.pinned' : 'conversation.unpinned'
  const more = { conversation_id: peer }
  return ownWrite(userId, event, { kind: kinds.pins, ref: 0, more })
}

/** Changes the own profile. */
export function rewriteProfile(database: Database, userId: number, nickName: string): Write {
  userOf(database, userId).nickName = nickName
  const more = { properties: ['nick_name'], changed: { nick_name: nickName } }
  return ownWrite(userId, 'user.info_updated', { kind: kinds.profile, ref: 0, more })
}

function ownWrite(
  userId: number,
  event: string,
  { kind, ref, more }: { kind: number; ref: number; more: object },
): Write {
  const data = { actor_id: userId, user_ids: [userId], ...more }
  return {
    row: { logs: [], groups: [], users: [userId] },
    events: [{ event, lane: `user ${userId}`, users: [userId], dataFor: () => data }],
    userChanges: [{ user: userId, kind, ref }],
  }
}

/** Makes two users contacts of one another, changes the alias, or ends it. */
export function changeContact(
  database: Database,
  userId: number,
  { peer, alias }: { readonly peer: number; readonly alias: string | undefined },
): Write {
  const [own, other] = [userOf(database, userId).contacts, userOf(database, peer).contacts]
  const isKnown = own.has(peer)
  const kind = kinds.contact
  if (isKnown && alias !== undefined) {
    own.set(peer, alias)
    const more = { user_ids: [peer], changed: { alias } }
    return ownWrite(userId, 'contact.info_updated', { kind, ref: peer, more })
  }
  if (isKnown) {
    own.delete(peer)
    other.delete(userId)
  } else {
    own.set(peer, alias ?? '')
    other.set(userId, '')
  }
  const data = { actor_id: userId, user_ids: [peer] }
  const users = [userId, peer]
  const event = isKnown ? 'contact.removed' : 'contact.added'
  return {
    row: { logs: [], groups: [], users },
    events: [{ event, lane: `user ${userId}`, users, dataFor: () => data }],
    userChanges: [
      { user: userId, kind, ref: peer },
      { user: peer, kind, ref: userId },
    ],
  }
}
