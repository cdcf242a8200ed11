/**
 * The steps of a history of conversations: each calls the service, expects its answer, and does the
 * same to the model.
 */
import type { ConversationEntry } from '@hermod/protocol'
import { expect } from 'vitest'
import { answerCode } from '../answer-codes.js'
import type { Person } from '../contacts.js'
import { operateInGroup } from '../groups/group-messaging.js'
import { expectSuccess, groupCall } from '../groups/groups.js'
import { broadcast, newestId } from './broadcasts.js'
import { muteModes, type Sent, systemId, type Written } from './conversation-model.js'
import { type ConversationWorld, count } from './conversation-world.js'
import { operate, type operationTypes, recall } from './message-operations.js'
import { acknowledge, history, textTo } from './messaging.js'

const ok = 200
const hourMs = 3_600_000
/** How far the clock of the machine is wrong at times. */
const jumpMs = 8 * hourMs

/** A step names users, conversations and messages by numbers that begin again at the first one. */
export interface Step {
  readonly what: string
  readonly who: number
  readonly whom: number
  /** Counts from the newest message. */
  readonly age: number
  /** One of the ways of doing it. */
  readonly way: number
  readonly more?: SendOptions
  /** Of a burst. */
  readonly steps?: readonly Step[]
}

export interface SendOptions {
  readonly isSystem?: boolean
  readonly isNotification?: boolean
  readonly isOnlineOnly?: boolean
  /** 0 = none */
  readonly transaction?: number
  /** Further targets. */
  readonly others?: readonly number[]
}

type Perform = (world: ConversationWorld, step: Step) => Promise<void>

/** The user of a step, the peer, and all that they ever had. */
function placeOf(world: ConversationWorld, { who, whom }: Step) {
  const { id: user } = world.pick(world.present, who)
  const peer = world.pick(world.peersOf(user), whom)
  return { user, peer, all: world.model.all(user, peer) }
}

function messageOf(all: readonly Written[], { age }: Step): Written | undefined {
  return all.at(-1 - (age % Math.max(all.length, 1)))
}

/** 0 = none. The targets are part of it, so that a repeat goes where the first send went. */
function transactionId(
  world: ConversationWorld,
  transaction: number,
  targets: readonly number[],
): number {
  const places = targets.map((id) => world.peersOf(world.owner.id).indexOf(id))
  return transaction === 0
    ? 0
    : transaction * 2 ** 8 + places.reduce((sum, place) => sum + 2 ** place, 0)
}

/** Sends from a user, or from the system to one that the user writes to. */
const send: Perform = async (world, { who, whom, more = {} }) => {
  const { id: user } = world.pick(world.present, who)
  const choices = world.targetsOf(user)
  const target = world.pick(choices, whom)
  const users = choices.filter((id) => !world.isGroup(id))
  const others = (more.others ?? []).map((each) => world.pick(users, each))
  const targets = world.isGroup(target) ? [target] : [...new Set([target, ...others])]
  const isSystem = more.isSystem === true && (world.cast.hasSystem || world.isGroup(target))
  await sendTo(world, isSystem ? systemId : user, targets, more)
}

async function sendTo(
  world: ConversationWorld,
  from: number,
  targets: readonly number[],
  { isNotification = false, isOnlineOnly = false, transaction = 0 }: SendOptions = {},
): Promise<void> {
  const isSingle = targets.length === 1
  const isToGroup = targets.some((target) => world.isGroup(target))
  const content = `text ${world.nextNumber()}`
  const begunAt = world.now
  const transaction_id = transactionId(world, transaction, targets)
  const body = textTo(targets, content, {
    ...(isToGroup && { type: 2 }),
    transaction_id,
    online_only: isOnlineOnly,
  })
  const path = isNotification ? '/message/notify' : '/message/send'
  const answer = await world.as(from).call('POST', path, { body })
  const isParty = targets.every((target) => world.model.isParty(from, target))
  if (from !== systemId && !isParty) {
    expect(answer.code).toBe(answerCode.not_group_member)
    return
  }
  expect(answer.code, answer.text).toBe(ok)
  expect(answer.envelope.data).toBe(true)
  const ids: number[] | undefined = answer.envelope.msg_ids
  expect(ids?.length).toBe(isSingle ? 1 : undefined)
  if (isOnlineOnly) return
  const key = `${from}/${transaction_id}`
  const known = world.transactions.get(key)
  if (known !== undefined) {
    if (isSingle) expect(ids).toEqual([known])
    return
  }
  const sent = targets.map(async (to) => ({
    kind: isToGroup ? ('group' as const) : ('direct' as const),
    id: ids?.[0] ?? (await newestId(world.as(to), from)),
    ...{ from, to, content, isNotification, audience: new Set<number>() },
  }))
  await world.keep(await Promise.all(sent), begunAt)
  if (transaction > 0) world.transactions.set(key, ids?.[0] ?? 0)
}

