import type { ClientOptions } from '../../src/api.js'
import type { Command } from '../../src/core/inputs.js'
import type { LiveState } from '../../src/core/live-state.js'
import type { MetaRecord } from '../../src/model/records.js'
import { emptyMeta } from '../../src/model/records.js'
import type { ClientPorts } from '../../src/ports/client-ports.js'
import { type Store, StoreError } from '../../src/ports/store.js'
import type { Leadership, TabChange, Tabs } from '../../src/ports/tabs.js'
import type { Leader, LeaderOptions } from '../../src/runtime/leader.js'
import { TabSession } from '../../src/sessions/tab-session.js'
import { memoryStore } from '../../src/stores/memory-store.js'
import { soloTabs } from '../../src/tabs/solo-tabs.js'
import { aBatch } from './a-batch.js'

/** Lets everything run that needs no time. */
export const settle = async () => {
  for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
}

interface Timer {
  readonly due: number
  readonly page: FakePage
  readonly run: () => void
}

/** `userId` null: the options do not name the user. */
type PageOptions = Omit<Partial<ClientOptions>, 'userId'> & {
  readonly userId?: number | null
  readonly isVisible?: boolean
}

/** Pages of one user in one browser: a lock, a channel, a store and a clock that the test sets. */
export class FakeBrowser {
  readonly pages: FakePage[] = []
  readonly server = new FakeServer()
  store: Store | undefined = memoryStore()
  /** The browser has no channel between tabs. */
  tabsError: Error | undefined
  /** Pages cannot be watched, or cannot run a core. */
  faults: { readonly watch?: Error; readonly leader?: Error } = {}
  /** True for messages between tabs that are lost. */
  loss: (type: string) => boolean = () => false
  now = 1_000
  timers: Timer[] = []
  holder: LockRequest | undefined
  waiting: LockRequest[] = []
  #randoms = 0

  random(): number {
    return ++this.#randoms / 10_000
  }

  /** Opens a page with a client. */
  async open(options: PageOptions = {}): Promise<FakePage> {
    const page = new FakePage(this, options)
    this.pages.push(page)
    await settle()
    return page
  }

  /** Numbers of the pages whose core runs, from 0 in the order of their opening. */
  get leaders(): readonly number[] {
    return this.pages.flatMap(({ isDead, leaders }, index) =>
      !isDead && leaders.some((leader) => !leader.isStopped) ? index : [],
    )
  }

  /** Moves the time; timers of frozen pages wait. */
  async advance(ms: number): Promise<void> {
    const end = this.now + ms
    for (;;) {
      await settle()
      const due = this.timers.filter((timer) => timer.due <= end && !timer.page.isStopped)
      const next = due.toSorted((a, b) => a.due - b.due)[0]
      if (!next) break
      this.timers.splice(this.timers.indexOf(next), 1)
      this.now = Math.max(this.now, next.due)
      next.run()
    }
    this.now = end
  }

  requestLock(request: LockRequest): void {
    if (request.steal) {
      const former = this.holder
      this.holder = undefined
      former?.lose()
      this.waiting.unshift(request)
    } else this.waiting.push(request)
    this.grantLock()
  }

  grantLock(): void {
    if (this.holder) return
    this.holder = this.waiting.shift()
    this.holder?.grant()
  }

  releaseLock(request: LockRequest): void {
    this.waiting = this.waiting.filter((each) => each !== request)
    if (this.holder === request) this.holder = undefined
    this.grantLock()
  }
}

interface LockRequest {
  readonly page: FakePage
  readonly steal: boolean
  grant(): void
  lose(): void
}

/** A page of the fake browser. */
export class FakePage {
  readonly session: TabSession
  readonly leaders: FakeLeader[] = []
  readonly errors: unknown[] = []
  isVisible: boolean
  isFrozen = false
  isDead = false
  /** Makes the next operations of its store fail. */
  storeFailure: StoreError | undefined
  /** The browser closes the store of the page. */
  closeStore = () => {}
  #inbox: (() => void)[] = []
  readonly #browser: FakeBrowser
  readonly #listeners = new Set<(message: unknown) => void>()
  readonly #watchers = new Set<(change: TabChange) => void>()

