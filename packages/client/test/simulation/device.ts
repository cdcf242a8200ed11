/** A device or a browser profile: one store, the tab that leads, and former leaders that are frozen. */
import type { Random } from '../../../server/test/support/random.js'
import { Core } from '../../src/core/core.js'
import type { Effect } from '../../src/core/effects.js'
import type { Command, InputBody } from '../../src/core/inputs.js'
import type { LiveState } from '../../src/core/live-state.js'
import { isOnlyHere } from '../../src/model/only-here.js'
import type { Agenda } from './agenda.js'
import type { ModelServer } from './model/model-server.js'
import type { SessionLink } from './model/model-session.js'
import { VirtualConnection } from './virtual-connection.js'
import { VirtualStore } from './virtual-store.js'

export interface Surroundings {
  readonly agenda: Agenda
  readonly random: Random
  readonly server: ModelServer
}

interface DeviceOptions {
  readonly name: string
  readonly userId: number
  readonly guid: string | null
  readonly store?: VirtualStore
  /** Keys of cached reads that its pages show. */
  readonly wanted: readonly string[]
}

/** What pages may show all the time: little, or everything. */
export const watched = {
  few: ['pins', 'user.3', 'members.102'],
  all: [
    ...['contacts', 'user.1', 'user.2', 'user.3', 'groups', 'pins', 'profile'],
    ...['group.101', 'members.101', 'group.102', 'members.102'],
  ],
} as const

/** The outcome of a command; absent: not yet. */
export interface Commanded {
  readonly command: Command
  outcome?: 'done' | 'failed'
}

export class Device {
  readonly name: string
  readonly userId: number
  guid: string | null
  readonly wanted: readonly string[]
  store: VirtualStore
  /** Stores that have failed. */
  readonly formerStores: VirtualStore[] = []
  leader!: Tab
  readonly frozen: Tab[] = []
  isOffline = false
  /** The next commits take so long. */
  slowMs = 0
  readonly commands = new Map<string, Commanded>()
  /** What the core did against the rules. */
  readonly wrong: string[] = []
  commits = 0
  /** Copies the store after this commit. */
  copyAt = 0
  copy: VirtualStore | undefined
  #commands = 0

  constructor(
    readonly world: Surroundings,
    { name, userId, guid, store = new VirtualStore(), wanted }: DeviceOptions,
  ) {
    this.name = name
    this.userId = userId
    this.guid = guid
    this.store = store
    this.wanted = wanted
    this.#lead()
  }

  get connection(): string | undefined {
    return this.leader.live?.connection.state
  }

  get streams(): Readonly<Record<number, string>> {
    return this.leader.live?.streams ?? {}
  }

  get pending(): string[] {
    return [...this.commands]
      .filter(([, { outcome }]) => !outcome)
      .map(([id, { command }]) => `${id} ${command.type}`)
  }

  /** Tests whether an edit or a recall was refused by the client itself. */
  hasFailed(transactionId: number): boolean {
    return [...this.commands.values()].some(
      ({ command, outcome }) =>
        outcome === 'failed' && command.type === 'alter' && command.transactionId === transactionId,
    )
  }

  /** Runs a command, at the next leader too when this one ends first. */
  execute(command: Command): void {
    const id = `${this.name} ${++this.#commands}`
    this.commands.set(id, { command })
    this.leader.input({ type: 'command', id, command })
  }

  /** The tab ends without a word; what is being committed is committed, or not. */
  crash(isCommitted: boolean): void {
    this.leader.end(isCommitted)
    this.#lead()
  }

  /** The leading tab stops to run; another one takes the store over. */
  freeze(): void {
    const tab = this.leader
    tab.isFrozen = true
    this.frozen.push(tab)
    this.#lead()
    tab.lose()
  }

  /** The machine sleeps: what happens waits for it. */
  sleep(ms: number): void {
    const tab = this.leader
    tab.isFrozen = true
    this.world.agenda.after(ms, () => tab.thaw())
  }

  /**
   * Frozen tabs run again: what has waited for them happens, up to the news that they do not lead
   * any more.
   */
  thaw(): void {
    for (const tab of this.frozen.splice(0)) tab.thaw()
  }

  /**
   * The store has failed: everything goes on in memory, without a device, with what the server does
   * not have.
   */
  leaveStore(): void {
    const { unsent, cached } = this.store
    this.formerStores.push(this.store)
    this.store = new VirtualStore()
    this.store.unsent = new Map(unsent)
    this.store.cached = new Map([...cached].filter(([key]) => isOnlyHere(key)))
    this.guid = null
    this.#lead()
  }

  done(tab: Tab, id: string, outcome: 'done' | 'failed'): void {
    if (tab !== this.leader) return
    const commanded = this.commands.get(id)
    if (commanded?.outcome) this.wrong.push(`${this.name}: command ${id} has two outcomes`)
    if (commanded) commanded.outcome = outcome
  }

