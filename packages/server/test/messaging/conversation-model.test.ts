/**
 * What the service does to conversations against a model of what the decisions say (E4 to E8b, E10, E13), and what must hold whatever
 * many clients do at once. A failure prints the shortest history that shows it.
 */
import type { ConversationEntry, Message, MessagePage } from '@hermod/protocol'
import { type Answer, type Json, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import { PeoplePool, type Person } from '../support/contacts.js'
import { InProcessServer } from '../support/in-process-server.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  newestMessages,
  sendText,
  textTo,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { system, World } from '../support/model-world.js'

const userCount = 4
const users = Array.from({ length: userCount }, (_, user) => user)
const parties = [...users, system]

let histories = 0

class ConversationWorld extends World {
  /** Which history it is; the system is the same in all of them. */
  readonly number = ++histories

  constructor(
    private readonly watched: InProcessServer,
    people: Person[],
  ) {
    super(watched, people)
  }

  /** After a restart IDs follow the clock again, which may have been ahead before. */
  hasRestarted = false

  async restart(): Promise<void> {
    this.hasRestarted = true
    await this.watched.stop()
    await this.watched.startAgain()
  }

  get now(): number {
    return this.watched.clock.now()
  }

  setClock(aheadMs: number): void {
    this.watched.clock.set(Date.now() + aheadMs)
  }
}

interface Written {
  content: string
  readonly sender: number
  readonly isSystem: boolean
  /** Which send wrote it; messages of one send have no order among conversations. */
  readonly send: number
  /** null until an answer has said it. */
  id: number | null
  isRecalled: boolean
  isEdited: boolean
  /** As the history showed it last. */
  editedAt: number
  /** What the clock said before and after the send. */
  readonly sentFrom: number
  readonly sentTo: number
}

/** Counts of messages from the oldest on. */
interface Marks {
  read: number
  delivered: number
  hidden: number
}

class Conversation {
  readonly messages: Written[] = []
  readonly #marks = new Map<number, Marks>()

  marks(party: number): Marks {
    const marks = this.#marks.get(party) ?? { read: 0, delivered: 0, hidden: 0 }
    this.#marks.set(party, marks)
    return marks
  }

  read(party: number, count: number): void {
    const marks = this.marks(party)
    marks.read = Math.max(marks.read, count)
  }

  deliver(party: number, count: number): void {
    const marks = this.marks(party)
    marks.delivered = Math.max(marks.delivered, count)
  }

  visible(party: number): Written[] {
    return this.messages.slice(this.marks(party).hidden).filter(({ isRecalled }) => !isRecalled)
  }

  unread(party: number): number {
    const { read, hidden } = this.marks(party)
    const isUnread = ({ sender, isRecalled }: Written, index: number) =>
      index >= Math.max(read, hidden) && sender !== party && !isRecalled
    return this.messages.filter(isUnread).length
  }

  /** What the reader may be shown as the status of a message. */
  statuses(reader: number, peer: number, message: Written): Message['status'][] {
    const index = this.messages.indexOf(message)
    const reporter = message.sender === reader ? peer : reader
    const { read, delivered, hidden } = this.marks(reporter)
    if (index < read) return ['READ']
    const status = index < delivered ? 'DELIVERED' : 'UNREAD'
    // Whether deleting reads is settled by a test of its own.
    return index < hidden ? ['READ', status] : [status]
  }

  /** A device of the reader has got a page. */
  pageOnDevice(reader: number, page: readonly Written[]): void {
    for (const message of page) {
      const count = this.messages.indexOf(message) + 1
      if (message.sender !== reader && count > this.marks(reader).read) this.deliver(reader, count)
    }
  }
}

class Model {
  sends = 0
  readonly transactions = new Map<string, readonly Written[]>()
  readonly #conversations = new Map<string, Conversation>()

  find(a: number, b: number): Conversation | undefined {
    return this.#conversations.get(keyOf(a, b))
  }

  write(sender: number, target: number, message: Written): void {
    const conversation = this.find(sender, target) ?? new Conversation()
    this.#conversations.set(keyOf(sender, target), conversation)
    conversation.messages.push(message)
    // A notification moves nobody's mark.
    if (!message.isSystem) conversation.read(sender, conversation.messages.length)
  }

  visible(user: number, peer: number): Written[] {
    return this.find(user, peer)?.visible(user) ?? []
  }

  unread(user: number): Map<number, number> {
    const counts = parties.map((peer): [number, number] => [
      peer,
      this.find(user, peer)?.unread(user) ?? 0,
    ])
    return new Map(counts.filter(([, count]) => count > 0))
  }
}

function keyOf(a: number, b: number): string {
  return a < b ? `${a}/${b}` : `${b}/${a}`
}

const newlyWritten = { isRecalled: false, isEdited: false, editedAt: 0 }

type Command = fc.AsyncCommand<Model, ConversationWorld>

class Send implements Command {
  constructor(
    private readonly what: {
      readonly sender: number
      readonly targets: readonly number[]
      readonly transaction: number
      readonly isSystem: boolean
      readonly onlineOnly: boolean
    },
  ) {}

  check = () => true

  async run(model: Model, world: ConversationWorld): Promise<void> {
    const { sender, targets, isSystem, onlineOnly } = this.what
    const send = ++model.sends
    const content = `message ${send}`
    const sentFrom = world.now
    const body = textTo(
      targets.map((target) => world.id(target)),
      content,
      { transaction_id: this.#transactionId(world.number), online_only: onlineOnly },
    )
    const { data, msg_ids } = await world
      .api(sender)
      .succeed('POST', isSystem ? '/message/notify' : '/message/send', { body })
    expect(data).toBe(true)
    expect(msg_ids?.length).toBe(targets.length === 1 ? 1 : undefined)
    if (onlineOnly) return
    const known = model.transactions.get(this.#transactionKey())
    if (known) {
      if (targets.length === 1 && known[0]?.id !== null) expect(msg_ids).toEqual([known[0]?.id])
      return
    }
    const written = targets.map((target) => {
      const message: Written = {
        ...newlyWritten,
        content,
        sender,
        isSystem,
        send,
        id: msg_ids?.[0] ?? null,
        sentFrom,
        sentTo: world.now,
      }
      model.write(sender, target, message)
      return message
    })
    if (this.what.transaction > 0) model.transactions.set(this.#transactionKey(), written)
  }

  /** 0 = none. Its targets are part of it, so that a repeat goes where the first send went. */
  #transactionId(history: number): number {
    const { targets, transaction } = this.what
    const places = targets.reduce((sum, target) => sum + 2 ** target, 0)
    return transaction === 0 ? 0 : (history * 2 ** 8 + transaction) * 2 ** userCount + places
  }

  #transactionKey(): string {
    return `${this.what.sender}/${this.#transactionId(0)}`
  }

  toString = () => {
    const { sender, targets, transaction, isSystem, onlineOnly } = this.what
    const marks = [
      transaction > 0 && `transaction ${transaction}`,
      isSystem && 'notify',
      onlineOnly && 'online only',
    ].filter(Boolean)
    return `${sender} sends to ${targets}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`
  }
}

interface Reading {
  readonly limit: number
  readonly onDevice?: boolean
}

async function compareHistory(
  model: Model,
  world: World,
  reader: number,
  peer: number,
  { limit, onDevice = false }: Reading,
) {
  const expected = model.visible(reader, peer).toReversed()
  const api = onDevice ? await world.device(reader) : world.api(reader)
  const conversation = model.find(reader, peer)
  let count = 0
  let page: MessagePage | null = null
  do {
    const start: number | bigint = page?.next_msg_id ?? 0
    page = await historyPage(api, world.id(peer), { limit, start })
    if (start !== 0) expect(page.messages[0]?.msg_id).toBe(start)
    const due = expected.slice(count, count + limit)
    expect(page.messages).toHaveLength(due.length)
    for (const [index, message] of page.messages.entries()) {
      const written = due[index] as Written
      compareMessage(world, written, message, written.sender === reader ? peer : reader)
      expect(conversation?.statuses(reader, peer, written)).toContain(message.status)
      const before = expected[count + index - 1]
      if (before) expect(message.msg_id).toBeLessThan(Number(before.id))
    }
    if (onDevice) conversation?.pageOnDevice(reader, due)
    count += due.length
    expect(page.is_last).toBe(count === expected.length)
  } while (!page.is_last)
  expect(page.next_msg_id).toBe(0)
}

function compareMessage(world: World, written: Written, message: Message, receiver: number): void {
  written.id ??= Number(message.msg_id)
  expect(message).toMatchObject({
    content: written.content,
    msg_id: written.id,
    is_system: written.isSystem,
    from_xid: { uid: world.id(written.sender) },
    to_xid: { uid: world.id(receiver) },
  })
  expectTime(message.timestamp, written)
  if (written.isEdited) expect(message.edit_timestamp).toBeGreaterThan(written.editedAt)
  else expect(message.edit_timestamp).toBe(written.editedAt)
  written.isEdited = false
  written.editedAt = Number(message.edit_timestamp)
}

function expectTime(timestamp: number | bigint, { sentFrom, sentTo }: Written): void {
  expect(timestamp).toBeGreaterThanOrEqual(sentFrom)
  expect(timestamp).toBeLessThanOrEqual(sentTo)
}

async function compareUnread(model: Model, world: World, user: number): Promise<void> {
  const expected = [...model.unread(user)].map(([peer, count]) => [world.id(peer), count])
  expect(await unreadCounts(world.api(user))).toEqual(Object.fromEntries(expected))
}

async function compareList(
  model: Model,
  world: ConversationWorld,
  user: number,
  limit: number,
): Promise<void> {
  const list = await conversationList(world.api(user), limit)
  const shown = list.map(({ conversation_id }) => world.userOf(conversation_id.uid))
  const due = parties.filter((peer) => model.visible(user, peer).length > 0)
  expect(shown.toSorted()).toEqual(due.toSorted())
  const newest = shown.map((peer) => model.visible(user, peer).at(-1) as Written)
  for (const [index, { latest_msg_id, update_timestamp }] of list.entries()) {
    const written = newest[index] as Written
    written.id ??= Number(latest_msg_id)
    expect(latest_msg_id).toBe(written.id)
    expectTime(update_timestamp, written)
    if (index === 0) continue
    expect(latest_msg_id).toBeLessThan(Number(list[index - 1]?.latest_msg_id))
    if (!world.hasRestarted)
      expect(written.send).toBeLessThanOrEqual((newest[index - 1] as Written).send)
  }
}

class ReadHistory implements Command {
  constructor(
    private readonly user: number,
    private readonly peer: number,
    readonly limit: number,
    readonly onDevice: boolean,
  ) {}
  check = () => true
  run = (model: Model, world: World) => compareHistory(model, world, this.user, this.peer, this)
  toString = () =>
    `${this.user} reads the history with ${this.peer} by ${this.limit}${this.onDevice ? ' on a device' : ''}`
}

class ListUnread implements Command {
  constructor(private readonly user: number) {}
  check = () => true
  run = (model: Model, world: World) => compareUnread(model, world, this.user)
  toString = () => `${this.user} counts unread messages`
}

class ListConversations implements Command {
  constructor(
    private readonly user: number,
    private readonly limit: number,
  ) {}
  check = () => true
  run = (model: Model, world: ConversationWorld) => compareList(model, world, this.user, this.limit)
  toString = () => `${this.user} lists conversations by ${this.limit}`
}

/** Messages between the pages move conversations, of which the walk shows each one all the same. */
class WalkConversations implements Command {
  constructor(
    private readonly user: number,
    private readonly limit: number,
    private readonly senders: readonly number[],
  ) {}
  check = () => true

  async run(model: Model, world: ConversationWorld): Promise<void> {
    if (world.hasRestarted) return
    const { user, limit } = this
    const due = parties.filter((peer) => model.visible(user, peer).length > 0)
    const shown: number[] = []
    const senders = [...this.senders]
    for (let cursor = ''; ; ) {
      const query = { cursor, limit }
      const { data } = await world.api(user).succeed('GET', '/message/conversation_list', { query })
      for (const { conversation_id } of data.conversations as ConversationEntry[])
        shown.push(world.userOf(conversation_id.uid))
      if (!data.has_more) break
      cursor = data.next_cursor
      const sender = senders.pop()
      if (sender !== undefined) await sendBetween(model, world, sender, user)
    }
    expect(shown.toSorted()).toEqual(due.toSorted())
  }

  toString = () =>
    `${this.user} walks over conversations by ${this.limit}, and ${this.senders} send`
}

function sendBetween(
  model: Model,
  world: ConversationWorld,
  sender: number,
  target: number,
): Promise<void> {
  const what = { transaction: 0, isSystem: false, onlineOnly: false }
  return new Send({ ...what, sender, targets: [target] }).run(model, world)
}

class SetClock implements Command {
  constructor(private readonly aheadMs: number) {}
  check = () => true
  run = async (_: Model, world: ConversationWorld) => world.setClock(this.aheadMs)
  toString = () => `the clock is ${this.aheadMs} ms ahead`
}

class AcknowledgeConversation implements Command {
  constructor(
    private readonly user: number,
    private readonly peer: number,
  ) {}
  check = () => true

  async run(model: Model, world: ConversationWorld): Promise<void> {
    const { user, peer } = this
    const answer = await world
      .api(user)
      .call('GET', '/message/ack', { query: { conversation_id: world.id(peer) } })
    expect(answer.code).toBe(200)
    const conversation = model.find(user, peer)
    conversation?.read(user, conversation.messages.length)
  }

  toString = () => `${this.user} acknowledges ${this.peer}`
}

class AcknowledgeMessage implements Command {
  constructor(
    private readonly user: number,
    private readonly peer: number,
    /** How far back from the newest message, beginning again at the oldest one that is visible. */
    private readonly age: number,
    private readonly way: 'message' | 'named' | 'operation',
  ) {}

  check = (model: Readonly<Model>) => this.#known(model).length > 0

  async run(model: Model, world: ConversationWorld): Promise<void> {
    const { user, peer, age, way } = this
    const known = this.#known(model).toReversed()
    const written = known[age % known.length] as Written
    if (written.id === null) await compareHistory(model, world, user, peer, { limit: 100 })
    const named = { peer: world.id(peer), message: Number(written.id) }
    if (way === 'operation')
      expect((await operate(world.api(user), 'readAck', named)).code).toBe(200)
    else await acknowledge(world.api(user), way === 'named' ? named : { message: named.message })
    const conversation = model.find(user, peer)
    conversation?.read(user, conversation.messages.indexOf(written) + 1)
  }

  /** Those that can be seen, and those that were recalled, whose position marks all the same. */
  #known(model: Readonly<Model>): Written[] {
    const visible = new Set(model.visible(this.user, this.peer))
    const messages = model.find(this.user, this.peer)?.messages ?? []
    return messages.filter(
      (written) => visible.has(written) || (written.isRecalled && written.id !== null),
    )
  }

  toString = () => `${this.user} acknowledges message -${this.age} of ${this.peer}(${this.way})`
}

/** Something is done to a message of which a recall and an edit may know: all calls are those of an Admin token. */
abstract class ChangeMessage implements Command {
  constructor(
    protected readonly user: number,
    protected readonly peer: number,
    /** How far back from the newest message, beginning again at the oldest one. */
    protected readonly age: number,
  ) {}

  check = (model: Readonly<Model>) => this.#known(model).length > 0

  async run(model: Model, world: ConversationWorld): Promise<void> {
    const known = this.#known(model).toReversed()
    const written = known[this.age % known.length] as Written
    await this.change(model, world, written, {
      peer: world.id(this.peer),
      message: written.id as number,
    })
  }

  protected abstract change(
    model: Model,
    world: ConversationWorld,
    written: Written,
    place: { readonly peer: number; readonly message: number },
  ): Promise<void>

  abstract toString(): string

  #known(model: Readonly<Model>): Written[] {
    return model.find(this.user, this.peer)?.messages.filter(({ id }) => id !== null) ?? []
  }
}

