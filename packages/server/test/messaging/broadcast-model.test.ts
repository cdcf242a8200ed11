/**
 * Broadcasts among direct messages against a model: for each user the list of what it has with each peer, and one cursor (rules E5, E6,
 * E9, E13). A failure prints the shortest history that shows it.
 */
import type { Message } from '@hermod/protocol'
import { type Api, sharedPassword, testBackends } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkProperty, propertyTimeoutMs } from '../support/check-property.js'
import type { Person } from '../support/contacts.js'
import { InProcessServer } from '../support/in-process-server.js'
import { addUsers, anApplication, broadcast } from '../support/messaging/broadcasts.js'
import { operate, recall } from '../support/messaging/message-operations.js'
import {
  acknowledge,
  deleteConversation,
  history,
  integrityFaults,
  newestMessages,
  sendText,
  unreadCounts,
} from '../support/messaging/messaging.js'
import { World } from '../support/model-world.js'

/** Messages and cursors name users by their IDs, and the system by this one. */
const systemId = 0

/** A direct message, or a broadcast with those who are to see it. */
interface Written {
  readonly from: number
  /** null = everybody */
  readonly to: number | null
  readonly audience: ReadonlySet<number>
  readonly id: number
  content: string
  isRecalled: boolean
}

interface Cursor {
  read: number
  delivered: number
  hidden: number
}

const nat = fc.nat(1_000)
const burstStep = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('broadcast' as const), who: nat }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('send' as const), who: nat, whom: nat }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('register' as const) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('remove' as const), who: nat }) },
)
const step = fc.oneof(
  { weight: 6, arbitrary: burstStep },
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constantFrom(
        'acknowledge' as const,
        'acknowledge message' as const,
        'acknowledge all' as const,
        'delete' as const,
        'look' as const,
      ),
      who: nat,
      whom: nat,
      which: nat,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constantFrom('recall' as const, 'append' as const),
      which: nat,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('burst' as const),
      steps: fc.array(burstStep, { minLength: 2, maxLength: 16 }),
    }),
  },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type BurstStep = typeof burstStep extends fc.Arbitrary<infer T> ? T : never

const calls = { histories: 0, steps: 0, bursts: 0, inBursts: 0, comparisons: 0 }

/** An application of its own for each history, and what should be in it. */
class BroadcastWorld extends World {
  readonly log: Written[] = []
  readonly #cursors = new Map<string, Cursor>()
  readonly #gone = new Set<number>()
  #texts = 0

  private constructor(
    private readonly admin: Api,
    people: Person[],
  ) {
    super({ api: admin }, people)
  }

  static async begin(server: InProcessServer): Promise<BroadcastWorld> {
    const admin = await anApplication(server)
    return new BroadcastWorld(admin, await addUsers(admin, 3, 'first'))
  }

  get present(): Person[] {
    return this.people.filter(({ id }) => !this.#gone.has(id))
  }

  /** Whom somebody may have a conversation with; the system too. */
  get peers(): number[] {
    return [systemId, ...this.people.map(({ id }) => id)]
  }

  pick<T>(choices: readonly T[], which: number): T {
    return choices[which % choices.length] as T
  }

  cursor(user: number, peer: number): Cursor {
    const key = `${user}/${peer}`
    const cursor = this.#cursors.get(key) ?? { read: 0, delivered: 0, hidden: 0 }
    this.#cursors.set(key, cursor)
    return cursor
  }

  /** Everything that a user ever had with a peer, oldest first. */
  all(user: number, peer: number): Written[] {
    return this.log
      .filter(({ from, to, audience }) =>
        to === null
          ? from === peer && audience.has(user)
          : (from === user && to === peer) || (from === peer && to === user),
      )
      .sort((a, b) => a.id - b.id)
  }

  visible(user: number, peer: number): Written[] {
    const { hidden } = this.cursor(user, peer)
    return this.all(user, peer).filter(({ id, isRecalled }) => id > hidden && !isRecalled)
  }

  unread(user: number, peer: number): number {
    const { read } = this.cursor(user, peer)
    return this.visible(user, peer).filter(({ id, from }) => from !== user && id > read).length
  }

  status(user: number, peer: number, { from, id }: Written): Message['status'] {
    if (user === peer) return 'READ'
    const { read, delivered } = from === user ? this.cursor(peer, user) : this.cursor(user, peer)
    if (id <= read) return 'READ'
    return id <= delivered ? 'DELIVERED' : 'UNREAD'
  }

  /** A user writes: what is there before is read. */
  write(message: Omit<Written, 'isRecalled'>): void {
    this.log.push({ ...message, isRecalled: false })
    const { from, to, id } = message
    if (to !== null) this.#read(from, to, id)
  }

  #read(user: number, peer: number, id: number): void {
    const cursor = this.cursor(user, peer)
    cursor.read = Math.max(cursor.read, id)
  }

