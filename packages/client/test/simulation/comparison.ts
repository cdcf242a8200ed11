/** Compares the store of a device with what the model server answers its user. */

import type { Json } from '@hermod/testkit'
import { ownKeys } from '../../src/model/message-fields.js'
import { quotesIn } from '../../src/model/quotes.js'
import type { LogKey, LogRecord, MessageRecord } from '../../src/model/records.js'
import { wishesKey, wishesOf } from '../../src/model/wishes.js'
import { headOf, ownReactions, quoteFor, visibleMessages } from './model/answers.js'
import type { ModelServer } from './model/model-server.js'
import { operations } from './model/operations.js'
import {
  hasLog,
  kindOf,
  type LogName,
  type ModelLog,
  type ModelMessage,
  peerOf,
} from './model/state.js'
import type { VirtualStore } from './virtual-store.js'

/** The key of a log in the client's store. */
export function logKeyOf(name: LogName): string {
  const kind = kindOf(name)
  if (kind === 'group') return `g${name.low_id}`
  return kind === 'broadcast' ? `b${name.high_id}` : `d${name.low_id}.${name.high_id}`
}

/** The store of a device with what else is compared. */
export interface Compared {
  readonly name: string
  readonly userId: number
  readonly store: VirtualStore
  /** Keys of cached reads that are read again when they change. */
  readonly wanted: readonly string[]
  /** The state of the connection. */
  readonly connection: string | undefined
  /** Texts of messages that are being written, by ID; absent: none. */
  readonly streams?: Readonly<Record<number, string>>
  /** Commands without an outcome. */
  readonly pending: readonly string[]
}

/** @returns the differences, as sentences */
export function differences(compared: Compared, server: ModelServer): string[] {
  const { store, userId, name } = compared
  const { database } = server
  const found: string[] = []
  const known = new Set<string>()
  for (const log of database.logs.values()) {
    if (!hasLog(database, log, userId)) continue
    const key = logKeyOf(log.name)
    known.add(key)
    const record = store.logs.get(key)
    if (record) found.push(...differentLog(compared, record, { log, server }))
    else if (log.changes.length > 0) found.push(`log ${key} is missing`)
  }
  for (const { id, members } of database.groups.values())
    if (members.has(userId)) known.add(`g${id}`)
  for (const record of store.logs.values())
    if (!known.has(record.key) && (record.change > 0 || record.kind === 'group'))
      found.push(`log ${record.key} is not the user's`)
  found.push(...differentReads(compared, server))
  for (const key of store.messages.keys())
    if (!store.logs.has(key) && (store.messages.get(key)?.size ?? 0) > 0)
      found.push(`messages of ${key} without its log`)
  for (const { transactionId, state, content } of store.unsent.values())
    if (state !== 'failed') found.push(`${content} (${transactionId}) is still ${state}`)
  for (const { msgId, reaction = 'pin' } of wishesOf(store.cached.get(wishesKey)))
    found.push(`${reaction} of ${msgId} is still wanted`)
  found.push(...differentStreams(compared, server))
  if (store.meta?.listCursor) found.push('the list of logs is not complete')
  if (store.meta?.epoch !== database.epoch) found.push(`the epoch is ${store.meta?.epoch}`)
  if (compared.connection !== 'online') found.push(`the connection is ${compared.connection}`)
  for (const command of compared.pending) found.push(`command ${command} has no outcome`)
  return found.map((each) => `${name}: ${each}`)
}

function differentLog(
  { store, userId }: Compared,
  record: LogRecord,
  { log, server }: { readonly log: ModelLog; readonly server: ModelServer },
): string[] {
  const { key, kind } = record
  const head = headOf(server.database, log, userId)
  const delivered = Math.max(head.peer_read_seq, head.peer_delivered_seq)
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['kind', kind, head.kind],
    ['conversation', record.conversationId, peerOf(log.name, userId)],
    ['change', record.change, head.change],
    ['seq', record.seq, head.seq],
    ['unread', record.unread, head.unread],
    ['isHeadNeeded', record.isHeadNeeded, false],
    // A position whose message is recalled is as good as the one before it.
    ['readSeq', pastRecalled(log, record.readSeq), pastRecalled(log, head.read_seq)],
    // Of a log that it knows from events alone the client does not know what came before the user.
    [
      'hidden messages',
      log.ids.filter((id) => id <= record.hiddenMsgId).length,
      log.ids.filter((id) => id <= head.hidden_msg_id).length,
    ],
    ['pendingReadMsgId', record.pendingReadMsgId, undefined],
    ...(kind === 'direct'
      ? ([
          ['peerReadSeq', record.peerReadSeq, head.peer_read_seq],
          ['peerDeliveredSeq', Math.max(record.peerReadSeq, record.peerDeliveredSeq), delivered],
        ] as const)
      : []),
    ...(kind === 'group'
      ? ([
          ['status', record.status, head.status],
          ['version', record.version, head.version],
          ['joinedMsgId', record.joinedMsgId, head.joined_msg_id],
          ['muteMode', record.muteMode, head.msg_mute_mode],
        ] as const)
      : []),
  ]
  return [
    ...pairs
      .filter(([, own, right]) => own !== right)
      .map(([name, own, right]) => `${key}: ${name} is ${own} instead of ${right}`),
    ...differentMessages(store, record, { log, server, userId }),
    ...differentQuotes(store, record.key, { log, server, userId }),
  ]
}