class Recall extends ChangeMessage {
  constructor(
    user: number,
    peer: number,
    age: number,
    private readonly asMessage: boolean,
  ) {
    super(user, peer, age)
  }

  protected async change(
    _: Model,
    world: ConversationWorld,
    written: Written,
    place: { peer: number; message: number },
  ): Promise<void> {
    const api = world.api(this.user)
    const answer = await (this.asMessage
      ? operate(api, 'recall', place)
      : recall(api, place.peer, place.message))
    expect(answer.code).toBe(written.isRecalled ? answerCode.message_not_found : 200)
    written.isRecalled = true
  }

  toString = () => `${this.user} recalls message -${this.age} of ${this.peer}`
}

class Edit extends ChangeMessage {
  constructor(
    user: number,
    peer: number,
    age: number,
    private readonly what: {
      readonly kind: 'append' | 'replace'
      readonly content: string
      readonly transaction: number
    },
  ) {
    super(user, peer, age)
  }

  protected async change(
    model: Model,
    world: ConversationWorld,
    written: Written,
    place: { peer: number; message: number },
  ): Promise<void> {
    const { kind, content, transaction } = this.what
    const transaction_id =
      transaction === 0 ? 0 : (world.number * 2 ** 8 + 2 ** 7 + transaction) * 2 ** userCount
    const key = `${this.user}/edit/${transaction}`
    const { code } = await operate(world.api(this.user), kind, {
      ...place,
      content,
      transaction_id,
    })
    const isRepeat = transaction > 0 && model.transactions.has(key)
    expect(code).toBe(written.isRecalled && !isRepeat ? answerCode.message_not_found : 200)
    if (code !== 200 || isRepeat) return
    if (transaction > 0) model.transactions.set(key, [written])
    written.content = kind === 'append' ? written.content + content : content || written.content
    written.isEdited = true
  }

