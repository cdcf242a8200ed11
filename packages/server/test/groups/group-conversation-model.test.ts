/**
 * What the service does to conversations of groups, beside one of two users, against a model of what the decisions say (E5 to E7, E13, F4a,
 * F8a): after every step of a random history everybody sees what the model says. A failure prints the shortest history that shows it.
 */
import type { Message } from '@hermod/protocol'
import { testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import { operateInGroup, textToGroups } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  history,
  historyPage,
  integrityFaults,
  newestMessages,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { system, World } from '../support/model-world.js'

const userCount = 4
const users = Array.from({ length: userCount }, (_, user) => user)
const owner = 0
/** Two groups of the owner, and the conversation of users 0 and 1. */
const direct = 2
const groups = [0, 1]
const places = [...groups, direct]

const ok = 200
const notReceived = 2

/** Weights of what happens. */
const kinds = {
  send: 40,
  acknowledge: 20,
  look: 10,
  recall: 12,
  delete: 8,
  join: 10,
  leave: 6,
  kick: 4,
  setVisible: 6,
  setReadAck: 6,
  mute: 16,
} as const

type Kind = keyof typeof kinds

interface Step {
  readonly kind: Kind
  readonly who: number
  readonly place: number
  /** How far back from the newest message, beginning again at the newest one. */
  readonly age: number
  /** Which of the ways of doing it. */
  readonly way: number
}

interface Written {
  readonly id: number
  readonly sender: number
  /** Decided when it arrives; it only becomes smaller. */
  readonly unreadTo: Set<number>
  isRecalled: boolean
}

/** Counts of messages from the oldest on. */
interface Marks {
  joined: number
  read: number
  acked: number
  delivered: number
  hidden: number
  mute: number
}

class Conversation {
  readonly messages: Written[] = []
  readonly members = new Map<number, Marks>()
  /** How far each has ever read by acting, also those who have left. */
  readonly #everRead = new Map<number, number>()
  isVisible = false
  hasReadAck = false

  constructor(
    readonly isGroup: boolean,
    members: readonly number[],
  ) {
    for (const user of members) this.join(user)
  }

  get end(): number {
    return this.messages.length
  }

  join(user: number): void {
    if (this.members.has(user)) return
    const { end } = this
    this.members.set(user, {
      joined: end,
      read: end,
      // What was there before can be read by those who see it, and then counts as read (decision 020).
      acked: this.isVisible ? 0 : end,
      delivered: end,
      hidden: 0,
      mute: 0,
    })
  }

  leave(user: number): boolean {
    this.#see(user, this.end)
    return this.members.delete(user)
  }

  send(id: number, sender: number, { isNotification }: { readonly isNotification: boolean }): void {
    const receivers = [...this.members].filter(
      ([user, { mute }]) => user !== sender && mute !== notReceived,
    )
    const unreadTo = new Set(receivers.map(([user]) => user))
    this.messages.push({ id, sender, unreadTo, isRecalled: false })
    // A notification moves nobody's mark.
    if (!isNotification) this.#moveRead(sender, this.end)
  }

  read(user: number, count: number): void {
    const marks = this.members.get(user)
    if (!marks || count <= marks.acked) return
    marks.acked = count
    this.#moveRead(user, count)
  }

  #moveRead(user: number, count: number): void {
    const marks = this.members.get(user)
    if (!marks) return
    marks.read = Math.max(marks.read, count)
    this.#see(user, count)
    this.#everRead.set(user, Math.max(this.#everRead.get(user) ?? 0, count))
  }

  #see(user: number, count: number): void {
    for (const { unreadTo } of this.messages.slice(0, count)) unreadTo.delete(user)
  }

  hide(user: number): void {
    const marks = this.members.get(user)
    if (marks) marks.hidden = this.end
    this.#see(user, this.end)
  }

  mute(user: number, mode: number): void {
    const marks = this.members.get(user)
    if (marks) marks.mute = mode
  }

  /** Oldest first. */
  visible(user: number): Written[] {
    const marks = this.members.get(user)
    if (!marks) return []
    const start = Math.max(marks.hidden, this.isVisible || !this.isGroup ? 0 : marks.joined)
    return this.messages.slice(start).filter(({ isRecalled }) => !isRecalled)
  }

  unread(user: number): number {
    return this.messages.filter(({ unreadTo, isRecalled }) => unreadTo.has(user) && !isRecalled)
      .length
  }

  status(reader: number, message: Written): Message['status'] {
    const index = this.messages.indexOf(message)
    if (message.sender === reader && this.isGroup) {
      const isRead = [...this.#everRead].some(([user, count]) => user !== reader && index < count)
      return isRead && this.hasReadAck ? 'READ' : 'UNREAD'
    }
    const reporter =
      message.sender === reader ? [...this.members.keys()].find((user) => user !== reader) : reader
    const marks = this.members.get(reporter as number)
    if (!marks || index < marks.read) return 'READ'
    return index < marks.delivered ? 'DELIVERED' : 'UNREAD'
  }

  /** A device of the reader has got messages. */
  deliver(reader: number, page: readonly Written[]): void {
    const marks = this.members.get(reader)
    if (!marks) return
    for (const message of page) {
      const count = this.messages.indexOf(message) + 1
      if (message.sender !== reader && count > marks.read)
        marks.delivered = Math.max(marks.delivered, count)
    }
  }
}