  #lead(): void {
    const tab = new Tab(this, this.store)
    this.leader = tab
    tab.start()
    tab.input({
      type: 'command',
      id: `${this.name} reads`,
      command: { type: 'watch', caller: 'pages', keys: this.wanted },
    })
    for (const [id, { command, outcome }] of this.commands)
      if (!outcome) tab.input({ type: 'command', id, command })
  }
}

/** One tab while it leads: a core, and what executes its effects. */
export class Tab {
  isFrozen = false
  live: LiveState | undefined
  connection: VirtualConnection | undefined
  isApplying = false
  readonly #core: Core
  readonly #generation: number
  readonly #timers = new Map<string, () => void>()
  #isEnded = false
  #queue: (InputBody | 'lost')[] = []
  #token = ''
  #commit: (() => void) | undefined

  constructor(
    private readonly device: Device,
    private readonly store: VirtualStore,
  ) {
    this.#generation = store.lead()
    const { random } = device.world
    this.#core = new Core({
      appId: 'app',
      userId: device.userId,
      deviceGuid: device.guid,
      platform: 6,
      userAgent: '',
      sdk: 'simulation',
      isDurable: true,
      random: () => random.next(),
    })
  }

  start(): void {
    this.input({ type: 'start', state: this.store.load() })
    this.input({ type: 'connect' })
  }

  input(body: InputBody): void {
    if (this.#isEnded) return
    if (this.isFrozen) {
      this.#queue.push(body)
      return
    }
    const { now } = this.device.world.agenda
    for (const effect of this.#core.step({ ...body, now })) this.#run(effect)
  }

  thaw(): void {
    this.isFrozen = false
    for (const body of this.#queue.splice(0)) {
      if (body === 'lost') this.end(false)
      else this.input(body)
    }
  }

  /** Another tab has taken the lead. */
  lose(): void {
    this.#queue.push('lost')
  }

  end(isCommitted: boolean): void {
    if (isCommitted) this.#commit?.()
    this.#isEnded = true
    for (const cancel of this.#timers.values()) cancel()
    this.connection?.abandon()
  }

  #run(effect: Effect): void {
    if (this.#isEnded) return
    const { agenda, random } = this.device.world
    switch (effect.type) {
      case 'apply':
        this.#apply(effect)
        break
      case 'connect':
        this.#connect(effect.connection)
        break
      case 'send':
        this.connection?.send(effect.text)
        break
      case 'abandon':
        this.connection?.abandon()
        break
      case 'token':
        if (effect.isRefused || this.#token === '')
          this.#token = this.device.world.server.token(this.device.userId)
        agenda.after(random.integer(0, 5), () => this.input({ type: 'token', token: this.#token }))
        break
      case 'timer':
        this.#timers.get(effect.key)?.()
        this.#timers.set(
          effect.key,
          agenda.after(effect.ms, () => {
            this.#timers.delete(effect.key)
            this.input({ type: 'timer', key: effect.key })
          }),
        )
        break
      case 'cancelTimer':
        this.#timers.get(effect.key)?.()
        this.#timers.delete(effect.key)
        break
      case 'readMessages': {
        const { request, query } = effect
        const messages = this.store.read(query)
        agenda.after(random.integer(0, 3), () =>
          this.input({ type: 'messages', request, messages }),
        )
        break
      }
      case 'result':
        this.device.done(this, effect.id, 'done')
        break
      case 'failure':
        this.device.done(this, effect.id, 'failed')
        break
      case 'live':
        this.live = effect.live
        break
      case 'error':
        this.device.wrong.push(`${this.device.name}: ${(effect.error as Error).stack}`)
        break
    }
  }

  #apply({ batch }: Extract<Effect, { readonly type: 'apply' }>): void {
    const { device } = this
    if (this.isApplying) device.wrong.push(`${device.name}: two batches are being applied`)
    this.isApplying = true
    const { agenda, random } = device.world
    this.#commit = () => {
      this.#commit = undefined
      const failure = this.store.apply(batch, this.#generation)
      if (failure) {
        this.input({ type: 'storeFailed', failure })
        this.end(false)
        if (failure !== 'superseded') device.leaveStore()
        return
      }
      device.commits++
      if (device.commits === device.copyAt) device.copy = this.store.clone()
      this.isApplying = false
      this.input({ type: 'applied' })
    }
    const commit = this.#commit
    const ms = device.slowMs > 0 ? random.integer(0, device.slowMs) : random.integer(0, 4)
    agenda.after(ms, () => {
      if (this.#commit === commit) commit()
    })
  }

  #connect(connection: number): void {
    const { device } = this
    const { server, agenda, random } = device.world
    const link = new VirtualConnection(
      device.name,
      {
        agenda,
        random,
        accept: (end: SessionLink) => (device.isOffline ? undefined : server.accept(end)),
      },
      {
        opened: () => this.input({ type: 'opened', connection }),
        frame: (text) => this.input({ type: 'frame', connection, text }),
        ended: (code, reason) => this.input({ type: 'ended', connection, code, reason }),
      },
    )
    this.connection = link
  }
}
