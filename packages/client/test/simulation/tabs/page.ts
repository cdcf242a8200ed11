/** One tab with a session of the client. */

import type { Command } from '../../../src/core/inputs.js'
import type { TabChange } from '../../../src/ports/tabs.js'
import { openSession } from '../../../src/sessions/open-session.js'
import type { ClientSession } from '../../../src/sessions/session.js'
import { type Surroundings, watched } from '../device.js'
import type { SessionLink } from '../model/model-session.js'
import { VirtualConnection } from '../virtual-connection.js'
import { TabLoop, type VirtualBrowser } from './virtual-browser.js'

export class Page {
  readonly loop = new TabLoop()
  readonly session: ClientSession
  isVisible = true
  connection: VirtualConnection | undefined
  /** Commands without an outcome. */
  pending = 0
  readonly wrong: string[] = []
  readonly #watchers = new Set<(change: TabChange) => void>()

  constructor(
    readonly name: string,
    world: Surroundings & { isOffline: boolean },
    private readonly browser: VirtualBrowser,
    userId: number,
  ) {
    const { agenda, random, server } = world
    const { loop } = this
    let token = ''
    this.session = openSession(
      {
        url: 'http://server',
        appId: 'app',
        userId,
        token: ({ isRefused }) => {
          if (isRefused || token === '') token = server.token(userId)
          return token
        },
        onError: (error) => this.wrong.push(`${name}: ${(error as Error).stack}`),
      },
      {
        clock: {
          now: () => agenda.now,
          wallTime: () => server.now,
          after: (ms, run) => {
            let isCancelled = false
            const cancel = agenda.after(ms, () => loop.run(() => isCancelled || run()))
            return () => {
              isCancelled = true
              cancel()
            }
          },
          random: () => random.next(),
        },
        connect: (_url, listener) => {
          const link = new VirtualConnection(
            name,
            {
              agenda,
              random,
              accept: (end: SessionLink) => (world.isOffline ? undefined : server.accept(end)),
            },
            {
              opened: () => loop.run(() => listener.open()),
              frame: (text) => loop.run(() => listener.frame(text)),
              ended: (code, reason) => loop.run(() => listener.end({ code, reason })),
            },
          )
          this.connection = link
          return link
        },
        upload: () => Promise.reject(new Error('no uploads here')),
        wakeups: { listen: () => () => {} },
        openStore: async () => browser.storeOf(loop),
        openTabs: () => browser.tabsOf(loop, () => this.isVisible, this.#watchers),
        platform: 'web',
      },
    )
    this.session.subscribe(() => {
      const { state } = this.session.state.live.connection
      if (state === 'ended') this.wrong.push(`${name} shows that its connection has ended`)
    })
    this.session.connect()
    this.execute({ type: 'watch', caller: 'views', keys: watched.few }).catch(() => {})
  }

  /** @returns when the outcome is there */
  async execute(command: Command): Promise<unknown> {
    this.pending++
    try {
      return await this.session.execute(command)
    } finally {
      this.pending--
    }
  }

  tell(change: TabChange): void {
    this.loop.run(() => {
      for (const watcher of this.#watchers) watcher(change)
    })
  }

  show(isVisible: boolean): void {
    this.isVisible = isVisible
    if (isVisible) this.tell('visible')
  }

  /** The process of the tab is gone. */
  crash(): void {
    this.loop.end()
    this.browser.forget(this.loop)
    this.connection?.abandon()
  }

  /** @returns the tables of this tab that are not those of the store, as sentences */
  differences(): string[] {
    const { meta, logs, unsent, cached } = this.session.state
    const { store } = this.browser
    const text = (table: Iterable<readonly [string | number, unknown]>) =>
      JSON.stringify([...table].sort(([a], [b]) => (a < b ? -1 : 1)))
    const pairs: readonly (readonly [string, string, string])[] = [
      ['meta', JSON.stringify(meta), JSON.stringify(store.meta)],
      ['logs', text(logs), text(store.logs)],
      ['unsent', text(unsent), text(store.unsent)],
      ['cached', text(cached), text(store.cached)],
    ]
    const found = pairs
      .filter(([, own, stored]) => own !== stored)
      .map(([name, own, stored]) => `${this.name}: ${name} are ${own} instead of ${stored}`)
    if (this.pending > 0) found.push(`${this.name}: ${this.pending} commands have no outcome`)
    return [...found, ...this.wrong]
  }
}