/** The conversations of one history, whose users and groups are new, as they are and as they should be. */
class GroupConversationWorld extends World {
  readonly conversations: readonly Conversation[] = [
    new Conversation(true, [0, 1, 2]),
    new Conversation(true, [0, 3]),
    new Conversation(false, [0, 1]),
  ]

  private constructor(
    watched: InProcessServer,
    people: Person[],
    private readonly groupIds: readonly number[],
  ) {
    super(watched, people)
  }

  static async create(watched: InProcessServer, people: Person[]): Promise<GroupConversationWorld> {
    const [first, second, third, fourth] = people as [Person, Person, Person, Person]
    const groupIds = [
      await aGroup(first, { members: [second, third] }),
      await aGroup(first, { members: [fourth] }),
    ]
    const world = new GroupConversationWorld(watched, people, groupIds)
    await performs.setReadAck(world, { kind: 'setReadAck', who: owner, place: 0, age: 0, way: 0 })
    return world
  }

  /** Under which ID a user finds the conversation. */
  idOf(place: number, user: number): number {
    return place === direct ? this.id(user === 0 ? 1 : 0) : (this.groupIds[place] as number)
  }

  conversation(place: number): Conversation {
    return this.conversations[place] as Conversation
  }

  /** Everybody sees what the model says. */
  async compare(): Promise<void> {
    await Promise.all(users.map((user) => this.#compare(user)))
  }

  async #compare(user: number): Promise<void> {
    const api = this.api(user)
    const unread = places.map(
      (place) => [this.idOf(place, user), this.conversation(place).unread(user)] as const,
    )
    const listed = places
      .map(
        (place) =>
          [this.idOf(place, user), this.conversation(place).visible(user).at(-1)?.id ?? 0] as const,
      )
      .filter(([, latest]) => latest > 0)
      .toSorted(([, a], [, b]) => b - a)
    const seen = { unread: await unreadCounts(api), list: await newestMessages(api, 2) }
    expect(seen.unread, `unread of ${user}`).toEqual(
      Object.fromEntries(unread.filter(([, count]) => count > 0)),
    )
    expect(seen.list, `list of ${user}`).toEqual(listed)
    for (const place of places)
      if (place !== direct || user < 2) await this.#compareHistory(user, place)
  }

  async #compareHistory(user: number, place: number): Promise<void> {
    const conversation = this.conversation(place)
    if (!conversation.members.has(user)) {
      const query = { opposite_id: this.idOf(place, user), msg_id_start: 0, limit: 3 }
      expect((await this.api(user).call('GET', '/message/conversation', { query })).code).toBe(
        answerCode.member_required,
      )
      return
    }
    const shown = await history(this.api(user), this.idOf(place, user), 7)
    expect(
      shown.map(({ msg_id, from_xid, status }) => [msg_id, from_xid.uid, status]),
      `history of ${user} in ${place}`,
    ).toEqual(
      conversation
        .visible(user)
        .toReversed()
        .map((message) => [
          message.id,
          this.id(message.sender),
          conversation.status(user, message),
        ]),
    )
  }
}

type Perform = (world: GroupConversationWorld, step: Step) => Promise<void>

/** Of a group that is named by any place. */
const groupOf = (place: number) => place % groups.length
/** Who is in the direct conversation, for steps that name anybody. */
const partyOf = ({ who, place }: Step) => (place === direct ? who % 2 : who)

const send: Perform = async (world, step) => {
  const sender = step.way === 0 && step.place !== direct ? system : partyOf(step)
  const conversation = world.conversation(step.place)
  const id = world.idOf(step.place, sender)
  const isNotification = step.way === 4
  const body = step.place === direct ? textTo([id], 'x') : textToGroups([id], 'x')
  const path = isNotification ? '/message/notify' : '/message/send'
  const answer = await world.api(sender).call('POST', path, { body })
  const isTaken = sender === system || conversation.members.has(sender)
  expect(answer.code).toBe(isTaken ? ok : answerCode.not_group_member)
  if (isTaken) conversation.send(Number(answer.envelope.msg_ids[0]), sender, { isNotification })
}