/**
 * Broadcasts, sends, registrations and deletions of users at once; the order is that of the IDs.
 * The first user stays, and finds out what broadcasts there are.
 */
const burst: Perform = async (world, { steps = [] }) => {
  count('in bursts', steps.length)
  const [witness, ...others] = world.present as [Person, ...Person[]]
  const leaving = new Set(
    steps.flatMap((each) =>
      each.what === 'remove' && others.length > 1 ? [world.pick(others, each.who)] : [],
    ),
  )
  const staying = world.present.filter((user) => !leaving.has(user))
  const newcomers: Person[] = []
  const broadcasts: Broadcast[] = []
  const sent: Omit<Sent, 'sentAt'>[] = []
  const begunAt = world.now
  const names = steps
    .filter(({ what }) => what === 'register')
    .map(() => `user_${world.nextNumber()}_`)
  await Promise.all([
    ...[...leaving].map((user) => user.api.succeed('POST', '/user/delete', { body: {} })),
    ...names.map(async (name) => newcomers.push(await world.register(name))),
    ...steps.map(async ({ what, who, whom }) => {
      const content = `text ${world.nextNumber()}`
      if (what === 'broadcast') {
        const from = world.pick([systemId, ...staying.map(({ id }) => id)], who)
        const extras = from === systemId ? {} : { from_user_id: from }
        const number = await broadcast(world.admin, content, extras)
        broadcasts.push({ from, content, number })
      } else if (what === 'send') {
        const { id: from } = world.pick(staying, who)
        const { id: to } = world.pick(staying, whom)
        const body = textTo([to], content)
        const { msg_ids } = await world.as(from).succeed('POST', '/message/send', { body })
        const message = { from, to, content, isNotification: false, audience: new Set<number>() }
        sent.push({ ...message, kind: 'direct', id: Number(msg_ids[0]) })
      }
    }),
  ])
  const around = { witness, staying, newcomers, leaving: leaving.size }
  sent.push(...(await learned(broadcasts, around)))
  world.turnOver(newcomers, leaving)
  await world.keep(sent, begunAt)
}

interface Broadcast {
  readonly from: number
  readonly content: string
  /** How many users are said to get it. */
  readonly number: number
}

/** The users around a burst. */
interface Present {
  readonly witness: Person
  readonly staying: readonly Person[]
  readonly newcomers: readonly Person[]
  /** A number of users. */
  readonly leaving: number
}

/** Finds out what a burst has made of broadcasts and newcomers, and that it is one order of both. */
async function learned(
  broadcasts: readonly Broadcast[],
  { witness, staying, newcomers, leaving }: Present,
): Promise<Omit<Sent, 'sentAt'>[]> {
  const senders = [...new Set(broadcasts.map(({ from }) => from))]
  const shownTo = async ({ api }: Person) => {
    const shown = await Promise.all(senders.map((from) => history(api, from)))
    return new Map(shown.flat().map(({ content, msg_id }) => [content, Number(msg_id)]))
  }
  const ids = await shownTo(witness)
  const ordered = broadcasts
    .map((each) => ({ ...each, id: ids.get(each.content) ?? 0 }))
    .sort((a, b) => a.id - b.id)
  const seen = await Promise.all(newcomers.map(shownTo))
  for (const own of seen) {
    const contents = ordered.map(({ content }) => content).filter((content) => own.has(content))
    expect(contents).toEqual(
      ordered.slice(ordered.length - contents.length).map(({ content }) => content),
    )
  }
  return ordered.map(({ from, content, id, number }) => {
    expect(id).toBeGreaterThan(0)
    const late = newcomers.filter((_, index) => seen[index]?.has(content))
    const due = staying.length + late.length
    expect(number).toBeGreaterThanOrEqual(due)
    expect(number).toBeLessThanOrEqual(due + leaving)
    const audience = new Set([...staying, ...late].map((user) => user.id))
    return { kind: 'broadcast', id, from, to: from, content, isNotification: false, audience }
  })
}

