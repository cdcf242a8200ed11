/** The operations that clients call, on the model's data. */
import type { ErrorName } from '@hermod/protocol'
import type { Json } from '@hermod/testkit'
import { messageFor, quoteFor } from './answers.js'
import { Refusal } from './refusal.js'
import type { ServerAccess, SessionName } from './server-access.js'
import {
  direct,
  group,
  hasLog,
  hiddenFrom,
  isReader,
  keyOf,
  type LogName,
  logOf,
  type ModelGroup,
  userOf,
} from './state.js'
import { deliver, edit, pinMessage, react, read, recall, store, type Write } from './writes.js'

export interface Caller {
  readonly server: ServerAccess
  readonly session: SessionName
  readonly userId: number
}

/** @returns the members of the envelope: data, and what stands next to it */
export type Operation = (caller: Caller, data: Json) => Json

function refuse(error: ErrorName): never {
  throw new Refusal(error)
}

const groupType = 2
const replaceType = 12
/** The server forgets transactions later than it promises. */
const graceMs = 10_000

export const operations: Readonly<Record<string, Operation | undefined>> = {
  'message.sync': ({ server, userId }, data) => {
    const page = server.answers.sync(userId, data)
    server.heads += page.heads.length
    return { data: page }
  },
  'message.changes': ({ server, userId }, data) => {
    requireReader(server, data.log, userId)
    return { data: server.answers.changes(userId, data) }
  },
  'message.history': ({ server, userId }, data) => {
    requireReader(server, data.log, userId)
    return { data: server.answers.history(userId, data) }
  },
  'message.get': ({ server, userId }, { conversation_id: peer, msg_id: msgId }) => {
    const { database } = server
    const name = database.groups.has(peer) ? group(peer) : direct(userId, peer)
    requireReader(server, name, userId)
    const log = logOf(database, name)
    const message = log.messages.find((each) => each?.msg_id === msgId)
    if (!message || msgId <= hiddenFrom(database, log, userId)) refuse('message_not_found')
    const { reply_to: original } = message
    const quotes = original ? [quoteFor(database, log, original, userId)] : []
    return { data: { message: messageFor(log, message, userId), quotes } }
  },
  'message.send': (caller, data) =>
    data.content_type === replaceType ? replace(caller, data) : send(caller, data),
  'message.recall': ({ server, userId }, { conversation_id: peer, msg_id: msgId }) => {
    const name = server.database.groups.has(peer) ? group(peer) : direct(userId, peer)
    const { database, now } = server
    const seq = ownSeq({ server, userId }, { name, msgId, wish: `recall ${msgId}` })
    server.commit(recall(database, name, { seq, now, actorId: userId }) as Write)
    return { data: true }
  },
  'message.reaction': (caller, { key, on: isOn, ...data }) => {
    const { seq, name } = wishedMessage(caller, data, { key, isOn })
    const { server, userId } = caller
    if (isOn && server.database.groups.get(name.low_id)?.status === 1) refuse('group_not_found')
    const wanted = [{ userId, key, isOn }]
    commit(server, react(server.database, name, { seq, wanted, now: server.now }))
    return { data: true }
  },
  'message.pin': (caller, data) => pinOf(caller, data, true),
  'message.unpin': (caller, data) => pinOf(caller, data, false),
  'message.ack': ({ server, userId }, { conversation_id: peer, msg_id: msgId }) => {
    const isGroup = server.database.groups.has(peer)
    if (isGroup && !isReader(server.database, group(peer), userId)) refuse('conversation_not_found')
    for (const write of read(server.database, userId, { peer, isGroup, msgId }))
      server.commit(write)
    return { data: true }
  },
  'message.delivered': ({ server, session, userId }, { conversations }) => {
    for (const { conversation_id: peer, seq } of conversations) {
      server.observe?.delivered(session.owner, direct(userId, peer), seq)
      for (const write of deliver(server.database, userId, { peer, seq })) server.commit(write)
    }
    return { data: true }
  },
  'user.conversation.pin_list': ({ server, userId }) => ({
    data: { conversation_ids: [...userOf(server.database, userId).pins] },
  }),
  'user.profile.get': ({ server, userId }) => ({
    data: { user_id: userId, nick_name: userOf(server.database, userId).nickName },
  }),
  'contact.list': ({ server, userId }, { cursor }) =>
    pageOf(
      [...userOf(server.database, userId).contacts.keys()].sort((a, b) => a - b),
      cursor,
    ),
  'contact.find': ({ server, userId }, { list }) => ({
    data: list.map((id: number) => {
      const alias = userOf(server.database, userId).contacts.get(id)
      return { user_id: id, alias: alias ?? '', relation: alias === undefined ? 0 : 1 }
    }),
  }),
  'group.user_joined': ({ server, userId }) => ({
    data: [...server.database.groups.values()]
      .filter(({ members, status }) => members.has(userId) && status === 0)
      .map(({ id }) => id),
  }),
  'group.info.batch': ({ server, userId }, { group_list: list }) => ({
    data: list.flatMap((id: number) => {
      const found = server.database.groups.get(id)
      if (!found?.members.has(userId)) return []
      const { name, status, members, version, updatedAt } = found
      return { count: members.size, group_id: id, name, status, updated_at: updatedAt, version }
    }),
  }),
  'group.member_list': (caller, { group_id: id, cursor }) =>
    pageOf(
      [...groupOf(caller, id).members.keys()].sort((a, b) => a - b).map((user_id) => ({ user_id })),
      cursor,
    ),
  'group.members.info': (caller, { group_id: id, user_list: list }) => {
    const { members } = groupOf(caller, id)
    return {
      data: list.flatMap((user_id: number) => {
        const member = members.get(user_id)
        if (!member) return []
        const { joinedAt: join_time } = member
        return { display_name: '', expired_time: 0, join_time, user_id, is_bot: false, role: 0 }
      }),
    }
  },
  'presence.subscribe': (_caller, { user_ids: ids }) => ({
    data: ids.map((id: number) => ({ user_id: id, online: false })),
  }),
}

