/**
 * What the service does to conversations against a model of what the decisions say (E4, E5, E6, E8b, E10, E13), and what must hold whatever
 * many clients do at once. A failure prints the shortest history that shows it.
 */
import type { Message, MessagePage } from '@hermod/protocol'
import { type Api, type ServerProcess, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  acknowledge,
  conversationList,
  deleteConversation,
  history,
  historyPage,
  integrityFaults,
  sendText,
  textTo,
  unreadCounts,
} from './support/messaging.js'

const userCount = 4
/** Parties are numbered; the one after the users is the system. */
const system = userCount
const users = Array.from({ length: userCount }, (_, user) => user)
const parties = [...users, system]
const conversationNotFound = 13001
const batchSize = 100

/** The server under test and the users of one history, who are new to it. */
class World {
  ids: readonly number[] = []
  /** Which history it is; the system is the same in all of them. */
  number = 0
  #pool: number[] = []
  #batches = 0

  constructor(public server: ServerProcess) {}

  async newUsers(): Promise<void> {
    if (this.#pool.length < userCount) await this.#register()
    this.number++
    this.ids = [...this.#pool.splice(0, userCount), 0]
  }

  /** Calls as a user, or as the system. */
  api(party: number): Api {
    return party === system ? this.server.api.admin() : this.server.api.admin({ userId: this.id(party) })
  }

  id(party: number): number {
    return this.ids[party] as number
  }

  partyOf(id: number | bigint): number {
    return this.ids.indexOf(Number(id))
  }

  async restart(): Promise<void> {
    expect(await this.server.stop()).toEqual({ code: 0, signal: null })
    this.server = await this.server.startAgain()
  }

  async #register(): Promise<void> {
    const batch = ++this.#batches
    const list = Array.from({ length: batchSize }, (_, index) => ({ username: `u${batch}_${index}`, password: 'correct horse' }))
    const { data } = await this.server.api.admin().succeed('POST', '/user/register/batch', { body: { list } })
    this.#pool = data.map(({ user_id }: { user_id: number }) => user_id)
  }
}

interface Written {
  readonly content: string
  readonly sender: number
  readonly isSystem: boolean
  /** Which send wrote it; messages of one send have no order among conversations. */
  readonly send: number
  /** null until an answer has told it. */
  id: number | null
}

/** Counts of messages from the oldest on. */
interface Marks {
  read: number
  hidden: number
}

class Conversation {
  readonly messages: Written[] = []
  readonly #marks = new Map<number, Marks>()

  marks(party: number): Marks {
    const marks = this.#marks.get(party) ?? { read: 0, hidden: 0 }
    this.#marks.set(party, marks)
    return marks
  }

  read(party: number, count: number): void {
    const marks = this.marks(party)
    marks.read = Math.max(marks.read, count)
  }

  visible(party: number): Written[] {
    return this.messages.slice(this.marks(party).hidden)
  }

  unread(party: number): number {
    const { read, hidden } = this.marks(party)
    return this.messages.filter(({ sender }, index) => index >= Math.max(read, hidden) && sender !== party).length
  }

  /** What the reader may be shown as the status of a message; over plain HTTP nothing is ever DELIVERED. */
  statuses(reader: number, peer: number, message: Written): Message['status'][] {
    const index = this.messages.indexOf(message)
    const judge = message.sender === reader ? peer : reader
    const { read, hidden } = this.marks(judge)
    if (index < read) return ['READ']
    // Whether deleting reads is settled by a test of its own.
    return index < hidden ? ['READ', 'UNREAD'] : ['UNREAD']
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
    conversation.read(sender, conversation.messages.length)
  }

  visible(user: number, peer: number): Written[] {
    return this.find(user, peer)?.visible(user) ?? []
  }

  unread(user: number): Map<number, number> {
    const counts = parties.map((peer): [number, number] => [peer, this.find(user, peer)?.unread(user) ?? 0])
    return new Map(counts.filter(([, count]) => count > 0))
  }
}

function keyOf(a: number, b: number): string {
  return a < b ? `${a}/${b}` : `${b}/${a}`
}

type Command = fc.AsyncCommand<Model, World>

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

