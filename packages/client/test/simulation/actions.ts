/** The meaning of the steps of a schedule. */
import type { ErrorName } from '@hermod/protocol'
import { broadcasts, keyOf, type LogName } from './model/state.js'
import {
  append,
  changeContact,
  dissolve,
  edit,
  hide,
  join,
  leave,
  pin,
  pinMessage,
  react,
  read,
  recall,
  rename,
  rewriteProfile,
  setMark,
  setMuteMode,
  store,
} from './model/writes.js'
import type { Step, StepName } from './steps.js'
import { groupIds, type World } from './world.js'

const errors: readonly ErrorName[] = ['too_many_requests', 'unavailable', 'storage_failed']

type Action = (world: World, a: number, b: number, c: number) => void

/** Picks one of the newest messages of the user. */
function ownSeq(world: World, userId: number, name: LogName, index: number): number {
  const log = world.server.database.logs.get(keyOf(name))
  const own = log?.messages.filter((each) => each?.sender_id === userId) ?? []
  return own.at(-1 - (index % 4))?.seq ?? 0
}

/** Picks one of the newest messages. */
function newestSeq(world: World, name: LogName, index: number): number {
  const messages = world.server.database.logs.get(keyOf(name))?.messages ?? []
  return messages.filter((each) => each !== undefined).at(-1 - (index % 4))?.seq ?? 0
}

const reactionKeys = ['+1', 'heart', 'eyes']
const keyAt = (index: number) => reactionKeys[index % reactionKeys.length] as string

/** Ends of streams by a number of the step; others go on. */
const ends: readonly (string | undefined)[] = ['done', 'failed', 'cancelled', 'interrupted']

/** Does what a step says. */
export function act(world: World, [name, a = 0, b = 0, c = 0]: Step): void {
  actions[name](world, a, b, c)
}

