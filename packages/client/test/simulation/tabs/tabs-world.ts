/**
 * Runs one schedule of the tabs of a browser: sessions on a shared lock, channel and store, in
 * virtual time.
 */
import { Random } from '../../../../server/test/support/random.js'
import { Agenda } from '../agenda.js'
import { differences, logKeyOf } from '../comparison.js'
import { watched } from '../device.js'
import { ModelServer } from '../model/model-server.js'
import { direct, group, keyOf, type LogName } from '../model/state.js'
import { edit, pin, react, read, recall, store, type Write } from '../model/writes.js'
import type { Step } from '../steps.js'
import { Page } from './page.js'
import { VirtualBrowser } from './virtual-browser.js'

/** What a step chooses among, by its weight. */
export const tabWeights = {
  /** page, conversation */
  send: 20,
  post: 16,
  edit: 3,
  react: 3,
  wish: 5,
  recall: 2,
  read: 4,
  history: 3,
  acknowledge: 2,
  pin: 2,
  /** page */
  open: 4,
  close: 2,
  crash: 4,
  freeze: 5,
  thaw: 4,
  suspend: 2,
  hideOrShow: 3,
  cut: 3,
  offline: 2,
  online: 2,
  slowStore: 2,
  /** milliseconds */
  wait: 4,
  waitLong: 3,
} as const

export type TabStep = Step<keyof typeof tabWeights>

interface Sent {
  readonly content: string
  /** The client has taken it over. */
  isTaken: boolean
}

const [me, peer, team] = [1, 2, 101]
const transactionTtlMs = 86_400_000
const maxPages = 4
const settleMs = 40_000
const limits = { maxLogs: 5, maxItems: 20, maxRows: 1_000, maxChanges: 20, maxUserChanges: 10 }

export class TabsWorld {
  readonly agenda = new Agenda()
  readonly random: Random
  readonly server: ModelServer
  readonly browser: VirtualBrowser
  isOffline = false
  pages: Page[] = []
  readonly sent: Sent[] = []
  /** Reactions and pins that the client has taken over. */
  readonly #wishes = new Set<string>()
  #words = 0
  #opened = 0
  #transactions = 0
  readonly #wrong: string[] = []

  constructor(seed: number) {
    this.random = new Random(seed ^ 0x2f6e)
    const { agenda, random } = this
    this.server = new ModelServer({ agenda, random, limits, transactionTtlMs, maxInFlight: 4 })
    for (const id of [1, 2, 3]) this.server.addUser(id)
    this.server.addGroup(team, [1, 2, 3], true)
    this.server.addGroup(102, [1, 2], false)
    this.browser = new VirtualBrowser(this)
    this.open()
  }

  /** Runs the steps, thaws all pages and compares. @returns what is wrong; empty: nothing */
  async run(steps: readonly TabStep[]): Promise<string[]> {
    await this.agenda.runSettled(this.random.integer(0, 50))
    for (const [name, a = 0, b = 0, c = 0, waitMs = 0] of steps) {
      actions[name](this, a, b, c)
      await this.agenda.runSettled(waitMs + a * (longWaits[name] ?? 0))
    }
    this.isOffline = false
    this.browser.slowMs = 0
    for (const page of this.pages) page.loop.thaw()
    if (this.pages.length === 0) this.open()
    for (const page of this.pages) {
      page.tell('resumed')
      page.show(true)
    }
    await this.agenda.runSettled(settleMs)
    return this.#differences()
  }

  open(): void {
    if (this.pages.length >= maxPages) return
    this.pages.push(new Page(`page ${++this.#opened}`, this, this.browser, me))
  }

  page(index: number): Page | undefined {
    return this.pages[index % Math.max(1, this.pages.length)]
  }

  drop(page: Page | undefined): void {
    if (page) this.#wrong.push(...page.wrong)
    this.pages = this.pages.filter((each) => each !== page)
  }

  send(page: Page, index: number): void {
    const content = this.word()
    const sent: Sent = { content, isTaken: false }
    this.sent.push(sent)
    const isGroup = index % 2 === 0
    const take = () => {
      sent.isTaken = true
    }
    page.loop.run(() => {
      page
        .execute({
          type: 'send',
          transactionId: ++this.#transactions,
          conversationId: isGroup ? team : peer,
          isGroup,
          content: { contentType: 0, content, attachment: '', config: '', ext: '' },
          createdAt: 0,
        })
        .then(take, () => {})
    })
  }

  wish(page: Page, log: LogName, { key, isOn }: { key?: string; isOn: boolean }): void {
    const messages = this.browser.store.messages.get(logKeyOf(log))
    const { msgId } = [...(messages?.values() ?? [])].at(-1) ?? {}
    if (msgId === undefined) return
    const take = () => {
      this.#wishes.add(`${msgId} ${key ?? 'pin'}`)
    }
    const wish = { log: logKeyOf(log), msgId, isOn, ...(key !== undefined && { reaction: key }) }
    page.loop.run(() => {
      page.execute({ type: 'wish', wish }).then(take, () => {})
    })
  }

  name(index: number): LogName {
    return index % 2 === 0 ? group(team) : direct(me, peer)
  }

  word(): string {
    return `word ${++this.#words}`
  }

  commit(...writes: (Write | undefined)[]): void {
    for (const write of writes) if (write) this.server.commit(write)
  }