/** By the conversation, by a message with and without it, as a message of content_type 9, and everything. */
const acknowledgeStep: Perform = async (world, step) => {
  const user = partyOf(step)
  const api = world.api(user)
  if (step.way === 0) {
    await acknowledge(api)
    for (const conversation of world.conversations) conversation.read(user, conversation.end)
    return
  }
  const conversation = world.conversation(step.place)
  const conversation_id = world.idOf(step.place, user)
  const isThere = conversation.members.has(user) && conversation.end > 0
  if (step.way === 1) {
    const { code } = await api.call('GET', '/message/ack', { query: { conversation_id } })
    // Where nothing was written yet there is nothing to read.
    expect(code).toBe(conversation.members.has(user) ? ok : answerCode.conversation_not_found)
    conversation.read(user, conversation.end)
    return
  }
  const message = conversation.messages.at(-1 - (step.age % Math.max(conversation.end, 1)))
  if (!message) return
  const named = { peer: conversation_id, message: message.id }
  // A message that was recalled marks its position.
  const isKnown = isThere
  const unknown = (hasNamed: boolean) =>
    isThere || !hasNamed ? answerCode.message_not_found : answerCode.conversation_not_found
  if (step.way === 2) {
    const { code } = await api.call('GET', '/message/ack', { query: { msg_id: message.id } })
    expect(code).toBe(isKnown ? ok : unknown(false))
  } else if (step.way === 3) {
    const { code } = await api.call('GET', '/message/ack', {
      query: { conversation_id, msg_id: message.id },
    })
    expect(code).toBe(isKnown ? ok : unknown(true))
  } else {
    const operation = conversation.isGroup
      ? operateInGroup(api, 'readAck', { group: conversation_id, message: message.id })
      : operate(api, 'readAck', named)
    expect((await operation).code).toBe(isKnown ? ok : unknown(true))
  }
  if (isKnown) conversation.read(user, conversation.messages.indexOf(message) + 1)
}

/** A device reads a page. */
const look: Perform = async (world, step) => {
  const user = partyOf(step)
  const conversation = world.conversation(step.place)
  if (!conversation.members.has(user)) return
  const limit = 1 + step.age
  const page = await historyPage(await world.device(user), world.idOf(step.place, user), { limit })
  const visible = conversation.visible(user)
  expect(page.is_last).toBe(visible.length <= limit)
  conversation.deliver(user, visible.slice(-limit))
}

/** By an Admin token, or by the user's own: the sender, and the owner of a group what others have sent. */
const recallStep: Perform = async (world, step) => {
  const user = partyOf(step)
  const conversation = world.conversation(step.place)
  const message = conversation.messages.at(-1 - (step.age % Math.max(conversation.end, 1)))
  if (!message) return
  const isAdmin = step.way < 3
  const { code } = await recall(
    isAdmin ? world.api(user) : await world.device(user),
    world.idOf(step.place, user),
    message.id,
  )
  const isMember = conversation.members.has(user)
  const isOwners = conversation.isGroup && user === owner && message.sender !== system
  const isAllowed = isAdmin || message.sender === user || isOwners
  const refusal = message.isRecalled ? answerCode.message_not_found : answerCode.no_permission
  if (!isMember && !isAdmin) expect(code).toBe(answerCode.member_required)
  else expect(code).toBe(isAllowed && !message.isRecalled ? ok : refusal)
  if (code === ok) message.isRecalled = true
}

const deleteStep: Perform = async (world, step) => {
  const user = partyOf(step)
  const conversation = world.conversation(step.place)
  const body = { conversation_id: world.idOf(step.place, user) }
  const { code } = await world.api(user).call('DELETE', '/message/conversation', { body })
  expect(code).toBe(conversation.members.has(user) ? ok : answerCode.conversation_not_found)
  conversation.hide(user)
}

/** A change of a group that the owner makes, if there is something to change. */
const byOwner =
  (
    path: string,
    params: (world: GroupConversationWorld, step: Step) => object | null,
    change: (conversation: Conversation, step: Step) => void,
  ): Perform =>
  async (world, step) => {
    const place = groupOf(step.place)
    const named = params(world, { ...step, place })
    if (!named) return
    expectSuccess(await groupCall(world.api(owner), path, world.idOf(place, owner), named))
    change(world.conversation(place), step)
  }

