import type { ClientOptions } from '../api.js'
import type { ClientPorts } from '../ports/client-ports.js'
import type { ClientSession } from './session.js'
import type { Batch } from '../model/batch.js'
import { BatchBuilder } from '../core/batch-builder.js'
import type { CoreEvent } from '../core/effects.js'
import type { Command } from '../core/inputs.js'
import type { ConnectionStatus, LiveState } from '../core/live-state.js'
import { isOnlyHere } from '../model/only-here.js'
import { emptyMeta, type MessageRecord } from '../model/records.js'
import { failureOf } from '../errors.js'
import { reporterOf } from '../lib/reporter.js'
import { type MessageQuery, type Store, StoreError, type StoreName } from '../ports/store.js'
import type { Leadership, TabChange, Tabs } from '../ports/tabs.js'
import type { Leader, StartLeader } from '../runtime/leader.js'
import type { ClientState, StateChange } from './session.js'
import { memoryStore } from '../stores/memory-store.js'
import { emptyState } from '../stores/tables.js'
import { soloTabs } from '../tabs/solo-tabs.js'
import {
  type ChannelMessage,
  envelope,
  type LeaderMessage,
  readMessage,
  type TabMessage,
} from './channel.js'
import { FollowingRole } from './following-role.js'
import { lead } from './leading-role.js'
import { clientError, PendingCommands } from './pending-commands.js'
import type { Role, RoleContext } from './role.js'
import { SessionState } from './session-state.js'

/**
 * The client of one tab. It opens the store, follows the tab that leads, leads when that one ends or
 * does not answer, and continues alone in memory when the store fails. The README of this folder has
 * the states.
 */
export class TabSession implements ClientSession {
  readonly #options: ClientOptions
  readonly #report: (error: unknown) => void
  readonly #ports: ClientPorts
  readonly #startLeader: StartLeader
  readonly #tab: string
  readonly #state: SessionState
  readonly #commands: PendingCommands
  /** The store that is read; absent until one is open. */
  #store: Store | undefined
  /** The durable store, also after it has failed. */
  #durable: Store | undefined
  #name: StoreName | undefined
  #tabs: Tabs = soloTabs()
  #role: Role | undefined
  /** Runs in memory until the user is known. */
  #identifying: Leader | undefined
  /** Its token, until the first leader of this tab takes it. */
  #token: string | undefined
  /** The device of the store, which every tab knows, in case that the browser empties the store. */
  #deviceGuid: string | undefined
  #leadership: Leadership | undefined
  #waiting = new AbortController()
  #isSuspended = false
  readonly #closing = new AbortController()
  /** Resolves when there is a store, or the session is closed. */
  readonly #ready: Promise<void>
  #setReady = () => {}