  toString = () =>
    `${this.user} edits message -${this.age} of ${this.peer}: ${JSON.stringify(this.what)}`
}

class AcknowledgeAll implements Command {
  constructor(private readonly user: number) {}
  check = () => true

  async run(model: Model, world: ConversationWorld): Promise<void> {
    await acknowledge(world.api(this.user))
    for (const peer of parties) {
      const conversation = model.find(this.user, peer)
      conversation?.read(this.user, conversation.messages.length)
    }
  }

  toString = () => `${this.user} acknowledges everything`
}

class DeleteConversation implements Command {
  constructor(
    private readonly user: number,
    private readonly peer: number,
  ) {}
  check = () => true

  async run(model: Model, world: ConversationWorld): Promise<void> {
    const { user, peer } = this
    const answer = await world
      .api(user)
      .call('DELETE', '/message/conversation', { body: { conversation_id: world.id(peer) } })
    expect(answer.code).toBe(200)
    const conversation = model.find(user, peer)
    if (conversation) conversation.marks(user).hidden = conversation.messages.length
  }

  toString = () => `${this.user} deletes the conversation with ${this.peer}`
}

class Restart implements Command {
  check = () => true
  run = (_: Model, world: ConversationWorld) => world.restart()
  toString = () => 'the server restarts'
}

