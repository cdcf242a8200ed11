/** Compares the store of a device with what the model server answers its user. */
import type { LogRecord } from '../../src/core/records.js'
import type { Device } from './device.js'
import { headOf, visibleMessages } from './model/answers.js'
import type { ModelServer } from './model/model-server.js'
import { hasLog, kindOf, type LogName, type ModelLog, peerOf } from './model/state.js'

/** The key of a log in the client's store. */
export function logKeyOf(name: LogName): string {
  const kind = kindOf(name)
  if (kind === 'group') return `g${name.low_id}`
  return kind === 'broadcast' ? `b${name.high_id}` : `d${name.low_id}.${name.high_id}`
}

/** @returns the differences, as sentences */
export function differences(device: Device, server: ModelServer): string[] {
  const { store, userId, name } = device
  const { database } = server
  const found: string[] = []
  const known = new Set<string>()
  for (const log of database.logs.values()) {
    if (!hasLog(database, log, userId)) continue
    const key = logKeyOf(log.name)
    known.add(key)
    const record = store.logs.get(key)
    if (record) found.push(...differentLog(device, record, { log, server }))
    else if (log.changes.length > 0) found.push(`log ${key} is missing`)
  }
  for (const { id, members } of database.groups.values())
    if (members.has(userId)) known.add(`g${id}`)
  for (const record of store.logs.values())
    if (!known.has(record.key) && (record.change > 0 || record.kind === 'group'))
      found.push(`log ${record.key} is not the user's`)
  for (const key of store.messages.keys())
    if (!store.logs.has(key) && (store.messages.get(key)?.size ?? 0) > 0)
      found.push(`messages of ${key} without its log`)
  for (const { transactionId, state, content } of store.unsent.values())
    if (state !== 'failed') found.push(`${content} (${transactionId}) is still ${state}`)
  if (store.meta?.listCursor) found.push('the list of logs is not complete')
  if (store.meta?.epoch !== database.epoch) found.push(`the epoch is ${store.meta?.epoch}`)
  const { state } = device.leader.live?.connection ?? {}
  if (state !== 'online') found.push(`the connection is ${state}`)
  for (const [id, { command, outcome }] of device.commands)
    if (!outcome) found.push(`command ${id} ${command.type} has no outcome`)
  return found.map((each) => `${name}: ${each}`)
}

function differentLog(
  { store, userId }: Device,
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
    ['readSeq', record.readSeq, head.read_seq],
    ['hiddenMsgId', record.hiddenMsgId, head.hidden_msg_id],
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
  ]
}

function differentMessages(
  { messages }: Device['store'],
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
  for (const [seq, { content, msg_id, sender_id }] of visible) {
    const record = held.get(seq)
    if (!record) {
      if (isCovered(seq)) found.push(`${key}: message ${seq} is missing`)
    } else if (
      record.content !== content ||
      record.msgId !== msg_id ||
      record.senderId !== sender_id
    )
      found.push(`${key}: message ${seq} is ${record.content} instead of ${content}`)
  }
  for (const [seq, { content }] of held) {
    if (!visible.has(seq)) found.push(`${key}: message ${seq}, ${content}, is not in the history`)
    else if (!isCovered(seq)) found.push(`${key}: message ${seq} stands outside of the ranges`)
  }
  const newest = visible.values().next().value
  if (last !== undefined && (last?.seq !== newest?.seq || last?.content !== newest?.content))
    found.push(`${key}: last is ${last?.content} instead of ${newest?.content}`)
  return found
}