const isIn = (world: GroupConversationWorld, { place, who }: Step) =>
  world.conversation(place).members.has(who)
const userList = (world: GroupConversationWorld, { who }: Step) => ({ user_list: [world.id(who)] })
const value = ({ way }: Step) => way % 2 === 0

const performs: Readonly<Record<Kind, Perform>> = {
  send,
  acknowledge: acknowledgeStep,
  look,
  recall: recallStep,
  delete: deleteStep,
  join: byOwner(
    '/group/admin/member_join',
    (world, step) => (isIn(world, step) ? null : userList(world, step)),
    (conversation, { who }) => conversation.join(who),
  ),
  kick: byOwner(
    '/group/kick',
    (world, step) => (isIn(world, step) && step.who !== owner ? userList(world, step) : null),
    (conversation, { who }) => conversation.leave(who),
  ),
  setVisible: byOwner(
    '/group/settings/history_visible',
    (_, step) => ({ value: value(step) }),
    (conversation, step) => {
      conversation.isVisible = value(step)
    },
  ),
  setReadAck: byOwner(
    '/group/settings/enable_read_ack',
    (_, step) => ({ value: value(step) }),
    (conversation, step) => {
      conversation.hasReadAck = value(step)
    },
  ),
  async leave(world, { who, place }) {
    const conversation = world.conversation(groupOf(place))
    if (who === owner || !conversation.leave(who)) return
    await world
      .api(who)
      .succeed('POST', '/group/leave', { query: { group_id: world.idOf(groupOf(place), who) } })
  },
  async mute(world, { who, place, way }) {
    const conversation = world.conversation(groupOf(place))
    const marks = conversation.members.get(who)
    if (!marks) return
    const msg_mute_mode = marks.mute === notReceived || way > 2 ? way % 2 : notReceived
    expectSuccess(
      await groupCall(world.api(who), '/group/msg/mute_mode', world.idOf(groupOf(place), who), {
        msg_mute_mode,
      }),
    )
    conversation.mute(who, msg_mute_mode)
  },
}

const maxSteps = 40
const anyHistory: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    kind: fc.oneof(
      ...Object.entries(kinds).map(([kind, weight]) => ({
        weight,
        arbitrary: fc.constant(kind as Kind),
      })),
    ),
    who: fc.nat(userCount - 1),
    place: fc.nat(places.length - 1),
    age: fc.nat(6),
    way: fc.nat(4),
  }),
  { minLength: 1, maxLength: maxSteps, size: 'max' },
)

/** What happens to one member of a group who does not receive all of it, and reads it by and by. */
const listener = 1
const aroundListener = [
  { kind: 'send', who: owner, ways: [0, 3], weight: 50 },
  // A message, and a notification.
  { kind: 'send', who: listener, ways: [3, 4], weight: 4 },
  { kind: 'acknowledge', who: listener, ways: [2, 4], weight: 12 },
  { kind: 'recall', who: owner, ways: [0, 2], weight: 14 },
  { kind: 'mute', who: listener, ways: [0, 4], weight: 26 },
  { kind: 'delete', who: listener, ways: [0, 0], weight: 1 },
  { kind: 'leave', who: listener, ways: [0, 0], weight: 2 },
  { kind: 'join', who: listener, ways: [0, 0], weight: 6 },
] as const
const historyOfListener: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    ...aroundListener.map(({ kind, who, ways: [min, max], weight }) => ({
      weight,
      arbitrary: fc.record({
        kind: fc.constant(kind),
        who: fc.constant(who),
        place: fc.constant(0),
        age: fc.nat(6),
        way: fc.integer({ min, max }),
      }),
    })),
  ),
  { minLength: 1, maxLength: maxSteps, size: 'max' },
)

for (const backend of testBackends()) {
  describe(`conversations of groups on ${backend.name}`, () => {
    let watched: InProcessServer
    let pool: PeoplePool

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      pool = new PeoplePool(watched, userCount * 20)
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    async function newWorld(): Promise<GroupConversationWorld> {
      return GroupConversationWorld.create(watched, await pool.take(userCount))
    }

    it.each([
      ['any history', anyHistory],
      ['a history of a member who receives nothing at times', historyOfListener],
    ])(
      'group conversations: every step of %s gives the results of the model',
      {
        timeout: propertyTimeoutMs,
      },
      async (_, histories) => {
        const property = fc.asyncProperty(histories, async (steps) => {
          const world = await newWorld()
          for (const each of steps) {
            await performs[each.kind](world, each)
            await world.compare()
          }
        })
        await checkProperty(backend, property)
        expect(await integrityFaults(watched.server)).toEqual([])
      },
    )
  })
}