function commit(server: ServerAccess, write: Write | undefined): void {
  if (write) server.commit(write)
}

/** @returns the message that a reaction or a pin is about */
function wishedMessage(
  { server, session, userId }: Caller,
  { conversation_id: peer, msg_id: msgId }: Json,
  { key = 'pin', isOn }: { readonly key?: string; readonly isOn: boolean },
): { readonly seq: number; readonly name: LogName } {
  const { database, options, wished } = server
  wished.push({ owner: session.owner, name: `${msgId} ${key}`, isOn, at: options.agenda.now })
  const name = database.groups.has(peer) ? group(peer) : direct(userId, peer)
  requireReader(server, name, userId)
  const log = logOf(database, name)
  const message = log.messages[log.ids.indexOf(msgId)]
  if (!message || msgId <= hiddenFrom(database, log, userId)) refuse('message_not_found')
  return { seq: message.seq, name }
}

function pinOf(caller: Caller, data: Json, isOn: boolean): Json {
  const { seq, name } = wishedMessage(caller, data, { isOn })
  const { server, userId: actorId } = caller
  commit(server, pinMessage(server.database, name, { seq, isOn, now: server.now, actorId }))
  return { data: true }
}

/** Entries of a page, so that lists have several. */
const pageLength = 2

/** @param list by ID; a page begins after the last ID of the page before */
function pageOf<T extends number | { readonly user_id: number }>(
  list: readonly T[],
  cursor = '',
): Json {
  const idOf = (each: T) => (typeof each === 'number' ? each : each.user_id)
  const rest = list.filter((each) => idOf(each) > Number(cursor))
  const data = rest.slice(0, pageLength)
  const last = data.at(-1)
  const hasMore = last !== undefined && rest.length > pageLength
  return { data, version: 1, ...(hasMore && { cursor: `${idOf(last)}` }) }
}

function groupOf({ server, userId }: Caller, id: number): ModelGroup {
  const found = server.database.groups.get(id) ?? refuse('group_not_found')
  if (found.status === 1) refuse('group_not_found')
  return found.members.has(userId) ? found : refuse('member_required')
}