const alone: Perform = (world, step) => burst(world, { ...step, steps: [step] })

const look: Perform = async (world, step) => {
  const { user, peer } = placeOf(world, step)
  await world.compareHistory(user, peer, { limit: 1 + (step.age % 7) })
}

/**
 * A device reads the first page, all pages, or all on one page. The messages of two users and the
 * broadcasts of one of them are delivered separately, which only small pages show.
 */
const lookOnDevice: Perform = async (world, step) => {
  const { user, peer } = placeOf(world, step)
  const small = { limit: 1 + (step.age % 7), onDevice: true }
  const reading = world.pick([{ ...small, pages: 1 }, small, { ...small, limit: 100 }], step.way)
  await world.compareHistory(user, peer, reading)
}

/**
 * Messages between the pages of the list move conversations, of which the walk shows each one all
 * the same.
 */
const walk: Perform = async (world, step) => {
  if (world.hasRestarted) return
  const { user } = placeOf(world, step)
  const peers = world.peersOf(user)
  const due = peers.filter((peer) => world.model.visible(user, peer).length > 0)
  const shown: number[] = []
  for (let cursor = '', between = step.age % 6; ; between--) {
    const query = { cursor, limit: 1 + (step.way % 2) }
    const { data } = await world.as(user).succeed('GET', '/message/conversation_list', { query })
    for (const { conversation_id } of data.conversations as ConversationEntry[])
      shown.push(Number(conversation_id.uid))
    if (!data.has_more) break
    cursor = data.next_cursor
    if (between <= 0) continue
    const from = world.pick(peers, step.whom + between * step.way)
    if (!world.isGroup(from)) await sendTo(world, from, [user])
  }
  expect(shown.toSorted()).toEqual(due.toSorted())
}

/** By the conversation. */
const acknowledgeConversation: Perform = async (world, step) => {
  const { user, peer } = placeOf(world, step)
  const query = { conversation_id: peer }
  const { code } = await world.as(user).call('GET', '/message/ack', { query })
  // Where nothing was written yet there is nothing to read.
  expect(code).toBe(world.model.isParty(user, peer) ? ok : answerCode.conversation_not_found)
  world.model.read(user, peer, world.model.end(user, peer))
}

/**
 * By a message with and without its conversation, and as a message of content_type 9. Recalled and
 * removed messages mark their position.
 */
const acknowledgeMessage: Perform = async (world, step) => {
  const { user, peer, all } = placeOf(world, step)
  const { model } = world
  const message = messageOf(all, step)
  if (!message) return
  const isFromBefore = message.id <= (model.marks(user, peer)?.joined ?? 0)
  // A newcomer to the group knows nothing of what has gone before.
  if (message.isGone && isFromBefore) return
  if (message.isGone) count('acknowledgements of what is gone')
  const api = world.as(user)
  const msg_id = message.id
  const ways = [
    () => api.call('GET', '/message/ack', { query: { msg_id } }),
    () => api.call('GET', '/message/ack', { query: { conversation_id: peer, msg_id } }),
    () => operateOn(world, user, { operation: 'readAck', peer, message: msg_id }),
  ]
  const way = world.pick(ways, step.way)
  const unknown = way === ways[0] ? 'message_not_found' : 'conversation_not_found'
  const { code } = await way()
  // The ID alone may be that of a removed message of any conversation of the user (rule E14).
  const isUnknown = way !== ways[0] || !world.hasRemoved(user, msg_id)
  if (!model.isParty(user, peer)) expect(code).toBe(isUnknown ? answerCode[unknown] : ok)
  else if (isFromBefore && !model.groups.get(peer)?.isVisible)
    expect(code).toBe(answerCode.message_not_found)
  else {
    expect(code).toBe(ok)
    model.read(user, peer, msg_id)
  }
}