  async run(model: Model, world: World): Promise<void> {
    const { sender, targets, isSystem, onlineOnly } = this.what
    const send = ++model.sends
    const content = `message ${send}`
    const body = textTo(
      targets.map((target) => world.id(target)),
      content,
      { transaction_id: this.#transactionId(world.number), online_only: onlineOnly },
    )
    const { data, msg_ids } = await world.api(sender).succeed('POST', isSystem ? '/message/notify' : '/message/send', { body })
    expect(data).toBe(true)
    expect(msg_ids?.length).toBe(targets.length === 1 ? 1 : undefined)
    if (onlineOnly) return
    const known = model.transactions.get(this.#transactionKey())
    if (known) {
      if (targets.length === 1 && known[0]?.id !== null) expect(msg_ids).toEqual([known[0]?.id])
      return
    }
    const written = targets.map((target) => {
      const message: Written = { content, sender, isSystem, send, id: msg_ids?.[0] ?? null }
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
    const marks = [transaction > 0 && `transaction ${transaction}`, isSystem && 'notify', onlineOnly && 'online only'].filter(Boolean)
    return `${sender} sends to ${targets}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`
  }
}

async function compareHistory(model: Model, world: World, reader: number, peer: number, limit: number): Promise<void> {
  const expected = model.visible(reader, peer).toReversed()
  const shown: Message[] = []
  let page: MessagePage | null = null
  do {
    const start: number | bigint = page?.next_msg_id ?? 0
    page = await historyPage(world.api(reader), world.id(peer), { limit, start })
    if (start !== 0) expect(page.messages[0]?.msg_id).toBe(start)
    expect(page.messages).toHaveLength(Math.min(limit, expected.length - shown.length))
    shown.push(...page.messages)
    expect(page.is_last).toBe(shown.length === expected.length)
  } while (!page.is_last)
  expect(page.next_msg_id).toBe(0)
  const conversation = model.find(reader, peer)
  for (const [index, message] of shown.entries()) {
    const written = expected[index] as Written
    written.id ??= Number(message.msg_id)
    expect(message).toMatchObject({
      content: written.content,
      msg_id: written.id,
      is_system: written.isSystem,
      from_xid: { uid: world.id(written.sender) },
      to_xid: { uid: world.id(written.sender === reader ? peer : reader) },
    })
    expect(conversation?.statuses(reader, peer, written)).toContain(message.status)
    if (index > 0) expect(message.msg_id).toBeLessThan(Number(shown[index - 1]?.msg_id))
  }
}

async function compareUnread(model: Model, world: World, user: number): Promise<void> {
  const expected = [...model.unread(user)].map(([peer, count]) => [world.id(peer), count])
  expect(await unreadCounts(world.api(user))).toEqual(Object.fromEntries(expected))
}

async function compareList(model: Model, world: World, user: number, limit: number): Promise<void> {
  const list = await conversationList(world.api(user), limit)
  const shown = list.map(({ conversation_id }) => world.partyOf(conversation_id.uid))
  expect(shown.toSorted()).toEqual(parties.filter((peer) => model.visible(user, peer).length > 0))
  const newest = shown.map((peer) => model.visible(user, peer).at(-1) as Written)
  for (const [index, { latest_msg_id }] of list.entries()) {
    const written = newest[index] as Written
    written.id ??= Number(latest_msg_id)
    expect(latest_msg_id).toBe(written.id)
    if (index > 0) expect(written.send).toBeLessThanOrEqual((newest[index - 1] as Written).send)
  }
}

class ReadHistory implements Command {
  constructor(
    private readonly user: number,
    private readonly peer: number,
    private readonly limit: number,
  ) {}
  check = () => true
  run = (model: Model, world: World) => compareHistory(model, world, this.user, this.peer, this.limit)
  toString = () => `${this.user} reads the history with ${this.peer} by ${this.limit}`
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
  run = (model: Model, world: World) => compareList(model, world, this.user, this.limit)
  toString = () => `${this.user} lists conversations by ${this.limit}`
}

/** The codes with which a call about a whole conversation may be answered. */
function codesFor(model: Model, user: number, peer: number): number[] {
  if (!model.find(user, peer)) return [conversationNotFound]
  // Of a conversation of which nothing is left to the user, both readings are the same to the user.
  return model.visible(user, peer).length > 0 ? [200] : [200, conversationNotFound]
}

class AcknowledgeConversation implements Command {
  constructor(
    private readonly user: number,
    private readonly peer: number,
  ) {}
  check = () => true

  async run(model: Model, world: World): Promise<void> {
    const { user, peer } = this
    const answer = await world.api(user).call('GET', '/message/ack', { query: { conversation_id: world.id(peer) } })
    expect(codesFor(model, user, peer)).toContain(answer.code)
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
    private readonly namesConversation: boolean,
  ) {}

  check = (model: Readonly<Model>) => model.visible(this.user, this.peer).length > 0

  async run(model: Model, world: World): Promise<void> {
    const { user, peer, age, namesConversation } = this
    const visible = model.visible(user, peer).toReversed()
    const written = visible[age % visible.length] as Written
    if (written.id === null) await compareHistory(model, world, user, peer, 100)
    await acknowledge(world.api(user), { message: Number(written.id), ...(namesConversation ? { peer: world.id(peer) } : {}) })
    const conversation = model.find(user, peer)
    conversation?.read(user, conversation.messages.indexOf(written) + 1)
  }

  toString = () => `${this.user} acknowledges message -${this.age} of ${this.peer}${this.namesConversation ? ' by name' : ''}`
}

class AcknowledgeAll implements Command {
  constructor(private readonly user: number) {}
  check = () => true

  async run(model: Model, world: World): Promise<void> {
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

  async run(model: Model, world: World): Promise<void> {
    const { user, peer } = this
    const answer = await world.api(user).call('DELETE', '/message/conversation', { body: { conversation_id: world.id(peer) } })
    expect(codesFor(model, user, peer)).toContain(answer.code)
    const conversation = model.find(user, peer)
    if (conversation) conversation.marks(user).hidden = conversation.messages.length
  }

  toString = () => `${this.user} deletes the conversation with ${this.peer}`
}

class Restart implements Command {
  check = () => true
  run = (_: Model, world: World) => world.restart()
  toString = () => 'the server restarts'
}

const user = fc.nat(userCount - 1)
const party = fc.nat(userCount)
const someUsers = fc.uniqueArray(user, { minLength: 1, maxLength: userCount })
const targets = fc.oneof({ weight: 3, arbitrary: user.map((target) => [target]) }, { weight: 1, arbitrary: someUsers })
const rarely = fc.nat(9).map((chance) => chance === 9)
const send = fc.record({
  sender: party,
  targets,
  transaction: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 }) }),
  isSystem: rarely,
  onlineOnly: rarely,
})

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 80, arbitrary: send.map((what) => new Send(what)) },
  { weight: 30, arbitrary: fc.tuple(user, party, fc.integer({ min: 1, max: 5 })).map((args) => new ReadHistory(...args)) },
  { weight: 15, arbitrary: user.map((args) => new ListUnread(args)) },
  { weight: 15, arbitrary: fc.tuple(user, fc.integer({ min: 1, max: 5 })).map((args) => new ListConversations(...args)) },
  { weight: 12, arbitrary: fc.tuple(user, party).map((args) => new AcknowledgeConversation(...args)) },
  { weight: 20, arbitrary: fc.tuple(user, party, fc.nat(10), fc.boolean()).map((args) => new AcknowledgeMessage(...args)) },
  { weight: 6, arbitrary: user.map((args) => new AcknowledgeAll(args)) },
  { weight: 14, arbitrary: fc.tuple(user, party).map((args) => new DeleteConversation(...args)) },
  { weight: 1, arbitrary: fc.constant(null).map(() => new Restart()) },
)