  #differences(): string[] {
    const { store: stored } = this.browser
    const connection = this.pages[0]?.session.state.live.connection.state
    const wanted = watched.few
    const compared = { name: 'browser', userId: me, store: stored, wanted, connection, pending: [] }
    return [
      ...differences(compared, this.server),
      ...this.pages.flatMap((page) => page.differences()),
      ...this.#wrong,
      ...this.server.wrong,
      ...this.#wrongSends(),
      ...this.#lostWishes(),
    ]
  }

  #lostWishes(): string[] {
    const called = new Set(this.server.wished.map(({ name }) => name))
    return [...this.#wishes].filter((name) => !called.has(name)).map((name) => `${name} is lost`)
  }

  #wrongSends(): string[] {
    const texts = [...this.server.database.logs.values()].flatMap(({ originals }) => originals)
    return this.sent.flatMap(({ content, isTaken }) => {
      const count = texts.filter((each) => each === content).length
      if (count > 1) return [`${content} is at the server ${count} times`]
      return count === 0 && isTaken ? [`${content} is lost`] : []
    })
  }
}

type Action = (world: TabsWorld, a: number, b: number, c: number) => void

const actions: Readonly<Record<keyof typeof tabWeights, Action>> = {
  send: (world, a, b) => {
    const page = world.page(a)
    if (page) world.send(page, b)
  },
  post: (world, a, b) => {
    const { database, now } = world.server
    const name = world.name(b)
    const senderId = a < 8 || !name.is_group ? peer : 3
    const draft = { content: world.word() }
    world.commit(store(database, name, { senderId, now, draft }).write)
  },
  edit: (world, a, b) => {
    const { database, now } = world.server
    const seq = (database.logs.get(keyOf(world.name(b)))?.messages.length ?? 0) - (a % 4)
    const actorId = peer
    if (seq > 0)
      world.commit(edit(database, world.name(b), { seq, content: world.word(), now, actorId }))
  },
  recall: (world, a, b) => {
    const { database, now } = world.server
    const seq = (database.logs.get(keyOf(world.name(b)))?.messages.length ?? 0) - (a % 4)
    if (seq > 0) world.commit(recall(database, world.name(b), { seq, now, actorId: peer }))
  },
  react: (world, a, b, c) => {
    const { database, now } = world.server
    const seq = (database.logs.get(keyOf(world.name(b)))?.messages.length ?? 0) - (a % 4)
    const wanted = [peer, me].map((userId) => ({ userId, key: 'heart', isOn: c % 3 !== 0 }))
    world.commit(react(database, world.name(b), { seq, wanted: wanted.slice(0, 1 + (c % 2)), now }))
  },
  wish: (world, a, b, c) => {
    const page = world.page(a)
    const wanted = { isOn: c % 3 !== 0, ...(c < 8 && { key: c < 4 ? 'heart' : 'eyes' }) }
    if (page) world.wish(page, world.name(b), wanted)
  },
  read: (world, a, b) => {
    const messages = world.browser.store.messages.get(logKeyOf(world.name(b)))
    const newest = [...(messages?.values() ?? [])].at(-1)
    const page = world.page(a)
    const conversationId = b % 2 === 0 ? team : peer
    if (!newest || !page) return
    page.loop.run(() => {
      page.execute({ type: 'read', conversationId, msgId: newest.msgId }).catch(() => {})
    })
  },
  history: (world, a, b, c) => {
    const page = world.page(a)
    const log = logKeyOf(world.name(b))
    if (page?.session.state.logs.has(log))
      page.loop.run(() => {
        page.execute({ type: 'history', log, beforeSeq: 1 + c, limit: 3 }).catch(() => {})
      })
  },
  acknowledge: (world, _a, b) =>
    world.commit(
      ...read(world.server.database, me, { peer: b % 2 ? peer : team, isGroup: b % 2 === 0 }),
    ),
  pin: (world, a) => world.commit(pin(world.server.database, me, 1 + (a % 3))),
  open: (world) => world.open(),
  close: (world, a) => {
    const page = world.page(a)
    page?.loop.run(() => {
      page.session.close().catch(() => {})
      world.drop(page)
    })
  },
  crash: (world, a) => {
    const page = world.page(a)
    page?.crash()
    world.drop(page)
  },
  freeze: (world, a) => world.page(a)?.loop.freeze(),
  thaw: (world, a) => world.page(a)?.loop.thaw(),
  suspend: (world, a, b) => {
    const page = world.page(a)
    page?.tell(b < 6 ? 'suspended' : 'resumed')
  },
  hideOrShow: (world, a, b) => world.page(a)?.show(b < 6),
  cut: (world, a) => world.page(a)?.connection?.cut(),
  offline: (world) => {
    world.isOffline = true
    for (const page of world.pages) page.connection?.cut()
  },
  online: (world) => {
    world.isOffline = false
  },
  slowStore: (world, a) => {
    world.browser.slowMs = a < 6 ? 0 : a * 100
  },
  wait: () => {},
  waitLong: () => {},
}

/** Milliseconds, times the first number, that a step waits in addition. */
const longWaits: Readonly<Partial<Record<keyof typeof tabWeights, number>>> = {
  wait: 500,
  waitLong: 3_000,
}