  async run(one: Step): Promise<void> {
    calls.steps++
    switch (one.what) {
      case 'recall':
      case 'append':
        return this.#change(one.what, one.which)
      case 'burst':
        return this.#burst(one.steps)
      case 'broadcast':
      case 'send':
      case 'register':
      case 'remove':
        return this.#burst([one])
      default:
        return this.#act(one)
    }
  }

  async #act({
    what,
    who,
    whom,
    which,
  }: Extract<Step, { readonly whom: number; readonly which: number }>): Promise<void> {
    const { id: user, api } = this.pick(this.present, who)
    const peer = this.pick(this.peers, whom)
    const all = this.all(user, peer)
    const end = all.at(-1)?.id ?? 0
    if (what === 'acknowledge') {
      await acknowledge(api, { peer })
      this.#read(user, peer, end)
    } else if (what === 'acknowledge message') {
      const message = this.pick(all, which)
      if (!message) return
      // Its conversation need not be named.
      await acknowledge(api, { message: message.id, ...(which % 2 === 0 && { peer }) })
      this.#read(user, peer, message.id)
    } else if (what === 'acknowledge all') {
      await acknowledge(api)
      for (const each of this.peers) this.#read(user, each, this.all(user, each).at(-1)?.id ?? 0)
    } else if (what === 'delete') {
      await deleteConversation(api, peer)
      this.cursor(user, peer).hidden = end
    } else {
      const received = this.visible(user, peer).filter(({ from }) => from !== user)
      await history(await this.device(this.userOf(user)), peer)
      const cursor = this.cursor(user, peer)
      cursor.delivered = Math.max(cursor.delivered, received.at(-1)?.id ?? 0)
    }
  }

  /** By an Admin token. */
  async #change(what: 'recall' | 'append', which: number): Promise<void> {
    const choices = this.log.filter(
      ({ isRecalled, to, from }) =>
        !isRecalled && (to === null || ![to, from].some((user) => this.#gone.has(user))),
    )
    const message = this.pick(choices, which)
    if (!message) return
    const { from, to, id } = message
    const sender = this.#gone.has(from) ? this.admin : this.api(this.userOf(from))
    if (what === 'recall') {
      const answer = await recall(to === null ? this.admin : sender, to ?? from, id)
      expect(answer.code).toBe(200)
      message.isRecalled = true
    } else {
      const answer = await operate(sender, 'append', {
        peer: to ?? from,
        message: id,
        content: '+',
      })
      expect(answer.code).toBe(200)
      message.content += '+'
    }
  }

  /** All at once; the order is that of the IDs. */
  async #burst(steps: readonly BurstStep[]): Promise<void> {
    if (steps.length > 1) calls.bursts++
    calls.inBursts += steps.length
    const [witness, ...others] = this.present as [Person, ...Person[]]
    const leaving = new Set(
      steps.flatMap((each) =>
        each.what === 'remove' && others.length > 1 ? [this.pick(others, each.who)] : [],
      ),
    )
    const staying = this.present.filter((user) => !leaving.has(user))
    const newcomers: Person[] = []
    const sent: { readonly from: number; readonly content: string; readonly number: number }[] = []
    const fresh = steps.filter(({ what }) => what === 'register').length
    const names = Array.from({ length: fresh }, () => `user_${++this.#texts}_`)
    await Promise.all([
      ...[...leaving].map((user) => user.api.succeed('POST', '/user/delete', { body: {} })),
      ...names.map(async (name) => newcomers.push(await this.#register(name))),
      ...steps.map(async (each) => {
        const content = `text ${++this.#texts}`
        if (each.what === 'broadcast') {
          const from = this.pick([systemId, ...staying.map(({ id }) => id)], each.who)
          const extras = from === systemId ? {} : { from_user_id: from }
          sent.push({ from, content, number: await broadcast(this.admin, content, extras) })
        } else if (each.what === 'send') {
          const { id: from, api } = this.pick(staying, each.who)
          const { id: to } = this.pick(staying, each.whom)
          const id = await sendText(api, to, content)
          this.write({ from, to, content, id, audience: new Set() })
        }
      }),
    ])
    for (const { id } of leaving) this.#gone.add(id)
    await this.#learn(sent, { witness, staying, newcomers, leaving: leaving.size })
    this.people.push(...newcomers)
  }

  async #register(username: string): Promise<Person> {
    const body = { username, password: sharedPassword }
    const { data } = await this.admin.succeed('POST', '/user/register/v2', { body })
    return { id: data.user_id, username, api: this.admin.admin({ userId: data.user_id }) }
  }

  /** Finds out what a burst has made of broadcasts and newcomers, and that it is one order of both. */
  async #learn(
    sent: readonly { readonly from: number; readonly content: string; readonly number: number }[],
    around: {
      readonly witness: Person
      readonly staying: readonly Person[]
      readonly newcomers: readonly Person[]
      readonly leaving: number
    },
  ): Promise<void> {
    const { witness, staying, newcomers, leaving } = around
    const senders = [...new Set(sent.map(({ from }) => from))]
    const shownTo = async ({ api }: Person) => {
      const shown = await Promise.all(senders.map((from) => history(api, from)))
      return new Map(shown.flat().map(({ content, msg_id }) => [content, Number(msg_id)]))
    }
    const ids = await shownTo(witness)
    const ordered = sent
      .map((each) => ({ ...each, id: ids.get(each.content) ?? 0 }))
      .sort((a, b) => a.id - b.id)
    const seen = await Promise.all(newcomers.map(shownTo))
    for (const own of seen) {
      const contents = ordered.map(({ content }) => content).filter((content) => own.has(content))
      expect(contents).toEqual(
        ordered.slice(ordered.length - contents.length).map(({ content }) => content),
      )
    }
    for (const { from, content, id, number } of ordered) {
      expect(id).toBeGreaterThan(0)
      const late = newcomers.filter((_, index) => seen[index]?.has(content))
      const due = staying.length + late.length
      expect(number).toBeGreaterThanOrEqual(due)
      expect(number).toBeLessThanOrEqual(due + leaving)
      const audience = new Set([...staying, ...late].map((user) => user.id))
      this.write({ from, to: null, content, id, audience })
    }
  }

  async compare({ id: user, api }: Person): Promise<void> {
    calls.comparisons++
    const unread: [number, number][] = []
    const latest: [number, number][] = []
    for (const peer of this.peers) {
      const due = this.visible(user, peer).toReversed()
      const shown = await history(api, peer, 1 + (this.#texts % 7))
      expect(shown.map(({ msg_id, content, status }) => [Number(msg_id), content, status])).toEqual(
        due.map((message) => [message.id, message.content, this.status(user, peer, message)]),
      )
      const count = this.unread(user, peer)
      if (count > 0) unread.push([peer, count])
      if (due[0]) latest.push([peer, due[0].id])
    }
    expect(await unreadCounts(api)).toEqual(Object.fromEntries(unread))
    expect(await newestMessages(api, 1 + (this.#texts % 5))).toEqual(
      latest.sort(([, a], [, b]) => b - a),
    )
  }
}

for (const backend of testBackends()) {
  describe(`broadcasts on ${backend.name}`, () => {
    let server: InProcessServer

    beforeAll(async () => {
      server = await InProcessServer.start(backend)
    })

    afterAll(() => server?.[Symbol.asyncDispose]())

    it('broadcasts: any sequence of calls gives the results of the model', {
      timeout: propertyTimeoutMs,
    }, async () => {
      const property = fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 50, size: 'max' }),
        async (steps) => {
          calls.histories++
          const world = await BroadcastWorld.begin(server)
          for (const [index, each] of steps.entries()) {
            await world.run(each)
            await world.compare(world.pick(world.present, index))
          }
          for (const user of world.present) await world.compare(user)
        },
      )
      await checkProperty(backend, property)
      expect(await integrityFaults(server)).toEqual([])
      if (process.env.HERMOD_SHOW_COUNTS) process.stderr.write(`${JSON.stringify(calls)}\n`)
    })
  })
}