const acknowledgeAll: Perform = async (world, step) => {
  const { user } = placeOf(world, step)
  await acknowledge(world.as(user))
  for (const peer of world.peersOf(user)) world.model.read(user, peer, world.model.end(user, peer))
}

interface Operation {
  readonly operation: keyof typeof operationTypes
  readonly peer: number
  readonly message: number
  readonly content?: string
  readonly transaction_id?: number
}

/** Acts on a message by a message of content_type 9 to 12, with an Admin token. */
function operateOn(
  world: ConversationWorld,
  user: number,
  { operation, peer, ...what }: Operation,
) {
  const api = world.as(user)
  return world.isGroup(peer)
    ? operateInGroup(api, operation, { group: peer, ...what })
    : operate(api, operation, { peer, ...what })
}

const isThere = ({ isRecalled, isGone }: Written) => !isRecalled && !isGone

/** By an Admin token, which may recall everything. */
const recallByAdmin: Perform = async (world, step) => {
  const { user, peer, all } = placeOf(world, step)
  const message = messageOf(all, step)
  if (!message) return
  if (message.isGone) count('recalls of what is gone')
  const { kind, id } = message
  // A broadcast and a message of a group need no user while they are there.
  const needsUser = kind === 'direct' || !isThere(message)
  const api = step.way % 3 === 2 && !needsUser ? world.admin : world.as(user)
  const { code } = await (step.way % 3 === 1
    ? operateOn(world, user, { operation: 'recall', peer, message: id })
    : recall(api, peer, id))
  expect(code).toBe(isThere(message) ? ok : answerCode.message_not_found)
  message.isRecalled = true
}

/** By the user's own token: the sender, and the owner of a group what others have sent. */
const recallByUser: Perform = async (world, step) => {
  const { user, peer, all } = placeOf(world, step)
  const message = messageOf(all, step)
  if (!message) return
  const { code } = await recall(await world.deviceOf(user), peer, message.id)
  const { from } = message
  const isOwners = world.isGroup(peer) && user === world.owner.id && from !== systemId
  if (!world.model.isParty(user, peer)) expect(code).toBe(answerCode.member_required)
  else if (!isThere(message)) expect(code).toBe(answerCode.message_not_found)
  else expect(code).toBe(from === user || isOwners ? ok : answerCode.no_permission)
  if (code === ok) message.isRecalled = true
}

/** By an Admin token. */
const edit: Perform = async (world, step) => {
  const { user, peer, all } = placeOf(world, step)
  const message = messageOf(all, step)
  if (!message) return
  if (message.isGone) count('edits of what is gone')
  const operation = step.way % 2 === 0 ? 'append' : 'replace'
  const content = world.pick(['', '+', 'new'], step.way)
  const transaction = step.more?.transaction ?? 0
  const transaction_id = transaction === 0 ? 0 : 2 ** 20 + transaction
  const about = { peer, message: message.id, content, transaction_id }
  const { code } = await operateOn(world, user, { operation, ...about })
  const key = `${user}/edit/${transaction}`
  const isRepeat = transaction > 0 && world.transactions.has(key)
  expect(code).toBe(isThere(message) || isRepeat ? ok : answerCode.message_not_found)
  if (code !== ok || isRepeat) return
  if (transaction > 0) world.transactions.set(key, message.id)
  message.content = operation === 'append' ? message.content + content : content || message.content
  message.isEdited = true
}

const deletion: Perform = async (world, step) => {
  const { user, peer } = placeOf(world, step)
  const body = { conversation_id: peer }
  const { code } = await world.as(user).call('DELETE', '/message/conversation', { body })
  expect(code).toBe(world.model.isParty(user, peer) ? ok : answerCode.conversation_not_found)
  world.model.hide(user, peer)
}

/**
 * All messages before one of them, or before now, or all with a clock that is ahead; or none, with
 * one that is behind.
 */
