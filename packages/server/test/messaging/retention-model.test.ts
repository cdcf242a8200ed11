/**
 * History that comes to the end of its time, against a model: what users have of conversations with each other, with the system, with
 * senders of broadcasts and of groups, whatever is done meanwhile (rules E5, E7, E13, E14). A failure prints the shortest history.
 */
import type { Message } from '@hermod/protocol'
import { type Api, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import type { Person } from '../support/contacts.js'
import { operateInGroup, sendToGroup } from '../support/groups/group-messaging.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { InProcessServer } from '../support/in-process-server.js'
import { addUsers, anApplication, broadcast, newestId } from '../support/messaging/broadcasts.js'
import { ChangeReader } from '../support/messaging/change-reader.js'
import { keepHistory, Retention } from '../support/messaging/history-retention.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  deleteConversation,
  history,
  integrityFaults,
  newestMessages,
  notify,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'

const systemId = 0
const hourMs = 3_600_000
/** How far the clock of the machine is wrong at times. */
const jumpMs = 8 * hourMs
const muteModes = { received: 0, notReceived: 2 }

interface Written {
  readonly id: number
  readonly from: number
  /** A user, the group, or null: everybody who is there. */
  readonly to: number | null
  /** It moves no mark of the user in whose name it comes. */
  readonly isSystem: boolean
  /** Of a message to the group: members who receive nothing at that moment. */
  readonly missedBy: ReadonlySet<number>
  content: string
  isRecalled: boolean
  isGone: boolean
  /** As the service has stored it. */
  readonly sentAt: number
}

interface Cursor {
  read: number
  hidden: number
}

const nat = fc.nat(1_000)
const writing = fc.constantFrom('send', 'notify', 'say', 'broadcast')
const altering = fc.constantFrom('recall', 'append')
const reading = fc.constantFrom(
  'acknowledge',
  'acknowledge message',
  'acknowledge all',
  'delete',
  'mute',
  'join',
  'follow',
)
const numbers = { who: nat, whom: nat, which: nat }
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ what: writing, ...numbers }) },
  { weight: 5, arbitrary: fc.record({ what: altering, ...numbers }) },
  { weight: 6, arbitrary: fc.record({ what: reading, ...numbers }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('expire'), ...numbers }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('set the clock'), ...numbers }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** What a device keeps of a conversation, and up to which change. */
interface Copy {
  position: number
  hidden: number
  messages: Map<number, string>
}

/** How often each thing was done, so that the test is known to do it. */
const counts: Record<string, number> = {}
const count = (what: string, times = 1) => {
  counts[what] = (counts[what] ?? 0) + times
}

class RetentionWorld {
  readonly log: Written[] = []
  readonly #cursors = new Map<string, Cursor>()
  readonly #copies = new Map<string, Copy>()
  readonly #muted = new Set<number>()
  readonly #members: Set<number>
  #texts = 0

  constructor(
    readonly admin: Api,
    private readonly watched: InProcessServer,
    private readonly retention: Retention,
    private readonly changes: ChangeReader,
    readonly people: readonly Person[],
    private readonly group: number,
  ) {
    this.#members = new Set(people.slice(0, 3).map(({ id }) => id))
  }

  pick<T>(choices: readonly T[], which: number): T {
    return choices[which % choices.length] as T
  }

  get appId(): string {
    return this.admin.options.appId ?? ''
  }