const user = fc.nat(userCount - 1)
const party = fc.constantFrom(...parties)
const someUsers = fc.uniqueArray(user, { minLength: 1, maxLength: userCount })
const targets = fc.oneof(
  { weight: 3, arbitrary: user.map((target) => [target]) },
  { weight: 1, arbitrary: someUsers },
)
const rarely = fc.nat(9).map((chance) => chance === 9)
const send = fc.record({
  sender: party,
  targets,
  transaction: fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) },
  ),
  isSystem: fc.nat(3).map((chance) => chance === 3),
  onlineOnly: rarely,
})

const way = fc.constantFrom('message' as const, 'named' as const, 'operation' as const)
const edit = fc.record({
  kind: fc.constantFrom('append' as const, 'replace' as const),
  content: fc.constantFrom('', '+', 'new'),
  transaction: fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) },
  ),
})

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 80, arbitrary: send.map((what) => new Send(what)) },
  {
    weight: 30,
    arbitrary: fc
      .tuple(user, party, fc.integer({ min: 1, max: 5 }), rarely)
      .map((args) => new ReadHistory(...args)),
  },
  { weight: 15, arbitrary: user.map((args) => new ListUnread(args)) },
  {
    weight: 15,
    arbitrary: fc
      .tuple(user, fc.integer({ min: 1, max: 5 }))
      .map((args) => new ListConversations(...args)),
  },
  {
    weight: 12,
    arbitrary: fc.tuple(user, party).map((args) => new AcknowledgeConversation(...args)),
  },
  {
    weight: 20,
    arbitrary: fc
      .tuple(user, party, fc.nat(10), way)
      .map((args) => new AcknowledgeMessage(...args)),
  },
  {
    weight: 25,
    arbitrary: fc.tuple(user, party, fc.nat(10), fc.boolean()).map((args) => new Recall(...args)),
  },
  {
    weight: 25,
    arbitrary: fc.tuple(user, party, fc.nat(10), edit).map((args) => new Edit(...args)),
  },
  { weight: 6, arbitrary: user.map((args) => new AcknowledgeAll(args)) },
  { weight: 14, arbitrary: fc.tuple(user, party).map((args) => new DeleteConversation(...args)) },
  { weight: 1, arbitrary: fc.constant(null).map(() => new Restart()) },
  {
    weight: 15,
    arbitrary: fc
      .tuple(user, fc.integer({ min: 1, max: 2 }), fc.array(party, { maxLength: 5 }))
      .map((args) => new WalkConversations(...args)),
  },
  { weight: 5, arbitrary: fc.constantFrom(0, 8 * 3_600_000).map((ms) => new SetClock(ms)) },
)

