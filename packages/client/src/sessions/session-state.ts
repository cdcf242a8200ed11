import type { Batch } from '../model/batch.js'
import type { CoreEvent } from '../core/effects.js'
import { Listeners } from '../lib/listeners.js'
import type { ConnectionStatus, LiveState } from '../core/live-state.js'
import type { StoredState } from '../ports/store.js'
import type { StateChange } from './session.js'
import { applyToTables, emptyTables, fillTables, type TableMaps } from '../stores/tables.js'

const connecting: ConnectionStatus = { state: 'connecting' }

/** The copy of the store in a tab, and its listeners. */
export class SessionState {
  readonly state: TableMaps & { live: LiveState }
  readonly #listeners: Listeners<StateChange>
  readonly #eventListeners: Listeners<CoreEvent>
  /** The last live state of a leader. */
  #live: LiveState
  #isWanted = false

  constructor(live: LiveState, onError: (error: unknown) => void) {
    this.state = { ...emptyTables(), live }
    this.#live = live
    this.#listeners = new Listeners(onError)
    this.#eventListeners = new Listeners(onError)
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
    return this.#listeners.add(listener)
  }

  onEvent(listener: (event: CoreEvent) => void): () => void {
    return this.#eventListeners.add(listener)
  }

  apply(batch: Batch): void {
    applyToTables(this.state, batch)
    this.#listeners.notify({ type: 'batch', batch })
  }

  reload(stored: StoredState): void {
    fillTables(this.state, stored)
    this.#listeners.notify({ type: 'reload' })
  }

  setLive(live: LiveState): void {
    this.#live = live
    const isWaiting = this.#isWanted && live.connection.state === 'idle'
    this.state.live = isWaiting ? { ...live, connection: connecting } : live
    this.#listeners.notify({ type: 'live' })
  }

  event(event: CoreEvent): void {
    this.#eventListeners.notify(event)
  }
}