/** Who of the users does what while others do something else; nobody but the system's users 2 and 3 deletes, and user 0 only sends. */
type Action =
  | { readonly kind: 'send'; readonly peer: number }
  | { readonly kind: 'acknowledge'; readonly peer: number; readonly how: 'conversation' | 'message' | 'all' }
  | { readonly kind: 'delete'; readonly peer: number }

const sendAction = user.map((peer): Action => ({ kind: 'send', peer }))
const acknowledgeAction = fc
  .record({ peer: user, how: fc.constantFrom('conversation' as const, 'message' as const, 'all' as const) })
  .map((what): Action => ({ kind: 'acknowledge', ...what }))
const deleteAction = user.map((peer): Action => ({ kind: 'delete', peer }))

/** Two clients for each user. */
const scripts = fc.tuple(
  ...[...users, ...users].map((actor) => {
    const choices = [{ weight: 5, arbitrary: sendAction }]
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
  #time = 0

  constructor(private readonly world: World) {}

  async run(actions: readonly (readonly Action[])[]): Promise<void> {
    await Promise.all(actions.map((script, client) => this.#play(client, client % userCount, script)))
  }

  between(a: number, b: number): Sent[] {
    return this.sent.filter(({ sender, peer }) => keyOf(sender, peer) === keyOf(a, b)).sort((x, y) => y.id - x.id)
  }

  async #play(client: number, actor: number, script: readonly Action[]): Promise<void> {
    for (const [step, action] of script.entries()) {
      const begun = ++this.#time
      const { peer } = action
      const deed = () => ({ user: actor, peer, begun, answered: ++this.#time })
      if (action.kind === 'send') {
        const content = `${client}/${step}`
        const id = await sendText(this.world.api(actor), this.world.id(peer), content)
        this.sent.push({ sender: actor, peer, content, id, begun, answered: ++this.#time })
      } else if (this.between(actor, peer).length === 0) {
        // Nothing to read or to delete yet that one could be sure of.
      } else if (action.kind === 'delete') {
        await deleteConversation(this.world.api(actor), this.world.id(peer))
        this.deletions.push(deed())
      } else await this.#acknowledge(actor, action, deed)
    }
  }

  async #acknowledge(actor: number, { peer, how }: Action & { kind: 'acknowledge' }, deed: () => Deed): Promise<void> {
    const api = this.world.api(actor)
    const message = this.between(actor, peer)[0]?.id as number
    if (how === 'all') await acknowledge(api)
    else await acknowledge(api, { peer: this.world.id(peer), ...(how === 'message' ? { message } : {}) })
    this.reads.push({ ...deed(), peer: how === 'all' ? 'all' : peer, upTo: how === 'message' ? message : null })
  }
}

const concerns = (deed: Deed, reader: number, peer: number) => deed.user === reader && (deed.peer === peer || deed.peer === 'all')

/** @returns the unread count that the history shows */
function judgeHistory(crowd: Crowd, shown: readonly Message[], reader: number, peer: number, readerId: number): number {
  const all = crowd.between(reader, peer)
  const visible = all.slice(0, shown.length)
  expect(shown.map(({ msg_id, content }) => ({ id: msg_id, content }))).toEqual(visible.map(({ id, content }) => ({ id, content })))
  const deletions = crowd.deletions.filter((deed) => concerns(deed, reader, peer))
  const lastDeleted = Math.max(0, ...deletions.map(({ answered }) => answered))
  for (const { content, begun } of all.slice(shown.length))
    expect(begun, `${content} came after the last deletion`).toBeLessThan(lastDeleted)
  for (const { content, answered } of visible)
    for (const deletion of deletions)
      expect(answered, `${content} was there when the conversation was deleted`).toBeGreaterThan(deletion.begun)

  const received = shown.filter(({ from_xid }) => from_xid.uid !== readerId)
  const unread = received.filter(({ status }) => status === 'UNREAD')
  expect(received.slice(0, unread.length), 'the unread messages are the newest').toEqual(unread)
  const reads = crowd.reads.filter((deed) => concerns(deed, reader, peer))
  const ownLast = Math.max(0, ...all.filter(({ sender }) => sender === reader).map(({ id }) => id))
  const atLeast = reads.map(({ begun, upTo }) => upTo ?? all.find(({ answered }) => answered < begun)?.id ?? 0)
  const readTo = Math.max(ownLast, ...atLeast)
  for (const { msg_id, content } of unread) expect(Number(msg_id), `${content} was read`).toBeGreaterThan(readTo)
  if (reads.length === 0 && deletions.length === 0) expect(unread).toEqual(received.filter(({ msg_id }) => Number(msg_id) > ownLast))
  return unread.length
}

async function judge(crowd: Crowd, world: World): Promise<void> {
  for (const reader of users) {
    const unread: [number, number][] = []
    const latest: [number, number][] = []
    for (const peer of users) {
      const shown = await history(world.api(reader), world.id(peer), 50)
      const count = judgeHistory(crowd, shown, reader, peer, world.id(reader))
      if (count > 0) unread.push([world.id(peer), count])
      if (shown[0]) latest.push([world.id(peer), Number(shown[0].msg_id)])
    }
    expect(await unreadCounts(world.api(reader))).toEqual(Object.fromEntries(unread))
    const list = await conversationList(world.api(reader), 3)
    expect(list.map(({ conversation_id, latest_msg_id }) => [conversation_id.uid, latest_msg_id])).toEqual(
      latest.sort((a, b) => b[1] - a[1]),
    )
  }
  expect(await integrityFaults(world.server)).toEqual([])
}

for (const backend of testBackends()) {
  describe(`conversations on ${backend.name}`, () => {
    let world: World

    beforeAll(async () => {
      world = new World(await backend.startServer({ env: { HERMOD_CHECK_ANSWERS: 'on' } }))
    })

    afterAll(async () => {
      await world?.server[Symbol.asyncDispose]()
    })

    it('are what the model says after any history of calls', { timeout: 300_000 }, async () => {
      const commands = fc.commands([command], { maxCommands: 40, size: 'max' })
      const property = fc.asyncProperty(commands, async (calls) => {
        await world.newUsers()
        const model = new Model()
        await fc.asyncModelRun(() => ({ model, real: world }), calls)
        for (const reader of users) {
          for (const peer of parties) await compareHistory(model, world, reader, peer, 100)
          await compareUnread(model, world, reader)
          await compareList(model, world, reader, 20)
        }
      })
      await fc.assert(property, { numRuns: 100 })
    })

    it('keep every answered message and every mark whatever many clients do at once', { timeout: 300_000 }, async () => {
      const property = fc.asyncProperty(scripts, async (actions) => {
        await world.newUsers()
        const crowd = new Crowd(world)
        await crowd.run(actions)
        await judge(crowd, world)
      })
      await fc.assert(property, { numRuns: 20 })
    })

    it('leave nothing behind that does not agree', async () => {
      expect(await integrityFaults(world.server)).toEqual([])
    })
  })
}