  constructor(browser: FakeBrowser, { isVisible = false, userId, ...options }: PageOptions) {
    this.#browser = browser
    this.isVisible = isVisible
    this.session = new TabSession(
      {
        url: 'https://chat.example',
        appId: 'app',
        token: () => 'token',
        ...(userId !== null && { userId: userId ?? 5 }),
        onError: (error) => this.errors.push(error),
        ...options,
      },
      this.#ports(),
      (leader) => {
        if (browser.faults.leader) throw browser.faults.leader
        const made = new FakeLeader(leader, browser.server, this)
        this.leaders.push(made)
        return made
      },
    )
  }

  get isStopped(): boolean {
    return this.isFrozen || this.isDead
  }

  get leader(): FakeLeader | undefined {
    return this.leaders.at(-1)
  }

  show(): void {
    this.isVisible = true
    this.#notify('visible')
  }

  hide(): void {
    this.isVisible = false
  }

  /** The browser keeps the page for a step back in the history, after it has said so. */
  suspend(): void {
    this.#notify('suspended')
    this.isFrozen = true
  }

  resume(): void {
    this.thaw()
    this.#notify('resumed')
  }

  /** The page hangs: no event, timer or promise of it runs. */
  freeze(): void {
    this.isFrozen = true
  }

  thaw(): void {
    this.isFrozen = false
    for (const run of this.#inbox.splice(0)) this.run(run)
  }

  /** The process of the page ends without a word. */
  crash(): void {
    this.isDead = true
    const browser = this.#browser
    browser.waiting = browser.waiting.filter(({ page }) => page !== this)
    if (browser.holder?.page === this) browser.holder = undefined
    browser.grantLock()
  }

  /** Runs something in the page: later when it hangs, never when it is dead. */
  run(what: () => void): void {
    if (this.isDead) return
    if (this.isFrozen) this.#inbox.push(what)
    else what()
  }

  /** Resolves when the page runs. */
  alive(): Promise<void> {
    return new Promise((resolve) => this.run(resolve))
  }

  /** Sends a message; the outcome is that of the command. */
  send(transactionId: number, signal?: AbortSignal): Promise<unknown> {
    return this.session.execute(sendCommand(transactionId), signal && { signal })
  }

  #notify(change: TabChange): void {
    for (const watcher of this.#watchers) watcher(change)
  }

  #ports(): ClientPorts {
    const browser = this.#browser
    const none = () => {
      throw new Error('not here')
    }
    return {
      clock: {
        now: () => browser.now,
        wallTime: () => browser.now,
        random: () => browser.random(),
        after: (ms, run) => {
          const timer = { due: browser.now + ms, page: this, run }
          browser.timers.push(timer)
          return () => {
            browser.timers = browser.timers.filter((each) => each !== timer)
          }
        },
      },
      connect: none,
      upload: none,
      wakeups: { listen: () => () => {} },
      platform: 'web',
      ...(browser.store && { openStore: async () => this.#store(browser.store as Store) }),
      openTabs: () => {
        if (browser.tabsError) throw browser.tabsError
        return browser.store ? this.#tabs() : soloTabs()
      },
    }
  }

  /** The shared store as this page sees it: with its own faults, and at rest while it hangs. */
  #store(store: Store): Store {
    let isClosed = false
    const guard = async <T>(run: () => Promise<T>): Promise<T> => {
      await this.alive()
      if (isClosed) throw new StoreError('unavailable')
      if (this.storeFailure) throw this.storeFailure
      try {
        return await run()
      } finally {
        await this.alive()
      }
    }
    return {
      load: () => guard(() => store.load()),
      messages: (query) => guard(() => store.messages(query)),
      lead: () => guard(() => store.lead()),
      check: (generation) => guard(() => store.check(generation)),
      apply: (batch, generation) => guard(() => store.apply(batch, generation)),
      deviceGuid: (known) => guard(() => store.deviceGuid(known)),
      watch: (listener) => {
        this.closeStore = listener
      },
      close() {
        isClosed = true
      },
      destroy: () => store.destroy(),
    }
  }

  #tabs(): Tabs {
    const browser = this.#browser
    return {
      isShared: true,
      lead: ({ steal, signal }) =>
        new Promise<Leadership>((resolve, reject) => {
          let lose = () => {}
          const lost = new Promise<void>((resolveLost) => {
            lose = resolveLost
          })
          const request: LockRequest = {
            page: this,
            steal,
            grant: () =>
              this.run(() => resolve({ lost, release: () => browser.releaseLock(request) })),
            lose: () => this.run(lose),
          }
          signal.addEventListener('abort', () => {
            if (browser.holder === request) return
            browser.releaseLock(request)
            reject(new Error('aborted'))
          })
          browser.requestLock(request)
        }),
      post: (message) => {
        const copy = structuredClone(message) as { readonly type: string }
        for (const page of browser.pages)
          if (page !== this && !this.isDead && !browser.loss(copy.type))
            queueMicrotask(() => page.run(() => page.hear(copy)))
      },
      listen: (listener) => {
        this.#listeners.add(listener)
        return () => this.#listeners.delete(listener)
      },
      isVisible: () => this.isVisible,
      watch: (listener) => {
        if (browser.faults.watch) throw browser.faults.watch
        this.#watchers.add(listener)
        return () => this.#watchers.delete(listener)
      },
      close: () => {
        this.#listeners.clear()
        this.#watchers.clear()
      },
    }
  }