/** Who of the users does what while others do something else; nobody but the system's users 2 and 3 deletes, and user 0 only sends. */
type Action =
  | { readonly kind: 'send'; readonly peer: number }
  | {
      readonly kind: 'acknowledge'
      readonly peer: number
      readonly how: 'conversation' | 'message' | 'all'
    }
  | { readonly kind: 'delete'; readonly peer: number }
  | { readonly kind: 'recall' | 'append' | 'look'; readonly peer: number }

const sendAction = user.map((peer): Action => ({ kind: 'send', peer }))
const acknowledgeAction = fc
  .record({
    peer: user,
    how: fc.constantFrom('conversation' as const, 'message' as const, 'all' as const),
  })
  .map((what): Action => ({ kind: 'acknowledge', ...what }))
const otherAction = fc.record({
  kind: fc.constantFrom('recall' as const, 'append' as const, 'look' as const),
  peer: user,
})
const deleteAction = user.map((peer): Action => ({ kind: 'delete', peer }))

/** Two clients for each user. */
const scripts = fc.tuple(
  ...[...users, ...users].map((actor) => {
    const choices: { weight: number; arbitrary: fc.Arbitrary<Action> }[] = [
      { weight: 5, arbitrary: sendAction },
      { weight: 3, arbitrary: otherAction },
    ]
    if (actor > 0) choices.push({ weight: 3, arbitrary: acknowledgeAction })
    if (actor > 1) choices.push({ weight: 2, arbitrary: deleteAction })
    return fc.array(fc.oneof(...choices), { minLength: 1, maxLength: 30, size: 'max' })
  }),
)