  get #ids(): number[] {
    return this.people.map(({ id }) => id)
  }

  /** Whom a user may have a conversation with. */
  peersOf(user: number): number[] {
    return [systemId, ...this.#ids, ...(this.#members.has(user) ? [this.group] : [])]
  }

  #cursor(user: number, peer: number): Cursor {
    const key = `${user}/${peer}`
    const cursor = this.#cursors.get(key) ?? { read: 0, hidden: 0 }
    this.#cursors.set(key, cursor)
    return cursor
  }

  #read(user: number, peer: number, id: number): void {
    const cursor = this.#cursor(user, peer)
    cursor.read = Math.max(cursor.read, id)
  }

  /** All that a user and a peer ever had, oldest first. */
  #all(user: number, peer: number): Written[] {
    const isIn = ({ from, to }: Written) => {
      if (peer === this.group) return to === this.group
      if (to === null) return from === peer
      return (from === user && to === peer) || (from === peer && to === user)
    }
    return this.log.filter(isIn).sort((a, b) => a.id - b.id)
  }

  #visible(user: number, peer: number): Written[] {
    const { hidden } = this.#cursor(user, peer)
    return this.#all(user, peer).filter(
      ({ id, isRecalled, isGone }) => id > hidden && !isRecalled && !isGone,
    )
  }

  #unread(user: number, peer: number): number {
    const { read } = this.#cursor(user, peer)
    return this.#visible(user, peer).filter(
      ({ id, from, missedBy }) => from !== user && id > read && !missedBy.has(user),
    ).length
  }

  #status(user: number, peer: number, { from, to, id }: Written): Message['status'] {
    if (user === peer && to === null) return 'READ'
    // Nobody asked for receipts of the group.
    if (peer === this.group && from === user) return 'UNREAD'
    const { read } = from === user ? this.#cursor(peer, user) : this.#cursor(user, peer)
    return id <= read ? 'READ' : 'UNREAD'
  }

  async run(one: Step): Promise<void> {
    count(one.what)
    switch (one.what) {
      case 'send':
      case 'notify':
      case 'say':
      case 'broadcast':
        return this.#write(one)
      case 'recall':
      case 'append':
        return this.#alter(one)
      case 'expire':
        return this.#expire(one)
      case 'set the clock':
        return this.watched.clock.set(Date.now() + this.pick([0, jumpMs], one.who))
      case 'mute':
      case 'join':
        return this.#changeMembership(one)
      default:
        return this.#look(one)
    }
  }

  async #write({ what, who, whom }: Step): Promise<void> {
    const { id: user, api } = this.pick(this.people, who)
    const { id: other } = this.pick(this.people, whom)
    const content = `text ${++this.#texts}`
    const written = { content, isRecalled: false, isGone: false, isSystem: false }
    const begunAt = this.watched.clock.now()
    const sentAt = async (id: number) => {
      const [row] = await this.watched.sql.run(`select sent_at from messages where msg_id = ${id}`)
      const time = Number(row?.sent_at)
      expect(time).toBeGreaterThanOrEqual(begunAt)
      expect(time).toBeLessThanOrEqual(this.watched.clock.now())
      return time
    }
    if (what === 'send') {
      const id = await sendText(api, other, content)
      this.#keep({ ...written, id, sentAt: await sentAt(id), from: user, to: other })
      this.#read(user, other, id)
    } else if (what === 'notify') {
      const from = who % 2 === 0 ? systemId : user
      const id = await notify(from === systemId ? this.admin : api, other, content)
      this.#keep({ ...written, id, sentAt: await sentAt(id), from, to: other, isSystem: true })
    } else if (what === 'say') {
      if (!this.#members.has(user)) return
      const id = await sendToGroup(api, this.group, content)
      const missedBy = new Set(this.#muted)
      this.#keep({ ...written, id, sentAt: await sentAt(id), from: user, to: this.group, missedBy })
      this.#read(user, this.group, id)
    } else {
      const from = who % 2 === 0 ? systemId : user
      await broadcast(this.admin, content, from === systemId ? {} : { from_user_id: from })
      const id = await newestId((this.people[0] as Person).api, from)
      this.#keep({ ...written, id, sentAt: await sentAt(id), from, to: null })
    }
  }

  #keep({ missedBy = new Set(), ...written }: Omit<Written, 'missedBy'> & Partial<Written>): void {
    this.log.push({ ...written, missedBy })
  }

  /** By an Admin token; what was recalled or is gone is not there. */
  async #alter({ what, which }: Step): Promise<void> {
    const message = this.pick(this.log, which)
    if (!message) return
    const { id, from, to } = message
    const isThere = !message.isRecalled && !message.isGone
    if (message.isGone) count(`${what} of what is gone`)
    const user = from === systemId ? (to ?? (this.#ids[0] as number)) : from
    const actor = this.admin.admin({ userId: user })
    const peer = from === systemId ? systemId : (to ?? from)
    let answer: Awaited<ReturnType<typeof recall>>
    if (what === 'recall') answer = await recall(actor, peer, id)
    else if (to === this.group)
      answer = await operateInGroup(actor, 'append', { group: to, message: id, content: '+' })
    else answer = await operate(actor, 'append', { peer, message: id, content: '+' })
    expect(answer.code).toBe(isThere ? 200 : answerCode.message_not_found)
    if (!isThere) return
    if (what === 'recall') message.isRecalled = true
    else message.content += '+'
  }

  /** The log that a message is in: of two parties, of the group, or of the broadcasts of a sender. */
  #keyOf({ from, to }: Written): string {
    if (to === null || to === this.group) return to === null ? `from ${from}` : 'group'
    return [from, to].sort((a, b) => a - b).join()
  }

  /** All messages before one of them, or before now, or all with a clock that is ahead; or none, with one that is behind. */
  async #expire({ who, which }: Step): Promise<void> {
    const message = this.pick(this.log, which)
    const choices = [
      ...(message ? [message.sentAt, message.sentAt + 1] : []),
      Date.now(),
      ...(who % 5 === 0 ? [Date.now() + hourMs, Date.now() - hourMs] : []),
      ...(who % 7 === 0 ? [Date.now() + jumpMs] : []),
    ]
    const before = this.pick(choices, who)
    await this.retention.run(this.appId, before)
    const old = this.log.filter(({ sentAt }) => sentAt < before)
    for (const each of this.log) {
      const isOld = old.some((one) => one.id >= each.id && this.#keyOf(one) === this.#keyOf(each))
      if (!isOld || each.isGone) continue
      each.isGone = true
      count(each.sentAt < before ? 'gone' : 'gone with a later one')
    }
  }

  async #changeMembership({ what, who }: Step): Promise<void> {
    const { id: user, api } = this.pick(this.people, who)
    const owner = (this.people[0] as Person).api
    if (what === 'join') {
      const late = this.people[3] as Person
      if (this.#members.has(late.id)) return
      const members = { user_list: [late.id] }
      expectSuccess(await groupCall(owner, '/group/admin/member_join', this.group, members))
      this.#members.add(late.id)
      const end = this.#all(late.id, this.group).at(-1)?.id ?? 0
      Object.assign(this.#cursor(late.id, this.group), { read: end, hidden: end })
    } else if (this.#members.has(user)) {
      const isMuted = this.#muted.has(user)
      const msg_mute_mode = isMuted ? muteModes.received : muteModes.notReceived
      expectSuccess(await groupCall(api, '/group/msg/mute_mode', this.group, { msg_mute_mode }))
      if (isMuted) this.#muted.delete(user)
      else this.#muted.add(user)
    }
  }

  async #look({ what, who, whom, which }: Step): Promise<void> {
    const { id: user, api } = this.pick(this.people, who)
    const peer = this.pick(this.peersOf(user), whom)
    const all = this.#all(user, peer)
    const end = all.at(-1)?.id ?? 0
    if (what === 'follow') return this.follow(user, peer, 1 + (which % 7))
    if (what === 'acknowledge') {
      await acknowledge(api, { peer })
      this.#read(user, peer, end)
    } else if (what === 'acknowledge all') {
      await acknowledge(api)
      for (const each of this.peersOf(user))
        this.#read(user, each, this.#all(user, each).at(-1)?.id ?? 0)
    } else if (what === 'delete') {
      await deleteConversation(api, peer)
      this.#cursor(user, peer).hidden = Math.max(this.#cursor(user, peer).hidden, end)
    } else {
      // A newcomer to the group knows nothing of what was before.
      const known = all.filter(({ to, id }) => to !== this.group || id > this.#joined(user))
      const message = this.pick(known, which)
      if (!message) return
      if (message.isGone) count('acknowledgements of what is gone')
      if (which % 3 === 0) {
        const answer = await operate(api, 'readAck', { peer, message: message.id, type: 1 })
        if (peer !== this.group) expect(answer.code).toBe(200)
        else return
      } else await acknowledge(api, { message: message.id, ...(which % 3 === 1 && { peer }) })
      this.#read(user, peer, message.id)
    }
  }

  #joined(user: number): number {
    return user === this.people[3]?.id ? this.#cursor(user, this.group).hidden : 0
  }

  /** A device that was away, with changes of the conversation alone: broadcasts in it are another stream. */
  async follow(user: number, peer: number, limit: number): Promise<void> {
    const copy = this.#copies.get(`${user}/${peer}`) ?? {
      ...{ position: 0, hidden: 0, messages: new Map<number, string>() },
    }
    this.#copies.set(`${user}/${peer}`, copy)
    const due = this.#visible(user, peer).filter(({ to }) => to !== null)
    for (let pages = 0; ; pages++) {
      expect(pages).toBeLessThan(1_000)
      const reader = { appId: this.appId, userId: user }
      const page = await this.changes.changesOf(reader, peer, { after: copy.position, limit })
      copy.hidden = page.hiddenMessageId
      if (page.changes === null) {
        count('read anew')
        copy.messages = new Map(due.map(({ id, content }) => [id, content]))
      } else expect(page.next > copy.position || page.next === page.end).toBe(true)
      for (const each of page.changes ?? [])
        if (each.kind === 'skipped') continue
        else if (each.kind === 'recalled') copy.messages.delete(each.tombstone.messageId)
        else copy.messages.set(each.message.messageId, each.message.content)
      copy.position = page.next
      if (page.next === page.end) break
    }
    const kept = [...copy.messages].filter(([id]) => id > copy.hidden).sort(([a], [b]) => a - b)
    expect(kept).toEqual(due.map(({ id, content }) => [id, content]))
  }

  async compare({ id: user, api }: Person): Promise<void> {
    const unread: [number, number][] = []
    const latest: [number, number][] = []
    for (const peer of this.peersOf(user)) {
      const due = this.#visible(user, peer).toReversed()
      const shown = await history(api, peer, 1 + (this.#texts % 7))
      const shownOf = ({ msg_id, timestamp, content, status }: Message) => [
        ...[Number(msg_id), Number(timestamp)],
        ...[content, status],
      ]
      expect(shown.map(shownOf)).toEqual(
        due.map((message) => [
          ...[message.id, message.sentAt],
          ...[message.content, this.#status(user, peer, message)],
        ]),
      )
      const number = this.#unread(user, peer)
      if (number > 0) unread.push([peer, number])
      if (due[0]) latest.push([peer, due[0].id])
    }
    expect(await unreadCounts(api)).toEqual(Object.fromEntries(unread))
    expect(await newestMessages(api, 1 + (this.#texts % 5))).toEqual(
      latest.sort(([, a], [, b]) => b - a),
    )
  }
}

for (const backend of testBackends()) {
  describe(`history with an end on ${backend.name}`, () => {
    let watched: InProcessServer
    let retention: Retention
    let changes: ChangeReader

    beforeAll(async () => {
      watched = await InProcessServer.start(backend)
      retention = new Retention(watched.place)
      changes = new ChangeReader(watched.place)
    })

    afterAll(async () => {
      await changes?.[Symbol.asyncDispose]()
      await retention?.[Symbol.asyncDispose]()
      await watched?.[Symbol.asyncDispose]()
    })

    it('retention: any sequence of calls gives the results of the model', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
        async (steps) => {
          watched.clock.set(Date.now())
          const admin = await anApplication(watched.server)
          const operator = watched.api.as(watched.server.operatorToken)
          await keepHistory(operator, admin.options.appId ?? '', 30)
          const users = await addUsers(admin, 4)
          const [owner, ...others] = users as [Person, ...Person[]]
          const group = await aGroup(owner, { members: others.slice(0, 2) })
          const world = new RetentionWorld(admin, watched, retention, changes, users, group)
          for (const [index, each] of steps.entries()) {
            await world.run(each)
            await world.compare(world.pick(users, index))
          }
          for (const user of users) {
            await world.compare(user)
            for (const peer of world.peersOf(user.id)) await world.follow(user.id, peer, 3)
          }
          expect(await integrityFaults(watched.server)).toEqual([])
        },
      )
      await checkProperty(backend, property)
      if (process.env.HERMOD_SHOW_COUNTS) process.stderr.write(`${JSON.stringify(counts)}\n`)
    })
  })
}