  constructor(options: ClientOptions, ports: ClientPorts, startLeader: StartLeader) {
    this.#options = options
    this.#report = reporterOf(options)
    this.#ports = ports
    this.#startLeader = startLeader
    this.#tab = Math.floor(ports.clock.random() * 2 ** 53).toString(36)
    this.#commands = new PendingCommands(this.#tab)
    this.#state = new SessionState(this.#emptyLive(), this.#report)
    this.#ready = new Promise((resolve) => {
      this.#setReady = resolve
    })
    this.#open().catch((error: unknown) => this.#crashed(error))
  }

  get state(): ClientState {
    return this.#state.state
  }

  subscribe(listener: (change: StateChange) => void): () => void {
    return this.#state.subscribe(listener)
  }

  onEvent(listener: (event: CoreEvent) => void): () => void {
    return this.#state.onEvent(listener)
  }

  async messages(query: MessageQuery): Promise<readonly MessageRecord[]> {
    for (;;) {
      await this.#ready
      const store = this.#store
      if (!store || this.#isClosed) throw clientError('closed', 'the client is closed')
      try {
        return await store.messages(query)
      } catch (error) {
        this.#storeFailed(error, store)
        if (store === this.#store && !this.#isClosed) throw error
      }
    }
  }

  async execute(
    command: Command,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<unknown> {
    if (this.#isClosed) throw clientError('closed', 'the client is closed')
    if (signal?.aborted) throw clientError('aborted', 'the caller has aborted the call')
    const { sent, outcome } = this.#commands.add(command)
    const abort = () => {
      this.#commands.fail(sent.id, 'aborted', 'the caller has aborted the call')
      this.#role?.cancel(sent.id)
    }
    signal?.addEventListener('abort', abort)
    this.#role?.execute(sent)
    try {
      return await outcome
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  connect(): void {
    this.#setWanted(true)
  }

  disconnect(): void {
    this.#setWanted(false)
  }

  async close(): Promise<void> {
    this.#end('the client was closed', { state: 'idle' })
  }

  async destroy(): Promise<void> {
    this.#post({ type: 'destroyed' })
    const { openStore } = this.#ports
    const isDurable = this.#isDurable
    this.#forget()
    if (!isDurable || !openStore || !this.#name) return
    const store = this.#durable ?? (await openStore(this.#name))
    await store.destroy()
  }

  get closed(): AbortSignal {
    return this.#closing.signal
  }

  get #isClosed(): boolean {
    return this.closed.aborted
  }

  get #isDurable(): boolean {
    return this.#ports.openStore !== undefined && this.#options.storage !== 'memory'
  }

  #emptyLive(): LiveState {
    return {
      connection: { state: 'idle' },
      userId: this.#options.userId ?? 0,
      token: '',
      online: [],
      typing: [],
      streams: {},
      uploads: {},
      isDurable: this.#isDurable,
    }
  }

  #setWanted(isWanted: boolean): void {
    if (this.#isClosed) return
    this.#state.want(isWanted)
    if (isWanted) this.#identifying?.connect()
    else this.#identifying?.disconnect()
    this.#role?.wantedChanged()
  }

  async #open(): Promise<void> {
    const { openStore, openTabs } = this.#ports
    if (!openStore || !this.#isDurable) {
      this.#goAlone()
      return
    }
    const { url, appId } = this.#options
    const userId = this.#options.userId ?? (await this.#identify())
    if (this.#isClosed) return
    this.#name = { url, appId, userId }
    try {
      const store = await openStore(this.#name)
      this.#durable = store
      store.watch?.(() => this.#storeClosed())
      const stored = await store.load()
      if (this.#isClosed) {
        store.close()
        return
      }
      this.#store = store
      this.#tabs = openTabs(this.#name)
      this.#tabs.listen((value) => this.#receive(value))
      this.#tabs.watch((change) => this.#tabChanged(change))
      this.#state.reload(stored)
      await this.#guidOf(store)
      if (this.#isClosed) return
    } catch (error) {
      this.#storeFailed(error, this.#store)
      return
    }
    this.#setReady()
    this.#follow()
  }

  /** Opens a first session in memory, without a device, to learn the user. */
  async #identify(): Promise<number> {
    const store = memoryStore()
    const { generation } = await store.lead()
    return new Promise((resolve) => {
      const ignore = () => {}
      const live = (state: LiveState) => {
        if (this.#isClosed) return
        this.#state.setLive(state)
        if (state.userId === 0) return
        this.#token = state.token
        this.#identifying?.stop()
        this.#identifying = undefined
        resolve(state.userId)
      }
      const listener = { committed: ignore, live, event: ignore, done: ignore, failed: ignore }
      if (this.#isClosed) return
      this.#identifying = this.#startLeader({ state: emptyState, store, generation, listener })
      if (this.#state.isWanted) this.#identifying.connect()
    })
  }

  /** Follows the tab that leads, and waits for its end. */
  #follow(): void {
    if (this.#isClosed || this.#isSuspended || !this.#store) return
    this.#role?.stop()
    this.#role = this.#tabs.isShared
      ? new FollowingRole(this.#context(this.#store), {
          tabs: this.#tabs,
          clock: this.#ports.clock,
          steal: () => this.#lead(true),
          storeFailed: (error) => this.#storeFailed(error, this.#store),
        })
      : undefined
    this.#lead(false)
  }

  #lead(steal: boolean): void {
    this.#waiting.abort()
    this.#waiting = new AbortController()
    const { signal } = this.#waiting
    this.#tabs.lead({ steal, signal }).then(
      (leadership) => this.#start(leadership, signal),
      (error: unknown) => {
        if (signal.aborted) return
        this.#report(error)
        this.#goAlone()
      },
    )
  }

  async #start(leadership: Leadership, { aborted }: AbortSignal): Promise<void> {
    const store = this.#store
    if (aborted || !store) {
      leadership.release()
      return
    }
    this.#leadership = leadership
    void leadership.lost.then(() => {
      if (this.#leadership !== leadership) return
      this.#leadership = undefined
      this.#follow()
    })
    await this.#begin(leadership, store)
  }

  /** Leads on the store as it is now. */
  async #begin(leadership: Leadership, store: Store): Promise<void> {
    this.#role?.stop()
    this.#role = undefined
    this.#post({ type: 'starting' })
    try {
      const { generation, commit } = await store.lead()
      // The browser has emptied the store under the open page.
      if (commit < this.#state.commit) await store.apply(this.#rescue(), generation)
      const stored = commit === this.#state.commit ? undefined : await store.load()
      const deviceGuid = await this.#guidOf(store)
      if (this.#leadership !== leadership) return
      if (stored) this.#state.reload(stored)
      this.#role = this.#leadingRole(store, generation, true, deviceGuid)
    } catch (error) {
      if (this.#leadership === leadership) this.#storeFailed(error, store)
    }
  }

  /** Returns the one of the app, else that of the store, which an emptied store gets back. */
  async #guidOf(store: Store): Promise<string | null> {
    const { deviceGuid } = this.#options
    if (deviceGuid !== undefined) return deviceGuid
    if (!this.#tabs.isShared) return null
    this.#deviceGuid = await store.deviceGuid(this.#deviceGuid)
    return this.#deviceGuid
  }

  /** Everything that only this tab has: the server has the rest. */
  #rescue(): Batch {
    const { meta, unsent, cached } = this.#state.state
    const batch = new BatchBuilder({ ...emptyMeta, userId: meta.userId, commit: meta.commit })
    batch.reset()
    for (const entry of unsent.values()) batch.putUnsent(entry)
    for (const record of cached.values()) if (isOnlyHere(record.key)) batch.putCachedRead(record)
    return batch.take()
  }

  /** The browser has closed the store: the tab that leads looks at once what is left of it. */
  #storeClosed(): void {
    if (this.#role && this.#leadership && this.#store)
      void this.#begin(this.#leadership, this.#store)
  }

  #leadingRole(store: Store, generation: number, isDurable: boolean, guid: string | null): Role {
    const token = this.#token
    this.#token = undefined
    return lead(this.#context(store), {
      generation,
      isDurable,
      ...(guid !== null && { deviceGuid: guid }),
      ...(token !== undefined && { token }),
      startLeader: this.#startLeader,
      failed: (failure) => this.#storeFailed(new StoreError(failure), store),
    })
  }

  #context(store: Store): RoleContext {
    return {
      tab: this.#tab,
      state: this.#state,
      commands: this.#commands,
      store,
      isWanted: () => this.#state.isWanted,
      post: (message) => this.#post(message),
      onError: this.#report,
    }
  }

  /** @param store the one that has failed; one that is not in use any more is ignored */
  #storeFailed(error: unknown, store: Store | undefined): void {
    if (this.#isClosed || store !== this.#store) return
    const failure = error instanceof StoreError ? error.failure : 'unavailable'
    if (!(error instanceof StoreError)) this.#report(error)
    if (failure === 'deleted') this.#forget()
    else if (failure === 'superseded' && this.#tabs.isShared) {
      this.#release()
      this.#follow()
    } else this.#goAlone()
  }

  /**
   * Continues in memory, without other tabs. A durable store has failed: then what the server
   * does not have is carried over, and the session has no device, because other tabs may have done the same.
   */
  #goAlone(): void {
    this.#beginAlone().catch((error: unknown) => this.#crashed(error))
  }

  async #beginAlone(): Promise<void> {
    this.#leave()
    this.#tabs.close()
    this.#tabs = soloTabs()
    this.#durable?.close()
    const isFallback = this.#isDurable
    const { meta, unsent, cached } = this.#state.state
    const stored = {
      ...emptyState,
      ...(meta.userId !== 0 && { meta: { ...emptyMeta, userId: meta.userId } }),
      unsent: [...unsent.values()],
      cached: [...cached.values()].filter(({ key }) => isOnlyHere(key)),
    }
    const store = memoryStore(stored)
    this.#store = store
    this.#state.reload(stored)
    const { generation } = await store.lead()
    this.#setReady()
    if (this.#isClosed || this.#store !== store) return
    const { deviceGuid = null } = this.#options
    this.#role = this.#leadingRole(store, generation, false, isFallback ? null : deviceGuid)
  }

  #post(message: LeaderMessage | TabMessage): void {
    this.#tabs.post(envelope(this.#tab, message))
  }

  #receive(value: unknown): void {
    const message = this.#isClosed ? null : readMessage(value, this.#tab)
    if (message === null) return
    try {
      if (message === 'newer') this.#goAlone()
      else this.#take(message)
    } catch (error) {
      this.#report(error)
    }
  }

  #take(message: ChannelMessage): void {
    if (message.type === 'destroyed') this.#forget()
    else if (this.#role) this.#role.receive(message)
    else if (message.type === 'ask' && this.#leadership) this.#post({ type: 'starting' })
  }

  #tabChanged(change: TabChange): void {
    if (change === 'suspended') {
      this.#isSuspended = true
      this.#leave()
      this.#store?.release?.()
    } else if (change === 'resumed' && this.#isSuspended) {
      this.#isSuspended = false
      this.#follow()
    }
  }

  /** Leaves the other tabs: one of them takes over at once. */
  #leave(): void {
    this.#role?.stop()
    this.#role = undefined
    this.#post({ type: 'bye' })
    this.#release()
  }

  #release(): void {
    this.#waiting.abort()
    this.#leadership?.release()
    this.#leadership = undefined
  }

  /** Ends the session, and forgets everything, because the store is deleted. */
  #forget(): void {
    this.#end('the user has logged out')
    this.#state.reload(emptyState)
  }

  /** Ends the session after a failure that no store can work around. */
  #crashed(error: unknown): void {
    if (this.#isClosed) return
    this.#report(error)
    this.#end(`the client cannot run here: ${String(error)}`)
  }

  /** @param connection as it is shown from now on; default: ended for that reason */
  #end(reason: string, connection?: ConnectionStatus): void {
    if (this.#isClosed) return
    this.#closing.abort(clientError('closed', reason))
    this.#identifying?.stop()
    this.#leave()
    this.#tabs.close()
    this.#durable?.close()
    this.#setReady()
    this.#commands.failAll('closed', reason)
    this.#state.want(false)
    const ended = { state: 'ended', end: failureOf('closed', reason) } as const
    this.#state.setLive({ ...this.#emptyLive(), connection: connection ?? ended })
  }
}