interface Sent {
  readonly sender: number
  readonly peer: number
  readonly content: string
  readonly id: number
  isRecalled: boolean
  readonly appended: string[]
  /** Positions in the order of all beginnings and ends of calls. */
  readonly begun: number
  readonly answered: number
}

interface Deed {
  readonly user: number
  readonly peer: number | 'all'
  readonly begun: number
  readonly answered: number
}

/** Many clients at once, and what the answers that they got let one expect. */
class Crowd {
  readonly sent: Sent[] = []
  readonly reads: (Deed & { readonly upTo: number | null })[] = []
  readonly deletions: Deed[] = []
  /** Readings on a device. */
  readonly looks: Deed[] = []
  #time = 0

  constructor(private readonly world: World) {}

  async run(actions: readonly (readonly Action[])[]): Promise<void> {
    await Promise.all(
      actions.map((script, client) => this.#play(client, client % userCount, script)),
    )
  }

  between(a: number, b: number): Sent[] {
    return this.sent
      .filter(({ sender, peer }) => keyOf(sender, peer) === keyOf(a, b))
      .sort((x, y) => y.id - x.id)
  }

  async #play(client: number, actor: number, script: readonly Action[]): Promise<void> {
    for (const [step, action] of script.entries()) {
      const begun = ++this.#time
      const { peer } = action
      const deed = () => ({ user: actor, peer, begun, answered: ++this.#time })
      if (action.kind === 'send') {
        const content = `${client}/${step}`
        const id = await sendText(this.world.api(actor), this.world.id(peer), content)
        this.sent.push({
          sender: actor,
          peer,
          content,
          id,
          isRecalled: false,
          appended: [],
          begun,
          answered: ++this.#time,
        })
      } else if (this.between(actor, peer).length === 0) {
        // Nothing to read or to delete yet that one could be sure of.
      } else if (action.kind === 'delete') {
        await deleteConversation(this.world.api(actor), this.world.id(peer))
        this.deletions.push(deed())
      } else if (action.kind === 'acknowledge') await this.#acknowledge(actor, action, deed)
      else if (action.kind === 'look') {
        await history(await this.world.device(actor), this.world.id(peer))
        this.looks.push(deed())
      } else await this.#change(actor, peer, action.kind, `<${client}/${step}>`)
    }
  }

  /** Of the messages that both have sent, an old one. */
  async #change(
    actor: number,
    peer: number,
    kind: 'recall' | 'append',
    mark: string,
  ): Promise<void> {
    const all = this.between(actor, peer)
    const one = all[Math.floor(all.length / 3)]
    if (!one) return
    const api = this.world.api(actor)
    const place = { peer: this.world.id(peer), message: one.id }
    const answer: Answer<Json> = await operate(api, kind, {
      ...place,
      content: kind === 'append' ? mark : '',
    })
    if (answer.code === 200 && kind === 'append') one.appended.push(mark)
    else if (answer.code === 200) one.isRecalled = true
    else expect(answer.code).toBe(answerCode.message_not_found)
  }

  async #acknowledge(
    actor: number,
    { peer, how }: Action & { kind: 'acknowledge' },
    deed: () => Deed,
  ): Promise<void> {
    const api = this.world.api(actor)
    const message = this.between(actor, peer)[0]?.id as number
    if (how === 'all') await acknowledge(api)
    else {
      const query = {
        conversation_id: this.world.id(peer),
        ...(how === 'message' ? { msg_id: message } : {}),
      }
      const { code } = await api.call('GET', '/message/ack', { query })
      if (how === 'message' && code === answerCode.message_not_found) return
      expect(code).toBe(200)
    }
    this.reads.push({
      ...deed(),
      peer: how === 'all' ? 'all' : peer,
      upTo: how === 'message' ? message : null,
    })
  }
}