const expire: Perform = async (world, { who, age }) => {
  const { service, model, appId } = world
  const all = model.logs.flat().sort((a, b) => a.id - b.id)
  const message = all[age % Math.max(all.length, 1)]
  const choices = [
    ...(message ? [message.sentAt, message.sentAt + 1] : []),
    Date.now(),
    ...(who % 5 === 0 ? [Date.now() + hourMs, Date.now() - hourMs] : []),
    ...(who % 7 === 0 ? [Date.now() + jumpMs] : []),
  ]
  const before = world.pick(choices, who)
  await service.retention.run(appId, before)
  const wasThere = all.filter(({ isGone }) => !isGone)
  model.expire(before)
  for (const { isGone, sentAt } of wasThere)
    if (isGone) count(sentAt < before ? 'gone' : 'gone with a later one')
}

/** A change of a group that the owner makes, if there is something to change. */
const byOwner =
  (
    path: string,
    change: (step: Step, group: GroupOfStep) => { readonly params: object; apply(): void } | null,
  ): Perform =>
  async (world, step) => {
    const id = world.pick(world.groupIds, step.whom)
    const { id: user } = world.pick(world.present, step.who)
    const isMember = world.model.isParty(user, id)
    const planned = change(step, { world, id, user, isMember })
    if (!planned) return
    expectSuccess(await groupCall(world.owner.api, path, id, planned.params))
    planned.apply()
  }

interface GroupOfStep {
  readonly world: ConversationWorld
  readonly id: number
  readonly user: number
  readonly isMember: boolean
}

const isOn = ({ way }: Step) => way % 2 === 0

const leave: Perform = async (world, step) => {
  const group_id = world.pick(world.groupIds, step.whom)
  const { id: user, api } = world.pick(world.present, step.who)
  if (user === world.owner.id || !world.model.isParty(user, group_id)) return
  await api.succeed('POST', '/group/leave', { query: { group_id } })
  world.model.leave(group_id, user)
}

const mute: Perform = async (world, { who, whom, way }) => {
  const group = world.pick(world.groupIds, whom)
  const { id: user, api } = world.pick(world.present, who)
  const marks = world.model.marks(user, group)
  if (!marks) return
  const { notReceived } = muteModes
  const msg_mute_mode = marks.mute === notReceived || way % 5 > 2 ? way % 2 : notReceived
  expectSuccess(await groupCall(api, '/group/msg/mute_mode', group, { msg_mute_mode }))
  marks.mute = msg_mute_mode
}

const performs = {
  send,
  broadcast: alone,
  register: alone,
  remove: alone,
  burst,
  look,
  'look on a device': lookOnDevice,
  'count unread': (world, step) => world.compareUnread(placeOf(world, step).user),
  list: (world, step) => world.compareList(placeOf(world, step).user, 1 + (step.age % 5)),
  walk,
  follow: (world, step) => {
    const { user, peer } = placeOf(world, step)
    return world.follow(user, peer, 1 + (step.age % 7))
  },
  acknowledge: acknowledgeConversation,
  'acknowledge message': acknowledgeMessage,
  'acknowledge all': acknowledgeAll,
  recall: recallByAdmin,
  'recall as the user': recallByUser,
  edit,
  delete: deletion,
  expire,
  'set the clock': async (world, { who }) =>
    world.service.server.clock.set(Date.now() + world.pick([0, jumpMs], who)),
  restart: (world) => world.restart(),
  join: byOwner('/group/admin/member_join', (_, { world, id, user, isMember }) =>
    isMember ? null : { params: { user_list: [user] }, apply: () => world.model.join(id, user) },
  ),
  kick: byOwner('/group/kick', (_, { world, id, user, isMember }) =>
    !isMember || user === world.owner.id
      ? null
      : { params: { user_list: [user] }, apply: () => world.model.leave(id, user) },
  ),
  leave,
  'set visible': byOwner('/group/settings/history_visible', (step, { world, id }) => ({
    params: { value: isOn(step) },
    apply: () => {
      world.model.group(id).isVisible = isOn(step)
    },
  })),
  'set read receipts': byOwner('/group/settings/enable_read_ack', (step, { world, id }) => ({
    params: { value: isOn(step) },
    apply: () => {
      world.model.group(id).hasReadAck = isOn(step)
    },
  })),
  mute,
} as const satisfies Record<string, Perform>

export type What = keyof typeof performs

export function perform(
  world: ConversationWorld,
  step: Step & { readonly what: What },
): Promise<void> {
  count(step.what)
  return performs[step.what](world, step)
}
