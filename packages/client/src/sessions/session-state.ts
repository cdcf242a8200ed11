import type { Batch } from '../model/batch.js'
import type { CoreEvent } from '../core/effects.js'
import type { ConnectionStatus, LiveState } from '../core/live-state.js'
import type { StoredState } from '../ports/store.js'
import type { StateChange } from './session.js'
import { applyToTables, emptyTables, fillTables, type TableMaps } from '../stores/tables.js'

const connecting: ConnectionStatus = { state: 'connecting' }

/** The copy of the store in a tab, and its listeners. A listener that throws stops no other one. */
export class SessionState {
  readonly state: TableMaps & { live: LiveState }
  readonly #onError: (error: unknown) => void
  readonly #listeners = new Set<(change: StateChange) => void>()
  readonly #eventListeners = new Set<(event: CoreEvent) => void>()
  /** The last live state of a leader. */
  #live: LiveState
  #isWanted = false

  constructor(live: LiveState, onError: (error: unknown) => void) {
    this.state = { ...emptyTables(), live }
    this.#live = live
    this.#onError = onError
  }

  get commit(): number {
    return this.state.meta.commit
  }

  /** True: the app wants a connection in this tab. */
  get isWanted(): boolean {
    return this.#isWanted
  }

  /** A connection that is wanted is shown as `connecting` until a leader says more. */
  want(isWanted: boolean): void {
    this.#isWanted = isWanted
    this.setLive(this.#live)
  }

  subscribe(listener: (change: StateChange) => void): () => void {
    // A new function, so that one function may listen twice.
    const own = (change: StateChange) => listener(change)
    this.#listeners.add(own)
    return () => this.#listeners.delete(own)
  }

  onEvent(listener: (event: CoreEvent) => void): () => void {
    const own = (event: CoreEvent) => listener(event)
    this.#eventListeners.add(own)
    return () => this.#eventListeners.delete(own)
  }

  apply(batch: Batch): void {
    applyToTables(this.state, batch)
    this.#tell(this.#listeners, { type: 'batch', batch })
  }

  reload(stored: StoredState): void {
    fillTables(this.state, stored)
    this.#tell(this.#listeners, { type: 'reload' })
  }

  setLive(live: LiveState): void {
    this.#live = live
    const isWaiting = this.#isWanted && live.connection.state === 'idle'
    this.state.live = isWaiting ? { ...live, connection: connecting } : live
    this.#tell(this.#listeners, { type: 'live' })
  }

  event(event: CoreEvent): void {
    this.#tell(this.#eventListeners, event)
  }

  #tell<T>(listeners: ReadonlySet<(value: T) => void>, value: T): void {
    for (const listener of listeners) {
      try {
        listener(value)
      } catch (error) {
        this.#onError(error)
      }
    }
  }
}