  /** Takes a message of the channel. */
  hear(message: unknown): void {
    for (const listener of [...this.#listeners]) listener(message)
  }
}

/** The server of the fake leaders: it stores each transaction once. */
export class FakeServer {
  /** How often each transaction was sent. */
  readonly sends = new Map<number, number>()
  readonly calls: string[] = []
  /** Holds calls until the test answers them. */
  isSilent = false
}

/** A leader without a core: a send is a thing in the store. */
export class FakeLeader implements Leader {
  readonly commands: Command[] = []
  isStopped = false
  isConnected = false
  connects = 0
  wakeups = 0
  #meta: MetaRecord
  #queue = Promise.resolve()
  readonly #running = new Set<string>()
  readonly #server: FakeServer
  readonly #page: FakePage

  constructor(
    readonly options: LeaderOptions,
    server: FakeServer,
    page: FakePage,
  ) {
    this.#server = server
    this.#page = page
    this.#meta = options.state.meta ?? emptyMeta
  }

  connect(): void {
    this.connects++
    this.isConnected = true
    this.setLive({ connection: { state: 'online' }, userId: 5, token: 'token' })
  }

  disconnect(): void {
    this.isConnected = false
    this.setLive({ connection: { state: 'idle' }, userId: 5 })
  }

  setLive(changes: Partial<LiveState>): void {
    const { isDurable = true } = this.options
    const live = { token: '', online: [], typing: [], streams: {}, uploads: {}, isDurable }
    this.options.listener.live({ connection: { state: 'idle' }, userId: 0, ...live, ...changes })
  }

  execute(id: string, command: Command): void {
    if (this.#running.has(id)) return
    this.#running.add(id)
    this.commands.push(command)
    this.#queue = this.#queue.then(() => this.#run(id, command))
  }

  cancel(): void {}

  wakeup(): void {
    this.wakeups++
  }

  stop(): void {
    this.isStopped = true
    this.isConnected = false
  }

  /** Writes a thing as the core does: into the store, then into the tabs. */
  async write(key: string, value: unknown): Promise<void> {
    const { store, generation, listener } = this.options
    const meta = { ...this.#meta, userId: 5, commit: this.#meta.commit + 1 }
    const batch = { ...aBatch(0, { cached: [{ key, value, isStale: false }] }), meta }
    await store.apply(batch, generation)
    if (this.isStopped) return
    this.#meta = meta
    listener.committed(batch)
  }

  async #run(id: string, command: Command): Promise<void> {
    const { listener } = this.options
    await this.#page.alive()
    if (this.isStopped) return
    try {
      if (command.type === 'call') {
        this.#server.calls.push(command.op)
        if (this.#server.isSilent) return
      }
      if (command.type === 'send') {
        const { transactionId } = command
        this.#server.sends.set(transactionId, (this.#server.sends.get(transactionId) ?? 0) + 1)
        await this.write(`sent.${transactionId}`, command.content.content)
      }
    } catch (error) {
      if (this.isStopped) return
      this.stop()
      listener.failed((error as StoreError).failure)
      return
    }
    if (this.isStopped) return
    this.#running.delete(id)
    listener.done(id, { type: 'result', value: command.type })
  }
}

/** A text with a transaction ID. */
export function sendCommand(transactionId: number): Command {
  return {
    type: 'send',
    transactionId,
    conversationId: 9,
    isGroup: false,
    createdAt: 0,
    content: {
      contentType: 0,
      content: `text ${transactionId}`,
      attachment: '',
      config: '',
      ext: '',
    },
  }
}