const concerns = (deed: Deed, reader: number, peer: number) =>
  deed.user === reader && (deed.peer === peer || deed.peer === 'all')

/** @returns the unread count that the history shows */
function checkHistory(
  crowd: Crowd,
  shown: readonly Message[],
  reader: number,
  peer: number,
  readerId: number,
): number {
  const everything = crowd.between(reader, peer)
  const all = everything.filter(({ isRecalled }) => !isRecalled)
  const visible = all.slice(0, shown.length)
  const partsOf = (content: string) => content.split(/(?=<)/)
  expect(shown.map(({ msg_id, content }) => [msg_id, ...partsOf(content).sort()])).toEqual(
    visible.map(({ id, content, appended }) => [id, ...[content, ...appended].sort()]),
  )
  const deletions = crowd.deletions.filter((deed) => concerns(deed, reader, peer))
  const lastDeleted = Math.max(0, ...deletions.map(({ answered }) => answered))
  for (const { content, begun } of all.slice(shown.length))
    expect(begun, `${content} came after the last deletion`).toBeLessThan(lastDeleted)
  for (const { content, answered } of visible)
    for (const deletion of deletions)
      expect(answered, `${content} was there when the conversation was deleted`).toBeGreaterThan(
        deletion.begun,
      )

  const received = shown.filter(({ from_xid }) => from_xid.uid !== readerId)
  const unread = received.filter(({ status }) => status !== 'READ')
  expect(received.slice(0, unread.length), 'the unread messages are the newest').toEqual(unread)
  const reads = crowd.reads.filter((deed) => concerns(deed, reader, peer))
  const ownLast = Math.max(
    0,
    ...everything.filter(({ sender }) => sender === reader).map(({ id }) => id),
  )
  const atLeast = reads.map(
    ({ begun, upTo }) => upTo ?? everything.find(({ answered }) => answered < begun)?.id ?? 0,
  )
  const readTo = Math.max(ownLast, ...atLeast)
  for (const { msg_id, content } of unread)
    expect(Number(msg_id), `${content} was read`).toBeGreaterThan(readTo)
  if (reads.length === 0 && deletions.length === 0)
    expect(unread).toEqual(received.filter(({ msg_id }) => Number(msg_id) > ownLast))
  const undelivered = unread.filter(({ status }) => status === 'UNREAD')
  expect(
    unread.slice(0, undelivered.length),
    'the messages that no device got are the newest',
  ).toEqual(undelivered)
  const lastLook = Math.max(
    0,
    ...crowd.looks.filter((deed) => concerns(deed, reader, peer)).map(({ begun }) => begun),
  )
  for (const { msg_id, content } of undelivered)
    expect(
      all.find(({ id }) => id === msg_id)?.answered,
      `a device got ${content}`,
    ).toBeGreaterThan(lastLook)
  return unread.length
}