function requireReader({ database }: ServerAccess, name: LogName, userId: number): void {
  if (isReader(database, name, userId) && hasLog(database, logOf(database, name), userId)) return
  refuse(name.is_group ? 'member_required' : 'conversation_not_found')
}

/** @returns the IDs of the messages that the call has stored before; undefined: it comes first */
function known({ server, userId }: Caller, transactionId: number): number[] | undefined {
  const { agenda, transactionTtlMs } = server.options
  const found = server.database.transactions.get(`${userId} ${transactionId}`)
  const isKnown = found && agenda.now - found.time < transactionTtlMs + graceMs
  return isKnown && transactionId > 0 ? found.msgIds : undefined
}

/** @returns the position of a message that the user may change */
function ownSeq(
  { server: { database, refused }, userId }: Pick<Caller, 'server' | 'userId'>,
  { name, msgId, wish }: { readonly name: LogName; readonly msgId: number; readonly wish: string },
): number {
  const fail = (error: ErrorName): never => {
    refused.add(wish)
    return refuse(error)
  }
  const isMember = isReader(database, name, userId)
  if (!isMember || (name.is_group && database.groups.get(name.low_id)?.status === 1))
    fail(isMember ? 'group_not_found' : 'member_required')
  const log = database.logs.get(keyOf(name)) ?? fail('conversation_not_found')
  const message = log.messages[log.ids.indexOf(msgId)] ?? fail('message_not_found')
  return message.sender_id === userId ? message.seq : fail('no_permission')
}

function replace(caller: Caller, data: Json): Json {
  const { server, userId } = caller
  const { database, now } = server
  const { type, content, related_mid: msgId, edit_timestamp: seen } = data
  const { transaction_id: transactionId, targets } = data
  if (known(caller, transactionId)) return { data: true }
  const name = type === groupType ? group(targets[0]) : direct(userId, targets[0])
  const wish = `edit ${transactionId}`
  const seq = ownSeq(caller, { name, msgId, wish })
  const message = logOf(database, name).messages[seq - 1]
  if (message?.written) {
    server.refused.add(wish)
    refuse('message_type_refused')
  }
  if (seen === undefined) server.unconditional.add(transactionId)
  else if (seen !== message?.edit_timestamp) {
    server.refused.add(wish)
    server.conflicts.set(transactionId, msgId)
    refuse('edited_meanwhile')
  }
  const { agenda } = server.options
  database.transactions.set(`${userId} ${transactionId}`, { time: agenda.now, msgIds: [] })
  server.commit(edit(database, name, { seq, content, now, actorId: userId }) as Write)
  return { data: true }
}

function send(caller: Caller, data: Json): Json {
  const { server, session, userId } = caller
  const { database, now } = server
  const { type, targets, transaction_id: transactionId = 0, online_only: isTransient } = data
  const [target] = targets
  const key = `${userId} ${transactionId}`
  const { agenda } = server.options
  const stored = known(caller, transactionId)
  if (stored) return { data: true, msg_ids: stored }
  if (isTransient || (data.content === '' && data.ext !== '')) return { data: true }
  if (type === groupType) {
    const found = database.groups.get(target) ?? refuse('group_not_found')
    if (!found.members.has(userId) || found.status === 1) refuse('not_group_member')
  } else if (!database.users.has(target)) refuse('user_not_found')
  const name = type === groupType ? group(target) : direct(userId, target)
  const { content = '', content_type, attachment, config, ext, reply_to: originalId } = data
  const { deviceSn } = session
  const log = logOf(database, name)
  const original = log.messages[log.ids.indexOf(originalId)]
  if (originalId !== undefined && (!original || originalId <= hiddenFrom(database, log, userId)))
    refuse('reply_unavailable')
  const replyTo = original && { msg_id: original.msg_id, seq: original.seq }
  const draft = {
    ...{ content, content_type, attachment, config, ext, deviceSn, transactionId },
    ...(replyTo && { replyTo }),
  }
  const { write, msgId } = store(database, name, { senderId: userId, now, draft })
  if (transactionId > 0) database.transactions.set(key, { time: agenda.now, msgIds: [msgId] })
  server.commit(write)
  return { data: true, msg_ids: [msgId] }
}