/** Quotes may be missing; one that is kept says what the server says. */
function differentQuotes(
  { cached }: VirtualStore,
  key: LogKey,
  { log, server, userId }: { log: ModelLog; server: ModelServer; userId: number },
): string[] {
  return quotesIn(cached, key).flatMap(({ msgId, seq, state, excerpt }) => {
    const right = quoteFor(server.database, log, { msg_id: msgId, seq }, userId)
    const own = `${state} ${excerpt}`
    const wanted = `${right.state} ${right.excerpt}`
    return own === wanted ? [] : [`${key}: the quote of ${seq} is ${own} instead of ${wanted}`]
  })
}

function pastRecalled({ messages }: ModelLog, seq: number): number {
  let end = seq
  while (end < messages.length && !messages[end]) end++
  return end
}

function differentMessages(
  { messages }: VirtualStore,
  { key, ranges, last }: LogRecord,
  { log, server, userId }: { log: ModelLog; server: ModelServer; userId: number },
): string[] {
  const found: string[] = []
  const held = messages.get(key) ?? new Map()
  const visible = new Map(
    visibleMessages(server.database, log, userId).map((each) => [each.seq, each]),
  )
  let before = -1
  for (const [from, to] of ranges) {
    if (from <= before + 1 || to < from || to > log.messages.length)
      found.push(`${key}: ranges are ${JSON.stringify(ranges)}`)
    before = to
  }
  const isCovered = (seq: number) => ranges.some(([from, to]) => seq >= from && seq <= to)
  for (const [seq, message] of visible) {
    const record = held.get(seq)
    if (!record) {
      if (isCovered(seq)) found.push(`${key}: message ${seq} is missing`)
      continue
    }
    const [own, right] = [storedParts(record), messageParts(message, userId)]
    if (own !== right) found.push(`${key}: message ${seq} is ${own} instead of ${right}`)
  }
  for (const [seq, { content }] of held) {
    if (!visible.has(seq)) found.push(`${key}: message ${seq}, ${content}, is not in the history`)
    else if (!isCovered(seq)) found.push(`${key}: message ${seq} stands outside of the ranges`)
  }
  const newest = visible.values().next().value
  const [own, right] = [last && storedParts(last), newest && messageParts(newest, userId)]
  if (last !== undefined && (own ?? '') !== (right ?? ''))
    found.push(`${key}: last is ${own} instead of ${right}`)
  return found
}

/** What is compared of a message in the store, as a text. */
function storedParts(record: MessageRecord): string {
  const { seq, msgId, senderId, content, editTimestamp, replyTo, fields = {} } = record
  const { mark, reactions, pinned, stream } = fields as Json
  const at = replyTo && { msg_id: replyTo.msgId, seq: replyTo.seq }
  const parts = [seq, msgId, senderId, content, editTimestamp, at, mark, reactions, pinned]
  return JSON.stringify([...parts, streamParts(stream), ownKeys(record).toSorted()])
}

/** The same of a message of the server. */
function messageParts(message: ModelMessage, userId: number): string {
  const { seq, msg_id, sender_id, content, edit_timestamp, reply_to, mark } = message
  const { reactions, pinned, stream } = message
  const parts = [seq, msg_id, sender_id, content, edit_timestamp, reply_to, mark, reactions, pinned]
  return JSON.stringify([...parts, streamParts(stream), ownReactions(message, userId).toSorted()])
}

/** The text of an open stream is left out. */
const streamParts = (stream: ModelMessage['stream']) =>
  stream && [stream.kind, stream.state, stream.reason]

/** A text that a device shows of a message that is being written begins as the text of the server. */
function differentStreams({ streams = {} }: Compared, { database }: ModelServer): string[] {
  const open = [...database.logs.values()].flatMap(({ messages }) =>
    messages.flatMap((each) => (each?.written ? [each] : [])),
  )
  return open.flatMap(({ msg_id, written: { text = '' } = {} }) =>
    text.startsWith(streams[msg_id] ?? '')
      ? []
      : [`the text of ${msg_id} is ${streams[msg_id]} instead of ${text}`],
  )
}

function differentReads({ store, userId, wanted }: Compared, server: ModelServer): string[] {
  return wanted.flatMap((key) => {
    const record = store.cached.get(key)
    if (!record || record.isStale || !('value' in record)) return [`${key} is not read`]
    const [own, right] = [record.value, cachedValueOf(server, userId, key)].map((each) =>
      JSON.stringify(each),
    )
    return own === right ? [] : [`${key} is ${own} instead of ${right}`]
  })
}

/** A thing as the operations of the model answer it. */
function cachedValueOf(server: ModelServer, userId: number, key: string): unknown {
  const [kind, ref] = key.split('.')
  const session = { owner: 'comparison', userId, guid: undefined, deviceSn: 0 }
  const call = (op: string, data: object): Json => {
    try {
      return operations[op]?.({ server, session, userId }, data)
    } catch {
      return undefined
    }
  }
  const all = (op: string, data: object): Json[] => {
    const list: Json[] = []
    let page: Json
    do {
      page = call(op, { ...data, cursor: page?.cursor })
      list.push(...(page?.data ?? []))
    } while (page?.cursor)
    return list
  }
  switch (kind) {
    case 'contacts':
      return all('contact.list', {})
    case 'user':
      return call('contact.find', { list: [Number(ref)] }).data[0]
    case 'groups':
      return call('group.user_joined', {}).data
    case 'pins':
      return call('user.conversation.pin_list', {}).data.conversation_ids
    case 'profile':
      return call('user.profile.get', {}).data
    case 'group':
      return call('group.info.batch', { group_list: [Number(ref)] }).data[0] ?? null
    default: {
      const group_id = Number(ref)
      const user_list = all('group.member_list', { group_id }).map(({ user_id }) => user_id)
      return call('group.members.info', { group_id, user_list })?.data ?? []
    }
  }
}