async function checkCrowd(crowd: Crowd, world: World): Promise<void> {
  for (const reader of users) {
    const unread: [number, number][] = []
    const latest: [number, number][] = []
    for (const peer of users) {
      const shown = await history(world.api(reader), world.id(peer), 50)
      const count = checkHistory(crowd, shown, reader, peer, world.id(reader))
      if (count > 0) unread.push([world.id(peer), count])
      if (shown[0]) latest.push([world.id(peer), Number(shown[0].msg_id)])
    }
    expect(await unreadCounts(world.api(reader))).toEqual(Object.fromEntries(unread))
    expect(await newestMessages(world.api(reader), 3)).toEqual(latest.sort((a, b) => b[1] - a[1]))
  }
}

for (const backend of testBackends()) {
  describe(`conversations on ${backend.name}`, () => {
    let watched: InProcessServer
    let pool: PeoplePool

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      pool = new PeoplePool(watched, userCount * 25)
    })

    afterAll(async () => {
      await watched?.[Symbol.asyncDispose]()
    })

    async function newWorld(): Promise<ConversationWorld> {
      return new ConversationWorld(watched, await pool.take(userCount))
    }

    it('conversations: any sequence of calls gives the results of the model', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const commands = fc.commands([command], { maxCommands: 40, size: 'max' })
      const property = fc.asyncProperty(commands, async (calls) => {
        const world = await newWorld()
        const model = new Model()
        await fc.asyncModelRun(() => ({ model, real: world }), calls)
        for (const reader of users) {
          for (const peer of parties)
            await compareHistory(model, world, reader, peer, { limit: 100 })
          await compareUnread(model, world, reader)
          await compareList(model, world, reader, 20)
        }
      })
      await checkProperty(backend, property)
    })

    it('conversations: simultaneous calls lose no answered message and no read position', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const property = fc.asyncProperty(scripts, async (actions) => {
        const world = await newWorld()
        const crowd = new Crowd(world)
        await crowd.run(actions)
        await checkCrowd(crowd, world)
        expect(await integrityFaults(watched.server)).toEqual([])
      })
      await checkProperty(backend, property)
    })

    it('conversations: the integrity check finds no fault after the model', async () => {
      expect(await integrityFaults(watched.server)).toEqual([])
    })
  })
}