const actions: Readonly<Record<StepName, Action>> = {
  send: (world, a, b, c) => world.send(world.device(a), world.target(b), c % 4 === 0),
  post: (world, a, b, c) => {
    const senderId = world.user(a)
    const target = world.target(b)
    if (!world.isMember(senderId, target)) return
    const { database, now } = world.server
    const name = world.name(senderId, target)
    const { messages = [] } = database.logs.get(keyOf(name)) ?? {}
    const original = c % 3 === 1 ? messages[(5 * a + 7 * b + c) % messages.length] : undefined
    const draft = {
      content: world.word(),
      isSystem: c === 0,
      ...(original && { replyTo: { msg_id: original.msg_id, seq: original.seq } }),
    }
    world.commit(store(database, name, { senderId, now, draft }).write)
  },
  /** Shows the newest replies of a log, with or without quotes. */
  showReplies: (world, a, b) => {
    const device = world.device(a)
    const logs = [...device.store.logs.values()]
    const log = logs[b % Math.max(1, logs.length)]
    const messages = log ? [...(device.store.messages.get(log.key)?.values() ?? [])] : []
    const replies = messages.flatMap(({ log, msgId, replyTo }) =>
      replyTo ? [{ log, msgId, original: replyTo }] : [],
    )
    device.execute({ type: 'quotes', caller: 'pages', replies: replies.slice(-5) })
  },
  edit: (world, a, b, c) => {
    const actorId = world.user(a)
    const name = world.name(actorId, world.target(b))
    const seq = ownSeq(world, actorId, name, c)
    const { database, now } = world.server
    if (seq > 0) world.commit(edit(database, name, { seq, content: world.word(), now, actorId }))
  },
  mark: (world, a, b, c) => {
    const actorId = world.user(a)
    const target = world.target(b)
    const name = world.name(actorId, target)
    const seq = newestSeq(world, name, c)
    const { database, now } = world.server
    const mark = c % 3 === 0 ? null : world.word()
    if (world.isMember(actorId, target))
      world.commit(setMark(database, name, { seq, mark, now, actorId }))
  },
  /** One user, or two at once. */
  react: (world, a, b, c) => {
    const target = world.target(b)
    const userId = world.user(a)
    const name = world.name(userId, target)
    const users = c < 8 ? [userId] : [userId, target.isGroup ? world.user(a + 1) : target.id]
    const wanted = users
      .filter((id) => world.isMember(id, target))
      .map((id) => ({ userId: id, key: keyAt(a + c), isOn: c % 4 !== 0 }))
    const { database, now } = world.server
    world.commit(react(database, name, { seq: newestSeq(world, name, a + c), wanted, now }))
  },
  pinMessage: (world, a, b, c) => {
    const target = world.target(b)
    const actorId = world.user(a)
    const name = world.name(actorId, target)
    const seq = newestSeq(world, name, c)
    const { database, now } = world.server
    if (world.isMember(actorId, target))
      world.commit(pinMessage(database, name, { seq, isOn: c % 3 !== 0, now, actorId }))
  },
  /** Begins a stream, or continues or ends an open one. */
  writeStream: (world, a, b, c) => {
    const { database, now } = world.server
    const open = [...database.logs.values()].flatMap(({ name, messages }) =>
      messages.flatMap((each) => (each?.written ? [{ name, ...each }] : [])),
    )
    const stream = c === 0 ? undefined : open[(a + b) % Math.max(1, open.length)]
    if (!stream) {
      const target = world.target(b)
      const senderId = world.user(a)
      const draft = { content: world.word(), isStream: true }
      const name = world.name(senderId, target)
      if (world.isMember(senderId, target))
        world.commit(store(database, name, { senderId, now, draft }).write)
      return
    }
    const { name, seq, sender_id: actorId, written: { text } = { text: '' } } = stream
    const state = ends[c - 1]
    const isSilent = state === 'interrupted' && text !== ''
    const added = isSilent ? '' : `${world.word()} `
    const delta = isSilent ? undefined : append(database, name, { seq, added })
    if (delta) world.server.show(delta)
    if (state === undefined) return
    const end = { state, ...(state === 'failed' && { reason: 'no model' }) }
    world.commit(edit(database, name, { seq, content: text + added, now, actorId, end }))
  },
  /** Puts all logs on screen, or one. */
  look: (world, a, b) => {
    const device = world.device(a)
    const keys = [...device.store.logs.keys()]
    const logs = b < 6 ? keys : keys.slice(b % 4, (b % 4) + 1)
    device.execute({ type: 'onScreen', caller: 'pages', logs })
  },
  wish: (world, a, b, c) =>
    world.wish(world.device(a), b, {
      isOn: c % 3 !== 0,
      ...(c % 4 !== 0 && { reaction: keyAt(c) }),
    }),
  recall: (world, a, b, c) => {
    const actorId = world.user(a)
    const name = world.name(actorId, world.target(b))
    const seq = ownSeq(world, actorId, name, c)
    const { database, now } = world.server
    if (seq > 0) world.commit(recall(database, name, { seq, now, actorId }))
  },
  read: (world, a, b, c) => {
    const device = world.device(a)
    const logs = [...device.store.logs.values()].filter(({ conversationId }) => conversationId > 0)
    const log = logs[b % Math.max(1, logs.length)]
    const messages = log && [...(device.store.messages.get(log.key)?.values() ?? [])]
    const message = messages?.at(-1 - (c % 3))
    if (log && message)
      device.execute({
        type: 'read',
        conversationId: log.conversationId,
        msgId: message.msgId,
      })
  },
  acknowledge: (world, a, b, c) => {
    const userId = world.user(a)
    const { id: peer, isGroup } = world.target(b)
    if (!world.isMember(userId, { id: peer, isGroup })) return
    const ids = world.server.database.logs.get(
      keyOf(world.name(userId, { id: peer, isGroup })),
    )?.ids
    const msgId = c < 6 ? undefined : ids?.at(-1 - (c % 4))
    const upTo = msgId === undefined ? {} : { msgId }
    world.commit(...read(world.server.database, userId, { peer, isGroup, ...upTo }))
  },
  hide: (world, a, b) => {
    const userId = world.user(a)
    const { id: peer, isGroup } = world.target(b)
    if (world.isMember(userId, { id: peer, isGroup }))
      world.commit(...hide(world.server.database, userId, { peer, isGroup }))
  },
  broadcast: (world, a) => {
    const senderId = world.user(a)
    const { database, now } = world.server
    const draft = { content: world.word() }
    world.commit(store(database, broadcasts(senderId), { senderId, now, draft }).write)
  },
  membership: (world, a, b) => {
    const userId = world.user(a)
    const of = world.server.database.groups.get(groupIds[b % groupIds.length] as number)
    if (!of || of.status === 1) return
    if (of.members.has(userId)) world.commit(leave(of, userId, b > 6 ? world.user(a + 1) : userId))
    else world.commit(join(world.server.database, of, userId))
  },
  rename: (world, a, b) => {
    const of = world.server.database.groups.get(groupIds[b % groupIds.length] as number)
    if (of?.status === 0) world.commit(rename(of, world.user(a), world.word()))
  },
  dissolve: (world, a) => {
    const of = world.server.database.groups.get(102)
    if (of?.status === 0 && of.members.size > 0) world.commit(dissolve(of, world.user(a)))
  },
  muteMode: (world, a, b, c) => {
    const userId = world.user(a)
    const of = world.server.database.groups.get(groupIds[b % groupIds.length] as number)
    if (of?.members.has(userId) && of.status === 0)
      world.commit(setMuteMode(world.server.database, of, userId, c < 6 ? 2 : 0))
  },
  pin: (world, a, b) => world.commit(pin(world.server.database, world.user(a), world.target(b).id)),
  contact: (world, a, b, c) => {
    const peer = world.user(b)
    const alias = c < 6 ? world.word() : undefined
    if (peer !== world.user(a))
      world.commit(changeContact(world.server.database, world.user(a), { peer, alias }))
  },
  profile: (world, a) =>
    world.commit(rewriteProfile(world.server.database, world.user(a), world.word())),
  history: (world, a, b, c) => {
    const device = world.device(a)
    const logs = [...device.store.logs.values()]
    const log = logs[b % Math.max(1, logs.length)]
    if (!log) return
    const [first] = log.ranges.at(-1) ?? [log.seq + 1]
    const beforeSeq = c < 8 ? first : Math.max(1, log.seq - c)
    device.execute({ type: 'history', log: log.key, beforeSeq, limit: 1 + c })
  },
  rewrite: (world, a, b) => world.alter(world.device(a), 'edit', b),
  withdraw: (world, a, b) => world.alter(world.device(a), 'recall', b),
  retry: (world, a, b, c) => touch(world, a, b, c < 6 ? 'retry' : 'anyway'),
  discard: (world, a, b) => touch(world, a, b, 'discard'),
  cut: (world, a) => world.device(a).leader.connection?.cut(),
  cutAfter: (world, a, b) => {
    const { connection } = world.device(a).leader
    if (connection) connection.cutAfter = b
  },
  silence: (world, a) => {
    const { connection } = world.device(a).leader
    if (connection) connection.isSilent = true
  },
  offline: (world, a) => {
    world.device(a).isOffline = true
    world.device(a).leader.connection?.cut()
  },
  online: (world, a, b) => {
    world.device(a).isOffline = false
    if (b < 6) world.device(a).leader.input({ type: 'wakeup' })
  },
  fallBehind: (world, a, b) => world.device(a).leader.connection?.session?.fallBehind(20 + b * 50),
  crash: (world, a, b) => world.device(a).crash(b < 6),
  freeze: (world, a) => {
    const device = world.device(a)
    if (device.guid !== null && device.frozen.length < 2) device.freeze()
  },
  thaw: (world, a) => world.device(a).thaw(),
  slowStore: (world, a, b) => {
    world.device(a).slowMs = b < 6 ? 0 : b * 100
  },
  failStore: (world, a, b) => {
    world.device(a).store.failure = b < 6 ? 'quota' : 'unavailable'
  },
  sleep: (world, a, b) => {
    world.device(a).sleep((1 + b) * 10_000)
  },
  wakeup: (world, a) => world.device(a).leader.input({ type: 'wakeup' }),
  kick: (world, a) => world.device(a).leader.connection?.session?.close(4501),
  expireToken: (world, a) => world.server.expireTokens(world.user(a)),
  refuse: (world, a, b, c) => {
    const count = 1 + (b % 3)
    if (c < 9) world.server.failures = Array(count).fill(errors[a % errors.length])
    else world.server.unanswered = count
  },
  restart: (world, a, b) => world.server.restart(a * 200, b < 6),
  purge: (world) => {
    const { database } = world.server
    database.purgedTo = database.rows.length
  },
  purgeChanges: (world, a) => {
    for (const log of world.server.database.logs.values())
      if (a % 2 === 0 && log.changes.some(({ kind }) => kind !== 'stored'))
        log.keptFrom = log.changes.findLastIndex(({ kind }) => kind !== 'stored') + 1
  },
  backUp: (world) => world.backUp(),
  restore: (world) => world.restore(),
  // Far less than the life of transactions, as for a real server.
  jumpServerClock: (world, a) => {
    world.server.clockOffset += (a - 5) * 200
  },
  wait: (world, a) => world.agenda.run(a * 500),
  waitLong: (world, a) => world.agenda.run(a * 15_000),
}

function touch(world: World, a: number, b: number, kind: 'retry' | 'anyway' | 'discard'): void {
  const device = world.device(a)
  const unsent = [...device.store.unsent.values()]
  const { transactionId } = unsent[b % Math.max(1, unsent.length)] ?? {}
  if (transactionId === undefined) return
  for (const each of world.sent)
    if (each.device === device && each.transactionId === transactionId) each.isTouched = true
  for (const each of world.wishes)
    if (each.device === device && [each.transactionId, each.of].includes(transactionId))
      each.isTouched = true
  if (kind === 'discard') device.execute({ type: 'discard', transactionId })
  else device.execute({ type: 'retry', transactionId, ...(kind === 'anyway' && { anyway: true }) })
}
